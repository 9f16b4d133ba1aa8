//! What the tests share: a folder with files, a server as a process, clients in this process.
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use aaa::client::{Ask, Permit, Refusal};
use aaa::entry::Record;
use aaa::node_file;
use aaa::resources::{Wish, resources};
use aaa::run::handle::Handle;
use tempfile::TempDir;
use testkit::namespace::{bare, ip};
use testkit::patience::patiently_or;
use wan::Class;

pub(crate) const SERVER: &str = "10.7.0.1";
pub(crate) const RELAY: &str = "10.7.0.2";
pub(crate) const CLIENT: &str = "10.7.0.3";

pub(crate) const USERS: &str = r#"
[[user]]
id = 1
name = "alice"
certificate = "user-alice"
[user.contract]
begins = 2020-01-01
ends = 2120-01-01
classes = ["ef", "af4"]
destinations = ["203.0.113.0/24"]
quota = "1 Mb/s"
most-sessions = 3
"#;

/// A folder that is removed in the end.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Runs a test in a namespace where the addresses of all nodes are.
pub(crate) fn in_network(test: impl FnOnce(&Folder) + Send) {
    bare(|| {
        ip("link set lo up");
        ip("link add nodes type veth peer name others");
        ip("link set others up");
        for address in [SERVER, RELAY, CLIENT] {
            ip(&format!("address add {address}/24 dev nodes"));
        }
        ip("link set nodes up");
        test(&Folder::new());
    });
}

/// A process that is killed in the end.
pub(crate) struct Process(pub Child);

impl Process {
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_punctual-aaa"));
    program.arg("aaa");
    program
}

/// Starts a server, which accepts connections when this returns.
pub(crate) fn serve(file: &Path) -> Process {
    let log = std::fs::OpenOptions::new().append(true).create(true).open(file.with_extension("log")).unwrap();
    let mut child = program().arg("serve").arg(file).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{}", std::fs::read_to_string(file.with_extension("log")).unwrap());
    Process(child)
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// The same, which has to succeed; what it prints.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The file of a server whose peer is this, with lines of its own.
pub(crate) fn server_file(folder: &Folder, lines: &str, peer: &str) -> PathBuf {
    folder.write("users.toml", USERS);
    let text = format!(
        "host = \"aaa.example.net\"\nrealm = \"example.net\"\nstore = \"server\"\nusers = \"users.toml\"\n\
         watchdog = \"6 s\"\n{lines}\n[[peer]]\n{peer}\n"
    );
    folder.write("aaa.toml", &text)
}

/// The file of a client that asks this peer.
pub(crate) fn client_file(folder: &Folder, lines: &str, peer: &str) -> PathBuf {
    let text = format!(
        "host = \"rm.example.net\"\nrealm = \"example.net\"\nstore = \"client\"\naddress = \"{CLIENT}\"\n\
         limit = \"20 s\"\nwatchdog = \"6 s\"\n{lines}\n[[peer]]\n{peer}\n"
    );
    folder.write("rm.toml", &text)
}

/// A server without TLS that the client may connect to.
pub(crate) fn plain(folder: &Folder) -> (PathBuf, PathBuf) {
    let server = server_file(folder, &format!("listen = [\"{SERVER}:3868\"]"), "host = \"rm.example.net\"");
    let client = client_file(folder, "", &format!("host = \"aaa.example.net\"\naddress = \"{SERVER}:3868\""));
    (server, client)
}

pub(crate) fn client(file: &Path) -> Handle {
    Handle::start(node_file::open(file).unwrap()).unwrap()
}

/// Waits until the client can ask.
pub(crate) fn connected(handle: &Handle) {
    patiently_or(
        || "the client is not connected".to_owned(),
        || handle.undelivered().wait().unwrap().1.then_some(()),
    );
}

/// Waits until the server has confirmed all.
pub(crate) fn delivered(handle: &Handle) {
    patiently_or(
        || format!("{} records or requests are open", handle.undelivered().wait().unwrap().0),
        || (handle.undelivered().wait().unwrap().0 == 0).then_some(()),
    );
}

pub(crate) fn ask(user: &str, to: &str, class: Class, rate: u64) -> Ask {
    let wish = Wish {
        from: None,
        to: vec![to.parse().unwrap()],
        class,
        rate,
        bucket: 3_000,
        largest_packet: 1_500,
        forward: true,
    };
    Ask { user: user.to_owned(), secret: None, resources: resources(&[wish]) }
}

pub(crate) fn authorize(handle: &Handle, rate: u64) -> Result<Permit, Refusal> {
    handle.authorize(ask("user-alice", "203.0.113.9", Class::Ef, rate)).wait().unwrap()
}

/// The records of the server, as its command tells them.
pub(crate) fn records(file: &Path) -> Vec<Record> {
    let text = printed(&["records", file.to_str().unwrap(), "--json"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
