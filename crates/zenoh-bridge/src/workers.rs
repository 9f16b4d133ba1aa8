//! Threads for what may wait on a connection, so that the loop does not: as many as there is work at a time, and they are kept.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// Work.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The threads.
pub(crate) struct Workers {
    jobs: Sender<Job>,
    next: Arc<Mutex<Receiver<Job>>>,
    /// Work that waits or is under way.
    busy: Arc<AtomicUsize>,
    threads: usize,
}

impl Workers {
    pub(crate) fn new() -> Self {
        let (jobs, next) = mpsc::channel();
        Self { jobs, next: Arc::new(Mutex::new(next)), busy: Arc::default(), threads: 0 }
    }

    /// Does it on a thread that has nothing else to do. Who calls this limits how much is under way.
    pub(crate) fn run(&mut self, job: Job) {
        let busy = self.busy.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if busy > self.threads {
            let (next, busy) = (Arc::clone(&self.next), Arc::clone(&self.busy));
            let begun = std::thread::Builder::new()
                .name("punctual-bridge: sends".to_owned())
                .spawn(move || work(&next, &busy));
            // Otherwise it waits for one of those that there are.
            self.threads += usize::from(begun.is_ok());
        }
        if self.threads == 0 {
            job();
            self.busy.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        // A receiver lives as long as this does.
        let _ = self.jobs.send(job);
    }
}

/// Ends with the workers.
fn work(next: &Mutex<Receiver<Job>>, busy: &AtomicUsize) {
    loop {
        let job = next.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job();
        busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_waits_holds_up_no_other() {
        let mut workers = Workers::new();
        let (go_on, waits) = mpsc::channel::<()>();
        let (done, ended) = mpsc::channel();
        let slow = done.clone();
        workers.run(Box::new(move || {
            waits.recv().unwrap();
            slow.send(0).unwrap();
        }));
        for number in 1..=10 {
            let done = done.clone();
            workers.run(Box::new(move || done.send(number).unwrap()));
        }
        let mut numbers: Vec<i32> = (0..10).map(|_| ended.recv().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
        go_on.send(()).unwrap();
        assert_eq!(ended.recv(), Ok(0));
    }
}
