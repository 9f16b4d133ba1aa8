//! Keys as `punctual grm keys` makes them: what they sign, and what is not believed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use credentials::KeyFolder;
use keys::{Authority, Role};
use tempfile::TempDir;
use wire::GuidPrefix;
use wire::admission::Identity;
use wire::seal::{Credentials as _, Holder, SEAL_SIZE, Signature, check_identity, identity};

struct Folder(TempDir);

impl Folder {
    fn of(roles: &[(&str, i64)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path()).unwrap();
        for (role, days) in roles {
            assert!(authority.issue_for(role.parse::<Role>().unwrap(), *days).unwrap());
        }
        Self(folder)
    }

    fn load(&self, role: &str) -> KeyFolder {
        KeyFolder::load(self.0.path(), role).unwrap()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

const ALICE: GuidPrefix = GuidPrefix([1; 12]);
const BOB: GuidPrefix = GuidPrefix([2; 12]);

#[test]
fn a_certificate_names_its_holder_and_is_good_for_its_own_participant_alone() {
    let folder = Folder::of(&[("user-alice", 10), ("manager", 10)]);
    let (alice, manager) = (folder.load("user-alice"), folder.load("manager"));
    let shown = identity(&alice, ALICE, 0).unwrap();
    let certified = check_identity(&manager, ALICE, &shown, now()).unwrap();
    assert_eq!(certified.holder, Holder::User("alice".to_owned()));
    assert_eq!(manager.holder(), &Holder::Manager);
    let bytes = shown.certificate.len();
    assert!((300..700).contains(&bytes), "a certificate has {bytes} bytes");
    // Copied by another participant, in its own name and in that of the first one.
    assert!(check_identity(&manager, BOB, &shown, now()).unwrap_err().contains("another participant"));
    let copied = Identity { participant: identity(&alice, BOB, 0).unwrap().participant, ..shown.clone() };
    assert!(check_identity(&manager, BOB, &copied, now()).unwrap_err().contains("does not have the key"));
    let other_epoch = Identity { epoch: 1, ..shown.clone() };
    assert!(
        check_identity(&manager, ALICE, &other_epoch, now()).unwrap_err().contains("does not have the key")
    );
    // Each bit of the signature and of the certificate counts.
    for at in [0, shown.signature.len() / 2, shown.signature.len() - 1] {
        let mut signature = shown.signature.clone();
        signature[at] ^= 1;
        assert!(check_identity(&manager, ALICE, &Identity { signature, ..shown.clone() }, now()).is_err());
    }
    for at in (0..bytes).step_by(7) {
        let mut certificate = shown.certificate.clone();
        certificate[at] ^= 0x10;
        assert!(
            check_identity(&manager, ALICE, &Identity { certificate, ..shown.clone() }, now()).is_err(),
            "byte {at}"
        );
    }
}

#[test]
fn other_authorities_other_roles_and_certificates_that_are_over_are_refused() {
    let folder = Folder::of(&[("user-alice", 10), ("manager", 10), ("user-old", 0), ("switch-1", 10)]);
    let manager = folder.load("manager");
    let refused = |keys: &KeyFolder, at: u64| {
        let shown = identity(keys, ALICE, 0).unwrap();
        check_identity(&manager, ALICE, &shown, at).unwrap_err()
    };
    let elsewhere = Folder::of(&[("user-alice", 10)]);
    assert_eq!(refused(&elsewhere.load("user-alice"), now()), "its certificate is of another authority");
    assert_eq!(refused(&folder.load("user-old"), now() + 1), "its certificate has expired");
    let alice = folder.load("user-alice");
    assert_eq!(refused(&alice, now() + 11 * 86_400), "its certificate has expired");
    assert!(refused(&alice, now() - 3 * 86_400).contains("does not hold yet"));
    let switch = KeyFolder::load(folder.0.path(), "switch-1").unwrap_err().to_string();
    assert!(switch.contains("neither asks nor manages"), "{switch}");
}

#[test]
fn a_key_that_others_can_read_or_that_is_of_another_certificate_is_refused() {
    let folder = Folder::of(&[("user-alice", 10), ("user-bob", 10)]);
    let path = |name: &str| folder.0.path().join(name);
    let said = |role: &str| KeyFolder::load(folder.0.path(), role).unwrap_err().to_string();
    assert!(said("user-carol").contains("punctual grm keys"));
    assert!(said("../user-bob").contains("no role"));
    fs::set_permissions(path("user-alice.key"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(said("user-alice").contains("chmod 600"));
    fs::copy(path("user-bob.key"), path("user-alice.key")).unwrap();
    fs::set_permissions(path("user-alice.key"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(said("user-alice").contains("not the key of the certificate"));
    fs::write(path("authority.pem"), "no certificate").unwrap();
    assert!(said("user-bob").contains("authority.pem"));
}

#[test]
fn signatures_fit_seals() {
    let folder = Folder::of(&[("user-alice", 10)]);
    let alice = folder.load("user-alice");
    let message = [3; 300];
    let certified = alice.certify(alice.certificate(), now()).unwrap();
    for _ in 0..100 {
        let signature = alice.sign(&message).unwrap();
        assert!(alice.has_signed(&certified, &message, &signature));
        assert!(!alice.has_signed(&certified, &message[1..], &signature));
    }
    assert!(!alice.has_signed(&certified, &message, &Signature::new(&[0x30; 70]).unwrap()));
    assert_eq!(SEAL_SIZE, 84);
}
