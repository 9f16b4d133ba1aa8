//! A component server: does what it is told, and takes it back if the change does not come about.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use assembly::Plan;
use diagnostics::Source;

use crate::again::Again;
use crate::hand_over::{Frozen, HandedOver, MOST_STATE, Position};
use crate::part::{Carrier, ContainerPart, Half, Part};
use crate::protocol::{Answer, Instruction, Order, Phase};
use crate::work::{Executor, Performed, Work};

/// How many nanoseconds a process that is handed over waits for the end of an interval of a component.
const INTERVALS: u64 = 5_000_000_000;

/// A component server, from its first plan on.
#[derive(Debug)]
pub struct ComponentServer<E> {
    pub(crate) executor: E,
    /// Which process of the plan it is.
    process: String,
    /// The part of the plan that is in force.
    pub(crate) part: Part,
    change: Option<Change>,
    /// A change has held.
    has_part: bool,
    /// The last change that ended, and how.
    last: Option<(u64, Answer)>,
    /// Components that have failed.
    again: Again,
    is_stopped: bool,
}

/// A change that is under way.
#[derive(Debug)]
pub(crate) struct Change {
    epoch: u64,
    /// The part of the plan that the change leads to.
    part: Part,
    prepared: Answer,
    /// The number of the next instruction.
    next: u32,
    /// What is measured is that of the next plan, as far as it came to that.
    has_followed: bool,
    /// The work that undoes the change; its last piece is done first.
    undo: Vec<Work>,
    /// Components and containers that were taken out.
    taken: Vec<Work>,
    /// Components that were made with their settings.
    installed: BTreeSet<String>,
    /// What was handed over in each part: it is told again to those that ask again.
    handed: BTreeMap<u32, HandedOver>,
    failed: Option<Answer>,
}

impl Change {
    /// Notes what takes a piece of the change back.
    pub(crate) fn undo(&mut self, work: Work) {
        self.undo.push(work);
    }

    /// Notes what ends with the decision.
    pub(crate) fn end(&mut self, work: Work) {
        self.taken.push(work);
    }

    /// Hands something over with the part that is under way.
    pub(crate) fn hand(&mut self, handed: HandedOver) {
        self.handed.entry(self.next.saturating_sub(1)).or_default().extend(handed);
    }
}

impl<E: Executor> ComponentServer<E> {
    /// A server without components.
    pub fn new(executor: E) -> Self {
        Self {
            executor,
            process: String::new(),
            part: Part::default(),
            has_part: false,
            change: None,
            last: None,
            again: Again::default(),
            is_stopped: false,
        }
    }

    /// The executor of the work.
    pub const fn executor(&self) -> &E {
        &self.executor
    }

    /// The same, to be changed.
    pub const fn executor_mut(&mut self) -> &mut E {
        &mut self.executor
    }

    /// Whether it was told to stop, and has.
    pub const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// What it is, for a supervisor that adopts it. `pid` is its process id.
    pub fn present(&self, pid: u32) -> Answer {
        let (last, change) =
            (self.last.as_ref().map(|(epoch, _)| *epoch), self.change.as_ref().map(|it| it.epoch));
        Answer::Present { process: self.process.clone(), pid, last, change }
    }

    /// Whether it goes on without a supervisor: it has a part of a plan, or a change is under way of which another supervisor says what becomes.
    pub const fn outlives_supervisor(&self) -> bool {
        !self.is_stopped && (self.has_part || self.change.is_some())
    }

    /// Time has passed, in picoseconds: components that have failed are made anew, as the plan says. That waits for the end of a change.
    pub fn tick(&mut self, now: u64) -> Vec<Answer> {
        if self.is_stopped || self.change.is_some() {
            return Vec::new();
        }
        self.again.tick(now, &self.part, &mut self.executor)
    }

