//! What is printed: results on standard output, progress on standard error if that is a terminal.
use std::fmt::Arguments;
use std::io::{IsTerminal as _, Write as _};

/// Prints a line of results. If they are not read any more, as in `punctual echo T | head -1`, the process ends quietly,
/// since nothing is left to do.
pub fn print(line: Arguments<'_>) {
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}

/// Sees to it that what was printed is out.
pub fn flush() {
    if std::io::stdout().flush().is_err() {
        std::process::exit(0);
    }
}

/// Replaces the line of progress on a terminal; an empty text takes it away. Elsewhere nothing is shown.
pub fn progress(text: &str) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        // A line of progress that cannot be shown is no loss.
        let _ = write!(out, "\r\x1b[K{text}");
        let _ = out.flush();
    }
}
