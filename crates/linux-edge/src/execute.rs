//! Carries out programs at routers of this machine, by the programs `ip`, `tc`, `nft` and `sysctl`.
use serde_json::{Value, json};
use system::{Error, finish, program};
use wan::{BackendAnswer, BackendCommand};

use crate::backend::LinuxEdge;
use crate::domain::Domain;
use crate::observed::Observed;
use crate::program::{Program, Step, TABLE};
use crate::setup::{removal, setup};

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

/// A back-end with its routers.
#[derive(Debug)]
pub struct Running {
    edge: LinuxEdge,
    executor: Executor,
}

/// Steps that one program carries out together.
enum Group<'a> {
    Lines(&'static [&'static str], String),
    Transaction(Vec<&'a Value>),
    Settings(Vec<String>),
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
    pub fn apply(&self, programs: &[Program]) -> Result<(), Error> {
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
            self.run(first.router, &group(together))?;
            rest = others;
        }
        Ok(())
    }

    /// Carries out as much of it as can be: for what may be gone already.
    fn apply_all(&self, programs: &[Program]) -> Vec<Error> {
        programs.iter().filter_map(|program| self.apply(std::slice::from_ref(program)).err()).collect()
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
        }
    }

    /// Sets up all routers of a domain, which have their interfaces already.
    ///
    /// # Errors
    /// What the first step that failed says.
    pub fn set_up(&self, domain: &Domain) -> Result<(), Error> {
        self.apply(&setup(domain))
    }

    /// Takes away all that was put there. What is not there is no error.
    pub fn remove(&self, domain: &Domain) {
        drop(self.apply_all(&removal(domain)));
    }

    /// What the routers hold; `None` if one of them is not set up.
    ///
    /// # Errors
    /// What `nft` says.
    pub fn observe(&self) -> Result<Option<Observed>, Error> {
        let mut listings = Vec::new();
        for router in 0..self.namespaces.len() {
            let mut command = self.command(router, "nft")?;
            match finish(command.args(["-j", "-n", "list", "table", "inet", TABLE]), None) {
                Ok(text) => {
                    let wrong =
                        |error: serde_json::Error| Error::new(format!("nft: {error}"), "nft 1.0 is needed");
                    listings.push(serde_json::from_str::<Value>(&text).map_err(wrong)?);
                }
                Err(error) if error.what.contains("No such file") => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Observed::read(&listings)))
    }
}

impl Running {
    /// Takes up what the routers hold, or sets them up if they are not; and what is told about that.
    ///
    /// # Errors
    /// What is wrong with the description, or what a program says.
    pub fn start(domain: Domain, executor: Executor) -> Result<(Self, Vec<String>), Error> {
        let wrong = |what: String| Error::new(what, "correct the description of the domain");
        domain.check().map_err(wrong)?;
        let (edge, told) = match executor.observe()? {
            Some(observed) => LinuxEdge::restored(domain, &observed).map_err(wrong)?,
            None => {
                executor.set_up(&domain)?;
                (LinuxEdge::new(domain).map_err(wrong)?, Vec::new())
            }
        };
        Ok((Self { edge, executor }, told))
    }

    /// What it holds.
    pub fn edge(&self) -> &LinuxEdge {
        &self.edge
    }

    /// Carries out a command of the manager; its answer holds once this returns.
    ///
    /// # Errors
    /// Why there is no answer. The manager takes that for a refusal after a time.
    pub fn handle(&mut self, command: BackendCommand) -> Result<Option<BackendAnswer>, Error> {
        let handled = self.edge.handle(command);
        if let Err(error) = self.executor.apply(&handled.programs) {
            // What was done of it and what was not, the routers know.
            let domain = self.edge.domain().clone();
            if let Some(observed) = self.executor.observe()? {
                self.edge = LinuxEdge::restored(domain, &observed).map_err(|what| Error::new(what, ""))?.0;
            }
            return Err(error);
        }
        match handled.trouble {
            Some(trouble) => Err(Error::new(trouble, "")),
            None => Ok(handled.answer),
        }
    }
}

/// Neighbouring steps of one kind at one router.
fn group(steps: &[Program]) -> Group<'_> {
    let mut lines = String::new();
    let (mut commands, mut settings) = (Vec::new(), Vec::new());
    for Program { step, .. } in steps {
        match step {
            Step::Ip(_, line) | Step::Tc(line) => {
                lines.push_str(line);
                lines.push('\n');
            }
            Step::Nft(transaction) => commands.extend(transaction),
            Step::Setting(key, value) => settings.push(format!("{key}={value}")),
        }
    }
    match steps.first().map(|program| &program.step) {
        Some(Step::Nft(_)) => Group::Transaction(commands),
        Some(Step::Setting(..)) => Group::Settings(settings),
        Some(Step::Tc(_)) => Group::Lines(&["tc"], lines),
        Some(Step::Ip(true, _)) => Group::Lines(&["ip", "-6"], lines),
        _ => Group::Lines(&["ip"], lines),
    }
}
