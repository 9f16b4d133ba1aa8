//! An AAA server beside the managers of a test.
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use aaa::entry::{Record, RecordKind};
use testkit::patience::patiently_or;

use crate::domains::Domains;

/// What is added to the file of the domain that asks the server.
pub(crate) const TABLE: &str = "\n[aaa]\nclient = \"client.toml\"\n";

fn users(quota: &str) -> String {
    format!(
        "[[user]]\nid = 1\nname = \"ann\"\ncertificate = \"ann\"\n[user.contract]\nbegins = 2020-01-01\nends = 2120-01-01\n\
         classes = [\"ef\"]\ndestinations = [\"10.3.0.0/16\"]\nquota = \"{quota}\"\nmost-sessions = 5\n"
    )
}

/// Files of the server and of its client, in a folder.
pub(crate) fn write_files(folder: &Path, lines: &str) {
    let peers = ["host = \"rm.example.net\"", "host = \"aaa.example.net\"\naddress = \"127.0.0.1:3868\""];
    write_peers(folder, lines, ["127.0.0.1"; 2], peers);
}

/// The same with these addresses and peers: of the server, and of its client.
pub(crate) fn write_peers(folder: &Path, lines: &str, at: [&str; 2], peers: [&str; 2]) {
    let ([server_at, client_at], [server_peer, client_peer]) = (at, peers);
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("users.toml", &users("2 Mb/s"));
    let server = format!(
        "host = \"aaa.example.net\"\nrealm = \"example.net\"\nlisten = [\"{server_at}:3868\"]\nstore = \"aaa\"\n\
         users = \"users.toml\"\nwatchdog = \"6 s\"\n"
    );
    write("aaa.toml", &format!("{server}{lines}\n[[peer]]\n{server_peer}\n"));
    let client = format!(
        "host = \"rm.example.net\"\nrealm = \"example.net\"\naddress = \"{client_at}\"\nstore = \"aaa-client\"\nlimit = \"20 s\"\n\
         watchdog = \"6 s\"\n[[peer]]\n{client_peer}\n"
    );
    write("client.toml", &client);
}

fn command(domains: &Domains) -> Command {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples/aaa_server");
    assert!(path.is_file(), "cargo build --package punctual-wan-server --examples makes {}", path.display());
    let mut command = Command::new(path);
    command.current_dir(domains.path("")).stdin(Stdio::null());
    command
}

/// The server as a process.
pub(crate) struct AaaServer(Child);

impl AaaServer {
    /// It accepts connections when this returns.
    pub(crate) fn start(domains: &Domains) -> Self {
        let log = File::options().append(true).create(true).open(domains.path("aaa.log")).unwrap();
        let mut serve = command(domains);
        let mut child = serve.args(["serve", "aaa.toml"]).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{}", std::fs::read_to_string(domains.path("aaa.log")).unwrap());
        Self(child)
    }
}

impl Drop for AaaServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command of its operator; what it prints.
pub(crate) fn operate(domains: &Domains, arguments: &[&str]) -> String {
    let output = command(domains).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// Another quota for ann; the sessions that do not fit it any more are asked for again.
pub(crate) fn set_quota(domains: &Domains, quota: &str) {
    std::fs::write(domains.path("users.toml"), users(quota)).unwrap();
    operate(domains, &["reload", "aaa.toml"]);
}

/// Sessions that are granted now, as the server calls them.
pub(crate) fn granted(domains: &Domains) -> Vec<String> {
    let shown = operate(domains, &["sessions", "aaa.toml"]);
    shown.split_whitespace().filter(|word| word.starts_with("rm.example.net;")).map(str::to_owned).collect()
}

pub(crate) fn records(domains: &Domains) -> Vec<Record> {
    let text = operate(domains, &["records", "aaa.toml", "--json"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The last record of a session, once the server has it. Before it there is one start, and all numbers are there once.
pub(crate) fn last_record(domains: &Domains, session: &str) -> Record {
    let of_session = || -> Vec<Record> {
        records(domains).into_iter().filter(|record| record.session == session).collect()
    };
    let all = patiently_or(
        || format!("the last record of {session}: {:?}", of_session()),
        || Some(of_session()).filter(|all| all.iter().any(|record| record.kind == RecordKind::Stop)),
    );
    let mut numbers: Vec<u32> = all.iter().map(|record| record.number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..all.len() as u32), "{all:?}");
    for kind in [RecordKind::Start, RecordKind::Stop] {
        assert_eq!(all.iter().filter(|record| record.kind == kind).count(), 1, "{all:?}");
    }
    assert!(all.iter().all(|record| record.granted), "{all:?}");
    all.into_iter().find(|record| record.kind == RecordKind::Stop).unwrap()
}
