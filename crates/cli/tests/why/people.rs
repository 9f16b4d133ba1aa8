//! Participants that do not meet.
use cli::explain::Neighbour;
use dds::qos::{DataWriterQos, PublisherQos};
use dds::{Duration, QosKind};
use rtps::discovery::Rejection;

use crate::desk::Desk;
use crate::stage::{Stage, told};

#[test]
fn somebody_who_does_not_hear_us() {
    let mut stage = Stage::new();
    // Host 2 is the watcher's: nothing that it sends reaches the others.
    stage.desk.cut(2, 0);
    stage.desk.cut(2, 1);
    let scene = stage.scene(None);
    assert_eq!(
        told(&scene),
        ["talker\" (Punctual at 10.0.0.1) is heard from 10.0.0.1:7410", "listener\" (Punctual at 10.0.0.2) is heard from 10.0.0.2:7410"]
            .map(|who| format!(
                "! participant \"{who}, and has not answered: it does not hear us\n  Let UDP through to it and back (firewall, route, VPN, container): its ports are 7410 and up. A wrong address in its announcement does the same."
            ))
            .join("\n")
    );
}

#[test]
fn another_domain_tag_is_a_rejection_even_if_nobody_else_listens() {
    let mut desk = Desk::new();
    let _blue = desk.participant_with(QosKind::Default, |settings| settings.domain_tag = "blue".to_owned());
    let watcher = desk.participant();
    desk.run(Duration::from_secs(5));
    let scene = cli::explain::Scene::of(&watcher, "", None, Duration::from_secs(5));
    let said = told(&scene);
    let (count, rest) = said.split_once(" announcements").unwrap();
    assert!(count.trim_start_matches("- ").parse::<u32>().unwrap() > 0);
    assert_eq!(
        rest,
        " or the like were not believed: other domain or domain tag\n  A participant has another domain tag, or sends to a port of this domain: compare domain ids and tags."
    );
}

#[test]
fn samples_from_where_a_participant_has_not_answered() {
    let mut stage = Stage::new();
    let mut scene = stage.scene(None);
    scene.rejections = vec![(Rejection::UserSource, 41)];
    let said = told(&scene);
    assert!(
        said.contains("- 41 messages of writers and readers were not believed: sent to endpoints from an address that is not known for that participant\n  Samples or acknowledgements in the name of a participant come from a socket where it has not answered"),
        "{said}"
    );
}

/// What is said of the talker when it is heard in another domain, or with another tag, and this one is empty or not.
fn neighbour(domain: u32, tag: &str, topic: Option<&str>, has_topic: bool, alone: bool) -> String {
    let mut stage = Stage::new();
    let _writer = stage.writer("Readings", "Reading", PublisherQos::default(), DataWriterQos::default());
    let mut scene = stage.scene(topic);
    let person = scene.people.iter().find(|person| person.name.as_deref() == Some("talker")).unwrap().clone();
    let endpoints = if has_topic { std::mem::take(&mut scene.endpoints) } else { Vec::new() };
    scene.endpoints.clear();
    if alone {
        scene.people = cli::People::default();
    }
    scene.neighbours = vec![Neighbour { domain, tag: tag.to_owned(), person, endpoints }];
    told(&scene)
}

#[test]
fn another_domain_id() {
    let todo =
        "Give both programs the same domain id (for ROS 2: ROS_DOMAIN_ID); --domain 3 looks into that one.";
    assert_eq!(
        neighbour(3, "", None, false, false),
        format!("- participant \"talker\" (Punctual at 10.0.0.1) is in domain 3; this is domain 0\n  {todo}")
    );
    assert_eq!(
        neighbour(3, "", None, false, true),
        format!("! participant \"talker\" (Punctual at 10.0.0.1) is in domain 3; this is domain 0\n  {todo}")
    );
    let said = neighbour(3, "", Some("Readings"), true, false);
    let mine = said.lines().skip(2).collect::<Vec<_>>().join("\n");
    assert_eq!(
        mine,
        format!(
            "! participant \"talker\" (Punctual at 10.0.0.1) writes topic \"Readings\", but it is in domain 3, and this is domain 0\n  {todo}"
        )
    );
}

#[test]
fn another_domain_tag() {
    assert_eq!(
        neighbour(0, "blue", None, false, true),
        "! participant \"talker\" (Punctual at 10.0.0.1) has the domain tag \"blue\"; here it is \"\"\n  Give both programs the same domain tag; --domain-tag \"blue\" looks into that one."
    );
}
