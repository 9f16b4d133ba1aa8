//! With keys operators show a certificate: commands that change what a manager does go by TLS, and no other key is of use.
use std::path::Path;
use std::process::{Child, Command, Stdio};

use keys::Authority;
use lab_turn::Folder;
use testkit::namespace::alone;

use crate::ward::{NETWORK, patiently, with_gates};

const SECURE: &str = "127.0.0.1:8443";
const PLAIN: &str = "127.0.0.1:8080";

/// A manager without switches; it ends with this value.
struct Manager(Child);

impl Manager {
    fn new(folder: &Folder, listen: &str, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.arg("grm").arg(folder.0.join("ward.toml")).args(["--interface", "lo", "--store", "none"]);
        command.args(["--listen", listen]).args(options).stdin(Stdio::null());
        let mut log = std::fs::OpenOptions::new();
        let log = log.create(true).append(true).open(folder.0.join("log")).unwrap();
        Self(command.stdout(log).spawn().unwrap())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks whether the file could be read again: the exit code and what is said.
fn reload(web: &str, options: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["grm", "reload", "--check", "--web", web]).args(options).env("USER", "nemo");
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

/// Asks in vain: the code of the refusal, and words of it. Where the other end closes the connection before the question is written, its reason is not heard,
/// and the question is asked once more.
fn refused(web: &str, options: &[&str], code: i32, words: &str) {
    patiently(words, || {
        let (found, said) = reload(web, options);
        assert_ne!(found, 0, "{options:?}: {said}");
        if found != code || !said.contains(words) {
            println!("{options:?}: {found} {said}");
            return None;
        }
        Some(())
    });
}

fn made(folder: &Path, roles: &[(&str, i64)]) {
    let authority = Authority::open(folder).unwrap();
    for (role, days) in roles {
        assert!(authority.issue_for(role.parse().unwrap(), *days).unwrap());
    }
}

/// A folder with the key of an operator that is another one's, or another role's.
fn copied(from: &Path, role: &str, to: &Path, authority: &Path) {
    std::fs::create_dir(to).unwrap();
    std::fs::copy(authority.join("authority.pem"), to.join("authority.pem")).unwrap();
    for end in ["pem", "key"] {
        std::fs::copy(from.join(format!("{role}.{end}")), to.join(format!("operator-eve.{end}"))).unwrap();
    }
}

#[test]
fn an_operator_shows_who_that_is_and_no_other_key_opens() {
    alone(|| {
        testkit::namespace::ip("link set lo multicast on");
        let folder = Folder::new();
        folder.file("ward.toml", &with_gates(NETWORK));
        let (keys, others) = (folder.0.join("keys"), folder.0.join("others"));
        let in_force =
            [("manager", 9), ("operator-ann", 9), ("switch-1", 9), ("gates-1", 9), ("user-ann", 9)];
        made(&keys, &in_force);
        made(&others, &[("operator-eve", 9)]);
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let token = folder.file("token", &"x".repeat(32));
        let _secure = Manager::new(&folder, "127.0.0.1:6653", &["--web", SECURE, "--keys", &text(&keys)]);
        let good = ["--keys", &text(&keys)];
        patiently("the page", || (reload(SECURE, &good).0 == 0).then_some(()));
        let (code, said) = reload(SECURE, &good);
        assert!(code == 0 && said.contains("all flows could be kept"), "{code} {said}");

        // A name that is said counts for nothing beside a certificate, and one without a key is not there.
        refused(SECURE, &["--keys", &text(&keys), "--operator", "bob"], 2, "operator-bob");

        // Without keys, or with a token that is none.
        let speaks = "speaks TLS: give --keys";
        refused(SECURE, &[], 3, speaks);
        refused(SECURE, &["--web-token", &text(&token)], 3, speaks);

        // Another authority, as this end and as the other one.
        refused(SECURE, &["--keys", &text(&others)], 3, "its certificate is of another authority");
        let stolen = folder.0.join("stolen");
        copied(&others, "operator-eve", &stolen, &keys);
        refused(SECURE, &["--keys", &text(&stolen)], 3, "does not accept the certificate of this end");

        // Keys of switches, gates, users: good ones, and not for this.
        for role in ["switch-1", "user-ann"] {
            let wrong = folder.0.join(format!("wrong-{role}"));
            copied(&keys, role, &wrong, &keys);
            let why = format!("the certificate is that of {role}, which is no operator");
            refused(SECURE, &["--keys", &text(&wrong)], 1, &why);
        }
        // An agent of gates connects to no manager.
        let gates = folder.0.join("wrong-gates");
        copied(&keys, "gates-1", &gates, &keys);
        refused(SECURE, &["--keys", &text(&gates)], 3, "it ends the connection");

        // One that is over.
        made(&keys, &[("operator-old", -1)]);
        refused(SECURE, &good, 2, "say which with --operator");
        refused(SECURE, &["--keys", &text(&keys), "--operator", "old"], 3, "has expired");

        // A page without keys.
        let _plain = Manager::new(&folder, "127.0.0.1:6654", &["--web", PLAIN, "--domain", "1"]);
        patiently("the other page", || (reload(PLAIN, &[]).0 == 0).then_some(()));
        let ann = ["--keys", &text(&keys), "--operator", "ann"];
        refused(PLAIN, &ann, 3, "does not speak TLS: leave out the keys");

        assert_eq!(reload(SECURE, &ann).0, 0);
    });
}
