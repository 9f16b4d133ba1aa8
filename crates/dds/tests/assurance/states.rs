//! How a pair comes to its verdict, and what follows from it.
use dds::assurance::{Stage, State};
use dds::{Duration, QosKind};

use crate::fixture::*;

#[test]
fn a_pair_is_held_until_its_verdict_and_then_runs_along_its_flow() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs), (State::Pending, Stage::Waiting, String::new()));
    }
    assert_eq!(writer.get_publication_matched_status().current.count, 0);
    assert_eq!(reader.get_subscription_matched_status().current.count, 0);
    let request = manager.request();
    assert_eq!((request.topic.as_str(), request.maximum_latency), ("Frames", 3_000_000));
    assert_eq!((request.contract.largest_message, request.contract.datagram), (4_012, 1_472));
    assert_eq!((request.contract.minimum_separation, request.contract.emission), (5_000_000, 300_000));
    assert_eq!((request.source.address, request.source.port), ([10, 0, 0, 1].into(), 50_000));
    assert_eq!((request.destination.address, request.destination.port), ([10, 0, 0, 2].into(), 7_411));
    assert_eq!(request.pair(), (writer.guid().unwrap(), reader.guid().unwrap()));

    scene.desk.record();
    manager.say(&admission(&request));
    scene.desk.run(millis(100));
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs), (State::Admitted, Stage::Assured, String::new()));
        assert_eq!(pairs[0].bound, Some(millis(1)));
    }
    assert_eq!(writer.get_publication_matched_status().current.count, 1);
    assert_eq!(reader.get_subscription_matched_status().current.count, 1);
    // The reader says so, and asks for nothing new by that.
    let again = manager.request();
    assert_eq!((again.serial, again.stage), (request.serial, Stage::Assured));
    scene.desk.recorded();
    writer.write(&frame(1, 4_000)).unwrap();
    scene.desk.run(millis(50));
    assert_eq!(numbers(&reader), [1]);
    let left = scene.desk.recorded();
    let flow: Vec<_> = left.iter().filter(|left| left.from.port() == 50_000).collect();
    assert_eq!(flow.len(), 3, "4,012 bytes in fragments of 1,356");
    for datagram in flow {
        assert_eq!((datagram.to, datagram.class, datagram.train), ("10.0.0.2:7411".parse().unwrap(), 46, 3));
    }
    assert_eq!(writer.counters().unwrap().messages, 1);
}

#[test]
fn what_comes_after_the_last_sample_of_a_flow_does_not_come_along_it() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let verdict = admission(&manager.request());
    manager.say(&wire::admission::Verdict { lease: 3_600_000_000_000, ..verdict });
    scene.desk.run(millis(100));
    scene.desk.lose(300, 7);
    scene.desk.record();
    let mut written = Vec::new();
    for number in 0..100 {
        writer.write(&frame(number, 40 * (number % 100))).unwrap();
        written.push(number);
        scene.desk.run(millis(6));
    }
    scene.desk.heal();
    scene.desk.run(Duration::from_secs(1));
    assert_eq!(numbers(&reader), written, "what was lost is repeated");
    let flow: Vec<_> = scene.desk.recorded().into_iter().filter(|left| left.from.port() == 50_000).collect();
    let frames: usize = (0..100).map(|number: u32| datagrams_of(12 + 40 * number)).sum();
    assert_eq!(flow.len(), frames, "every sample once along its flow, and nothing else");
}

/// How many datagrams a sample of so many bytes is.
fn datagrams_of(bytes: u32) -> usize {
    if bytes + 107 <= 1_472 { 1 } else { bytes.div_ceil(1_356) as usize }
}

