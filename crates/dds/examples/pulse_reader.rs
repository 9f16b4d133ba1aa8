//! Asks for pulses within so many microseconds, and prints what was decided and how many came: docs/tutorial/latency.md.
use dds::prelude::*;

#[derive(DdsType)]
struct Pulse {
    number: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let micros = std::env::args().nth(1).ok_or("give a latency in microseconds")?.parse()?;
    let participant = Participant::new(0)?;
    let reader = participant
        .reader::<Pulse>("Pulses")
        .within(Duration::from_micros(micros))
        .on_assurance_changed(|reader, _| {
            for pair in reader.assurance() {
                let bound = pair.bound.map(|bound| format!("within {bound}"));
                println!("{:?} {}", pair.state, bound.unwrap_or(pair.reason));
                if let Some(least) = pair.offered_latency {
                    println!("{least} would be admitted");
                }
            }
        })
        .create()?;
    let (start, mut count) = (std::time::Instant::now(), 0);
    for _ in reader.wait_samples(Duration::from_secs(8)).take_while(|_| start.elapsed().as_secs() < 10) {
        count += 1;
    }
    println!("{count} pulses");
    Ok(())
}
