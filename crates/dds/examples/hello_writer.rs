//! Writes a greeting each second, once there is a reader for it: docs/tutorial/hello.md.
use dds::prelude::*;

#[derive(DdsType)]
struct Greeting {
    number: u32,
    text: String,
}

fn main() -> Result<(), dds::Error> {
    let participant = Participant::new(0)?;
    let writer = participant.writer::<Greeting>("Greetings").create()?;
    writer.wait_for_readers(1, Duration::from_secs(60))?;
    for number in 1..=3 {
        writer.write(&Greeting { number, text: "hello".to_owned() })?;
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