#[test]
fn without_a_manager_a_pair_counts_as_refused_and_runs_as_the_reader_chose() {
    for (wish, stage, matches) in [(wanted(), Stage::Unassured, 1), (or_fail(), Stage::Waiting, 0)] {
        let mut scene = Scene::new();
        let writer = writer(&scene.writes, Some(offered()), |_| {});
        let reader = reader(&scene.reads, Some(wish), |_| {});
        scene.desk.run(millis(2_900));
        assert_eq!(only(&reader.assurance()).0, State::Pending);
        scene.desk.run(millis(600));
        let reason = "no resource manager answers in this domain".to_owned();
        assert_eq!(only(&reader.assurance()), (State::Refused, stage, reason));
        assert_eq!(reader.get_subscription_matched_status().current.count, matches);
        assert_eq!(writer.get_publication_matched_status().current.count, matches);
        writer.write(&frame(1, 100)).unwrap();
        scene.desk.run(millis(100));
        assert_eq!(numbers(&reader).len(), matches as usize);
        // A verdict that comes later counts.
        let manager = scene.manager();
        manager.say(&admission(&manager.request()));
        scene.desk.run(millis(100));
        for pairs in [writer.assurance(), reader.assurance()] {
            assert_eq!(only(&pairs), (State::Admitted, Stage::Assured, String::new()));
        }
        scene.desk.record();
        writer.write(&frame(2, 100)).unwrap();
        scene.desk.run(millis(100));
        assert_eq!(numbers(&reader), [2]);
        assert!(scene.desk.recorded().iter().any(|left| left.from.port() == 50_000 && left.class == 46));
    }
}

#[test]
fn a_refused_pair_runs_as_the_reader_chose_and_says_why() {
    for (wish, stage, matches) in [(wanted(), Stage::Unassured, 1), (or_fail(), Stage::Waiting, 0)] {
        let mut scene = Scene::new();
        let manager = scene.manager();
        let writer = writer(&scene.writes, Some(offered()), |_| {});
        let reader = reader(&scene.reads, Some(wish), |_| {});
        scene.settle();
        manager.say(&refusal(&manager.request(), "port 3, level 1: 120 us are missing"));
        scene.desk.run(millis(100));
        let pair = &reader.assurance()[0];
        assert_eq!((pair.state, pair.stage), (State::Refused, stage));
        assert_eq!(pair.reason, "port 3, level 1: 120 us are missing");
        assert_eq!((pair.offered_latency, pair.offered_separation), (Some(millis(7)), Some(millis(9))));
        let there = &writer.assurance()[0];
        assert_eq!((there.state, &there.reason, there.stage), (State::Refused, &pair.reason, stage));
        assert_eq!(writer.get_publication_matched_status().current.count, matches);
        scene.desk.record();
        writer.write(&frame(1, 100)).unwrap();
        scene.desk.run(millis(100));
        assert_eq!(numbers(&reader).len(), matches as usize);
        assert!(scene.desk.recorded().iter().all(|left| left.from.port() == 7_411), "there is no flow");
    }
}

#[test]
fn a_writer_without_contract_is_refused_by_the_participant_itself() {
    for (wish, stage, matches) in [(wanted(), Stage::Unassured, 1), (or_fail(), Stage::Waiting, 0)] {
        let mut scene = Scene::new();
        let manager = scene.manager();
        let writer = writer(&scene.writes, None, |_| {});
        let reader = reader(&scene.reads, Some(wish), |_| {});
        scene.settle();
        assert_eq!(manager.requests(), [], "nobody is asked");
        let (state, runs, reason) = only(&reader.assurance());
        assert_eq!((state, runs), (State::Refused, stage));
        assert!(reason.contains("no ASSURANCE"), "{reason}");
        assert_eq!(reader.get_subscription_matched_status().current.count, matches);
        assert_eq!(writer.get_publication_matched_status().current.count, matches);
    }
}

#[test]
fn a_reader_without_assurance_takes_part_as_ever() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, None, |_| {});
    scene.settle();
    assert_eq!((manager.requests().len(), reader.assurance().len(), writer.assurance().len()), (0, 0, 0));
    scene.desk.record();
    writer.write(&frame(1, 4_000)).unwrap();
    scene.desk.run(millis(50));
    assert_eq!(numbers(&reader), [1]);
    assert!(scene.desk.recorded().iter().all(|left| left.from.port() == 7_411));
}

#[test]
fn endpoints_of_one_participant_have_no_network_between_them() {
    let mut scene = Scene::new();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.writes, Some(or_fail()), |_| {});
    scene.settle();
    assert_eq!((reader.assurance().len(), writer.assurance().len()), (0, 0));
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(10));
    assert_eq!(numbers(&reader), [1]);
}

