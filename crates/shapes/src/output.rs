//! Lines for whoever reads the output.
use std::fmt::Arguments;
use std::io::Write;

/// Prints a line at once. A reader that has gone away is no reason to end in a panic: nobody misses the line then.
pub(crate) fn say(line: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
