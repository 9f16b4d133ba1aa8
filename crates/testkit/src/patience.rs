//! Waiting for an event of another process or thread: it is looked for again and again, and never for a time that is thought to be enough.
use std::thread;
use std::time::{Duration, Instant};

/// How long an event may take. It is waited for as long only where something is wrong.
pub const LIMIT: Duration = Duration::from_secs(60);
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// Asks until there is an answer.
///
/// # Panics
/// There is none for a minute; the panic says that `what` did not come.
pub fn patiently<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    patiently_or(|| format!("{what} did not come"), ask)
}

/// The same where what is missing is known only in the end.
///
/// # Panics
/// There is no answer for a minute; the panic says what is missing.
pub fn patiently_or<T>(missing: impl Fn() -> String, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < LIMIT, "{}", missing());
        thread::sleep(LOOK);
    }
}
