//! Waiting for an event of another process or thread: it is looked for again and again, and never for a time that is thought to be enough.
use std::thread;
use std::time::{Duration, Instant};

/// How long an event may take. It is waited for as long only where something is wrong.
const LIMIT: Duration = Duration::from_secs(60);
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Asks until there is an answer.
///
/// # Panics
/// There is none for a minute; the panic says that `what` did not come.
pub fn patiently<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < LIMIT, "{what} did not come");
        thread::sleep(LOOK);
    }
}
