//! Readings within five milliseconds: the example of the README.
use dds::prelude::*;
#[derive(DdsType, Debug)]
struct Reading {
    celsius: f64,
}
fn main() -> Result<(), dds::Error> {
    let participant = Participant::new(0)?;
    let reader = participant.reader::<Reading>("Readings").within(Duration::from_millis(5)).create()?;
    let writer = participant.writer::<Reading>("Readings").every(Duration::from_millis(100)).create()?;
    writer.write(&Reading { celsius: 21.5 })?;
    reader.wait_samples(Duration::from_secs(1)).take(1).for_each(|reading| println!("{reading:?}"));
    Ok(())
}
