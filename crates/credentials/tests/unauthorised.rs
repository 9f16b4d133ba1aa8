//! Certificates that give no right to what is asked with them, and what comes in place of a handshake: none of it is taken, however many there are.
//!
//! The verifiers are those of the programs, called with bytes. What is tried is made here, so that each try is known to be without a right.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use credentials::KeyFolder;
use keys::rustls::client::danger::ServerCertVerifier as _;
use keys::rustls::pki_types::pem::PemObject as _;
use keys::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use keys::rustls::{ClientConnection, ServerConfig, ServerConnection};
use keys::{Authority, Identity, Role};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use tempfile::TempDir;
use testkit::random::Random;
use time::OffsetDateTime;
use wire::seal::{Credentials as _, Holder};

const DAY: u64 = 86_400;
const ROLES: [&str; 10] = [
    "manager",
    "store",
    "switch-1",
    "switch-2",
    "gates-1",
    "gates-2",
    "user-alice",
    "user-bob",
    "operator-ann",
    "operator-ben",
];

type Der = CertificateDer<'static>;

/// A folder of keys, which goes with this.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path()).unwrap();
        for role in ROLES {
            assert!(authority.issue(role.parse().unwrap()).unwrap());
        }
        Self(folder)
    }

    fn certificate(&self, role: &str) -> Der {
        CertificateDer::from_pem_file(self.0.path().join(format!("{role}.pem"))).unwrap()
    }

    fn load(&self, role: &str) -> Identity {
        Identity::load(self.0.path(), role.parse().unwrap()).unwrap()
    }
}

/// Where a certificate is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Door {
    /// By a switch with this datapath id, to the manager.
    Switch(u64),
    /// By a manager, to an agent of gates.
    Manager,
    /// By an operator, to the page.
    Page,
    /// By the agent of the gates of this switch, to the manager that connects to it.
    Gates(u64),
    /// By a participant that asks, to the manager.
    Participant,
}

const DOORS: [Door; 7] = [
    Door::Switch(1),
    Door::Switch(2),
    Door::Manager,
    Door::Page,
    Door::Gates(1),
    Door::Gates(2),
    Door::Participant,
];

impl Door {
    /// Whether a good certificate of the role opens it.
    fn is_for(self, role: &str) -> bool {
        match self {
            Self::Switch(datapath) => role == format!("switch-{datapath}"),
            Self::Manager => role == "manager",
            Self::Page => role.starts_with("operator-"),
            Self::Gates(datapath) => role == format!("gates-{datapath}"),
            Self::Participant => role.starts_with("user-"),
        }
    }
}

/// Those that look at what is shown.
struct Guards {
    manager: Identity,
    gates: Identity,
    askers: KeyFolder,
}

impl Guards {
    /// Whether a peer that shows these certificates, its own first, is let in at a time.
    fn let_in(&self, door: Door, shown: &[Der], at: u64) -> bool {
        let Some((own, others)) = shown.split_first() else { return false };
        let now = UnixTime::since_unix_epoch(Duration::from_secs(at));
        let client = |by: &Identity| by.clients().verify_client_cert(own, others, now).is_ok();
        match door {
            Door::Switch(datapath) => {
                client(&self.manager) && Identity::check(Some(shown), Role::Switch(datapath)).is_ok()
            }
            Door::Manager => client(&self.gates) && Identity::check(Some(shown), Role::Manager).is_ok(),
            Door::Page => {
                client(&self.manager) && matches!(Identity::shown_by(shown), Some(Role::Operator(_)))
            }
            Door::Gates(datapath) => {
                let (_, name) = self.manager.client_to(Role::Gates(datapath)).unwrap();
                self.manager.servers().verify_server_cert(own, others, &name, &[], now).is_ok()
            }
            Door::Participant => {
                matches!(self.askers.certify(own, at).map(|certified| certified.holder), Ok(Holder::User(_)))
            }
        }
    }
}

