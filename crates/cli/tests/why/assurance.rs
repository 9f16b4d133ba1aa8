//! Readers that ask for a latency, and what keeps it from them.
use cli::explain::{Scene, summary};
use dds::qos::{
    DataReaderQos, DataWriterQos, OfferedAssurance, PublisherQos, RequestedAssurance, SubscriberQos,
    WhenRefused,
};
use dds::{DataReader, DataWriter, Duration};
use wire::admission::{Measured, Request, State, Verdict};

use crate::stage::{Reading, Stage, told};

fn pair(
    stage: &Stage,
    is_offered: bool,
    when_refused: WhenRefused,
) -> (DataWriter<Reading>, DataReader<Reading>) {
    let within = RequestedAssurance::within(Duration::from_millis(3));
    let wanted = Some(RequestedAssurance { when_refused, ..within });
    let offered = is_offered.then(|| OfferedAssurance::every(Duration::from_millis(5)));
    let writes = DataWriterQos { assurance: offered, ..DataWriterQos::default() };
    let reads = DataReaderQos { assurance: wanted, ..DataReaderQos::default() };
    (
        stage.writer("Readings", "Reading", PublisherQos::default(), writes),
        stage.reader("Readings", "Reading", SubscriberQos::default(), reads),
    )
}

/// What the watcher sees, with a request of the pair and this answer.
fn answered(stage: &mut Stage, ends: &(DataWriter<Reading>, DataReader<Reading>), answer: Verdict) -> Scene {
    let mut scene = stage.scene(None);
    let (writer, reader) = (ends.0.guid().unwrap().to_bytes(), ends.1.guid().unwrap().to_bytes());
    scene.admission.requests = vec![Request { writer, reader, serial: 2, ..Request::default() }];
    scene.admission.verdicts = vec![(MANAGER, Verdict { writer, reader, serial: 2, ..answer })];
    scene
}

const MANAGER: wire::GuidPrefix = wire::GuidPrefix([0x77; 12]);

const ENDS: &str = "topic \"Readings\": writer of \"talker\" (Punctual at 10.0.0.1) and reader of \"listener\" (Punctual at 10.0.0.2)";

#[test]
fn no_manager_answers() {
    let mut stage = Stage::new();
    let _ends = pair(&stage, true, WhenRefused::RunUnassured);
    assert_eq!(
        stage.told(None),
        format!(
            "! {ENDS}: not assured within 3 ms, they run unassured: no resource manager answers in this domain\n  Start one: punctual grm."
        )
    );
}

/// GUID of the participant, as requests name it.
fn named(manager: wire::GuidPrefix) -> [u8; 16] {
    wire::Guid::new(manager, wire::EntityId::PARTICIPANT).to_bytes()
}

#[test]
fn assurance_that_was_lost_with_its_manager_is_a_problem_with_its_true_reason() {
    let mut stage = Stage::new();
    let ends = pair(&stage, true, WhenRefused::RunUnassured);
    let mut scene = answered(&mut stage, &ends, Verdict::default());
    scene.admission.requests[0].manager = named(MANAGER);
    scene.admission.verdicts.clear();
    assert_eq!(
        told(&scene),
        format!(
            "! {ENDS}: not assured within 3 ms, they run unassured: the resource manager that was asked is gone\n  Start it again: punctual grm."
        )
    );
    // One that is there and says nothing; here the reader's participant plays it.
    scene.admission.requests[0].manager = named(ends.1.guid().unwrap().prefix);
    let text = told(&scene);
    assert!(text.contains("the resource manager that is asked, \"listener\""), "{text}");
    assert!(text.starts_with('!') && text.contains("does not answer"), "{text}");
}

#[test]
fn only_the_manager_that_is_asked_is_believed() {
    let mut stage = Stage::new();
    let ends = pair(&stage, true, WhenRefused::RunUnassured);
    let refusal =
        Verdict { state: State::Refused, reason: "no room".to_owned(), epoch: 3, ..Verdict::default() };
    let mut scene = answered(&mut stage, &ends, refusal);
    let (_, honest) = scene.admission.verdicts[0].clone();
    let lie = Verdict { state: State::Admitted, bound: 1, epoch: u64::MAX, ..honest };
    scene.admission.verdicts.push((wire::GuidPrefix([0x66; 12]), lie));
    scene.admission.requests[0].manager = named(MANAGER);
    assert!(told(&scene).contains("refused: no room"), "{}", told(&scene));
}

