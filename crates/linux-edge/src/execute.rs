//! Carries out programs at routers of this machine, by the programs `ip`, `tc`, `nft` and `sysctl`.
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use system::{Error, finish, program};
use wan::{BackendAnswer, BackendCommand, Holding, LegId};

use crate::backend::{Decided, LinuxEdge};
use crate::colouring::{self, Contracts};
use crate::demotion::{ContractBytes, KeyBytes};
use crate::domain::Domain;
use crate::entry::ends_record;
use crate::observed::{Delivered, Observed};
use crate::program::{Program, Step, TABLE};
use crate::setup::{mark, removal, routes_again, setup};
use crate::together::Together;

/// Programs that are needed, and the Debian packages that bring them.
pub const PROGRAMS: [(&str, &str); 5] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nft", "nftables"),
    ("sysctl", "procps"),
    ("nsenter", "util-linux"),
];

/// Where namespaces have their names.
const NAMESPACES: &str = "/run/netns";

/// The routers of a domain on this machine, in the order of its description.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The network namespace of each; none for the one that this process is in.
    namespaces: Vec<Option<String>>,
}

/// What a router did not do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The router, by its name, or `the flow` if it is at none.
    pub device: String,
    /// What was wrong.
    pub what: String,
}

/// A program that failed.
#[derive(Debug)]
pub struct Failed {
    /// At which router.
    pub router: usize,
    /// What it says.
    pub error: Error,
}

