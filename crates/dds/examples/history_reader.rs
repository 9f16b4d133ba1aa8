//! Prints the states of valves that were written before it came: docs/tutorial/qos.md.
use dds::prelude::*;

#[derive(DdsType, Debug)]
struct Valve {
    #[dds(key)]
    number: u32,
    percent: u8,
}

fn main() -> Result<(), dds::Error> {
    let participant = Participant::new(0)?;
    let reader = participant.reader::<Valve>("Valves").reliable().transient_local().keep_last(10).create()?;
    reader.wait_for_historical_data(Duration::from_secs(5))?;
    for valve in reader.samples() {
        println!("{valve:?}");
    }
    Ok(())
}
