//! Requests that are signed, in a lab: who has no key of the authority, or asks for more than the policy says, is refused with the reason;
//! who repeats what others have signed does no harm.
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use credentials::KeyFolder;
use dds::assurance::State;
use dds::config::{Config, Given, Interfaces};
use dds::qos::{Durability, Reliability};
use dds::{DomainParticipantFactory, NO_STATUS, QosKind, WriteOptions};
use keys::Authority;
use wire::admission::{REQUEST_TOPIC, REQUEST_TYPE, Request};

use crate::MILLISECOND;
use crate::ward::{NETWORK, Reader, Ward, patiently, with_gates};

const POLICY: &str = r#"
default = "deny"

[[rule]]
users = ["alice"]
topics = ["Picture*"]
most-flows = 1
"#;

fn refused(what: &str, reader: &Reader) -> String {
    let refused = || reader.pairs().into_iter().find(|pair| pair.state == State::Refused);
    patiently(what, refused).reason
}

fn is_admitted(reader: &Reader) -> bool {
    reader.pairs().iter().any(|pair| pair.state == State::Admitted)
}

#[test]
fn who_may_not_ask_is_refused_and_replays_do_no_harm() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::secured(&with_gates(NETWORK), POLICY);
    let (_picture, _other) = (
        ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND),
        ward.writer("camera", "Other", 4_000, 10 * MILLISECOND),
    );
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    patiently("the verdict", || is_admitted(&reader).then_some(()));
    assert_eq!(ward.flow_entries(), 1);

    // By the policy, with its line.
    let other = ward.reader("display", "Other", 5 * MILLISECOND);
    assert!(refused("a refusal by the policy", &other).contains("no rule is for it"));
    let second = ward.reader("display", "Picture", 5 * MILLISECOND);
    let said = refused("a refusal of a second flow", &second);
    assert!(said.contains("line 4, does not allow user alice one more flow: it has 1 of 1"), "{said}");

    // Without a key, and with one of another authority.
    let plain = ward.reader_with("display", "Picture", 5 * MILLISECOND, None);
    let said = refused("a refusal of what is not signed", &plain);
    assert!(said.contains("signed requests alone"), "{said}");
    let elsewhere = ward.file("elsewhere");
    Authority::open(&elsewhere).unwrap().issue("user-alice".parse().unwrap()).unwrap();
    let stranger = Given(Arc::new(KeyFolder::load(&elsewhere, "user-alice").unwrap()));
    let stranger = ward.reader_with("display", "Picture", 5 * MILLISECOND, Some(stranger));
    patiently("a line about the certificate", || ward.log().contains("of another authority").then_some(()));
    assert!(!is_admitted(&stranger));

    // Another participant hears all requests and sends them again, with their signatures, and that they are over.
    let replays = ward.lab.on("display", || {
        let mut config = Config::default();
        config.network.interfaces = Interfaces::Named(vec!["eth0".to_owned()]);
        let factory = DomainParticipantFactory::get_instance();
        let participant =
            factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS).unwrap();
        let topic = participant
            .create_topic::<Request>(REQUEST_TOPIC, REQUEST_TYPE, QosKind::Default, None, NO_STATUS)
            .unwrap();
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = subscriber.get_default_datareader_qos();
        (qos.endpoint.reliability, qos.endpoint.durability) =
            (Reliability::RELIABLE, Durability::TransientLocal);
        let heard =
            subscriber.create_datareader::<Request>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = publisher.get_default_datawriter_qos();
        qos.endpoint.durability = Durability::TransientLocal;
        let says =
            publisher.create_datawriter::<Request>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        patiently("a reader of requests", || (!says.get_matched_subscriptions().is_empty()).then_some(()));
        let mut samples = Vec::new();
        patiently("requests", || {
            heard.access_serialized(&dds::serialized::Request::TAKE, &mut samples).unwrap();
            (samples.len() >= 3).then_some(())
        });
        for sample in &samples {
            let Some(payload) = &sample.payload else { continue };
            says.write_serialized(&payload.bytes().to_vec().into(), &WriteOptions::default()).unwrap();
            let known = dds::serialized::InstanceOf::Sample(payload.bytes());
            says.dispose_of(known, None).unwrap();
        }
        let _ = says.wait_for_acknowledgments(dds::Duration::from_secs(5));
        let _ = participant.delete_contained_entities();
        let _ = factory.delete_participant(&participant);
        samples.len()
    });
    assert!(replays.unwrap() >= 3);
    std::thread::sleep(Duration::from_secs(1));
    assert!(is_admitted(&reader));
    assert_eq!(ward.flow_entries(), 1);

    // Its own withdrawal counts: its place is free for the second one, which asks again when it is made anew.
    drop(second);
    drop(reader);
    patiently("the end of the flow", || (ward.flow_entries() == 0).then_some(()));
    let third = ward.reader("display", "Picture", 5 * MILLISECOND);
    patiently("its verdict", || is_admitted(&third).then_some(()));
}

#[test]
fn a_policy_is_checked_and_asked_by_a_command() {
    let folder = lab_turn::Folder::new();
    let file = folder.file("policy.toml", POLICY);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let output = command.args(["grm", "policy", "check"]).arg(&file).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    assert_eq!(run(&[]), (0, "1 rules; what none of them is for is denied\n".to_owned()));
    let (code, said) = run(&["--user", "alice", "--topic", "Pictures"]);
    assert_eq!((code, said.as_str()), (0, "allowed: user alice may ask for \"Pictures\" (line 4)\n"));
    let (code, said) = run(&["--user", "bob", "--topic", "Pictures"]);
    assert!(code == 1 && said.contains("no rule is for it"), "{code} {said}");
    let (code, said) = run(&[
        "--user", "alice", "--topic", "Picture", "--rate", "1 Mb/s", "--link", "1 Gb/s", "--flows", "1",
    ]);
    assert!(code == 1 && said.contains("one more flow: it has 1 of 1"), "{code} {said}");
    folder.file("policy.toml", "default = \"deny\"\n[[rule]]\nuser = [\"alice\"]\n");
    let (code, said) = run(&[]);
    assert!(code == 2 && said.contains("policy.toml:3:1") && said.contains("unknown field"), "{code} {said}");
}