    /// When [`ComponentServer::tick`] is to be called next, besides regularly: nothing else tells that a component has failed.
    pub fn next_tick(&self) -> Option<u64> {
        self.again.next_tick().filter(|_| !self.is_stopped && self.change.is_none())
    }

    /// Does what it is told.
    pub fn handle(&mut self, instruction: Instruction) -> Vec<Answer> {
        if self.is_stopped {
            return vec![Answer::Stopped];
        }
        match instruction {
            Instruction::PreparePlan { epoch, process, plan } => vec![self.prepare(epoch, &process, &plan)],
            Instruction::Perform { epoch, number, phase, orders } => {
                vec![self.perform(epoch, number, phase, &orders)]
            }
            Instruction::Commit { epoch } => self.commit(epoch),
            Instruction::Abort { epoch } => vec![self.abort(epoch)],
            Instruction::Status { number } => {
                let mut components = self.executor.status();
                self.again.tell(&mut components);
                let chains = self.executor.chains();
                let (gateway, refused) = (self.executor.gateway(), self.executor.refused());
                vec![Answer::Status { number, components, chains, gateway, refused }]
            }
            Instruction::Stop => self.stop(),
        }
    }

    /// Ends everything in reverse order, as when there is no supervisor any more.
    pub fn stop(&mut self) -> Vec<Answer> {
        if self.is_stopped {
            return Vec::new();
        }
        self.is_stopped = true;
        self.change = None;
        let mut answers: Vec<Answer> =
            self.executor.stop().into_iter().map(|what| Answer::Report { what }).collect();
        answers.push(Answer::Stopped);
        answers
    }

    /// The answer about a change that has ended, or that is not the one under way.
    fn ended(&self, epoch: u64) -> Answer {
        match &self.last {
            Some((last, answer)) if *last == epoch => answer.clone(),
            _ => Answer::Failed {
                epoch,
                what: format!("change {epoch} is not under way here: prepare it first"),
            },
        }
    }

    fn prepare(&mut self, epoch: u64, process: &str, text: &str) -> Answer {
        if let Some(change) = &self.change {
            if change.epoch == epoch {
                return change.prepared.clone();
            }
            let what = format!("change {} is under way: commit or abort it first", change.epoch);
            return Answer::Failed { epoch, what };
        }
        if self.last.as_ref().is_some_and(|(last, _)| epoch <= *last) {
            return self.ended(epoch);
        }
        let failed = |what: String| Answer::Failed { epoch, what };
        let source = Source { file: "the plan", text };
        let plan = match Plan::read(source) {
            Ok((plan, _)) => plan,
            Err(problems) => {
                let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
                return failed(all.join("; "));
            }
        };
        let (part, troubles) = Part::of(&plan, process, self.executor.types());
        if let Some(trouble) = troubles.iter().find(|trouble| !trouble.is_warning) {
            return failed(format!("{}: {}; {}", trouble.path, trouble.what, trouble.remedy));
        }
        let warnings = match self.executor.check(&part) {
            Ok(warnings) => warnings,
            Err(what) => return failed(what),
        };
        let prepared = Answer::Prepared { epoch, warnings };
        self.process = process.to_string();
        self.change = Some(Change {
            epoch,
            part,
            prepared: prepared.clone(),
            next: 0,
            has_followed: false,
            undo: Vec::new(),
            taken: Vec::new(),
            installed: BTreeSet::new(),
            handed: BTreeMap::new(),
            failed: None,
        });
        prepared
    }