impl Failed {
    /// With the name of the router.
    pub fn at(&self, domain: &Domain) -> Fault {
        let router = domain.routers.get(self.router);
        let device = router.map_or_else(|| format!("router {}", self.router), |router| router.name.clone());
        // What the program said; how it was called is of no use to who hears of it.
        let said = &self.error.what;
        let said = said.split_once(": ").map_or(said.as_str(), |(_, said)| said);
        Fault { device, what: said.split_whitespace().collect::<Vec<_>>().join(" ") }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// A back-end with its routers.
#[derive(Debug)]
pub struct Running {
    edge: LinuxEdge,
    executor: Executor,
    /// What routers hold is not known since this happened.
    unknown: Option<Fault>,
    /// What routers do not hold any more, and is not told yet.
    lost: Vec<(Holding, Fault)>,
}

/// Steps that one program carries out together.
enum Group<'a> {
    Lines(&'static [&'static str], String),
    Transaction(Vec<&'a Value>),
    Settings(Vec<String>),
    Colouring(Vec<&'a str>),
    Colours(Vec<(&'a str, &'a KeyBytes, Option<&'a ContractBytes>)>),
}

impl Executor {
    /// Of routers in these namespaces.
    pub fn new(namespaces: Vec<Option<String>>) -> Self {
        Self { namespaces }
    }

    fn command(&self, router: usize, name: &str) -> Result<std::process::Command, Error> {
        let missing = || Error::new(format!("router {router} is not on this machine"), "");
        match self.namespaces.get(router).ok_or_else(missing)? {
            None => Ok(program(name)),
            Some(namespace) => {
                let mut command = program("nsenter");
                command.arg(format!("--net={NAMESPACES}/{namespace}")).arg("--").arg(name);
                Ok(command)
            }
        }
    }

    /// Carries out programs in order.
    ///
    /// # Errors
    /// What the first step that failed says; the steps before it are done.
    pub fn apply(&self, programs: &[Program]) -> Result<(), Failed> {
        let mut rest = programs;
        while let Some(first) = rest.first() {
            let same = |program: &&Program| {
                program.router == first.router
                    && match (&program.step, &first.step) {
                        (Step::Ip(one, _), Step::Ip(other, _)) => one == other,
                        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
                    }
            };
            let count = rest.iter().take_while(same).count();
            let (together, others) = rest.split_at(count);
            self.run(first.router, &group(together))
                .map_err(|error| Failed { router: first.router, error })?;
            rest = others;
        }
        Ok(())
    }

    /// Carries out as much of it as can be: for what may be gone already.
    fn apply_all(&self, programs: &[Program]) -> Vec<Failed> {
        programs.iter().filter_map(|program| self.apply(std::slice::from_ref(program)).err()).collect()
    }

    /// Takes away as much of it as can be. What says that it is held goes only if nothing else of it is left.
    fn take_away(&self, programs: &[Program]) {
        let (records, others): (Vec<Program>, Vec<Program>) = programs.iter().cloned().partition(ends_record);
        if self.apply_all(&others).iter().all(|failed| is_gone(&failed.error)) {
            drop(self.apply_all(&records));
        }
    }

    fn run(&self, router: usize, group: &Group<'_>) -> Result<(), Error> {
        match group {
            Group::Lines(words, lines) => {
                let mut command = self.command(router, words.first().copied().unwrap_or_default())?;
                finish(command.args(words.iter().skip(1)).args(["-batch", "-"]), Some(lines)).map(drop)
            }
            Group::Transaction(commands) => {
                let mut command = self.command(router, "nft")?;
                let document = json!({ "nftables": commands }).to_string();
                finish(command.args(["-j", "-f", "-"]), Some(&document)).map(drop)
            }
            Group::Settings(settings) => {
                let mut command = self.command(router, "sysctl")?;
                finish(command.arg("-qw").args(settings), None).map(drop)
            }
            Group::Colouring(interfaces) => colouring::attach(interfaces, || self.command(router, "tc")),
            Group::Colours(changes) => {
                let mut found = BTreeMap::new();
                for (interface, key, contract) in changes {
                    let contracts = match found.entry(*interface) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => {
                            new.insert(Contracts::at(interface, &mut self.command(router, "tc")?)?)
                        }
                    };
                    contracts.set(key, *contract)?;
                }
                Ok(())
            }
        }
    }

    /// Sets up all routers of a domain, which have their interfaces already.
    ///
    /// # Errors
    /// What the first step that failed says.
    pub fn set_up(&self, domain: &Domain) -> Result<(), Error> {
        Ok(self.apply(&setup(domain))?)
    }

    /// Takes away all that was put there. What is not there is no error.
    pub fn remove(&self, domain: &Domain) {
        drop(self.apply_all(&removal(domain)));
    }

    /// Looks whether no router has a table any more.
    ///
    /// # Errors
    /// The first one that has, or cannot be asked.
    pub fn removed(&self) -> Result<(), Failed> {
        for router in 0..self.namespaces.len() {
            if self.table(router)?.is_some() {
                let error = Error::new(format!("nft: table {TABLE} is still there"), "");
                return Err(Failed { router, error });
            }
        }
        Ok(())
    }

    /// The table of a router as `nft` lists it; `None` if it has none.
    fn table(&self, router: usize) -> Result<Option<Value>, Failed> {
        let failed = |error: Error| Failed { router, error };
        let mut command = self.command(router, "nft").map_err(failed)?;
        match finish(command.args(["-j", "-n", "list", "table", "inet", TABLE]), None) {
            Ok(text) => {
                let wrong = |error: serde_json::Error| {
                    failed(Error::new(format!("nft: {error}"), "nft 1.0 is needed"))
                };
                serde_json::from_str(&text).map(Some).map_err(wrong)
            }
            // A namespace that is not there is told in other words.
            Err(error) if error.what.contains("Error: No such file") => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// What the routers hold; `None` if one of them is not set up.
    ///
    /// # Errors
    /// What `nft` says.
    pub fn observe(&self) -> Result<Option<Observed>, Failed> {
        let mut listings = Vec::new();
        for router in 0..self.namespaces.len() {
            match self.table(router)? {
                Some(listing) => listings.push(listing),
                None => return Ok(None),
            }
        }
        Ok(Some(Observed::read(&listings)))
    }
}

impl Running {
    /// Takes up what the routers hold, or sets them up if they are not, or are by another description; and what is told about that.
    ///
    /// # Errors
    /// What is wrong with the description, or what a program says.
    pub fn start(domain: Domain, executor: Executor) -> Result<(Self, Vec<String>), Error> {
        let wrong = |what: String| Error::new(what, "correct the description of the domain");
        domain.check().map_err(wrong)?;
        let mut told = Vec::new();
        let mut restored = None;
        if let Some(observed) = executor.observe()? {
            let (own, mut ones) = (mark(&domain), observed.marks.iter());
            let is_of_this = observed.marks.len() == domain.routers.len() && ones.all(|one| *one == own);
            if is_of_this {
                let (edge, misfits) = LinuxEdge::restored(domain.clone(), &observed).map_err(wrong)?;
                restored = misfits.is_empty().then_some(edge);
                told = misfits;
            } else {
                told.push("routers were set up by another description, or not to the end".to_owned());
            }
            if restored.is_none() {
                told.push("all routers are set up anew, and hold nothing at first".to_owned());
            }
        }
        let edge = match restored {
            Some(edge) => edge,
            None => {
                executor.remove(&domain);
                executor.set_up(&domain)?;
                LinuxEdge::new(domain).map_err(wrong)?
            }
        };
        Ok((Self { edge, executor, unknown: None, lost: Vec::new() }, told))
    }

    /// What it holds.
    pub fn edge(&self) -> &LinuxEdge {
        &self.edge
    }

    /// Carries out a command of the manager; its answer holds once this returns.
    ///
    /// # Errors
    /// Why it was not done. What was done of it is taken back; a release is to be tried again.
    pub fn handle(&mut self, command: BackendCommand) -> Result<Option<BackendAnswer>, Fault> {
        self.know()?;
        let before = match &command {
            BackendCommand::Offer { .. } | BackendCommand::Observe { .. } => BTreeSet::new(),
            _ => self.edge.holdings(),
        };
        let handled = self.edge.handle(command);
        if let Err(failed) = self.executor.apply(&handled.programs) {
            let fault = self.fault(&failed);
            if handled.undo.is_empty() {
                // A release: whatever of it can be done.
                self.executor.take_away(&handled.programs);
            } else {
                self.executor.apply_all(&handled.undo);
            }
            // What is to be released is not lost.
            let before = before.intersection(&self.edge.holdings()).copied().collect();
            // What was done of it and what was not, the routers know.
            self.unknown = Some(fault.clone());
            let _ = self.look(&before, &fault);
            return Err(fault);
        }
        match handled.trouble {
            Some(what) => Err(Fault { device: "the flow".to_owned(), what }),
            None => Ok(handled.answer),
        }
    }

    /// Carries out several commands of the manager, and tells what came of each. Where a router does not do what it is told, nothing is done of
    /// the commands that have no result: they are to be carried out one by one, which shows the one that it refuses.
    pub fn handle_together(
        &mut self,
        commands: &[BackendCommand],
    ) -> Vec<Result<Option<BackendAnswer>, Fault>> {
        let mut done = Vec::new();
        while let Some(rest) = commands.get(done.len()..).filter(|rest| !rest.is_empty()) {
            if self.know().is_err() {
                break;
            }
            let before = self.edge.holdings();
            let Together { decided, programs, undo, released } = self.edge.together(rest);
            if let Err(failed) = self.executor.apply(&programs) {
                let fault = self.fault(&failed);
                self.executor.apply_all(&undo);
                self.executor.take_away(&released);
                // What is to be released is not lost.
                let before = before.intersection(&self.edge.holdings()).copied().collect();
                self.unknown = Some(fault.clone());
                let _ = self.look(&before, &fault);
                break;
            }
            let result = |Decided { answer, trouble }| match trouble {
                Some(what) => Err(Fault { device: "the flow".to_owned(), what }),
                None => Ok(answer),
            };
            done.extend(decided.into_iter().map(result));
        }
        done
    }

    /// Puts back what the kernel has forgotten of an interface that was down: its addresses, the routes over it that are always there, and
    /// those of aggregates.
    ///
    /// # Errors
    /// What a router does not do.
    pub fn routes_again(&self, router: usize, interface: &str) -> Result<(), Fault> {
        let mut programs = routes_again(self.edge.domain(), router, interface);
        programs.extend(self.edge.routes_again(router, interface));
        self.executor.apply(&programs).map_err(|failed| self.fault(&failed))
    }

    /// What routers have let in of each flow since they let it in.
    ///
    /// # Errors
    /// They cannot be asked.
    pub fn delivered(&self) -> Result<BTreeMap<LegId, Delivered>, Fault> {
        let observed = self.executor.observe().map_err(|failed| self.fault(&failed))?;
        Ok(observed.map(|observed| observed.delivered).unwrap_or_default())
    }

    /// Looks whether the routers still hold what they should: what is lost is told once.
    ///
    /// # Errors
    /// They cannot be asked.
    pub fn check(&mut self) -> Result<Vec<(Holding, Fault)>, Fault> {
        let before = self.edge.holdings();
        let fault = Fault { device: "a router".to_owned(), what: "its rules are gone".to_owned() };
        self.look(&before, &fault)?;
        Ok(std::mem::take(&mut self.lost))
    }

    /// What routers have turned out not to hold any more: told once.
    pub fn lost(&mut self) -> Vec<(Holding, Fault)> {
        std::mem::take(&mut self.lost)
    }

    fn fault(&self, failed: &Failed) -> Fault {
        failed.at(self.edge.domain())
    }

    /// What routers hold is known, or found out.
    fn know(&mut self) -> Result<(), Fault> {
        match self.unknown.clone() {
            Some(fault) => {
                let before = self.edge.holdings();
                self.look(&before, &fault)
            }
            None => Ok(()),
        }
    }

    /// Reads from the routers what they hold; what of `before` is gone is lost.
    fn look(&mut self, before: &BTreeSet<Holding>, because: &Fault) -> Result<(), Fault> {
        let observed = match self.executor.observe() {
            Ok(observed) => observed,
            Err(failed) => {
                let fault = self.fault(&failed);
                self.unknown.get_or_insert_with(|| fault.clone());
                return Err(fault);
            }
        };
        let domain = self.edge.domain().clone();
        let of_description = |what| Fault { device: "the description".to_owned(), what };
        // What was set up, but not to the end, is set up anew.
        match observed.filter(|observed| observed.marks.len() == domain.routers.len()) {
            Some(observed) => {
                self.edge = LinuxEdge::restored(domain, &observed).map_err(of_description)?.0;
                let now = self.edge.holdings();
                self.lost.extend(before.difference(&now).map(|holding| (*holding, because.clone())));
            }
            None => {
                // All of it is lost, also if the set-up fails again and again.
                self.edge = LinuxEdge::new(domain.clone()).map_err(of_description)?;
                self.lost.extend(before.iter().map(|holding| (*holding, because.clone())));
                self.unknown = Some(because.clone());
                self.executor.remove(&domain);
                let again = self.executor.apply(&setup(&domain));
                again.map_err(|failed| self.fault(&failed))?;
            }
        }
        self.unknown = None;
        Ok(())
    }
}

/// Whether a program failed because what it was to take away is not there.
fn is_gone(error: &Error) -> bool {
    const WORDS: [&str; 5] = ["No such", "not find", "not found", "not exist", "n't exist"];
    let said = error.what.split_once(": ").map_or("", |(_, said)| said);
    // A namespace or a program that is not there says nothing about what a router holds.
    let is_of_router = !said.starts_with("nsenter: ") && !said.contains("os error");
    is_of_router && WORDS.iter().any(|words| said.contains(words))
}

/// Neighbouring steps of one kind at one router.
fn group(steps: &[Program]) -> Group<'_> {
    let mut lines = String::new();
    let (mut commands, mut settings) = (Vec::new(), Vec::new());
    let (mut interfaces, mut colours) = (Vec::new(), Vec::new());
    for Program { step, .. } in steps {
        match step {
            Step::Ip(_, line) | Step::Tc(line) => {
                lines.push_str(line);
                lines.push('\n');
            }
            Step::Nft(transaction) => commands.extend(transaction),
            Step::Setting(key, value) => settings.push(format!("{key}={value}")),
            Step::Colouring(interface) => interfaces.push(interface.as_str()),
            Step::Colour { interface, key, contract } => {
                colours.push((interface.as_str(), key, contract.as_ref()));
            }
        }
    }
    match steps.first().map(|program| &program.step) {
        Some(Step::Nft(_)) => Group::Transaction(commands),
        Some(Step::Setting(..)) => Group::Settings(settings),
        Some(Step::Colouring(_)) => Group::Colouring(interfaces),
        Some(Step::Colour { .. }) => Group::Colours(colours),
        Some(Step::Tc(_)) => Group::Lines(&["tc"], lines),
        Some(Step::Ip(true, _)) => Group::Lines(&["ip", "-6"], lines),
        _ => Group::Lines(&["ip"], lines),
    }
}
