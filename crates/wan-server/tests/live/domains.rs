//! Three domains in a folder: their files, keys, stores and managers.
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use keys::{Authority, Role};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::patience::{patiently, patiently_or};
use wan_server::Client;
use wan_server::protocol::{Admitted, Answer, Ask, Flow, Refused, SessionAsked, Status};

/// Names of the examples, by domain.
const FILES: [(u32, &str, &str); 3] = [
    (WEST, "west", include_str!("../../examples/wan/west.toml")),
    (TRANSIT, "transit", include_str!("../../examples/wan/transit.toml")),
    (EAST, "east", include_str!("../../examples/wan/east.toml")),
];
/// Long enough for a busy machine: nothing ends by itself, and what is killed is back before this is over.
pub(crate) const PATIENT: &str =
    "[limits]\nrefresh = \"500 ms\"\nlifetime = \"50 s\"\nguard = \"5 s\"\npatience = \"30 s\"\n";
pub(crate) const WEST: u32 = 65_001;
pub(crate) const TRANSIT: u32 = 65_002;
pub(crate) const EAST: u32 = 65_003;

pub(crate) struct Domains {
    folder: PathBuf,
    managers: BTreeMap<u32, Child>,
}

impl Domains {
    /// All three managers, connected. `limits` is what their files say of times.
    pub(crate) fn new(test: &str, limits: &str) -> Self {
        Self::prepared(test, limits, |_, _, _| {})
    }

    /// The same, after something is added to the files in the folder.
    pub(crate) fn prepared(test: &str, limits: &str, add: impl Fn(&Path, u32, &mut String)) -> Self {
        let limited = |text: &str| text.replacen("[declared]\n", &format!("{limits}\n[declared]\n"), 1);
        Self::added(test, FILES.map(|(asn, _, text)| (asn, limited(text))), add)
    }

    /// The same, with files that are changed as a whole.
    pub(crate) fn changed(test: &str, limits: &str, change: impl Fn(u32, &str) -> String) -> Self {
        Self::prepared(test, limits, |_, asn, text| *text = change(asn, text))
    }

    /// The same, of files with these texts.
    pub(crate) fn of(test: &str, texts: [(u32, String); 3]) -> Self {
        Self::added(test, texts, |_, _, _| {})
    }

    /// The manager of AS 65001 alone, with this text.
    pub(crate) fn one(test: &str, text: String) -> Self {
        let mut domains = Self::empty(test);
        let authority = Authority::open(&domains.path("keys")).unwrap();
        authority.issue(Role::Domain(WEST)).unwrap();
        std::fs::write(domains.path(&format!("{}.toml", Self::name(WEST))), text).unwrap();
        domains.start(WEST);
        domains
    }

