//! `punctual perf compare`: the glue between the command line and the crate.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{Failure, Outcome};
use crate::output::{flush, print, progress};
use crate::stop::Stop;

/// How often the wish for an end is looked at, at least.
const LOOK: dds::Duration = dds::Duration::from_secs(1);

/// Compares; bad news if a cell was measured with no contender.
pub(super) fn run(arguments: &::compare::Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let (told, stop) = (Arc::clone(&stopped), stop.clone());
    std::thread::spawn(move || {
        while !matches!(stop.wait(LOOK), Ok(true) | Err(_)) {}
        told.store(true, Ordering::Relaxed);
    });
    let done = ::compare::run(arguments, &stopped, &progress, &|line| print(format_args!("{line}")));
    flush();
    match done {
        Ok(true) => Ok(Outcome::Done),
        Ok(false) => Ok(Outcome::BadNews),
        Err(::compare::Wrong::Usage(text)) => Err(Failure::Usage(text)),
        Err(::compare::Wrong::System(text)) => Err(Failure::System(text)),
    }
}
