//! freeDiameter as an agent between client and server: requests of both directions go through it.
use aaa::run::handle::Event;
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::session::client::EndReason;
use testkit::diameter_agent::{Agent, is_there};

use crate::scene::{
    Folder, RELAY, SERVER, authorize, client, client_file, connected, delivered, in_network, printed,
    records, serve, server_file,
};

/// Starts the agent, which connects to these peers.
fn agent(folder: &Folder, peers: &str) -> Agent {
    printed(&["keys", folder.path().join("keys").to_str().unwrap(), "relay.example.net"]);
    Agent::start(folder.path(), "keys", RELAY, peers)
}

/// A session through the agent: granted, accounted, aborted by the server, and another one refused.
fn a_session_goes_through(folder: &Folder, server: &std::path::Path) {
    let peer = format!("host = \"relay.example.net\"\naddress = \"{RELAY}:3868\"");
    let mut handle = client(&client_file(folder, "", &peer));
    connected(&handle);
    // The agent may know the client before it knows the server: then it says that there is no way.
    let permit = testkit::patience::patiently_or(
        || std::fs::read_to_string(folder.path().join("relay.log")).unwrap(),
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
        let _relay = agent(folder, &to);
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
        let _relay = agent(folder, "");
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
        let _relay = agent(folder, &to);
        let peer = format!("host = \"relay.example.net\"\naddress = \"{RELAY}:3868\"");
        let handle = client(&client_file(folder, "", &peer));
        connected(&handle);
        testkit::patience::patiently("the refusal", || {
            let refusal = authorize(&handle, 1_000).unwrap_err().to_string();
            refusal.contains("does not speak for").then_some(())
        });
    });
}
