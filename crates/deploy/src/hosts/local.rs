//! The deployments of a host: a supervisor for each, as the node manager wants them.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use connections::local::Listening;
use deployment::{Control, ControlAnswer, Input, Outcome as Ended, Phase, Position, Request, Target};
use execution::{Bundle, DeploymentState, Epoch, EpochPlan, NodeInput, NodeManager, Outcome, Stage};

use super::node::Event;
use super::opened;
use super::state::StateFolder;
use crate::command::{FAILED, Failure};
use crate::control::{self, Asked};
use crate::files::Loaded;
use crate::signatures::Signers;
use crate::supervision::{Outliving, Supervision, Told};
use crate::target::{group, processes, program};

/// A deployment of the host.
struct Local {
    supervision: Supervision<Event>,
    listening: Option<Listening>,
    /// The request that proposes or launches.
    request: u64,
    /// Requests for the state: by number, who has asked.
    asked: BTreeMap<u64, Asker>,
}

/// A plan to supervise by, with its epoch.
type Known = (Arc<Target>, EpochPlan);

enum Asker {
    /// The manager, with this number.
    Manager(u64),
    /// A command on this host.
    Command(Sender<ControlAnswer>),
}

/// How a host runs programs.
pub(super) struct Hosting {
    /// The folder that locations of artefacts are relative to.
    pub(super) programs: PathBuf,
    /// Who has to have signed them, if that matters.
    pub(super) signers: Option<Signers>,
    /// How long component servers go on without a node manager.
    pub(super) lease: Option<Duration>,
}

/// The deployments of a host.
pub(super) struct Locals<'o> {
    all: BTreeMap<String, Local>,
    examined: BTreeMap<String, (EpochPlan, Target)>,
    states: StateFolder,
    host: String,
    hosting: Hosting,
    manager: String,
    tell: Sender<Event>,
    next: u64,
    told: &'o mut dyn Write,
}

impl<'o> Locals<'o> {
    pub(super) fn new(
        host: &str,
        states: StateFolder,
        hosting: Hosting,
        manager: &str,
        tell: &Sender<Event>,
        told: &'o mut dyn Write,
    ) -> Self {
        let (all, examined) = (BTreeMap::new(), BTreeMap::new());
        let (host, manager, tell) = (host.to_owned(), manager.to_owned(), tell.clone());
        Self { all, examined, states, host, hosting, manager, tell, next: 0, told }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How long nothing has to be done unless something happens.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.all.values().filter_map(|local| local.supervision.wait()).min()
    }

