//! A back-end of plain Linux routers on this machine: what the manager reserves is set up at them, by the crate `linux-edge`.
//!
//! What does not depend on the kind of device serves switches of Open vSwitch as well (`open_vswitch.rs`): when is tried again and looked, what is told.
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use linux_edge::execute::{Fault, PROGRAMS, Running};
use linux_edge::observed::Delivered;
use linux_edge::routes::PortId;
use linux_edge::{Domain, Executor, LinuxEdge};
use wan::{BackendAnswer, BackendCommand, Class, DeviceFault, Holding, LegId, Place, Text};

use crate::backend::Backend;
use crate::link_watch::Links;

/// How often what was not done is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How often routers are asked whether they hold what they should.
const LOOK: Duration = Duration::from_secs(5);

/// What is said beside each bound where there is an access.
const CAVEAT_ACCESS: &str = "queues before accesses are set up; that the accesses carry, delay and lose no more than the file says is declared";

/// The routers of a domain, and where they are on this machine.
#[derive(Clone, Debug)]
pub struct Routers {
    /// The domain.
    pub domain: Domain,
    /// The network namespace of each router, in the order of the domain; none for the one that the manager runs in.
    pub namespaces: Vec<Option<String>>,
    /// Nanoseconds from one keep-alive on each link to the next; 0: links are not looked at.
    pub keep_alive: u64,
}

impl Routers {
    /// Its links, as they are looked at.
    pub(crate) fn links(&self) -> Links<'_> {
        let (namespaces, keep_alive) = (self.namespaces.clone(), self.keep_alive);
        Links { domain: &self.domain, namespaces, keep_alive, of_switches: false }
    }

    fn executor(&self) -> Executor {
        Executor::new(self.namespaces.clone())
    }

    /// Takes away all that a manager has set up at them; interfaces and their addresses stay.
    ///
    /// # Errors
    /// The first router that has its rules still, or cannot be asked.
    pub(crate) fn clear(&self) -> Result<(), String> {
        let executor = self.executor();
        executor.remove(&self.domain);
        executor.removed().map_err(|failed| {
            let Fault { device, what } = failed.at(&self.domain);
            format!("{device} is not cleared: {what}")
        })
    }
}

/// The devices of a domain, with what they are told.
pub(crate) trait Devices: Send {
    /// What they hold.
    fn edge(&self) -> &LinuxEdge;
    /// Makes again what the system takes away with an interface of a router.
    fn routes_again(&self, router: usize, interface: &str) -> Result<(), Fault>;
    /// Carries out a command of the manager; its answer holds once this returns.
    fn handle(&mut self, command: BackendCommand) -> Result<Option<BackendAnswer>, Fault>;
    /// Carries out commands together, and tells what came of each. Nothing is done of those that have no result: they are carried out one by one.
    fn handle_together(&mut self, commands: &[BackendCommand]) -> Vec<Result<Option<BackendAnswer>, Fault>> {
        let _ = commands;
        Vec::new()
    }
    /// What devices have turned out not to hold any more: told once.
    fn lost(&mut self) -> Vec<(Holding, Fault)>;
    /// Looks whether they still hold what they should.
    fn check(&mut self) -> Result<Vec<(Holding, Fault)>, Fault>;
    /// What they have let in of each flow.
    fn delivered(&self) -> Result<BTreeMap<LegId, Delivered>, Fault>;
}

impl Devices for Running {
    fn edge(&self) -> &LinuxEdge {
        self.edge()
    }

    fn routes_again(&self, router: usize, interface: &str) -> Result<(), Fault> {
        self.routes_again(router, interface)
    }

    fn handle(&mut self, command: BackendCommand) -> Result<Option<BackendAnswer>, Fault> {
        self.handle(command)
    }

    fn handle_together(&mut self, commands: &[BackendCommand]) -> Vec<Result<Option<BackendAnswer>, Fault>> {
        self.handle_together(commands)
    }

    fn lost(&mut self) -> Vec<(Holding, Fault)> {
        self.lost()
    }

    fn check(&mut self) -> Result<Vec<(Holding, Fault)>, Fault> {
        self.check()
    }

    fn delivered(&self) -> Result<BTreeMap<LegId, Delivered>, Fault> {
        self.delivered()
    }
}

