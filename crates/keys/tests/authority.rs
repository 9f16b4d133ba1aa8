//! Keys and certificates in folders, and connections with them, in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use keys::rustls::{ClientConnection, ServerConnection};
use keys::{Authority, Identity, Role};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn of(roles: &[Role]) -> Self {
        let folder = Self::new();
        let authority = Authority::open(folder.0.path()).unwrap();
        for role in roles {
            assert!(authority.issue(*role).unwrap());
        }
        folder
    }

    fn load(&self, role: Role) -> Identity {
        Identity::load(self.0.path(), role).unwrap()
    }
}

/// Shakes hands in memory; what the server knows of the client, or why there is no connection.
fn meet(client: &Identity, to: Role, server: &Identity) -> Result<ServerConnection, String> {
    let (config, name) = client.client_to(to).unwrap();
    let mut client = ClientConnection::new(config, name).unwrap();
    let mut server = ServerConnection::new(server.server().unwrap()).unwrap();
    for _ in 0..10 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().map_err(|error| format!("server: {error}"))?;
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets().map_err(|error| format!("client: {error}"))?;
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok(server)
}

#[test]
fn both_ends_show_what_they_are() {
    let folder = Folder::of(&[Role::Manager, Role::Switch(1), Role::Gates(1)]);
    let [manager, switch, gates] =
        [Role::Manager, Role::Switch(1), Role::Gates(1)].map(|role| folder.load(role));
    let met = meet(&switch, Role::Manager, &manager).unwrap();
    Identity::check(met.peer_certificates(), Role::Switch(1)).unwrap();
    for other in [Role::Switch(2), Role::Switch(11), Role::Gates(1), Role::Manager] {
        let wrong = Identity::check(met.peer_certificates(), other).unwrap_err();
        assert_eq!(wrong, format!("its certificate is not that of {other}"));
    }
    let met = meet(&manager, Role::Gates(1), &gates).unwrap();
    Identity::check(met.peer_certificates(), Role::Manager).unwrap();
    // The client finds out if the server is another one.
    assert!(meet(&manager, Role::Gates(2), &gates).unwrap_err().starts_with("client: "));
    assert!(switch.server().is_err() && gates.client_to(Role::Manager).is_err());
    assert_eq!(Identity::check(None, Role::Manager).unwrap_err(), "it shows no certificate");
}

#[test]
fn another_authority_is_not_trusted_by_either_end() {
    let ours = Folder::of(&[Role::Manager, Role::Switch(1)]);
    let theirs = Folder::of(&[Role::Manager, Role::Switch(1)]);
    let trusts_theirs =
        meet(&theirs.load(Role::Switch(1)), Role::Manager, &ours.load(Role::Manager)).unwrap_err();
    assert!(trusts_theirs.starts_with("client: "), "{trusts_theirs}");
    // A client that trusts the manager, with a certificate of another authority.
    fs::copy(ours.0.path().join("authority.pem"), theirs.0.path().join("authority.pem")).unwrap();
    let refused = meet(&theirs.load(Role::Switch(1)), Role::Manager, &ours.load(Role::Manager)).unwrap_err();
    assert!(refused.starts_with("server: "), "{refused}");
}

/// A certificate of a switch signs nothing, and is no server's.
#[test]
fn a_switch_cannot_stand_for_a_manager() {
    let folder = Folder::of(&[Role::Manager, Role::Switch(1), Role::Gates(1)]);
    fs::copy(folder.0.path().join("switch-1.pem"), folder.0.path().join("gates-1.pem")).unwrap();
    fs::copy(folder.0.path().join("switch-1.key"), folder.0.path().join("gates-1.key")).unwrap();
    let pretender = folder.load(Role::Gates(1));
    assert!(
        meet(&folder.load(Role::Manager), Role::Gates(1), &pretender).unwrap_err().starts_with("client: ")
    );
    assert!(
        meet(&folder.load(Role::Manager), Role::Switch(1), &pretender).unwrap_err().starts_with("client: ")
    );
}

#[test]
fn what_is_there_is_kept_and_keys_are_secret() {
    let folder = Folder::of(&[Role::Manager]);
    let before = fs::read(folder.0.path().join("manager.pem")).unwrap();
    let authority = Authority::open(folder.0.path()).unwrap();
    assert!(!authority.issue(Role::Manager).unwrap() && authority.issue(Role::Switch(3)).unwrap());
    assert_eq!(fs::read(folder.0.path().join("manager.pem")).unwrap(), before);
    for key in ["authority.key", "manager.key", "switch-3.key"] {
        assert_eq!(fs::metadata(folder.0.path().join(key)).unwrap().mode() & 0o777, 0o600, "{key}");
    }
    // What was issued by an authority that was opened again is as good.
    meet(&folder.load(Role::Switch(3)), Role::Manager, &folder.load(Role::Manager)).unwrap();
    fs::set_permissions(folder.0.path().join("manager.key"), fs::Permissions::from_mode(0o640)).unwrap();
    let wrong = Identity::load(folder.0.path(), Role::Manager).unwrap_err();
    assert!(wrong.to_string().contains("others than its owner may read this key"), "{wrong}");
}

#[test]
fn damaged_and_missing_files_are_named() {
    let folder = Folder::of(&[Role::Manager, Role::Switch(1)]);
    let said = |role: Role| Identity::load(folder.0.path(), role).unwrap_err().to_string();
    let told = said(Role::Gates(9));
    assert!(told.contains("gates-9.pem") && told.contains("punctual grm keys"), "{told}");
    fs::copy(folder.0.path().join("switch-1.key"), folder.0.path().join("manager.key")).unwrap();
    assert!(said(Role::Manager).contains("manager.pem"), "{}", said(Role::Manager));
    for bytes in [&b""[..], b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &[0xff; 3_000]]
    {
        fs::write(folder.0.path().join("switch-1.pem"), bytes).unwrap();
        assert!(said(Role::Switch(1)).contains("switch-1.pem"), "{}", said(Role::Switch(1)));
    }
    fs::write(folder.0.path().join("authority.key"), "no key").unwrap();
    let told = Authority::open(folder.0.path()).unwrap_err().to_string();
    assert!(told.contains("no authority"), "{told}");
}