    fn perform(&mut self, epoch: u64, number: u32, phase: Phase, orders: &[Order]) -> Answer {
        let Some(mut change) = self.change.take_if(|change| change.epoch == epoch) else {
            return self.ended(epoch);
        };
        if let Some(failed) = &change.failed {
            let failed = failed.clone();
            self.change = Some(change);
            return failed;
        }
        let done = match number.cmp(&change.next) {
            // It was told twice.
            core::cmp::Ordering::Less => Ok(()),
            core::cmp::Ordering::Greater => {
                Err(format!("part {number} of change {epoch} came before part {}", change.next))
            }
            core::cmp::Ordering::Equal => {
                change.next = change.next.saturating_add(1);
                // A process that is handed over stays as it is.
                let is_of_former = phase == Phase::Quiesce || orders.first().is_some_and(Order::is_of_former);
                let follows = !change.has_followed && !is_of_former;
                change.has_followed |= follows;
                let begun = self.limit(orders);
                let begun = begun.and_then(|()| if follows { self.follow(&mut change) } else { Ok(()) });
                begun.and_then(|()| orders.iter().try_for_each(|order| self.order(&mut change, order)))
            }
        };
        let answer = match done {
            Ok(()) => Answer::Done { epoch, number, handed: change.handed.get(&number).cloned() },
            Err(what) => {
                let failed = Answer::Failed { epoch, what };
                change.failed = Some(failed.clone());
                failed
            }
        };
        self.change = Some(change);
        answer
    }

    fn order(&mut self, change: &mut Change, order: &Order) -> Result<(), String> {
        let unknown = |name: &str| format!("the process has no {name} in its plan");
        match order {
            Order::Passivate(name) => {
                // What leaves with its mode begins anew if the change is taken back: what waited for it would come at once, and faster than proofs count.
                let leaves = change.part.components.get(name).is_some_and(|component| !component.is_active);
                let undo = if leaves { Work::ActivateAnew } else { Work::Activate };
                self.work(change, Work::Passivate(name.clone()), undo(name.clone()))
            }
            Order::Disconnect(name) => {
                for half in self.part.connections.get(name).cloned().unwrap_or_default().into_iter().rev() {
                    self.disconnect(change, half)?;
                }
                Ok(())
            }
            Order::Remove(name) => {
                let part = self.part.components.get(name).cloned().ok_or_else(|| unknown(name))?;
                for half in part.own.into_iter().rev() {
                    self.disconnect(change, half)?;
                }
                self.work(change, Work::Take(name.clone()), Work::Return(name.clone()))?;
                change.taken.push(Work::End(name.clone()));
                Ok(())
            }
            Order::RemoveContainer(name) => {
                self.work(change, Work::TakeContainer(name.clone()), Work::ReturnContainer(name.clone()))?;
                change.taken.push(Work::EndContainer(name.clone()));
                Ok(())
            }
            Order::AddContainer(name) => {
                let part = change.part.containers.get(name).cloned().ok_or_else(|| unknown(name))?;
                self.work(change, Work::AddContainer(name.clone(), part), Work::RemoveContainer(name.clone()))
            }
            Order::Install(name) => {
                let part = change.part.components.get(name).cloned().ok_or_else(|| unknown(name))?;
                if part.container.is_empty() {
                    let unnamed = Work::AddContainer(String::new(), ContainerPart::default());
                    self.work(change, unnamed, Work::RemoveContainer(String::new()))?;
                }
                let own = part.own.clone();
                self.work(change, Work::Install(name.clone(), part), Work::Uninstall(name.clone()))?;
                change.installed.insert(name.clone());
                own.into_iter().try_for_each(|half| self.connect(change, half))
            }
            // It was made with its settings.
            Order::Set(name, _) if change.installed.contains(name) => Ok(()),
            Order::Set(name, setting) => {
                let part = change.part.components.get(name).ok_or_else(|| unknown(name))?;
                let value = part.settings.get(setting).cloned();
                let work = Work::Set(name.clone(), setting.clone(), value);
                if let Performed::Was(value) = self.executor.perform(&work)? {
                    change.undo.push(Work::Set(name.clone(), setting.clone(), Some(value)));
                }
                Ok(())
            }
            Order::Connect(name) => {
                let halves = change.part.connections.get(name).cloned().unwrap_or_default();
                halves.into_iter().try_for_each(|half| self.connect(change, half))
            }
            Order::Configured(name) => self.executor.perform(&Work::Configured(name.clone())).map(drop),
            Order::Activate(name) => {
                // What has rested since a change before has missed what came.
                let begins =
                    change.installed.contains(name) || change.undo.contains(&Work::Activate(name.clone()));
                let work = if begins { Work::Activate } else { Work::ActivateAnew };
                self.work(change, work(name.clone()), Work::Passivate(name.clone()))
            }
            Order::Resume(name) => {
                let again = Work::Activate(name.clone());
                if !change.undo.contains(&again) {
                    return Ok(());
                }
                self.work(change, again, Work::Passivate(name.clone()))
            }
            Order::Hold => self.work(change, Work::Hold, Work::Release(Vec::new())),
            Order::TellMatched => {
                let Performed::Matched(matches) = self.executor.perform(&Work::Matches)? else {
                    return Ok(());
                };
                change.hand(HandedOver { matches, ..HandedOver::default() });
                Ok(())
            }
            Order::AwaitMatched(matches) => {
                let awaited = self.executor.perform(&Work::AwaitMatches(matches.clone()))?;
                if let Performed::Positions(starts) = awaited {
                    change.hand(HandedOver { starts, ..HandedOver::default() });
                }
                Ok(())
            }
            Order::HandOver(names, starts) => self.hand_over(change, names, starts),
            Order::TakeOver(states) => states.iter().try_for_each(|of| {
                self.executor.perform(&Work::Thaw(of.component.clone(), of.state.clone())).map(drop)
            }),
            Order::TellPublished(connections) => self.tell_published(change, connections),
            Order::Finish { connections, published, .. } => self.finish(connections, published),
            Order::EndInterval { component, is_last, .. } => self.end_interval(change, component, *is_last),
            Order::SetAside(ports) => self.set_aside(change, ports),
            Order::Acknowledge { .. } => self.executor.perform(&Work::Acknowledged).map(drop),
            Order::Release(positions) => self.executor.perform(&Work::Release(positions.clone())).map(drop),
        }
    }