/// The back-end: of routers, or of other devices that are told in the same way.
pub struct LinuxRouters {
    running: Box<dyn Devices>,
    /// What has to be carried out until it is: by ticket.
    unfinished: BTreeMap<u64, BackendCommand>,
    looked: Instant,
    /// Links inside the domain that nothing passes, by their places.
    cut: BTreeSet<usize>,
    /// Interfaces of routers that lack what the kernel has forgotten of them, and what was told of that.
    forgotten: BTreeMap<(usize, String), Option<Fault>>,
    /// What was told last of routers that cannot be asked.
    trouble: Option<String>,
    tell: fn(&str),
}

fn fault(of: &Fault) -> DeviceFault {
    DeviceFault { device: Text::fitting(&of.device), what: Text::fitting(&of.what) }
}

fn lost((holding, of): (Holding, Fault)) -> BackendAnswer {
    BackendAnswer::Lost { holding, fault: fault(&of) }
}

impl LinuxRouters {
    /// Takes up what the routers hold already, or sets them up. `tell` is told what its operator should know.
    ///
    /// # Errors
    /// Which program is missing, or what one says.
    pub fn start(routers: &Routers, tell: fn(&str)) -> Result<Self, String> {
        let checked = system::check_packages("a domain of Linux routers", &PROGRAMS, &[]);
        checked.map_err(|error| error.to_string())?;
        let started = Running::start(routers.domain.clone(), routers.executor());
        let (running, told) = started.map_err(|error| error.to_string())?;
        told.iter().for_each(|what| tell(what));
        Ok(Self::of(Box::new(running), tell))
    }

    /// Of devices that have been started.
    pub(crate) fn of(running: Box<dyn Devices>, tell: fn(&str)) -> Self {
        Self {
            running,
            unfinished: BTreeMap::new(),
            looked: Instant::now(),
            cut: BTreeSet::new(),
            forgotten: BTreeMap::new(),
            trouble: None,
            tell,
        }
    }

    fn told(&mut self, of: &Fault) {
        let what = format!("{} is not set up: {}", of.device, of.what);
        if self.trouble.as_ref() != Some(&what) {
            (self.tell)(&what);
            self.trouble = Some(what);
        }
    }

    /// What is still to be released of a holding is released now: later that would take away what is held anew.
    fn released(&mut self, holding: Holding, answers: &mut Vec<BackendAnswer>) -> Result<(), Fault> {
        let is_of = |command: &BackendCommand| match command {
            BackendCommand::Release { holding: of, .. } => *of == holding,
            _ => false,
        };
        let releases = self.unfinished.iter().filter(|(_, command)| is_of(command));
        let releases: Vec<(u64, BackendCommand)> =
            releases.map(|(ticket, command)| (*ticket, command.clone())).collect();
        for (ticket, command) in releases {
            let answer = self.running.handle(command)?;
            self.unfinished.remove(&ticket);
            answers.extend(answer);
        }
        Ok(())
    }

    /// Puts back what the kernel has forgotten of interfaces; what cannot be put back now is tried again.
    fn put_back(&mut self) {
        for ((router, interface), told) in std::mem::take(&mut self.forgotten) {
            let Err(of) = self.running.routes_again(router, &interface) else { continue };
            if told.as_ref() != Some(&of) {
                let Fault { device, what } = &of;
                (self.tell)(&format!("routes over {interface} of {device} are not put back yet: {what}"));
            }
            self.forgotten.insert((router, interface), Some(of));
        }
    }

    /// Whether no link on the ways between two places is cut.
    fn passes(&self, from: Place, to: Place, class: Class) -> Result<(), Fault> {
        if self.cut.is_empty() {
            return Ok(());
        }
        let edge = self.running.edge();
        let ways = edge.ledger().ways(edge.domain(), from, to, class);
        let cut = ways.into_iter().flat_map(|ways| ways.ports.into_keys()).find_map(|port| match port {
            PortId::Core(link, _) if self.cut.contains(&link) => edge.domain().links.get(link),
            _ => None,
        });
        cut.map_or(Ok(()), |link| {
            let [one, other] = &link.ends;
            let device = format!("the link from {} to {}", one.interface, other.interface);
            Err(Fault { device, what: "nothing passes it".to_owned() })
        })
    }

    /// Whether links that are cut leave a way for what a command reserves; that is known already, and no trouble of a router.
    fn has_way(&self, command: &BackendCommand) -> Result<(), BackendAnswer> {
        let BackendCommand::Reserve { ticket, demand, .. } = command else { return Ok(()) };
        let passes = self.passes(demand.from, demand.to, demand.class);
        passes.map_err(|of| BackendAnswer::Failed { ticket: *ticket, fault: fault(&of) })
    }