#[test]
fn a_verdict_that_nobody_repeats_ends_with_its_lease() {
    for (wish, stage, matches) in [(wanted(), Stage::Unassured, 1), (or_fail(), Stage::Waiting, 0)] {
        let mut scene = Scene::new();
        let manager = scene.manager();
        let writer = writer(&scene.writes, Some(offered()), |_| {});
        let reader = reader(&scene.reads, Some(wish), |_| {});
        scene.settle();
        let verdict = admission(&manager.request());
        for _ in 0..3 {
            manager.say(&verdict);
            scene.desk.run(millis(900));
            assert_eq!(only(&reader.assurance()).0, State::Admitted, "repeated within a second");
        }
        assert_eq!(reader.get_assurance_changed_status().total.count, 2, "pending, admitted");
        scene.desk.run(millis(200));
        for pairs in [writer.assurance(), reader.assurance()] {
            let (state, runs, reason) = only(&pairs);
            assert_eq!((state, runs), (State::Revoked, stage));
            assert!(reason.contains("lease"), "{reason}");
        }
        assert_eq!(writer.get_publication_matched_status().current.count, matches);
        scene.desk.record();
        writer.write(&frame(1, 100)).unwrap();
        scene.desk.run(millis(100));
        assert_eq!(numbers(&reader).len(), matches as usize);
        assert!(scene.desk.recorded().iter().all(|left| left.from.port() == 7_411));
        // Heard again, it is as before.
        manager.say(&verdict);
        scene.desk.run(millis(100));
        assert_eq!(only(&writer.assurance()).1, Stage::Assured);
    }
}

#[test]
fn a_verdict_can_be_revoked_and_withdrawn() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    manager.say(&admission(&request));
    scene.desk.run(millis(100));
    let revoked = dds_verdict_revoked(&request);
    manager.say(&revoked);
    scene.desk.run(millis(100));
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs), (State::Revoked, Stage::Unassured, "a link is down".to_owned()));
    }
    manager.say(&admission(&request));
    scene.desk.run(millis(100));
    assert_eq!(only(&writer.assurance()).1, Stage::Assured);
    manager.verdicts.dispose(&revoked).unwrap();
    scene.desk.run(millis(100));
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs).0, State::Revoked);
        assert_eq!(only(&pairs).1, Stage::Unassured);
    }
}

fn dds_verdict_revoked(request: &wire::admission::Request) -> wire::admission::Verdict {
    wire::admission::Verdict { state: State::Revoked, ..refusal(request, "a link is down") }
}

#[test]
fn verdicts_of_an_earlier_start_and_about_an_earlier_request_count_for_nothing() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let _writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    let of_epoch = |epoch, verdict: wire::admission::Verdict| wire::admission::Verdict { epoch, ..verdict };
    manager.say(&of_epoch(7, refusal(&request, "later start")));
    scene.desk.run(millis(50));
    manager.say(&of_epoch(6, admission(&request)));
    scene.desk.run(millis(50));
    assert_eq!(only(&reader.assurance()).2, "later start");
    manager.say(&of_epoch(7, wire::admission::Verdict { serial: request.serial - 1, ..admission(&request) }));
    manager.say(&of_epoch(7, wire::admission::Verdict { serial: request.serial + 1, ..admission(&request) }));
    scene.desk.run(millis(50));
    assert_eq!(only(&reader.assurance()).2, "later start");
    let report = scene.reads.report().join("\n");
    assert!(report.contains("1 of an earlier start, 2 about an earlier request"), "{report}");
    manager.say(&of_epoch(8, admission(&request)));
    scene.desk.run(millis(50));
    assert_eq!(only(&reader.assurance()).0, State::Admitted);
}

