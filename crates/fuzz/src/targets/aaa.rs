//! Authorisation and accounting: messages of Diameter, connections to a server, and the files of users, servers and clients.
use std::path::Path;

use aaa::client::{Ask, Client};
use aaa::peers::Known;
use aaa::resources::{Wish, resources};
use aaa::server::{self, Now, Output, Server};
use diagnostics::Source;
use diameter::Message;
use diameter::value::Identity;

use super::list::STATELESS_BATCH;
use crate::runner::Target;
use crate::structure::Structure;

/// What is kept of text and of small AVPs is many times as long as they are.
const HUNGER: usize = 64;

/// Messages of Diameter.
pub const DIAMETER_MESSAGE: Target = Target {
    name: "diameter_message",
    structure: Structure::Plain,
    seeds: messages,
    session: || Box::new(diameter_message),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: HUNGER,
};

/// What a peer of an AAA server sends once it is connected.
pub const AAA_PEER: Target = Target {
    name: "aaa_peer",
    structure: Structure::Plain,
    seeds: messages,
    session: || Box::new(aaa_peer),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: HUNGER,
};

/// Files of users, servers and clients.
pub const AAA_FILE: Target = Target {
    name: "aaa_file",
    structure: Structure::Plain,
    seeds: files,
    session: || Box::new(aaa_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: HUNGER,
};

const USERS: &str = r#"[[user]]
id = 1
name = "alice"
certificate = "user-alice"
secret-sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
[user.contract]
begins = 2026-01-01
ends = 2027-01-01T00:00:00+01:00
classes = ["ef", "af4", "af1"]
destinations = ["203.0.113.0/24", "2001:db8::/32"]
quota = "1.5 Mb/s"
most-sessions = 3
"#;
const SERVER: &str = r#"host = "aaa.x"
realm = "x"
listen = ["192.0.2.1:3868"]
listen-tls = ["[2001:db8::1]:5868"]
keys = "keys"
store = "store"
users = "users.toml"
lifetime = "30 s"
watchdog = "6 s"
[[peer]]
host = "rm.x"
speaks-for = ["other.x"]
tls = true
"#;
const NOW: Now = Now { monotonic: 1, unix: 1_772_323_200 };

fn identity(text: &str) -> Option<Identity> {
    Identity::new(text).ok()
}

fn files() -> Vec<Vec<u8>> {
    [USERS, SERVER].map(|text| text.as_bytes().to_vec()).into()
}

/// A server, and a client that is connected to it and has sent nothing else.
fn connected() -> Option<(Server, Client)> {
    let settings = server::Settings {
        host: identity("aaa.x")?,
        realm: identity("x")?,
        addresses: vec![std::net::Ipv4Addr::new(192, 0, 2, 1).into()],
        peers: vec![(Known { host: identity("rm.x")?, connect: false, tls: false }, Vec::new())],
        lifetime: 20,
        grace: 5,
        session_timeout: 3_600,
        interim: 4,
        watchdog: 30_000_000_000,
        most_sessions: 16,
        most_accounts: 16,
    };
    let asker = aaa::client::Settings {
        host: identity("rm.x")?,
        realm: identity("x")?,
        addresses: settings.addresses.clone(),
        servers: vec![Known { host: identity("aaa.x")?, connect: true, tls: false }],
        server_realm: identity("x")?,
        limit: 2_000_000_000,
        watchdog: 30_000_000_000,
        most_records: 16,
        most_sessions: 16,
    };
    let users = aaa::read_users("users.toml", USERS).ok()?;
    let mut server = Server::new(settings, users, Vec::new(), std::iter::empty(), NOW, 7);
    let mut client = Client::new(asker, Vec::new(), NOW, 8);
    client.start(NOW);
    client.connected(NOW, &identity("aaa.x")?, 1);
    server.accepted(NOW, 1, None);
    server.received(NOW, 1, &client.take_unsent(1));
    client.received(NOW, 1, &server.take_unsent(1));
    while client.poll_output().is_some() || server.poll_output().is_some() {}
    Some((server, client))
}

/// What a client sends: two requests, records, and the end.
fn messages() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let Some((mut server, mut client)) = connected() else { return all };
    for (rate, secret) in [(100_000, None), (2_000_000, None), (50_000, Some(b"secret".to_vec()))] {
        let wish = Wish {
            from: None,
            to: vec![std::net::Ipv4Addr::new(203, 0, 113, 9).into()],
            class: wan::Class::Ef,
            rate,
            bucket: 3_000,
            largest_packet: 1_500,
            forward: true,
        };
        let user = if secret.is_some() { "alice" } else { "user-alice" }.to_owned();
        let session = client.authorize(NOW, Ask { user, secret, resources: resources(&[wish]) });
        for step in 0..3 {
            let bytes = client.take_unsent(1);
            server.received(NOW, 1, &bytes);
            all.push(bytes);
            drain(&mut server);
            client.received(NOW, 1, &server.take_unsent(1));
            let told = match step {
                0 => client.start_accounting(NOW, &session),
                1 => client.stop_accounting(
                    NOW,
                    &session,
                    Default::default(),
                    diameter::command::TerminationCause::Logout,
                ),
                _ => Ok(()),
            };
            // What was refused is not accounted.
            drop(told);
            while let Some(output) = client.poll_output() {
                if let aaa::client::Output::Store { number, .. } = output {
                    client.stored(NOW, number, true);
                }
            }
        }
    }
    all.retain(|bytes| !bytes.is_empty());
    all
}

fn drain(server: &mut Server) {
    while let Some(output) = server.poll_output() {
        if let Output::Store { number, .. } = output {
            server.stored(NOW, number, true);
        }
    }
}

/// A message: what is read is written as the same, and what is not read is answered.
pub fn diameter_message(bytes: &[u8]) {
    match Message::decode(bytes) {
        Ok((header, message)) => {
            let mut written = Vec::new();
            assert_eq!(message.encode(&header, &mut written), Ok(()));
            assert_eq!(Message::decode(&written).map(|(_, again)| again).as_ref(), Ok(&message));
        }
        Err(error) => assert!(error.offset <= bytes.len() && !error.to_string().is_empty()),
    }
}

/// Bytes of a peer: what is granted is within the contract, and what is held within limits.
pub fn aaa_peer(bytes: &[u8]) {
    let Some((mut server, _)) = connected() else { return };
    for piece in bytes.chunks(1 + bytes.len() / 3) {
        server.received(NOW, 1, piece);
        drain(&mut server);
        server.take_unsent(1);
    }
    let usage = server.usage("alice");
    assert!(usage.rate <= 1_500_000 && usage.sessions <= 3, "{usage:?}");
    assert!(server.sessions().count() == usage.sessions && server.waiting() == 0);
}

/// A file: it is refused with a place that exists, or says what it says.
pub fn aaa_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source { file: "file", text: &text };
    let users = aaa::read_users("file", &text).err();
    let node = aaa::node_file::read("file", &text, Path::new("/")).err();
    for problem in users.into_iter().chain(node) {
        let (line, column) = problem.place.unwrap_or_default();
        let found = text.split('\n').nth(line.wrapping_sub(1));
        assert!(found.is_some_and(|found| (1..=found.chars().count() + 1).contains(&column)), "{problem}");
        assert!(!problem.what.is_empty() && !source.show(&problem).is_empty());
    }
}
