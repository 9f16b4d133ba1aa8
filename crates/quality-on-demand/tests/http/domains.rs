//! The managers of three domains in a row, as processes.
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use keys::{Authority, Role};
use testkit::patience::patiently;
use wan_server::Client;
use wan_server::protocol::{Answer, Ask, Status};

const FILES: [(u32, &str); 3] = [
    (WEST, include_str!("../../../wan-server/examples/wan/west.toml")),
    (TRANSIT, include_str!("../../../wan-server/examples/wan/transit.toml")),
    (EAST, include_str!("../../../wan-server/examples/wan/east.toml")),
];
/// Long enough for a busy machine.
const PATIENT: &str = "[limits]\nrefresh = \"500 ms\"\nlifetime = \"50 s\"\nguard = \"5 s\"\npatience = \"30 s\"\n\n[declared]\n";
pub(crate) const WEST: u32 = 65_001;
pub(crate) const TRANSIT: u32 = 65_002;
const EAST: u32 = 65_003;

pub(crate) struct Domains {
    folder: PathBuf,
    managers: BTreeMap<u32, Child>,
}

/// A program that cargo has built with the tests.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.is_file(), "cargo build --workspace --examples makes {}", path.display());
    Command::new(path)
}

impl Domains {
    /// All of them, connected.
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("punctual-qod-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut domains = Self { folder, managers: BTreeMap::new() };
        let authority = Authority::open(&domains.path("keys")).unwrap();
        for (asn, text) in FILES {
            authority.issue(Role::Domain(asn)).unwrap();
            let text = text.replacen("[declared]\n", PATIENT, 1);
            std::fs::write(domains.path(&format!("{asn}.toml")), text).unwrap();
            domains.start(asn);
        }
        domains.connected();
        domains
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts a program in the folder; what it says is added to a log.
    pub(crate) fn run(&self, mut command: Command, log: &str) -> Child {
        let log = File::options().create(true).append(true).open(self.path(log)).unwrap();
        command.env("XDG_RUNTIME_DIR", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    /// Starts a manager, and goes on when it answers.
    pub(crate) fn start(&mut self, asn: u32) {
        let mut command = example("domain_manager");
        command.args(["serve", &format!("{asn}.toml"), "--keys", "keys", "--store", &format!("{asn}.redb")]);
        let child = self.run(command, &format!("{asn}.log"));
        assert!(self.managers.insert(asn, child).is_none());
        patiently("a manager that answers", || self.client(asn));
    }

    pub(crate) fn kill(&mut self, asn: u32) {
        let mut manager = self.managers.remove(&asn).unwrap();
        manager.kill().unwrap();
        manager.wait().unwrap();
    }

    fn client(&self, asn: u32) -> Option<Client> {
        Client::open(&self.path(&format!("punctual-rm/{asn}.sock"))).unwrap()
    }

    pub(crate) fn ask(&self, asn: u32, ask: &Ask) -> Answer {
        let mut client = self.client(asn).unwrap();
        client.ask(ask).unwrap();
        client.answer().unwrap().unwrap()
    }

    pub(crate) fn status(&self, asn: u32) -> Status {
        match self.ask(asn, &Ask::Status) {
            Answer::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn connected(&self) {
        patiently("connections between all", || {
            let mut all = FILES.iter().map(|(asn, _)| self.status(*asn));
            all.all(|status| status.managers.iter().all(|other| other.is_connected)).then_some(())
        });
    }

    /// Nothing is reserved in any domain, once what ends has ended.
    pub(crate) fn are_free(&self) {
        patiently("domains without reservations", || {
            FILES.iter().all(|(asn, _)| self.status(*asn).aggregates.is_empty()).then_some(())
        });
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