    /// Everything comes to rest, in this order, and the state of each component is told. If the change is taken back, it goes on from there.
    fn hand_over(
        &mut self,
        change: &mut Change,
        names: &[String],
        starts: &[Position],
    ) -> Result<(), String> {
        self.executor.perform(&Work::CatchUp(starts.to_vec()))?;
        self.work(change, Work::Hold, Work::Release(Vec::new()))?;
        for name in names {
            // What waits for a component of another mode waits for nothing; one that rests since a phase before has handled all.
            let part = self.part.components.get(name).filter(|component| component.is_active);
            if let Some(part) = part.filter(|_| !change.undo.contains(&Work::Activate(name.clone()))) {
                if part.has_instants() {
                    self.executor.perform(&Work::Within(INTERVALS))?;
                    self.end_interval(change, name, true)?;
                }
                self.executor.perform(&Work::Drain(name.clone()))?;
            }
            self.work(change, Work::Passivate(name.clone()), Work::Activate(name.clone()))?;
        }
        self.executor.perform(&Work::Settle)?;
        let mut handed = HandedOver::default();
        let mut bytes = 0;
        for name in names {
            let Performed::Frozen(state) = self.executor.perform(&Work::Freeze(name.clone()))? else {
                continue;
            };
            bytes += state.len();
            handed.states.push(Frozen { component: name.clone(), state });
        }
        if bytes > MOST_STATE {
            return Err(format!(
                "the states of its components have {bytes} bytes, and {MOST_STATE} are the most"
            ));
        }
        if let Performed::Positions(positions) = self.executor.perform(&Work::Positions)? {
            handed.positions = positions;
        }
        change.hand(handed);
        Ok(())
    }