#[test]
fn what_a_manager_waits_for_is_told() {
    let mut stage = Stage::new();
    let ends = pair(&stage, true, WhenRefused::RunUnassured);
    let reason = "no host of the network has the address 127.0.0.1".to_owned();
    let scene = answered(&mut stage, &ends, Verdict { reason, ..Verdict::default() });
    let text = told(&scene);
    assert!(
        text.starts_with('-') && text.contains("at it: no host of the network has the address 127.0.0.1"),
        "{text}"
    );
}

#[test]
fn the_writer_promises_nothing() {
    let mut stage = Stage::new();
    let _ends = pair(&stage, false, WhenRefused::Fail);
    assert_eq!(
        stage.told(None),
        format!(
            "! {ENDS}: not assured within 3 ms, they do not match: refused: the writer has no ASSURANCE\n  Give the writer ASSURANCE: how often and how large it writes."
        )
    );
}

#[test]
fn a_manager_refuses() {
    let mut stage = Stage::new();
    let ends = pair(&stage, true, WhenRefused::Fail);
    let refusal = Verdict {
        state: State::Refused,
        reason: "port 3 of s1, level 1: 120 us are missing".to_owned(),
        offered_latency: 4_500_000,
        offered_separation: 9_000_000,
        ..Verdict::default()
    };
    let mut scene = answered(&mut stage, &ends, refusal);
    assert_eq!(
        told(&scene),
        format!(
            "! {ENDS}: not assured within 3 ms, they do not match: refused: port 3 of s1, level 1: 120 us are missing; it would be admitted within 4.5 ms, or with a separation of 9 ms\n  Ask for what would be admitted, or make room: punctual plan shows where the time goes."
        )
    );
    // An answer to an earlier request is none.
    scene.admission.requests[0].serial = 3;
    assert!(told(&scene).contains("no resource manager answers"), "{}", told(&scene));
}

#[test]
fn a_pair_that_is_admitted_is_told_with_what_was_measured() {
    let mut stage = Stage::new();
    let ends = pair(&stage, true, WhenRefused::Fail);
    let admission = Verdict { state: State::Admitted, bound: 1_250_000, ..Verdict::default() };
    let mut scene = answered(&mut stage, &ends, admission);
    assert_eq!(told(&scene), "");
    assert_eq!(summary(&scene).last().unwrap(), &format!("{ENDS}: admitted within 1.25 ms"));
    let Request { writer, reader, .. } = scene.admission.requests[0];
    let seen = Measured { writer, reader, samples: 100, late: 1, worst: 1_500_000, ..Measured::default() };
    scene.admission.measured = vec![seen];
    let line = summary(&scene).pop().unwrap();
    assert!(line.ends_with("admitted within 1.25 ms: 100 samples, 1 late, 0 lost, worst 1.5 ms"), "{line}");
}

/// A pair of programs that do not ask, which a resource manager knows from its flow file.
#[test]
fn what_a_flow_file_brings_to_those_who_do_not_ask() {
    let mut stage = Stage::new();
    let writer = stage.writer("Readings", "Reading", PublisherQos::default(), DataWriterQos::default());
    let reader = stage.reader("Readings", "Reading", SubscriberQos::default(), DataReaderQos::default());
    let mut scene = stage.scene(None);
    assert_eq!(told(&scene), "");
    let (writer, reader) = (writer.guid().unwrap().to_bytes(), reader.guid().unwrap().to_bytes());
    let verdict = Verdict { writer, reader, state: State::Admitted, bound: 4_000_000, ..Verdict::default() };
    scene.admission.verdicts = vec![(MANAGER, verdict.clone())];
    assert_eq!(told(&scene), "");
    let lines = summary(&scene);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(ENDS) && line.contains("4 ms") && line.contains("flow file")),
        "{lines:?}"
    );
    let reason = "topic \"b\" goes from camera to display by the same way and is not described".to_owned();
    scene.admission.verdicts = vec![(MANAGER, Verdict { state: State::Refused, reason, ..verdict })];
    let text = told(&scene);
    assert!(text.starts_with(&format!("- {ENDS}: described in the flow file")), "{text}");
    assert!(text.contains("\"b\" goes from camera to display by the same way"), "{text}");
    assert!(!summary(&scene).iter().any(|line| line.contains("flow file")));
}
