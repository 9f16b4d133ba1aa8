//! Whatever there is to send is sent by somebody, by one at a time.
use std::sync::Arc;

use models::atomic::AtomicU64;
use models::atomic::Ordering::Relaxed;
use models::{Alone, Mutex, thread};

use super::token::Token;

/// What is to be sent, behind the lock of its writer, and the token.
struct Writer {
    state: Mutex<u64>,
    token: Token<Alone>,
    sent: AtomicU64,
}

impl Writer {
    fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(0), token: Token::new(Alone::new()), sent: AtomicU64::new(0) })
    }

    fn send(&self) {
        self.token.send(|alone, _| {
            // Two who do this at once are found.
            alone.act();
            loop {
                let mut state = self.state.lock().unwrap();
                if *state == 0 {
                    return;
                }
                *state -= 1;
                drop(state);
                self.sent.fetch_add(1, Relaxed);
            }
        });
    }

    fn write(&self) {
        *self.state.lock().unwrap() += 1;
        self.send();
    }

    /// A sample that is not written after all, although the token was taken.
    fn write_in_vain(&self) {
        let state = self.state.lock().unwrap();
        let (done, is_left) = self.token.try_with(|alone| -> Option<()> {
            alone.act();
            None
        });
        drop(state);
        assert!(done.is_none());
        if is_left {
            self.send();
        }
    }
}

fn run(others: Vec<thread::JoinHandle<()>>, writer: &Writer, written: u64) {
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!((*writer.state.lock().unwrap(), writer.sent.load(Relaxed)), (0, written));
}

#[test]
fn what_is_left_to_the_thread_that_sends_is_sent() {
    models::check(4, || {
        let writer = Writer::new();
        let other = Arc::clone(&writer);
        let others = vec![thread::spawn(move || other.write())];
        writer.write();
        run(others, &writer, 2);
    });
}

#[test]
fn of_three_who_send_each_is_served() {
    models::check(2, || {
        let writer = Writer::new();
        let others = [Arc::clone(&writer), Arc::clone(&writer)];
        let others = others.into_iter().map(|other| thread::spawn(move || other.write())).collect();
        writer.write();
        run(others, &writer, 3);
    });
}

#[test]
fn what_is_left_while_a_sample_is_refused_is_sent() {
    models::check(4, || {
        let writer = Writer::new();
        let other = Arc::clone(&writer);
        let others = vec![thread::spawn(move || other.write())];
        writer.write_in_vain();
        run(others, &writer, 1);
    });
}