    fn empty(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("punctual-rm-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder, managers: BTreeMap::new() }
    }

    pub(crate) fn added(
        test: &str,
        texts: [(u32, String); 3],
        add: impl Fn(&Path, u32, &mut String),
    ) -> Self {
        let mut domains = Self::empty(test);
        let authority = Authority::open(&domains.path("keys")).unwrap();
        for (asn, mut text) in texts {
            add(&domains.folder, asn, &mut text);
            authority.issue(Role::Domain(asn)).unwrap();
            std::fs::write(domains.path(&format!("{}.toml", Self::name(asn))), text).unwrap();
        }
        for (asn, _, _) in FILES {
            domains.start(asn);
        }
        domains.connected();
        domains
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn name(asn: u32) -> &'static str {
        FILES.iter().find(|(of, _, _)| *of == asn).unwrap().1
    }

    fn log(&self, asn: u32) -> PathBuf {
        self.path(&format!("{}.log", Self::name(asn)))
    }

    /// The command `rm`, which cargo has built with the tests of this package.
    pub(crate) fn command(&self) -> Command {
        let test = std::env::current_exe().unwrap();
        let path = test.parent().and_then(Path::parent).unwrap().join("examples/domain_manager");
        assert!(
            path.is_file(),
            "cargo build --package punctual-wan-server --examples makes {}",
            path.display()
        );
        let mut command = Command::new(path);
        command.env("XDG_RUNTIME_DIR", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Starts a manager, and goes on when it works.
    pub(crate) fn start(&mut self, asn: u32) {
        self.start_with(asn, "keys");
        patiently("a manager that works", || self.try_status(asn));
    }

    pub(crate) fn start_with(&mut self, asn: u32, keys: &str) {
        self.start_so(asn, keys, &[]);
    }

    /// With more on its command line.
    pub(crate) fn start_so(&mut self, asn: u32, keys: &str, more: &[&str]) {
        let log = File::options().create(true).append(true).open(self.log(asn)).unwrap();
        let name = Self::name(asn);
        let mut command = self.command();
        command.args(["serve", &format!("{name}.toml"), "--keys", keys, "--store", &format!("{name}.redb")]);
        command.args(more);
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        assert!(self.managers.insert(asn, child).is_none());
    }

    /// Nothing is left to it to say goodbye with.
    pub(crate) fn kill(&mut self, asn: u32) {
        let mut manager = self.managers.remove(&asn).unwrap();
        manager.kill().unwrap();
        manager.wait().unwrap();
    }

    /// A signal of the kernel, such as one that makes it stand still.
    pub(crate) fn signal(&self, asn: u32, signal: Signal) {
        kill(Pid::from_raw(self.managers[&asn].id().try_into().unwrap()), signal).unwrap();
    }

    /// As a service manager ends it.
    pub(crate) fn end(&mut self, asn: u32) -> Option<i32> {
        let mut manager = self.managers.remove(&asn).unwrap();
        kill(Pid::from_raw(manager.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        manager.wait().unwrap().code()
    }

    /// All managers that run have connections to all others that do.
    pub(crate) fn connected(&self) {
        patiently("connections between all", || {
            let mut running = self.managers.keys();
            running
                .all(|asn| {
                    let status = self.status(*asn);
                    let others =
                        status.managers.iter().filter(|other| self.managers.contains_key(&other.asn));
                    others.into_iter().all(|other| other.is_connected)
                })
                .then_some(())
        });
    }

    /// What a manager has told, once it has told this.
    pub(crate) fn told(&self, asn: u32, what: &str) {
        let log = self.log(asn);
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        patiently_or(|| format!("{what:?} of AS {asn}: {}", said()), || said().contains(what).then_some(()));
    }

    pub(crate) fn client(&self, asn: u32) -> Option<Client> {
        Client::open(&self.path(&format!("punctual-rm/{asn}.sock"))).unwrap()
    }

    pub(crate) fn ask(&self, asn: u32, ask: &Ask) -> Answer {
        self.try_ask(asn, ask).expect("the manager answers")
    }

    fn try_ask(&self, asn: u32, ask: &Ask) -> Option<Answer> {
        let mut client = self.client(asn)?;
        client.ask(ask).ok()?;
        client.answer().ok()?
    }

    pub(crate) fn try_status(&self, asn: u32) -> Option<Status> {
        match self.try_ask(asn, &Ask::Status)? {
            Answer::Status(status) => Some(*status),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn status(&self, asn: u32) -> Status {
        self.try_status(asn).expect("the manager answers")
    }

    /// What a manager answers to a request of AS 65001. A set-up that a busy machine was too slow for is tried again.
    pub(crate) fn establish(&self, asked: &SessionAsked) -> Result<Admitted, Box<Refused>> {
        patiently("an answer", || match self.ask(WEST, &Ask::Establish(asked.clone())) {
            Answer::Admitted(admitted) => Some(Ok(admitted)),
            Answer::Refused(refused) if refused.reason == "no-answer" => None,
            Answer::Refused(refused) => Some(Err(Box::new(refused))),
            other => panic!("{other:?}"),
        })
    }

    pub(crate) fn admitted(&self, asked: &SessionAsked) -> Admitted {
        self.establish(asked).unwrap_or_else(|refused| panic!("{}", refused.text))
    }

    /// All domains have so many aggregates of sessions, once what ends has ended.
    pub(crate) fn aggregates(&self, count: usize) {
        let now = || self.managers.keys().map(|asn| self.status(*asn).aggregates.len()).collect::<Vec<_>>();
        let is_so = || now().iter().all(|other| *other == count).then_some(());
        patiently_or(|| format!("{count} aggregates everywhere: {:?}", now()), is_so);
    }
}

impl Drop for Domains {
    fn drop(&mut self) {
        for manager in self.managers.values_mut() {
            let _ = manager.kill();
            let _ = manager.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One flow of data in the class EF, of packets of 1,000 bytes.
pub(crate) fn flow(rate: u64, limit: u64) -> Flow {
    Flow {
        kind: "data".to_owned(),
        direction: "forward".to_owned(),
        protocol: 17,
        source_port: 0,
        destination_port: 7_400,
        class: "ef".to_owned(),
        rate,
        bucket: 1_000,
        largest_packet: 1_000,
        least_rate: rate,
        most_loss: wan::ANY_LOSS,
        limit,
        copies: 1,
        asking: "hop-by-hop".to_owned(),
    }
}

/// A session of ann with these flows.
pub(crate) fn session(callee: &str, flows: Vec<Flow>) -> SessionAsked {
    SessionAsked {
        user: "ann".to_owned(),
        service: "alarms".to_owned(),
        caller: "10.1.0.5".parse().unwrap(),
        callees: vec![callee.parse().unwrap()],
        flows,
        lasts: 3_600_000_000_000,
    }
}

pub(crate) const MILLISECOND: u64 = 1_000_000;
