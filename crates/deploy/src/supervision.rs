//! A supervisor with its processes: what it wants is done, and what it has to say is handed on.
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use deployment::{Action, Input, Outcome, Phase, Supervisor};

use crate::children::{Children, Happening};

/// How long processes may take for a part of a change: hooks of components have a second each, unless they say otherwise.
const PATIENCE: u64 = 30_000_000_000_000;

/// Something that a supervisor has to say.
#[derive(Debug)]
pub(crate) enum Told {
    /// A request has ended.
    Finished(u64, Outcome),
    /// The change of several hosts has come to the end of a phase.
    Reached(Phase),
    /// For a log.
    Line(String),
}

/// A supervisor at work.
pub(crate) struct Supervision<T> {
    supervisor: Supervisor,
    children: Children<T>,
    start: Instant,
}

impl<T: Send + 'static> Supervision<T> {
    /// A supervisor of a deployment that does not run yet. What its processes do is sent to `tell`, as `wrap` makes it.
    pub(crate) fn new(
        deployment: String,
        host: Option<String>,
        tell: &Sender<T>,
        wrap: impl Fn(Happening) -> T + Send + Sync + 'static,
    ) -> Self {
        let supervisor = Supervisor::new(deployment, host, PATIENCE);
        Self { supervisor, children: Children::new(tell, wrap), start: Instant::now() }
    }

    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Picoseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1_000)).unwrap_or(u64::MAX)
    }

    /// How long nothing has to be done unless something happens.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let at = self.supervisor.next_tick()?;
        Some(Duration::from_nanos(at.saturating_sub(self.now()).div_ceil(1_000)))
    }

    pub(crate) fn input(&mut self, input: Input) -> Vec<Told> {
        let now = self.now();
        self.supervisor.handle(now, input);
        self.act()
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self) -> Vec<Told> {
        let now = self.now();
        self.supervisor.tick(now);
        self.act()
    }

    /// A process did something.
    pub(crate) fn happens(&mut self, happening: Happening) -> Vec<Told> {
        match happening {
            Happening::Told(of, answer) => self.input(Input::Answered(of, answer)),
            // A process without its connection cannot be led any more.
            Happening::Silent(of, why) => {
                self.children.kill(of, &why);
                Vec::new()
            }
            Happening::Ended(of) => match self.children.ended(of) {
                Some((is_failure, how)) => self.input(Input::Ended(of, is_failure, how)),
                None => Vec::new(),
            },
        }
    }

    /// Does what the supervisor wants.
    fn act(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        while let Some(action) = self.supervisor.poll() {
            match action {
                Action::Start { incarnation, process, target } => {
                    let now = self.now();
                    match self.children.start(incarnation, &process, &target) {
                        Ok(pid) => self.supervisor.handle(now, Input::Started(incarnation, pid)),
                        Err(why) => self.supervisor.handle(now, Input::Ended(incarnation, true, why)),
                    }
                }
                Action::Send(to, instruction) => self.children.send(to, instruction),
                Action::Kill(of, why) => self.children.kill(of, &why),
                Action::Finished(number, outcome) => told.push(Told::Finished(number, outcome)),
                Action::Reached(_, phase) => told.push(Told::Reached(phase)),
                Action::Tell(text) => told.push(Told::Line(text)),
            }
        }
        told
    }
}