    /// Lets the chains of the next plan be measured, with what that needs of the host, and has its gateway. What these chains pass, and those before
    /// have passed, is connected anew, and so is what goes by a gateway that is another one.
    fn follow(&mut self, change: &mut Change) -> Result<(), String> {
        let (watches, will_watch) = (self.part.host_watch(), change.part.host_watch());
        if watches != will_watch {
            self.work(change, Work::Watch(will_watch), Work::Watch(watches))?;
        }
        let (has, wants) = (self.part.gateway.clone(), change.part.gateway.clone());
        if wants.is_none() && has.is_some() {
            // Ends by it are there until the plan takes them apart.
            change.taken.push(Work::Gateway(None));
        }
        let is_other_gateway = wants.is_some() && has != wants;
        if self.part.chains == change.part.chains && !is_other_gateway {
            return Ok(());
        }
        let retraced = self.part.retraced(&change.part);
        let by_gateway = |half: &Half| is_other_gateway && matches!(half.carrier, Carrier::Gateway { .. });
        // A join and a timer are there before what leads to what they keep.
        let own = self.part.components.values().flat_map(|component| &component.own);
        let halves = own.chain(self.part.connections.values().flatten());
        let is_made_anew = |half: &&Half| retraced.contains(&*half.name) || by_gateway(half);
        let anew: Vec<Half> = halves.filter(is_made_anew).cloned().collect();
        for half in anew.iter().rev() {
            self.disconnect(change, half.clone())?;
        }
        if self.part.chains != change.part.chains {
            let (next, before) = (change.part.chains.clone(), self.part.chains.clone());
            self.work(change, Work::Follow(next), Work::Follow(before))?;
        }
        if is_other_gateway {
            self.work(change, Work::Gateway(wants), Work::Gateway(has))?;
        }
        anew.into_iter().try_for_each(|half| self.connect(change, half))
    }

    fn connect(&mut self, change: &mut Change, half: Half) -> Result<(), String> {
        let undo = Work::Disconnect(half.name.clone());
        self.work(change, Work::Connect(half), undo)
    }

    fn disconnect(&mut self, change: &mut Change, half: Half) -> Result<(), String> {
        self.work(change, Work::Disconnect(half.name.clone()), Work::Connect(half))
    }

    /// Does something, and notes what takes it back.
    fn work(&mut self, change: &mut Change, work: Work, undo: Work) -> Result<(), String> {
        if self.executor.perform(&work)? != Performed::Unchanged {
            change.undo.push(undo);
        }
        Ok(())
    }

    fn commit(&mut self, epoch: u64) -> Vec<Answer> {
        let Some(mut change) = self.change.take_if(|change| change.epoch == epoch) else {
            return vec![self.ended(epoch)];
        };
        if let Some(failed) = &change.failed {
            let failed = failed.clone();
            self.change = Some(change);
            return vec![failed];
        }
        let mut answers = Vec::new();
        for work in core::mem::take(&mut change.taken) {
            // It is gone in any case.
            if let Err(what) = self.executor.perform(&work) {
                answers.push(Answer::Report { what });
            }
        }
        (self.part, self.has_part) = (change.part, true);
        self.again.keep(&self.part, &change.installed);
        let committed = Answer::Committed { epoch };
        self.last = Some((epoch, committed.clone()));
        answers.push(committed);
        answers
    }

    fn abort(&mut self, epoch: u64) -> Answer {
        let Some(change) = self.change.take_if(|change| change.epoch == epoch) else {
            let is_new = self.last.as_ref().is_none_or(|(last, _)| epoch > *last);
            if is_new && self.change.is_none() {
                // A change that was never prepared counts as aborted, so that it is not prepared later.
                self.last = Some((epoch, Answer::Aborted { epoch }));
            }
            return self.ended(epoch);
        };
        let mut broken = None;
        for work in change.undo.iter().rev() {
            if let Err(what) = self.executor.perform(work) {
                broken = broken.or(Some(what));
            }
        }
        let answer = match broken {
            None => Answer::Aborted { epoch },
            Some(what) => Answer::Broken { epoch, what },
        };
        self.last = Some((epoch, answer.clone()));
        answer
    }
}
