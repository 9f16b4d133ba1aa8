//! A supervisor with its processes: what it wants is done, and what it has to say is handed on.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use deployment::{Action, Incarnation, Input, Outcome, Phase, Position, Supervisor, Target};
use execution::DeploymentState;

use crate::children::{Children, Happening, Outlives};
use crate::hosts::StateFile;
use crate::process_identity::pin;
use crate::signatures::Signers;

/// How long processes may take for a part of a change: hooks of components have a second each, unless they say otherwise.
const PATIENCE: u64 = 30_000_000_000_000;
// A process that waits until events are handled has answered by then.
const _: () = assert!(assembly::MOST_QUIESCE <= PATIENCE / 2);

/// Something that a supervisor has to say.
#[derive(Debug)]
pub(crate) enum Told {
    /// A request has ended.
    Finished(u64, Box<Outcome>),
    /// The change of several hosts has come to the end of a phase.
    Reached(Phase),
    /// It has come to the end of this round of the phase quiesce, and this was published here by what rests.
    Quiesced(u32, Vec<Position>),
    /// For a log.
    Line(String),
}

/// A supervisor at work.
pub(crate) struct Supervision<T> {
    supervisor: Supervisor,
    children: Children<T>,
    /// Where it leaves its state; without that, processes end with this program.
    state: Option<StateFile>,
    start: Instant,
}

/// What makes processes outlive this program.
pub(crate) struct Outliving {
    /// Where their supervisor leaves its state.
    pub(crate) state: StateFile,
    /// What the paths of their sockets begin with.
    pub(crate) sockets: PathBuf,
    /// Who has to have signed programs, if that matters.
    pub(crate) signers: Option<Signers>,
    /// How long they go on without a supervisor; without a limit if there is none.
    pub(crate) lease: Option<Duration>,
}

impl<T: Send + 'static> Supervision<T> {
    /// A supervisor of a deployment that does not run yet. What its processes do is sent to `tell`, as `wrap` makes it.
    pub(crate) fn new(
        deployment: String,
        host: Option<String>,
        outliving: Option<Outliving>,
        tell: &Sender<T>,
        wrap: impl Fn(Happening) -> T + Send + Sync + 'static,
    ) -> Self {
        let supervisor = Supervisor::new(deployment, host, PATIENCE);
        let (mut state, mut outlives, mut signers) = (None, None, None);
        if let Some(Outliving { state: file, sockets, signers: who, lease }) = outliving {
            (state, outlives, signers) = (Some(file), Some(Outlives { sockets, lease }), who);
        }
        let children = Children::new(outlives, signers, tell, wrap);
        Self { supervisor, children, state, start: Instant::now() }
    }

    /// Adopts the processes that another program has left, and ends the change that was under way as `request`.
    ///
    /// # Errors
    /// The state is not of these plans: nothing is adopted.
    pub(crate) fn resume(
        mut self,
        left: &DeploymentState,
        plans: (Arc<Target>, Option<Arc<Target>>),
        request: u64,
    ) -> Result<(Self, Vec<Told>), String> {
        let now = self.now();
        if let Some(state) = &mut self.state {
            state.has(left);
        }
        let (mut found, mut gone, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for started in &left.checkpoint.started {
            let of = Incarnation(started.incarnation);
            let identity = left.processes.iter().find(|process| process.incarnation == started.incarnation);
            let pinned = match identity {
                Some(identity) => pin(identity.pid, identity.started).map(|process| (*identity, process)),
                None => Err("it was not started any more".to_owned()),
            };
            match pinned {
                Ok((identity, process)) => found.push((of, identity, process, started.is_foreign)),
                Err(why) => {
                    told.push(Told::Line(format!("process {} is not adopted: {why}", started.process)));
                    gone.push((of, why));
                }
            }
        }
        self.supervisor = self.supervisor.resume(now, &left.checkpoint, plans, gone, request)?;
        for (of, identity, process, is_foreign) in found {
            if let Err(why) = self.children.adopt(of, identity, process, is_foreign) {
                self.supervisor.handle(now, Input::Ended(of, true, why));
            }
        }
        told.extend(self.act());
        Ok((self, told))
    }

    /// How many processes there are.
    pub(crate) fn count(&self) -> usize {
        self.children.count()
    }

    /// The file with its state, to which plans are told.
    pub(crate) const fn state(&mut self) -> Option<&mut StateFile> {
        self.state.as_mut()
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

    /// Writes down what the next program has to know before anything is done that follows it.
    fn keep(&mut self) -> Result<(), String> {
        let kept = match &mut self.state {
            None => Ok(()),
            Some(state) => state.keep(&self.supervisor, self.children.identities()),
        };
        match &kept {
            Ok(()) => self.children.recorded(),
            // The next program would not know of them.
            Err(why) => self.children.kill_unrecorded(why),
        }
        kept
    }

    /// Whether it is written down that this host has voted for the change that is under way.
    fn has_vote(&self) -> bool {
        let written = self.state.as_ref().and_then(StateFile::written);
        written.is_some_and(|written| self.supervisor.checkpoint().is_voted_in(written))
    }

    /// Does what the supervisor wants.
    fn act(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        loop {
            let kept = self.keep();
            let Some(action) = self.supervisor.poll() else { break };
            let now = self.now();
            match action {
                Action::Start { incarnation, process, target } => {
                    let started = kept.and_then(|()| self.children.start(incarnation, &process, &target));
                    match started {
                        Ok(pid) => self.supervisor.handle(now, Input::Started(incarnation, pid)),
                        Err(why) => self.supervisor.handle(now, Input::Ended(incarnation, true, why)),
                    }
                }
                Action::Send(to, instruction) => self.children.send(to, instruction),
                Action::Kill(of, why) => self.children.kill(of, &why),
                Action::Finished(number, outcome) => told.push(Told::Finished(number, Box::new(outcome))),
                Action::Reached(number, phase) => match kept {
                    // A vote that is not written down would be forgotten.
                    Err(why) if phase == Phase::FinishLaunch && !self.has_vote() => {
                        told.push(Told::Line(why));
                        self.supervisor.handle(now, Input::Decide(number, false));
                    }
                    _ => told.push(Told::Reached(phase)),
                },
                Action::Quiesced(_, round, published) => told.push(Told::Quiesced(round, published)),
                Action::Tell(text) => told.push(Told::Line(text)),
            }
        }
        if self.supervisor.is_over()
            && let Some(state) = self.state.take()
        {
            state.remove();
        }
        told
    }
}
