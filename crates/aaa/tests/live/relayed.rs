//! freeDiameter as an agent between client and server: requests of both directions go through it.
use std::path::PathBuf;
use std::process::{Command, Stdio};

use aaa::run::handle::Event;
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::session::client::EndReason;

use crate::scene::{
    Folder, Process, RELAY, SERVER, authorize, client, client_file, connected, delivered, in_network,
    printed, records, serve, server_file,
};

const PROGRAM: &str = "freeDiameterd";
const EXTENSIONS: &str = "/usr/lib/freeDiameter";

/// Whether the program is there; in continuous integration it must be.
fn is_there() -> bool {
    let found = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is = found.is_ok() && std::path::Path::new(EXTENSIONS).join("acl_wl.fdx").exists();
    if !is {
        let missing =
            "freeDiameter is missing: install the packages freediameterd and freediameter-extensions";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("passed over: {missing}");
    }
    is
}

/// Starts the agent, which connects to these peers and accepts all of the realm.
fn relay(folder: &Folder, peers: &str) -> Process {
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    printed(&["keys", &path("keys"), "relay.example.net"]);
    folder.write("acl.conf", "ALLOW_OLD_TLS ALLOW_IPSEC *.example.net\n");
    let extensions: String = ["dict_nasreq", "dict_rfc5777"]
        .iter()
        .map(|name| format!("LoadExtension = \"{EXTENSIONS}/{name}.fdx\";\n"))
        .collect();
    let text = format!(
        "Identity = \"relay.example.net\";\nRealm = \"example.net\";\nPort = 3868;\nSecPort = 5868;\nNo_SCTP;\nNo_IPv6;\n\
         ListenOn = \"{RELAY}\";\nTcTimer = 1;\nTLS_Cred = \"{0}\", \"{1}\";\nTLS_CA = \"{2}\";\n\
         LoadExtension = \"{EXTENSIONS}/acl_wl.fdx\" : \"{3}\";\n{extensions}{peers}",
        path("keys/relay.example.net.pem"),
        path("keys/relay.example.net.key"),
        path("keys/authority.pem"),
        path("acl.conf"),
    );
    let file: PathBuf = folder.write("relay.conf", &text);
    let log = std::fs::File::create(folder.0.join("relay.log")).unwrap();
    let child = Command::new(PROGRAM)
        .arg("-c")
        .arg(file)
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    Process(child)
}

/// A session through the agent: granted, accounted, aborted by the server, and another one refused.
fn a_session_goes_through(folder: &Folder, server: &std::path::Path) {
    let peer = format!("host = \"relay.example.net\"\naddress = \"{RELAY}:3868\"");
    let mut handle = client(&client_file(folder, "", &peer));
    connected(&handle);
    // The agent may know the client before it knows the server: then it says that there is no way.
    let permit = testkit::patience::patiently_or(
        || std::fs::read_to_string(folder.0.join("relay.log")).unwrap(),
        || authorize(&handle, 600_000).ok(),
    );
    handle.start_accounting(&permit.session).wait().unwrap().unwrap();
    let refusal = authorize(&handle, 600_000).unwrap_err().to_string();
    assert!(refusal.contains("600000 b/s are asked for, and 400000 of 1000000 b/s are left"), "{refusal}");
    let usage = |bytes| Usage { output_bytes: bytes, ..Usage::default() };
    handle.interim(&permit.session, usage(1_000)).wait().unwrap().unwrap();
    printed(&["abort", server.to_str().unwrap(), &permit.session]);
    let ended = Event::Ended { session: permit.session.clone(), reason: EndReason::Aborted };
    assert_eq!(handle.wait_event(), Some(ended));
    handle.stop(&permit.session, usage(2_000), TerminationCause::Administrative).wait().unwrap().unwrap();
    delivered(&handle);
    let mut taken: Vec<_> = records(server)
        .iter()
        .map(|record| (record.number, record.kind.name(), record.output_bytes))
        .collect();
    taken.sort_unstable();
    assert_eq!(taken, [(0, "start", 0), (1, "interim", 1_000), (2, "stop", 2_000)]);
    assert!(records(server).iter().all(|record| record.host == "rm.example.net"));
}

#[test]
fn the_agent_connects_to_the_server() {
    in_network(|folder| {
        if !is_there() {
            return;
        }
        let peer = "host = \"relay.example.net\"\nspeaks-for = [\"rm.example.net\"]";
        let server = server_file(folder, &format!("listen = [\"{SERVER}:3868\"]"), peer);
        let _process = serve(&server);
        let to = format!(
            "ConnectPeer = \"aaa.example.net\" {{ ConnectTo = \"{SERVER}\"; No_TLS; Port = 3868; }};\n"
        );
        let _relay = relay(folder, &to);
        a_session_goes_through(folder, &server);
    });
}

#[test]
fn the_server_connects_to_the_agent() {
    in_network(|folder| {
        if !is_there() {
            return;
        }
        let peer = format!(
            "host = \"relay.example.net\"\naddress = \"{RELAY}:3868\"\nspeaks-for = [\"rm.example.net\"]"
        );
        let server = server_file(folder, &format!("address = \"{SERVER}\""), &peer);
        let _relay = relay(folder, "");
        let _process = serve(&server);
        a_session_goes_through(folder, &server);
    });
}

/// An agent that may not speak for a client gets nothing for it.
#[test]
fn an_agent_speaks_for_nobody_unless_it_is_said() {
    in_network(|folder| {
        if !is_there() {
            return;
        }
        let server = server_file(
            folder,
            &format!("listen = [\"{SERVER}:3868\"]"),
            "host = \"relay.example.net\"\nspeaks-for = [\"other.example.net\"]",
        );
        let _process = serve(&server);
        let to = format!(
            "ConnectPeer = \"aaa.example.net\" {{ ConnectTo = \"{SERVER}\"; No_TLS; Port = 3868; }};\n"
        );
        let _relay = relay(folder, &to);
        let peer = format!("host = \"relay.example.net\"\naddress = \"{RELAY}:3868\"");
        let handle = client(&client_file(folder, "", &peer));
        connected(&handle);
        testkit::patience::patiently("the refusal", || {
            let refusal = authorize(&handle, 1_000).unwrap_err().to_string();
            refusal.contains("does not speak for").then_some(())
        });
    });
}
