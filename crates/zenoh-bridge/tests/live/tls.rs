//! Bridges that show each other certificates, and one whose certificate is of another authority.
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use testkit::namespace::alone;
use testkit::patience::patiently_or;

use crate::gate::Gate;
use crate::plant::{Folder, Joint, angles, bridge_that_writes, participant, take};

/// An authority with the certificate of a bridge, as files.
struct Authority {
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

fn authority(folder: &Path, name: &str) -> Authority {
    let write = |end: &str, text: &str| {
        let path = folder.join(format!("{name}-{end}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut of_authority = CertificateParams::new(vec![format!("{name} authority")]).unwrap();
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    of_authority.distinguished_name.push(rcgen::DnType::CommonName, name);
    let pair = KeyPair::generate().unwrap();
    let ca = write("ca.pem", &of_authority.self_signed(&pair).unwrap().pem());
    let issuer = Issuer::new(of_authority, pair);
    let pair = KeyPair::generate().unwrap();
    let of_bridge = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()]).unwrap();
    let certificate = write("bridge.pem", &of_bridge.signed_by(&pair, &issuer).unwrap().pem());
    Authority { ca, certificate, key: write("bridge.key", &pair.serialize_pem()) }
}

/// Options with the authority of one and the certificate of another.
fn files<'a>(ca: &'a Authority, own: &'a Authority) -> [&'a str; 6] {
    let text = |path: &'a Path| path.to_str().unwrap();
    ["--ca", text(&ca.ca), "--certificate", text(&own.certificate), "--key", text(&own.key)]
}

fn wait_for(said: &Path, text: &str) {
    let read = || std::fs::read_to_string(said).unwrap_or_default();
    patiently_or(|| format!("{text:?} in {}", read()), || read().contains(text).then_some(()));
}

#[test]
fn by_tls_nothing_is_in_clear_and_wrong_certificates_are_refused_with_the_reason() {
    alone(|| {
        let folder = Folder::new("tls");
        let (ours, strange) = (authority(folder.path(), "ours"), authority(folder.path(), "strange"));
        let gate = Gate::open(7450, 7447);
        let right = files(&ours, &ours);
        let listens = [&["--listen", "tls/127.0.0.1:7447", "--status", "1"][..], &right].concat();
        let connects = [&["--connect", "tls/127.0.0.1:7450"][..], &right].concat();
        let first = bridge_that_writes(11, &listens, &folder.path().join("first"));
        let second = bridge_that_writes(12, &connects, &folder.path().join("second"));
        // A bridge of another authority, and one that trusts another one.
        let wrong = [
            (14, files(&ours, &strange), "is not trusted there"),
            (15, files(&strange, &strange), "is of no authority in"),
        ];
        let strangers: Vec<_> = wrong
            .iter()
            .map(|(domain, files, _)| {
                let connects = [&["--connect", "tls/127.0.0.1:7447"][..], files].concat();
                bridge_that_writes(*domain, &connects, &folder.path().join(domain.to_string()))
            })
            .collect();
        let (here, there) = (participant(11), participant(12));
        let writer = here.writer::<Joint>("arm/joint").reliable().transient_local().create().unwrap();
        let reader = |site: &dds::Participant| {
            site.reader::<Joint>("arm/joint").reliable().transient_local().create().unwrap()
        };
        let at_strangers: Vec<_> = wrong.iter().map(|(domain, ..)| participant(*domain)).collect();
        let not_read: Vec<_> = at_strangers.iter().map(reader).collect();
        let read = reader(&there);
        writer.write(&Joint { arm: 1, angle: 10 }).unwrap();
        let mut came = Vec::new();
        take(&read, &mut came, |came| !came.is_empty());
        assert_eq!(angles(&came), [10]);
        assert!(!gate.has_heard("arm/joint"), "the name of a topic went in clear");
        for (domain, _, why) in wrong {
            wait_for(&folder.path().join(domain.to_string()), why);
        }
        for reader in &not_read {
            assert!(reader.get_matched_publications().is_empty());
        }
        wait_for(&folder.path().join("first"), ", confidential by TLS: 1 topics, 1 writers announced");
        for bridge in [first, second].into_iter().chain(strangers) {
            bridge.interrupt();
        }
        for name in ["first", "second", "14", "15"] {
            let said = std::fs::read_to_string(folder.path().join(name)).unwrap();
            assert!(said.contains("confidential by TLS") && !said.contains("in clear"), "{said}");
        }
        let refused = std::fs::read_to_string(folder.path().join("14")).unwrap();
        assert!(refused.contains("no connection to tls/127.0.0.1:7447 by TLS"), "{refused}");
    });
}

#[test]
fn without_tls_it_is_in_clear_and_every_line_says_so() {
    alone(|| {
        let folder = Folder::new("clear");
        let gate = Gate::open(7450, 7447);
        let first = bridge_that_writes(
            11,
            &["--listen", "tcp/127.0.0.1:7447", "--status", "1"],
            &folder.path().join("first"),
        );
        let second =
            bridge_that_writes(12, &["--connect", "tcp/127.0.0.1:7450"], &folder.path().join("second"));
        let (here, there) = (participant(11), participant(12));
        let writer = here.writer::<Joint>("arm/joint").reliable().transient_local().create().unwrap();
        let reader = there.reader::<Joint>("arm/joint").reliable().transient_local().create().unwrap();
        writer.write(&Joint { arm: 1, angle: 10 }).unwrap();
        take(&reader, &mut Vec::new(), |came| !came.is_empty());
        // This judge hears what there is to hear.
        assert!(gate.has_heard("arm/joint"));
        wait_for(&folder.path().join("first"), "in clear on tcp/127.0.0.1:7447: 1 topics");
        first.interrupt();
        second.interrupt();
        for (name, endpoint) in [("first", "tcp/127.0.0.1:7447"), ("second", "tcp/127.0.0.1:7450")] {
            let said = std::fs::read_to_string(folder.path().join(name)).unwrap();
            let lines: Vec<&str> = said.lines().filter(|line| line.contains(endpoint)).collect();
            assert!(lines.len() >= 2, "{said}");
            assert!(lines.iter().all(|line| line.contains(&format!("in clear on {endpoint}"))), "{said}");
            assert!(!said.contains("confidential"), "{said}");
        }
    });
}
