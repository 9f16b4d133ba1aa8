//! A host that starts only what an operator has signed.
use std::fs;
use std::path::Path;
use std::process::Command;

use keys::{Authority, Name, Role};
use testkit::namespace::alone;

use crate::hosts::Site;
use crate::place::Place;

/// What `openssl` says of a signature; nothing if it is not there, which it may be outside of continuous integration alone.
fn openssl_verifies(program: &Path) -> Option<bool> {
    let beside = |end: &str| format!("{}{end}", program.display());
    let key = beside(".key");
    let shown = Command::new("openssl")
        .args(["x509", "-pubkey", "-noout", "-in", &beside(".signer.pem"), "-out", &key])
        .output();
    if let Err(error) = shown {
        assert!(std::env::var_os("CI").is_none(), "openssl: {error}: scripts/setup installs it");
        eprintln!("passed over: openssl is not there");
        return None;
    }
    let verified = Command::new("openssl")
        .args(["dgst", "-sha256", "-verify", &key, "-signature", &beside(".signature"), &beside("")])
        .output();
    let verified = verified.unwrap();
    fs::remove_file(key).unwrap();
    Some(String::from_utf8_lossy(&verified.stdout).contains("Verified OK"))
}

#[test]
fn only_what_an_operator_has_signed_is_started() {
    alone(|| {
        let site = Site::new("signed");
        // The program of the host in the east is a file of its own.
        let program = site.east.path("tracker");
        fs::copy(Place::example("tracker"), &program).unwrap();
        let plan = Site::plan();
        let artefact = format!("location = [\"{}\"]", Place::example("tracker"));
        let west = "[artefact.west]\n".to_owned() + &artefact + "\n";
        let plan = testkit::changed(&plan, &artefact, "location = [\"tracker\"]") + &west;
        let show = "[process.show]\nhost = \"west\"\nartefact = \"tracker\"";
        let plan = testkit::changed(&plan, show, &show.replace("\"tracker\"", "\"west\""));
        site.site.has("tracker.toml", &plan);
        let _manager = site.manager();
        let (programs, keys) = (site.east.path(""), site.keys());
        let mut east = site.east.begin(&format!(
            "node --manager 127.0.0.1 --name east --signed --keys {} --programs {}",
            keys.display(),
            programs.display()
        ));
        east.prints("punctual: connected to the manager");
        let mut west = site.node("west");
        let refused = |why: &str| {
            let (code, _, told) = site.deploy("launch {tracker.toml}");
            assert!(
                code == 1 && told.contains("host east: artefact tracker: ") && told.contains(why),
                "{told}"
            );
            // The node managers alone.
            assert_eq!((site.east.processes().len(), site.west.processes().len()), (1, 1));
        };
        let sign = |keys: &Path| {
            site.site.ok(&format!("sign {} --keys {}", program.display(), keys.display()));
        };

        refused("this host starts only what an operator has signed: `punctual deploy sign ");
        // Another authority's operator, of the same name.
        let other = site.site.path("others");
        let authority = Authority::open(&other).unwrap();
        assert!(authority.issue(Role::Operator(Name::new("ann").unwrap())).unwrap());
        sign(&other);
        refused("the certificate of its signer: ");
        sign(&keys);
        assert_ne!(openssl_verifies(&program), Some(false));
        // A role that signs nothing: its certificate in place of the operator's.
        let signer = site.east.path("tracker.signer.pem");
        let of_operator = fs::read(&signer).unwrap();
        fs::copy(keys.join("node-east.pem"), &signer).unwrap();
        refused("it is not what node-east has signed");
        fs::write(&signer, "-----BEGIN CERTIFICATE-----\n").unwrap();
        refused("the certificate of its signer: ");
        fs::write(&signer, of_operator).unwrap();
        let signature = site.east.path("tracker.signature");
        let signed = fs::read(&signature).unwrap();
        for wrong in [&signed[..signed.len() - 1], &[0; 100_000], b""] {
            fs::write(&signature, wrong).unwrap();
            refused("tracker");
        }
        fs::write(&signature, signed).unwrap();
        let bytes = fs::read(&program).unwrap();
        let mut changed = bytes.clone();
        *changed.last_mut().unwrap() ^= 1;
        fs::write(&program, changed).unwrap();
        refused("it is not what operator-ann has signed");
        fs::write(&program, bytes).unwrap();

        assert_eq!(site.ok("launch {tracker.toml}"), "launched tracker\n");
        west.position();
        assert_eq!(site.ok("stop tracker"), "stopped tracker\n");
        for node in [&mut east, &mut west] {
            node.interrupt();
            assert!(node.ended().success());
        }
    });
}
