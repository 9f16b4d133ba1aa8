//! Writes twenty pulses a second, and says how often at most, so that readers can be given a latency: docs/tutorial/latency.md.
use dds::prelude::*;

#[derive(DdsType)]
struct Pulse {
    number: u32,
}

fn main() -> Result<(), dds::Error> {
    let participant = Participant::new(0)?;
    let writer = participant.writer::<Pulse>("Pulses").every(Duration::from_millis(40)).create()?;
    for number in 1.. {
        writer.write(&Pulse { number })?;
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
