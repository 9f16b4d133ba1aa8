//! What says that it is the switch, with and without certificates: the switch stays connected, the samples of others all come in time, and the
//! manager says who was turned away and why. TLS is another maker's program; what it says as a switch is made here.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::patience::patiently;

use crate::managed::Managed;
use crate::program::PATIENCE;
use crate::wires::Wires;

/// Where the manager of a lab meets the first switch.
const MANAGER: &str = "172.31.1.1:6653";
/// The datapath id of the switch that there is.
const SWITCH: u64 = 1;
/// Connections of each kind, one after the other.
const TIMES: usize = 20;

/// Types of OpenFlow 1.3.5, A.1: of what is said, and of what is answered.
const HELLO: u8 = 0;
const ERROR: u8 = 1;
const ECHO: u8 = 2;
const FEATURES: u8 = 5;
const MULTIPART: u8 = 18;
const BARRIER: u8 = 20;
const ROLE: u8 = 24;
/// OFPMP_PORT_DESC.
const PORTS: u16 = 13;

fn message(kind: u8, xid: [u8; 4], body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + body.len()).unwrap().to_be_bytes();
    [&[4, kind][..], &length, &xid, body].concat()
}

/// What the switch would answer.
fn answer(kind: u8, xid: [u8; 4], body: &[u8]) -> Option<Vec<u8>> {
    Some(match kind {
        ECHO | BARRIER | ROLE => message(kind + 1, xid, body),
        FEATURES => {
            let tables_and_so_on = [0, 0, 1, 0, 254, 0, 0, 0, 0, 0, 0, 0x4f, 0, 0, 0, 0];
            message(FEATURES + 1, xid, &[&SWITCH.to_be_bytes()[..], &tables_and_so_on].concat())
        }
        MULTIPART if body.starts_with(&PORTS.to_be_bytes()) => {
            message(MULTIPART + 1, xid, &[0, 13, 0, 0, 0, 0, 0, 0])
        }
        // OFPET_BAD_REQUEST, OFPBRC_BAD_MULTIPART.
        MULTIPART => message(ERROR, xid, &[0, 1, 0, 2]),
        _ => return None,
    })
}

/// Says over a connection of TCP alone, from the manager's host, what the switch would say.
fn pretends_without_tls(managed: &Managed) {
    let stream = managed.host("manager").on(|| TcpStream::connect(MANAGER).unwrap());
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    pretends(&stream, &stream);
}

/// The same over TLS with these files, `NAME.pem` and `NAME.key`, if any.
fn pretends_with(managed: &Managed, certificate: Option<&Path>) {
    // The program finds it by this process's descriptor, which has to stay open.
    let manager = managed.host("manager");
    let mut command = manager.command(&[]);
    command.args(["openssl", "s_client", "-quiet", "-tls1_3", "-connect", MANAGER]);
    command.args(["-servername", "manager.punctual.internal"]);
    if let Some(path) = certificate {
        command.arg("-cert").arg(path.with_extension("pem")).arg("-key").arg(path.with_extension("key"));
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    pretends(from, to);
    let _ = child.kill();
    let _ = child.wait();
}

/// Answers as the switch would until the manager ends the connection.
fn pretends(mut from: impl Read, mut to: impl Write) {
    // A connection that has ended is what is wanted.
    let _ = to.write_all(&message(HELLO, [0, 0, 0, 1], &[])).and_then(|()| to.flush());
    let (mut heard, mut bytes) = (Vec::new(), [0; 4_096]);
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        heard.extend_from_slice(&bytes[..length]);
        while let [4, kind, high, low, a, b, c, d, ..] = heard[..] {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if heard.len() < length {
                break;
            }
            if let Some(said) = answer(kind, [a, b, c, d], &heard[8..length]) {
                let _ = to.write_all(&said).and_then(|()| to.flush());
            }
            heard.drain(..length);
        }
    }
}

/// Makes keys; the path of those of a role, without its end.
fn keys(folder: &Path, role: &str) -> PathBuf {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual-attacks-command"));
    assert!(command.args(["grm", "keys"]).arg(folder).arg(role).output().unwrap().status.success());
    folder.join(role)
}

#[test]
fn an_end_that_says_that_it_is_the_switch_is_turned_away_and_told_of() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured();
    let foreign = keys(&managed.file("others"), "switch-1");
    let another = keys(&managed.file("keys"), "switch-2");
    let user = managed.file("keys").join("user-alice");
    let connected = |managed: &Managed| managed.log("log").matches("has connected").count();
    let before = connected(&managed);
    let turned_away =
        "says that it is switch 0x1 and is turned away: its certificate is not that of switch-1";
    for (what, tls, words) in [
        ("without TLS", None, "is turned away: it does not speak TLS"),
        ("another switch", Some(Some(&another)), turned_away),
        ("without a certificate", Some(None), "is turned away: it shows no certificate"),
        ("a user", Some(Some(&user)), turned_away),
        (
            "of another authority",
            Some(Some(&foreign)),
            "is turned away: its certificate is of another authority",
        ),
    ] {
        let wires = Wires::between(&managed, "camera", "display");
        let lines = managed.log("log").lines().count();
        for _ in 0..TIMES {
            match tls {
                None => pretends_without_tls(&managed),
                Some(path) => pretends_with(&managed, path.map(PathBuf::as_path)),
            }
        }
        managed.assert_unharmed(what);
        wires.assert_in_time(&managed, what);
        // What is told of a peer is told once, until it is something else: no two of these in a row are told in the same words.
        patiently(&format!("{what}: `{words}` in the log"), || {
            managed.log("log").lines().skip(lines).any(|line| line.contains(words)).then_some(())
        });
    }
    assert_eq!(connected(&managed), before, "the switch has never been gone: {}", managed.log("log"));
    assert!(managed.managers_live());
}
