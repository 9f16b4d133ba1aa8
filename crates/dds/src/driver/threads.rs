//! Starting a thread the way the configuration says, and telling what was granted.
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use udp::thread::Scheduling;
use wire::sorted::SortedSet;

use crate::config::ThreadConfig;
use crate::lock::lock;

/// What threads say of how they run.
#[derive(Default)]
struct Heard {
    said: Mutex<Said>,
    /// One speaker fewer.
    done: Condvar,
}

#[derive(Default)]
struct Said {
    speakers: usize,
    lines: SortedSet<String>,
}

/// A thread that may say how it runs, until this is dropped.
struct Speaker(Arc<Heard>);

impl Speaker {
    fn new(heard: &Arc<Heard>) -> Self {
        lock(&heard.said).speakers += 1;
        Self(Arc::clone(heard))
    }

    fn say(&self, line: String) {
        lock(&self.0.said).lines.insert(line);
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        lock(&self.0.said).speakers -= 1;
        self.0.done.notify_all();
    }
}

/// Starts threads, and hears from each how it runs.
pub(super) struct Starter<'a> {
    config: &'a ThreadConfig,
    heard: Arc<Heard>,
    started: Vec<JoinHandle<()>>,
}

impl<'a> Starter<'a> {
    pub(super) fn new(config: &'a ThreadConfig) -> Self {
        Self { config, heard: Arc::default(), started: Vec::new() }
    }

    /// Starts one. `prompt`: it gets the priority and the cores that were asked for.
    pub(super) fn start(
        &mut self,
        role: &str,
        prompt: bool,
        run: Box<dyn FnOnce() + Send>,
    ) -> io::Result<()> {
        let name = format!("{}-{role}", self.config.name_prefix);
        let speaker = Speaker::new(&self.heard);
        let (priority, cores) =
            if prompt { (self.config.priority, self.config.cores.clone()) } else { (None, Vec::new()) };
        let told = name.clone();
        let thread = Builder::new().name(name).spawn(move || {
            speaker.say(format!("thread {told}: {}", settle(priority, &cores)));
            drop(speaker);
            run();
        })?;
        self.started.push(thread);
        Ok(())
    }

    /// The threads, and a line about each, after all of them have begun.
    pub(super) fn finish(self) -> (Vec<JoinHandle<()>>, Vec<String>) {
        let said = self.heard.done.wait_while(lock(&self.heard.said), |said| said.speakers > 0);
        let said = said.unwrap_or_else(PoisonError::into_inner);
        (self.started, said.lines.iter().cloned().collect())
    }
}

/// Applies to the calling thread what was asked for. What was refused stays as it was.
fn settle(priority: Option<u8>, cores: &[usize]) -> String {
    let priority = match priority.map(udp::thread::set_real_time) {
        None => "normal priority".to_owned(),
        Some(Ok(Scheduling::RealTime { priority })) => format!("real-time priority {priority}"),
        Some(Ok(other)) => format!("priority not as asked for but {other:?}"),
        Some(Err(error)) => format!("normal priority: {error}"),
    };
    let cores = match cores {
        [] => "any core".to_owned(),
        asked => match udp::thread::set_cores(asked) {
            Ok(granted) => format!("cores {granted:?} of {asked:?} asked for"),
            Err(error) => format!("any core: {error}"),
        },
    };
    format!("{priority}, {cores}")
}
