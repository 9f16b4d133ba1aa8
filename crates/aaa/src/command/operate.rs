//! What operators do with a server that runs.
use std::io::Write;
use std::path::Path;

use super::{BAD_NEWS, DONE, FAILED, Failure, open, print};
use crate::run::control::{Answer, Question, ask};

/// Asks the server of a file.
pub(super) fn asked(file: &Path, question: &Question) -> Result<Answer, Failure> {
    let node = open(file)?;
    ask(&node.store, question).map_err(|error| (FAILED, error.to_string()))
}

fn done(file: &Path, question: &Question, out: &mut dyn Write) -> Result<u8, Failure> {
    match asked(file, question)? {
        Answer::Done { text } => {
            print(out, format_args!("{text}"))?;
            Ok(DONE)
        }
        Answer::Failed { text } => Err((BAD_NEWS, text)),
        Answer::Sessions { .. } => Err((FAILED, "the server is of another version".to_owned())),
    }
}

pub(super) fn abort(file: &Path, session: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    done(file, &Question::Abort { session: session.to_owned() }, out)
}

pub(super) fn ask_again(file: &Path, session: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    done(file, &Question::AskAgain { session: session.to_owned() }, out)
}

pub(super) fn reload(file: &Path, out: &mut dyn Write) -> Result<u8, Failure> {
    done(file, &Question::Reload, out)
}