    fn one(&mut self, command: BackendCommand, answers: &mut Vec<BackendAnswer>) {
        let anew = match &command {
            BackendCommand::Reserve { aggregate, .. } => Some(Holding::Aggregate(*aggregate)),
            BackendCommand::Open { leg, .. } => Some(Holding::Flow(*leg)),
            _ => None,
        };
        let released = anew.map_or(Ok(()), |holding| self.released(holding, answers));
        if let Err(refused) = self.has_way(&command) {
            return answers.push(refused);
        }
        let done = released.and_then(|()| self.running.handle(command.clone()));
        answers.extend(self.running.lost().into_iter().map(lost));
        self.done(command, done, answers);
    }

    /// Answers a command that was carried out, or was not.
    fn done(
        &mut self,
        command: BackendCommand,
        done: Result<Option<BackendAnswer>, Fault>,
        answers: &mut Vec<BackendAnswer>,
    ) {
        let of = match done {
            Ok(answer) => return answers.extend(answer),
            Err(of) => of,
        };
        self.told(&of);
        match command {
            BackendCommand::Release { ticket, .. } | BackendCommand::Observe { ticket } => {
                self.unfinished.insert(ticket, command);
            }
            BackendCommand::Commit { aggregate, .. } => {
                answers.push(lost((Holding::Aggregate(aggregate), of)));
            }
            BackendCommand::Offer { ticket, .. }
            | BackendCommand::Reserve { ticket, .. }
            | BackendCommand::Open { ticket, .. } => {
                answers.push(BackendAnswer::Failed { ticket, fault: fault(&of) });
            }
        }
    }
}

impl Backend for LinuxRouters {
    fn execute(&mut self, mut commands: Vec<BackendCommand>) -> Vec<BackendAnswer> {
        let mut answers = Vec::new();
        // While something is still to be released, each command has to look for what it holds anew.
        if commands.len() > 1 && self.unfinished.is_empty() {
            let mut together = Vec::new();
            for command in commands {
                match self.has_way(&command) {
                    Ok(()) => together.push(command),
                    Err(refused) => answers.push(refused),
                }
            }
            let results = self.running.handle_together(&together);
            answers.extend(self.running.lost().into_iter().map(lost));
            commands = together.split_off(results.len());
            for (command, done) in together.into_iter().zip(results) {
                self.done(command, done, &mut answers);
            }
        }
        commands.into_iter().for_each(|command| self.one(command, &mut answers));
        answers
    }

    fn again(&mut self) -> Vec<BackendAnswer> {
        self.put_back();
        let mut answers = Vec::new();
        for (_, command) in std::mem::take(&mut self.unfinished) {
            self.one(command, &mut answers);
        }
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            match self.running.check() {
                Ok(gone) => {
                    gone.iter().for_each(|(_, of)| self.told(of));
                    answers.extend(gone.into_iter().map(lost));
                    if self.unfinished.is_empty() {
                        self.trouble = None;
                    }
                }
                Err(of) => {
                    self.told(&of);
                    answers.extend(self.running.lost().into_iter().map(lost));
                }
            }
        }
        answers
    }

    fn link(&mut self, link: usize, is_up: bool) -> Vec<BackendAnswer> {
        if is_up {
            self.cut.remove(&link);
            return Vec::new();
        }
        self.cut.insert(link);
        let edge = self.running.edge();
        let aggregates = edge.holdings().into_iter().filter_map(|holding| match holding {
            Holding::Aggregate(id) => edge.ledger().held(id).map(|held| (id, held.demand)),
            Holding::Flow(_) => None,
        });
        let lost = aggregates.filter_map(|(id, demand)| {
            let of = self.passes(demand.from, demand.to, demand.class).err()?;
            Some(lost((Holding::Aggregate(id), of)))
        });
        lost.collect()
    }

    fn interface_again(&mut self, router: usize, interface: &str) {
        self.forgotten.entry((router, interface.to_owned())).or_default();
    }

    fn delivered(&mut self) -> Option<BTreeMap<LegId, Delivered>> {
        match self.running.delivered() {
            Ok(delivered) => Some(delivered),
            Err(of) => {
                self.told(&of);
                None
            }
        }
    }

    fn every(&self) -> Option<Duration> {
        Some(AGAIN)
    }

    fn caveat(&self) -> Option<&'static str> {
        self.running.edge().domain().has_access().then_some(CAVEAT_ACCESS)
    }
}
