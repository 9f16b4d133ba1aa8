//! Where the log of a command goes.
use tracing_subscriber::fmt;

/// Lines of at least this level go to standard output, each with its time in UTC. A line that cannot be written is left out: a
/// log that is not read ends nothing.
pub(crate) fn to_stdout(least: tracing::Level) {
    let log = fmt().with_max_level(least).with_ansi(false).with_target(false).log_internal_errors(false);
    // A program that embeds the command has a log already.
    let _ = log.with_writer(std::io::stdout).try_init();
}

/// The same to standard error, for commands whose output is something else.
pub(crate) fn to_stderr(least: tracing::Level) {
    let log = fmt().with_max_level(least).with_ansi(false).with_target(false).log_internal_errors(false);
    let _ = log.with_writer(std::io::stderr).try_init();
}
