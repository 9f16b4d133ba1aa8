//! Starting a thread the way the configuration says, and telling what was granted.
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use udp::thread::Scheduling;

use crate::config::ThreadConfig;

/// Starts threads, and hears from each how it runs.
pub(super) struct Starter<'a> {
    config: &'a ThreadConfig,
    heard: (Sender<String>, Receiver<String>),
    started: Vec<JoinHandle<()>>,
}

impl<'a> Starter<'a> {
    pub(super) fn new(config: &'a ThreadConfig) -> Self {
        Self { config, heard: channel(), started: Vec::new() }
    }

    /// Starts one. `prompt`: it gets the priority and the cores that were asked for.
    pub(super) fn start(
        &mut self,
        role: &str,
        prompt: bool,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let name = format!("{}-{role}", self.config.name_prefix);
        let tell = self.heard.0.clone();
        let (priority, cores) =
            if prompt { (self.config.priority, self.config.cores.clone()) } else { (None, Vec::new()) };
        let told = name.clone();
        let thread = Builder::new().name(name).spawn(move || {
            // Who started it may be gone; then nobody wants to know.
            let _ = tell.send(format!("thread {told}: {}", settle(priority, &cores)));
            drop(tell);
            run();
        })?;
        self.started.push(thread);
        Ok(())
    }

    /// The threads, and a line about each, after all of them have begun.
    pub(super) fn finish(self) -> (Vec<JoinHandle<()>>, Vec<String>) {
        let (tell, heard) = self.heard;
        drop(tell);
        let mut lines: Vec<String> = heard.iter().collect();
        lines.sort();
        (self.started, lines)
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
