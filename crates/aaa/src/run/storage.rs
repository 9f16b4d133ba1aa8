//! A thread that writes what is to be durable: all that waits is one commit.
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Most entries of one commit.
const MOST: usize = 1_024;

/// The way to the thread, and what it has written.
pub(super) struct Storage<T> {
    jobs: Option<Sender<(u64, T)>>,
    thread: Option<JoinHandle<()>>,
    done: UnboundedReceiver<Vec<(u64, bool)>>,
}

impl<T: Send + 'static> Storage<T> {
    /// Starts the thread. `commit` makes the entries durable, and says of each whether it is.
    pub(super) fn start(commit: impl FnMut(Vec<(u64, T)>) -> Vec<(u64, bool)> + Send + 'static) -> Self {
        let (jobs, waiting) = channel();
        let (told, done) = unbounded_channel();
        let thread = thread::spawn(move || write(&waiting, &told, commit));
        Self { jobs: Some(jobs), thread: Some(thread), done }
    }

    /// Hands an entry on.
    pub(super) fn store(&self, number: u64, what: T) {
        // The thread lives as long as this.
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send((number, what));
        }
    }

    /// What has been written since, each with whether it is there.
    pub(super) async fn done(&mut self) -> Vec<(u64, bool)> {
        match self.done.recv().await {
            Some(done) => done,
            None => std::future::pending().await,
        }
    }
}

/// What was handed on is written, and then files are free for others.
impl<T> Drop for Storage<T> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write<T>(
    waiting: &Receiver<(u64, T)>,
    told: &UnboundedSender<Vec<(u64, bool)>>,
    mut commit: impl FnMut(Vec<(u64, T)>) -> Vec<(u64, bool)>,
) {
    while let Ok(first) = waiting.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter().take(MOST - 1)).collect();
        // If no program hears of it any more, the rest is written all the same.
        let _ = told.send(commit(batch));
    }
}
