//! Prints greetings until none has come for five seconds: docs/tutorial/hello.md.
use dds::prelude::*;

#[derive(DdsType, Debug)]
struct Greeting {
    number: u32,
    text: String,
}

fn main() -> Result<(), dds::Error> {
    let participant = Participant::new(0)?;
    let reader = participant.reader::<Greeting>("Greetings").reliable().create()?;
    for greeting in reader.wait_samples(Duration::from_secs(5)) {
        println!("{greeting:?}");
    }
    Ok(())
}