#[test]
fn the_former_grant_holds_while_a_changed_request_is_decided() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let first = manager.request();
    manager.say(&admission(&first));
    scene.desk.run(millis(100));
    manager.requests();
    let mut qos = reader.get_qos();
    qos.assurance = Some(dds::qos::RequestedAssurance::within(millis(2)));
    reader.set_qos(QosKind::Specific(qos.clone())).unwrap();
    scene.desk.run(millis(100));
    let second = manager.request();
    assert!(second.serial > first.serial);
    assert_eq!((second.maximum_latency, second.stage), (2_000_000, Stage::Assured));
    // The former verdict goes on to be repeated, and holds beyond its first lease.
    for _ in 0..3 {
        manager.say(&admission(&first));
        scene.desk.run(millis(700));
        assert_eq!(only(&reader.assurance()).1, Stage::Assured);
        assert_eq!(only(&writer.assurance()).1, Stage::Assured);
    }
    manager.say(&wire::admission::Verdict { dscp: 34, ..admission(&second) });
    scene.desk.run(millis(100));
    scene.desk.record();
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(10));
    assert!(scene.desk.recorded().iter().any(|left| left.class == 34 && left.from.port() == 50_000));
    // Now the first one means nothing any more.
    manager.say(&refusal(&first, "late"));
    scene.desk.run(millis(100));
    assert_eq!(only(&reader.assurance()).0, State::Admitted);
    // The writer changes its contract: a new request, too; refused, the former grant ends.
    let mut qos = writer.get_qos();
    qos.assurance = Some(dds::qos::OfferedAssurance { minimum_separation: millis(1), ..offered() });
    writer.set_qos(QosKind::Specific(qos)).unwrap();
    scene.desk.run(millis(100));
    let third = manager.request();
    assert_eq!(third.contract.minimum_separation, 1_000_000);
    assert_eq!(only(&writer.assurance()).1, Stage::Assured);
    manager.say(&refusal(&third, "too often"));
    scene.desk.run(millis(100));
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs), (State::Refused, Stage::Unassured, "too often".to_owned()));
    }
}

#[test]
fn a_pair_that_ends_is_withdrawn() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    manager.say(&admission(&manager.request()));
    scene.desk.run(millis(100));
    manager.requests();
    writer.get_publisher().delete_datawriter(&writer).unwrap();
    scene.desk.run(millis(300));
    assert_eq!(manager.withdrawn(), 1);
    assert_eq!(reader.assurance(), []);
    assert_eq!(reader.get_subscription_matched_status().current.count, 0);
}

#[test]
fn latency_budget_of_the_writer_is_subtracted_from_what_is_asked_for() {
    for (budget, asked) in [(0, Some(3_000_000)), (1, Some(2_000_000)), (3, None)] {
        let mut scene = Scene::new();
        let manager = scene.manager();
        let writer = writer(&scene.writes, Some(offered()), |qos| {
            qos.endpoint.latency_budget = millis(budget);
        });
        let reader = reader(&scene.reads, Some(wanted()), |qos| qos.endpoint.latency_budget = millis(10));
        scene.settle();
        let request = manager.request();
        assert_eq!(request.maximum_latency, asked.unwrap_or(0));
        let reason = only(&reader.assurance()).2;
        assert_eq!(reason.contains("LATENCY_BUDGET"), asked.is_none(), "{reason}");
        // An answer to no question is none.
        manager.say(&wire::admission::Verdict { bound: 1, ..admission(&request) });
        scene.desk.run(millis(100));
        let stage = if asked.is_none() { Stage::Unassured } else { Stage::Assured };
        for pairs in [reader.assurance(), writer.assurance()] {
            assert_eq!(only(&pairs).1, stage);
        }
        writer.write(&frame(1, 10)).unwrap();
        scene.desk.run(millis(100));
        assert_eq!(numbers(&reader), [1]);
    }
}

#[test]
fn a_reader_that_wants_samples_more_often_than_the_writer_promises_is_refused_locally() {
    for (most, is_asked) in [(None, false), (Some(21), false), (Some(20), true)] {
        let mut scene = Scene::new();
        let manager = scene.manager();
        let promise = dds::qos::OfferedAssurance { maximum_separation: most.map(millis), ..offered() };
        let wish = dds::qos::RequestedAssurance { maximum_separation: Some(millis(20)), ..wanted() };
        let writer = writer(&scene.writes, Some(promise), |_| {});
        let reader = reader(&scene.reads, Some(wish), |_| {});
        scene.settle();
        assert_eq!(manager.request().maximum_latency > 0, is_asked);
        let matched = u32::from(!is_asked);
        assert_eq!(reader.get_subscription_matched_status().current.count, matched);
        assert_eq!(writer.get_publication_matched_status().current.count, matched);
        assert_eq!(only(&writer.assurance()).0 == State::Refused, !is_asked);
        let reason = only(&reader.assurance()).2;
        assert_eq!(reason.contains("maximum_separation"), !is_asked, "{reason}");
    }
}
