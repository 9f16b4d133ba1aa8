//! Writes the states of two valves, keeps them for who comes late, and stays: docs/tutorial/qos.md.
use dds::prelude::*;

#[derive(DdsType)]
struct Valve {
    #[dds(key)]
    number: u32,
    percent: u8,
}

fn main() -> Result<(), dds::Error> {
    let participant = Participant::new(0)?;
    let writer = participant.writer::<Valve>("Valves").transient_local().keep_last(2).create()?;
    for percent in [0, 50, 100] {
        writer.write(&Valve { number: 1, percent })?;
        writer.write(&Valve { number: 2, percent })?;
    }
    std::thread::sleep(Duration::from_secs(60));
    Ok(())
}