    pub(super) fn tell(&mut self, text: &str) {
        // Processes write to the same log: a line is written at once, so that theirs do not come into it. Its reader may be gone.
        let _ = self.told.write_all(format!("punctual: {text}\n").as_bytes());
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Reads a plan and looks for the programs of this host; nothing is started.
    pub(super) fn examine(&mut self, deployment: String, epoch: Epoch, bundle: &Bundle) -> NodeInput {
        let result = self.examined(bundle).map_err(|(_, what)| what).map(|target| {
            let plan = EpochPlan { epoch, bundle: bundle.clone() };
            self.examined.insert(deployment.clone(), (plan, target));
        });
        NodeInput::Examined { deployment, epoch, result }
    }

    /// A plan that can be launched here.
    fn examined(&self, bundle: &Bundle) -> Result<Target, Failure> {
        let loaded = opened(bundle)?;
        let target = self.target(bundle, &loaded);
        let parts = loaded.plan.split(&loaded.types);
        // A host that has no part in the plan any more takes part in the change to it.
        if parts.iter().any(|part| part.host.as_deref() == Some(self.host.as_str())) {
            for process in processes(&loaded, Some(&self.host), &mut std::io::sink())? {
                group(&loaded, &process)?;
                program(&loaded, Path::new(&target.file), &process, self.hosting.signers.as_ref())?;
            }
        }
        Ok(target)
    }

    fn target(&self, bundle: &Bundle, loaded: &Loaded) -> Target {
        // Only the name of the file: it is nowhere on this host, and locations are relative to the folder of programs.
        let name = Path::new(&bundle.file).file_name().unwrap_or_default();
        let file = self.hosting.programs.join(name).to_string_lossy().into_owned();
        let (plan, types) = (loaded.plan.clone(), loaded.types.clone());
        Target { plan, types, file, proofs: bundle.proofs.clone(), ..Target::default() }
    }

    /// Adopts what the node manager before has left, and tells the machine of it.
    ///
    /// # Errors
    /// What it has left is not known: nothing is adopted, and nothing ended.
    pub(super) fn adopt(&mut self, machine: &mut NodeManager) -> Result<Vec<NodeInput>, Failure> {
        let mut all = Vec::new();
        for (left, adopted) in self.states.left()? {
            let plans = (self.left(left.runs.as_ref())?, self.left(left.next.as_ref())?);
            all.push((left, adopted, plans));
        }
        let mut inputs = Vec::new();
        for (left, adopted, plans) in all {
            let (name, request) = (left.deployment.clone(), self.number());
            let told = self.resume(&left, plans, request)?;
            machine.adopt(name.clone(), left.runs.as_ref().map(|plan| plan.epoch), adopted);
            let count = self.all.get(&name).map_or(0, |local| local.supervision.count());
            self.tell(&format!("{name}: processes of the node manager before that are adopted: {count}"));
            inputs.extend(self.told(&name, told));
        }
        Ok(inputs)
    }

    /// A plan of a node manager before this one, and the plan to supervise by.
    fn left(&self, plan: Option<&EpochPlan>) -> Result<Option<Known>, Failure> {
        let Some(plan) = plan else { return Ok(None) };
        let loaded = opened(&plan.bundle)?;
        Ok(Some((Arc::new(self.target(&plan.bundle, &loaded)), plan.clone())))
    }

    fn resume(
        &mut self,
        left: &DeploymentState,
        (runs, next): (Option<Known>, Option<Known>),
        request: u64,
    ) -> Result<Vec<Told>, Failure> {
        let name = &left.deployment;
        let mut local = self.new_local(name)?;
        if let Some(state) = local.supervision.state() {
            for (target, plan) in runs.iter().chain(&next) {
                state.knows(target, plan.clone());
            }
        }
        let plans = (runs.map(|(target, _)| target).unwrap_or_default(), next.map(|(target, _)| target));
        let resumed = local.supervision.resume(left, plans, request);
        let (supervision, told) = resumed.map_err(|what| (FAILED, format!("deployment {name}: {what}")))?;
        self.all.insert(name.clone(), Local { supervision, request, ..local });
        Ok(told)
    }

    /// Begins a change to the plan that was examined, which goes as far as it is let, or the launch of it.
    pub(super) fn begin(&mut self, deployment: &str, epoch: Epoch, is_launch: bool) -> Vec<NodeInput> {
        let examined = self.examined.get(deployment).filter(|(of, _)| of.epoch == epoch);
        let Some((plan, target)) = examined.map(|(plan, target)| (plan.clone(), Arc::new(target.clone())))
        else {
            return refused(deployment, "its plan was not examined");
        };
        self.tell(&format!("{deployment} {epoch}: {}", if is_launch { "launch" } else { "preparePlan" }));
        if let Err((_, what)) = self.make(deployment) {
            return refused(deployment, &what);
        }
        let request = self.number();
        let Some(local) = self.all.get_mut(deployment) else { return Vec::new() };
        local.request = request;
        if let Some(state) = local.supervision.state() {
            state.knows(&target, plan);
        }
        let wanted = if is_launch { Request::Apply(target) } else { Request::Propose(target) };
        self.input(deployment, Input::Request(request, wanted))
    }

    /// A supervisor of a deployment, if there is none yet.
    fn make(&mut self, deployment: &str) -> Result<(), Failure> {
        if !self.all.contains_key(deployment) {
            let local = self.new_local(deployment)?;
            self.all.insert(deployment.to_owned(), local);
        }
        Ok(())
    }

    fn new_local(&self, deployment: &str) -> Result<Local, Failure> {
        let (ask, name) = (self.tell.clone(), deployment.to_owned());
        let hand_on = move |asked| ask.send(Event::Asked(name.clone(), asked)).is_ok();
        let listening = control::listen(&control::socket(deployment)?, hand_on)?;
        let (host, name) = (Some(self.host.clone()), deployment.to_owned());
        let wrap = move |happening| Event::Child(name.clone(), happening);
        let outliving = Outliving {
            state: self.states.file(deployment),
            sockets: self.states.sockets(deployment),
            signers: self.hosting.signers.clone(),
            lease: self.hosting.lease,
        };
        let supervision = Supervision::new(deployment.to_owned(), host, Some(outliving), &self.tell, wrap);
        Ok(Local { supervision, listening: Some(listening), request: 0, asked: BTreeMap::new() })
    }

    pub(super) fn proceed(
        &mut self,
        deployment: &str,
        until: Stage,
        published: Vec<Position>,
    ) -> Vec<NodeInput> {
        self.tell(&format!("{deployment}: {until}"));
        let Some(local) = self.all.get(deployment) else { return Vec::new() };
        let to = |phase| Input::Proceed(local.request, phase);
        let input = match until {
            Stage::Examine | Stage::PreparePlan => to(Phase::PreparePlan),
            Stage::Quiesce(round) => Input::ProceedQuiescing(local.request, round, published),
            Stage::Passivate => to(Phase::Passivate),
            Stage::StartLaunch => to(Phase::StartLaunch),
            Stage::FinishLaunch => to(Phase::FinishLaunch),
        };
        self.input(deployment, input)
    }

    pub(super) fn decide(&mut self, deployment: &str, holds: bool) -> Vec<NodeInput> {
        self.tell(&format!("{deployment}: the change {}", if holds { "holds" } else { "is taken back" }));
        let Some(local) = self.all.get(deployment) else { return Vec::new() };
        let request = local.request;
        self.input(deployment, Input::Decide(request, holds))
    }

    /// Ends a deployment.
    pub(super) fn stop(&mut self, deployment: &str) -> Vec<NodeInput> {
        if !self.all.contains_key(deployment) {
            return stopped(deployment);
        }
        let number = self.number();
        self.input(deployment, Input::Request(number, Request::Stop))
    }

    /// Ends all deployments: in reverse order, or at once.
    pub(super) fn end(&mut self, at_once: bool) {
        let names: Vec<String> = self.all.keys().cloned().collect();
        for name in names {
            let number = self.number();
            let request = if at_once { Request::Kill } else { Request::Stop };
            self.input(&name, Input::Request(number, request));
        }
    }

    /// The manager asks for the state of a deployment.
    pub(super) fn ask(&mut self, deployment: &str, question: u64) -> Vec<NodeInput> {
        self.inquire(deployment, Asker::Manager(question))
    }

    /// A command on this host asks.
    pub(super) fn asked(&mut self, deployment: &str, Asked { control, answer }: Asked) -> Vec<NodeInput> {
        match control {
            Control::Status => self.inquire(deployment, Asker::Command(answer)),
            Control::Stop
            | Control::Apply { .. }
            | Control::Mode { .. }
            | Control::Suspend { .. }
            | Control::Resume { .. } => {
                let manager = &self.manager;
                let what = format!(
                    "the execution manager at {manager} leads this deployment: add --manager {manager} and --keys to the command"
                );
                let _ = answer.send(ControlAnswer::Refused { what });
                Vec::new()
            }
        }
    }

    fn inquire(&mut self, deployment: &str, asker: Asker) -> Vec<NodeInput> {
        let number = self.number();
        let Some(local) = self.all.get_mut(deployment) else { return Vec::new() };
        local.asked.insert(number, asker);
        self.input(deployment, Input::Request(number, Request::Status))
    }

    /// A process did something.
    pub(super) fn happens(
        &mut self,
        deployment: &str,
        happening: crate::children::Happening,
    ) -> Vec<NodeInput> {
        let told = self.all.get_mut(deployment).map(|local| local.supervision.happens(happening));
        self.told(deployment, told.unwrap_or_default())
    }

    /// Time has passed.
    pub(super) fn tick(&mut self) -> Vec<NodeInput> {
        let due = self.all.iter().filter(|(_, it)| it.supervision.wait().is_some_and(|wait| wait.is_zero()));
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        let mut inputs = Vec::new();
        for name in due {
            let told = self.all.get_mut(&name).map(|local| local.supervision.tick());
            inputs.extend(self.told(&name, told.unwrap_or_default()));
        }
        inputs
    }

    fn input(&mut self, deployment: &str, input: Input) -> Vec<NodeInput> {
        let told = self.all.get_mut(deployment).map(|local| local.supervision.input(input));
        self.told(deployment, told.unwrap_or_default())
    }

    /// What a supervisor has to say, as the node manager understands it.
    fn told(&mut self, deployment: &str, told: Vec<Told>) -> Vec<NodeInput> {
        let mut inputs = Vec::new();
        for told in told {
            match told {
                Told::Line(text) => self.tell(&format!("{deployment}: {text}")),
                Told::Reached(phase) => {
                    let stage = match phase {
                        Phase::PreparePlan | Phase::Quiesce => Stage::PreparePlan,
                        Phase::Passivate => Stage::Passivate,
                        Phase::StartLaunch => Stage::StartLaunch,
                        Phase::FinishLaunch | Phase::HandOver | Phase::Start => Stage::FinishLaunch,
                    };
                    inputs.push(self.reached(deployment, stage, Vec::new()));
                }
                Told::Quiesced(round, published) => {
                    inputs.push(self.reached(deployment, Stage::Quiesce(round), published));
                }
                Told::Finished(number, outcome) => inputs.extend(self.finished(deployment, number, *outcome)),
            }
        }
        if self.all.get(deployment).is_some_and(|local| local.supervision.supervisor().is_over()) {
            if let Some(listening) = self.all.remove(deployment).and_then(|local| local.listening) {
                listening.close();
            }
            inputs.extend(stopped(deployment));
        }
        inputs
    }

    fn reached(&self, deployment: &str, stage: Stage, published: Vec<Position>) -> NodeInput {
        let local = self.all.get(deployment);
        let rounds = local.map_or(0, |local| local.supervision.supervisor().rounds());
        NodeInput::Reached { deployment: deployment.to_owned(), stage, rounds, published }
    }

    fn finished(&mut self, deployment: &str, number: u64, outcome: Ended) -> Option<NodeInput> {
        let local = self.all.get_mut(deployment)?;
        match (local.asked.remove(&number), outcome) {
            (Some(Asker::Manager(number)), Ended::Status(status)) => {
                Some(NodeInput::Status { number, status })
            }
            (Some(Asker::Command(answer)), Ended::Status(status)) => {
                let _ = answer.send(ControlAnswer::Status(status));
                None
            }
            (None, Ended::Done(notes)) if number == local.request => {
                Some(ended(deployment, Outcome::Holds(notes)))
            }
            (None, Ended::Refused(why)) if number == local.request => {
                Some(ended(deployment, Outcome::Refused(why)))
            }
            _ => None,
        }
    }
}

fn ended(deployment: &str, outcome: Outcome) -> NodeInput {
    NodeInput::Ended { deployment: deployment.to_owned(), outcome }
}

fn refused(deployment: &str, why: &str) -> Vec<NodeInput> {
    vec![ended(deployment, Outcome::Refused(why.to_owned()))]
}

fn stopped(deployment: &str) -> Vec<NodeInput> {
    vec![ended(deployment, Outcome::Stopped)]
}