/// What strangers have made by themselves.
struct Forgeries {
    /// Of an authority with the same name and another key, by role.
    others: BTreeMap<&'static str, Der>,
    /// Signed by their own keys, with the name of a role.
    own: BTreeMap<&'static str, Der>,
    /// Chains, each certificate signed by the next one, of which the last is a good one of a role that signs nothing.
    chains: Vec<(&'static str, Vec<Der>)>,
}

/// What the certificate of a role says, as the authority would write it.
fn parameters(role: &str, is_authority: bool) -> CertificateParams {
    let mut wanted = CertificateParams::new(Vec::new()).unwrap();
    let now = OffsetDateTime::now_utc();
    wanted.not_before = now.saturating_sub(time::Duration::days(1));
    wanted.not_after = now.saturating_add(time::Duration::days(3_650));
    wanted.distinguished_name = DistinguishedName::new();
    wanted.distinguished_name.push(DnType::CommonName, role);
    let name = format!("{role}.punctual.internal");
    wanted.subject_alt_names = vec![SanType::DnsName(name.try_into().unwrap())];
    wanted.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    wanted.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    if is_authority {
        wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        wanted.key_usages.push(KeyUsagePurpose::KeyCertSign);
    }
    wanted
}

fn key(folder: &Path, role: &str) -> KeyPair {
    KeyPair::from_pem(&fs::read_to_string(folder.join(format!("{role}.key"))).unwrap()).unwrap()
}

fn forgeries(ours: &Folder, theirs: &Folder) -> Forgeries {
    let others = ROLES.map(|role| (role, theirs.certificate(role))).into();
    let own = ROLES.map(|role| {
        let pair = KeyPair::generate().unwrap();
        (role, parameters(role, role.len().is_multiple_of(2)).self_signed(&pair).unwrap().der().clone())
    });
    let mut chains = Vec::new();
    // Each signs for each role, at several distances.
    for signer in ["user-alice", "operator-ann", "switch-1", "gates-1", "store"] {
        for role in ROLES {
            for depth in [1, 2, 4, 9] {
                let mut chain = vec![ours.certificate(signer)];
                let mut issuer = Issuer::new(parameters(signer, true), key(ours.0.path(), signer));
                for level in (0..depth).rev() {
                    let pair = KeyPair::generate().unwrap();
                    let between = format!("between-{level}");
                    let name = if level == 0 { role } else { &between };
                    let signed = parameters(name, level > 0).signed_by(&pair, &issuer).unwrap();
                    chain.insert(0, signed.der().clone());
                    issuer = Issuer::new(parameters(name, true), pair);
                }
                chains.push((role, chain));
            }
        }
    }
    Forgeries { others, own: own.into(), chains }
}

/// A try without a right: where, what is shown, when.
fn attempt(
    random: &mut Random,
    good: &BTreeMap<&'static str, Der>,
    made: &Forgeries,
    now: u64,
) -> (&'static str, Door, Vec<Der>, u64) {
    let door = *random.pick(&DOORS).unwrap();
    let rightful: Vec<&str> = ROLES.into_iter().filter(|role| door.is_for(role)).collect();
    let role = *random.pick(&rightful).unwrap();
    let own = &good[role];
    let some = |random: &mut Random| *random.pick(&ROLES).unwrap();
    let some_bytes = |random: &mut Random, most: u64| -> Vec<u8> {
        (0..random.below_u64(most)).map(|_| random.bits() as u8).collect()
    };
    match random.below_u64(11) {
        0 => ("expired", door, vec![own.clone()], now + 3_651 * DAY + random.below_u64(9_000 * DAY)),
        1 => ("not yet valid", door, vec![own.clone()], now - 2 * DAY - random.below_u64(9_000 * DAY)),
        2 => ("another authority", door, vec![made.others[role].clone()], now),
        3 => {
            let wrong: Vec<&str> = ROLES.into_iter().filter(|role| !door.is_for(role)).collect();
            ("another role", door, vec![good[*random.pick(&wrong).unwrap()].clone()], now)
        }
        4 => ("signed by itself", door, vec![made.own[role].clone()], now),
        5 => ("cut", door, vec![own[..random.below(own.len())].to_vec().into()], now),
        6 => {
            let mut bytes = own.to_vec();
            // Different bits, so that none is put back.
            let first = random.below(bytes.len() * 8);
            for step in 0..=random.below_u64(3) as usize {
                let at = (first + step * 13) % (bytes.len() * 8);
                bytes[at / 8] ^= 1 << (at % 8);
            }
            ("bits are different", door, vec![bytes.into()], now)
        }
        7 => {
            let fitting: Vec<&(&str, Vec<Der>)> =
                made.chains.iter().filter(|(of, _)| door.is_for(of)).collect();
            let (_, chain) = *random.pick(&fitting).unwrap();
            ("signed by who signs nothing", door, chain.clone(), now)
        }
        8 => {
            // What strangers have made, followed by what is good: those are of other keys.
            let own = if random.one_in(2) { &made.own } else { &made.others };
            let mut chain = vec![own[role].clone()];
            chain.extend((0..1 + random.below_u64(6)).map(|_| good[some(random)].clone()));
            ("with good ones behind it", door, chain, now)
        }
        9 => {
            // The end of one, with its signature, behind the beginning of another one.
            let (one, other) = (&good[some(random)], own);
            let one = if one == other { &made.others[role] } else { one };
            let at = 1 + random.below(one.len().min(other.len()) - 1);
            let spliced = [&one[..at], &other[at.min(other.len())..]].concat();
            // Both may be alike until there, or from there on.
            let spliced = if spliced == other.to_vec() { some_bytes(random, 600) } else { spliced };
            let is_good = good.values().any(|good| good.to_vec() == spliced);
            ("spliced", door, if is_good { Vec::new() } else { vec![spliced.into()] }, now)
        }
        _ => ("no certificate", door, vec![some_bytes(random, 700).into()], now),
    }
}

#[test]
fn no_certificate_without_a_right_is_taken() {
    let (ours, theirs) = (Folder::new(), Folder::new());
    let good: BTreeMap<&str, Der> = ROLES.map(|role| (role, ours.certificate(role))).into();
    let made = forgeries(&ours, &theirs);
    let guards = Guards {
        manager: ours.load("manager"),
        gates: ours.load("gates-1"),
        askers: KeyFolder::load(ours.0.path(), "manager").unwrap(),
    };
    let now = u64::try_from(OffsetDateTime::now_utc().unix_timestamp()).unwrap();
    let all_rightful = || {
        for door in DOORS {
            for role in ROLES {
                let is_let_in = guards.let_in(door, &[good[role].clone()], now);
                assert_eq!(is_let_in, door.is_for(role), "{role} at {door:?}");
            }
        }
    };
    all_rightful();
    let mut random = Random::of_case(19, 0);
    let mut kinds = BTreeMap::<(&str, String), u64>::new();
    let tries = tiers::current().number("keys.unauthorised");
    for number in 0..tries {
        let (kind, door, shown, at) = attempt(&mut random, &good, &made, now);
        assert!(!guards.let_in(door, &shown, at), "{number}: {kind} at {door:?}: {shown:02x?}");
        *kinds.entry((kind, format!("{door:?}"))).or_default() += 1;
    }
    println!("{tries} certificates, 0 taken: {kinds:#?}");
    assert_eq!(kinds.len(), 11 * DOORS.len(), "each kind at each door");
    all_rightful();
}

/// All that a client of a role says to a server until both know each other.
fn said_by(client: &Identity, to: Role, server: Arc<ServerConfig>) -> Vec<Vec<u8>> {
    let (config, name): (_, ServerName<'static>) = client.client_to(to).unwrap();
    let (mut client, mut server) =
        (ClientConnection::new(config, name).unwrap(), ServerConnection::new(server).unwrap());
    let mut said = Vec::new();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().unwrap();
        said.push(bytes);
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets().unwrap();
    }
    said
}

/// Whether a server that hears these bytes takes their sender for a client, or any of them for data of a client.
fn is_heard(server: &Arc<ServerConfig>, bytes: &[u8]) -> bool {
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    let mut rest = bytes;
    while !rest.is_empty() {
        let read = server.read_tls(&mut rest).unwrap_or(0);
        let state = server.process_new_packets();
        if state.as_ref().is_ok_and(|state| state.plaintext_bytes_to_read() > 0) {
            return true;
        }
        if read == 0 || state.is_err() {
            break;
        }
    }
    !server.is_handshaking()
}

#[test]
fn nothing_is_heard_before_both_know_each_other() {
    let folder = Folder::new();
    let (manager, gates) = (folder.load("manager"), folder.load("gates-1"));
    let doors = [
        ("switches", manager.server().unwrap()),
        ("gates", gates.server().unwrap()),
        ("page", Arc::new(manager.open_server(None).unwrap())),
    ];
    // What good clients have said: a stranger has seen it.
    let switch = folder.load("switch-1");
    let seen = [
        said_by(&switch, Role::Manager, Arc::clone(&doors[0].1)),
        said_by(&manager, Role::Gates(1), Arc::clone(&doors[1].1)),
        said_by(&folder.load("operator-ann"), Role::Manager, Arc::clone(&doors[2].1)),
    ];
    let lines: [&[u8]; 8] = [
        b"\x04\x00\x00\x08\x00\x00\x00\x01",
        b"\x04\x06\x00\x20\x00\x00\x00\x02\0\0\0\0\0\0\0\x01\0\0\x01\0\xfe\0\0\0\0\0\x01\x4f\0\0\0\0",
        b"\x04\x18\x00\x18\x00\x00\x00\x03\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x09",
        b"{\"ask\":\"lead\",\"epoch\":18446744073709551615}\n",
        b"{\"ask\":\"list\"}\n",
        b"{\"ask\":\"remove\",\"port\":1,\"key\":{\"source\":\"10.0.0.1\",\"source_port\":5000,\"destination\":\"10.0.0.2\",\"destination_port\":6000}}\n",
        b"GET /api/v1/state HTTP/1.1\r\nHost: manager.punctual.internal\r\n\r\n",
        b"POST /api/v1/flows/revoke HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 2\r\n\r\n{}",
    ];
    let mut random = Random::of_case(19, 1);
    let tries = tiers::current().number("keys.unauthorised_lines");
    let mut kinds = BTreeMap::<&str, u64>::new();
    for number in 0..tries {
        let (door, server) = random.pick(&doors).unwrap();
        let said = random.pick(&seen).unwrap();
        let (kind, bytes) = match random.below_u64(8) {
            0 => ("a line of a protocol", random.pick(&lines).unwrap().to_vec()),
            1 => {
                let line = random.pick(&lines).unwrap();
                ("lines one after the other", line.repeat(1 + random.below(200)))
            }
            2 => ("random bytes", (0..random.below_u64(500)).map(|_| random.bits() as u8).collect()),
            3 => {
                // A record of TLS that says that it is what a client says.
                let line = random.pick(&lines).unwrap();
                let length = u16::try_from(line.len()).unwrap().to_be_bytes();
                ("application data", [&[23, 3, 3][..], &length, line].concat())
            }
            4 => {
                let line = random.pick(&lines).unwrap();
                ("a line behind the first message", [said[0].as_slice(), line].concat())
            }
            5 => ("all that a client has said", said.concat()),
            6 => ("a part of that", said.concat()[..random.below(said.concat().len())].to_vec()),
            _ => {
                let mut bytes = said.concat();
                for _ in 0..=random.below_u64(3) {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below_u64(8);
                }
                ("that with other bits", bytes)
            }
        };
        assert!(!is_heard(server, &bytes), "{number}: {kind} at {door}: {bytes:02x?}");
        *kinds.entry(kind).or_default() += 1;
    }
    println!("{tries} times bytes without a handshake, 0 heard: {kinds:#?}");
    assert_eq!(kinds.len(), 8);
    // A switch with its key is known in the same way.
    said_by(&switch, Role::Manager, Arc::clone(&doors[0].1));
}
