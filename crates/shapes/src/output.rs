//! Lines of standard output.
use std::fmt::Arguments;
use std::io::Write;

/// Prints a line at once. If the reader of the pipe has gone, the line is dropped; the process does not panic.
pub(crate) fn say(line: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
