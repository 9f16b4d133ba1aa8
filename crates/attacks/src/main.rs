//! The victim: a writer or a reader of numbered samples on the public API, told by lines what to do, that tells in lines what it sees.
//! It judges nothing: `crates/attacks/tests/attacks` does, and knows nothing of this but its lines.
//!
//! `pub TOPIC [TERM...]` and `sub TOPIC [TERM...]`; terms are `best-effort`, `last=DEPTH` (else KEEP_ALL), `bytes=LIMIT`, `peer=ADDRESS`,
//! `interface=NAME`, `shm=on|off` (off), `patience=SECONDS`, `every=MILLISECONDS` of a writer and `within=MILLISECONDS` of a reader for ASSURANCE, `keys=FOLDER` with
//! `user=NAME` to sign requests. `knock NAME` connects to an abstract local socket without end, as another user may, and `spin` uses a processor without end.
mod knock;
mod reader;
mod terms;
mod writer;

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::ExitCode;

use dds::{DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};

use terms::Terms;

/// What is written: a number, and bytes that follow from it.
#[derive(DdsType, Clone, Debug, Default)]
pub(crate) struct Numbered {
    number: u64,
    bytes: Vec<u8>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["pub", topic, terms @ ..] => Terms::read(terms).and_then(|terms| writer::run(topic, &terms)),
        ["sub", topic, terms @ ..] => Terms::read(terms).and_then(|terms| reader::run(topic, &terms)),
        ["knock", name] => knock::run(name),
        ["spin"] => loop {
            std::hint::spin_loop();
        },
        _ => Err("give pub, sub with a topic and terms, knock with a name, or spin".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("failed {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line at once: the test waits for it.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Without a test at the other end there is nothing to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Carries out the lines of the standard input until they end or say so.
pub(crate) fn obey(
    mut carry_out: impl FnMut(&[&str]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["quit"] => break,
            words => carry_out(words).unwrap_or_else(|error| say(&format!("failed {error}"))),
        }
    }
    Ok(())
}

/// A participant as the terms say.
pub(crate) fn join(terms: &Terms) -> Result<DomainParticipant, Box<dyn Error>> {
    let factory = DomainParticipantFactory::get_instance();
    Ok(factory.create_participant_with(0, QosKind::Default, &terms.config, None, NO_STATUS)?)
}

/// The end of a participant and all that is in it.
pub(crate) fn leave(participant: &DomainParticipant) -> Result<(), Box<dyn Error>> {
    participant.delete_contained_entities()?;
    DomainParticipantFactory::get_instance().delete_participant(participant)?;
    Ok(())
}

/// Sixteen bytes as 32 hexadecimal digits.
pub(crate) fn hex(bytes: [u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
