//! Topics of real systems, with the class that an engineer gives them, and with what contradicts itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use advice::{Advice, Class, Rules, Topic, advise, flow_file, policy_file, profile_file, read};

/// What a topic is, what is said of it, its class, and the rules of its contradictions.
type Case = (&'static str, &'static str, Class, &'static [&'static str]);

use Class::{Alarms, Continuous, State};

const CASES: [Case; 48] = [
    ("arm pose", "written = 'continuously'\nsize = 120\nseparation = '2 ms'", Continuous, &[]),
    ("lidar scan", "written = 'continuously'\nsize = 60_000\nseparation = '50 ms'", Continuous, &[]),
    ("imu", "written = 'continuously'\nsize = 60\nseparation = '1 ms'\nlatency = '1 ms'", Continuous, &[]),
    (
        "camera image",
        "written = 'continuously'\nsize = 900_000\nseparation = '33 ms'\nlatency = '30 ms'",
        Continuous,
        &[],
    ),
    ("motor current", "written = 'continuously'\nsize = 16\nseparation = '500 us'", Continuous, &[]),
    (
        "ship position from two receivers",
        "written = 'continuously'\nsize = 80\nseparation = '100 ms'\nstand-by = true",
        Continuous,
        &[],
    ),
    (
        "ecg samples for a display",
        "written = 'continuously'\nsize = 300\nseparation = '4 ms'\nlatency = '4 ms'",
        Continuous,
        &[],
    ),
    (
        "ecg samples for a record",
        "written = 'continuously'\nsize = 300\nseparation = '4 ms'\nevery-sample = true\nconfirmed = true",
        State,
        &[],
    ),
    (
        "radar track",
        "written = 'continuously'\nsize = 200\nseparation = '250 ms'\nlatency = '200 ms'",
        Continuous,
        &[],
    ),
    (
        "wind speed for a far display",
        "written = 'continuously'\nsize = 40\nseparation = '1 s'\nslowest-reader = '2 s'",
        Continuous,
        &[],
    ),
    (
        "tank level each minute",
        "written = 'continuously'\nsize = 40\nseparation = '1 min'\nlate-joiners = true",
        State,
        &[],
    ),
    (
        "room temperature each 10 s",
        "written = 'continuously'\nsize = 24\nseparation = '10 s'\nlate-joiners = true",
        State,
        &[],
    ),
    (
        "tide table each hour",
        "written = 'continuously'\nsize = 4_000\nseparation = '60 min'\nlate-joiners = true",
        State,
        &[],
    ),
    (
        "joint command of a servo loop",
        "written = 'continuously'\nsize = 96\nseparation = '1 ms'\nlatency = '1 ms'\nsilence = '10 ms'",
        Continuous,
        &[],
    ),
    ("operating mode", "written = 'on-change'\nsize = 40\nseparation = '100 ms'", State, &[]),
    ("set point", "written = 'on-change'\nsize = 40\nseparation = '10 ms'", State, &[]),
    ("map of a plant", "written = 'on-change'\nsize = 2_000_000\nseparation = '10 s'", State, &[]),
    (
        "configuration of a sensor",
        "written = 'on-change'\nsize = 1_000\nseparation = '1 s'\nconfirmed = true",
        State,
        &[],
    ),
    (
        "name of a patient",
        "written = 'on-change'\nsize = 200\nseparation = '1 s'\nconfirmed = true",
        State,
        &[],
    ),
    (
        "valve position",
        "written = 'on-change'\nsize = 24\nseparation = '20 ms'\nlatency = '50 ms'",
        State,
        &[],
    ),
    (
        "alarm limits of a monitor",
        "written = 'on-change'\nsize = 100\nseparation = '1 s'\nstand-by = true",
        State,
        &[],
    ),
    (
        "who is logged on",
        "written = 'on-change'\nsize = 100\nseparation = '1 s'\nsilence = '5 s'",
        State,
        &[],
    ),
    (
        "start of a machine",
        "written = 'on-change'\nsize = 24\nseparation = '100 ms'\nconfirmed = true\nlate-joiners = false",
        Alarms,
        &[],
    ),
    (
        "go to a waypoint",
        "written = 'on-change'\nsize = 60\nseparation = '100 ms'\nconfirmed = true\nlate-joiners = false\nlatency = '100 ms'",
        Alarms,
        &[],
    ),
    (
        "change of a light",
        "written = 'on-change'\nsize = 24\nseparation = '50 ms'\nlate-joiners = false",
        State,
        &[],
    ),
    (
        "emergency stop",
        "written = 'on-event'\nsize = 16\nseparation = '1 ms'\nlatency = '3 ms'\nsilence = '100 ms'",
        Alarms,
        &[],
    ),
    ("fire alarm", "written = 'on-event'\nsize = 60\nseparation = '10 ms'\nlate-joiners = true", Alarms, &[]),
    (
        "patient alarm",
        "written = 'on-event'\nsize = 200\nseparation = '10 ms'\nlatency = '500 ms'",
        Alarms,
        &[],
    ),
    ("button", "written = 'on-event'\nsize = 16\nseparation = '20 ms'", Alarms, &[]),
    ("log line", "written = 'on-event'\nsize = 300\nseparation = '1 ms'\nconfirmed = false", Alarms, &[]),
    (
        "collision warning",
        "written = 'on-event'\nsize = 80\nseparation = '10 ms'\nlatency = '20 ms'\nvalid-for = '200 ms'",
        Alarms,
        &[],
    ),
    (
        "order to fire",
        "written = 'on-event'\nsize = 120\nseparation = '1 s'\nlatency = '100 ms'\npath = 'wan'",
        Alarms,
        &[],
    ),
    (
        "position over two operators",
        "written = 'continuously'\nsize = 200\nseparation = '20 ms'\nlatency = '20 ms'\npath = 'wan'",
        Continuous,
        &[],
    ),
    (
        "handshake of a tool change",
        "written = 'on-event'\nsize = 40\nseparation = '10 ms'\nbursts = 1",
        Alarms,
        &["unread"],
    ),
    (
        "alarm over a radio with time",
        "written = 'on-event'\nsize = 40\nseparation = '10 ms'\nlatency = '1 s'\npath = 'lossy'\nround-trip = '250 ms'",
        Alarms,
        &[],
    ),
    (
        "position over a radio",
        "written = 'continuously'\nsize = 80\nseparation = '100 ms'\nlatency = '100 ms'\npath = 'lossy'\nround-trip = '250 ms'",
        Continuous,
        &[],
    ),
    (
        "alarm over a radio without time",
        "written = 'on-event'\nsize = 40\nseparation = '10 ms'\nlatency = '300 ms'\npath = 'lossy'\nround-trip = '250 ms'",
        Alarms,
        &["X1", "X2"],
    ),
    (
        "record over a radio",
        "written = 'continuously'\nsize = 80\nseparation = '1 s'\nevery-sample = true\nlatency = '400 ms'\npath = 'lossy'\nround-trip = '250 ms'",
        Continuous,
        &["X1"],
    ),
    (
        "warning that is old before it comes",
        "written = 'on-event'\nsize = 40\nseparation = '10 ms'\nlatency = '500 ms'\nvalid-for = '100 ms'",
        Alarms,
        &["X3"],
    ),
    (
        "position for a display that looks seldom",
        "written = 'continuously'\nsize = 80\nseparation = '10 ms'\nslowest-reader = '1 s'",
        Continuous,
        &["X4"],
    ),
    (
        "alarm by two writers",
        "written = 'on-event'\nsize = 40\nseparation = '10 ms'\nstand-by = true",
        Alarms,
        &["X5"],
    ),
    (
        "alarm by two writers that show that they live",
        "written = 'on-event'\nsize = 40\nseparation = '10 ms'\nstand-by = true\nsilence = '1 s'",
        Alarms,
        &[],
    ),
    (
        "pulse that is missed at once",
        "written = 'continuously'\nsize = 16\nseparation = '100 ms'\nsilence = '50 ms'",
        Continuous,
        &["X6"],
    ),
    (
        "event of which the last one counts",
        "written = 'on-event'\nsize = 16\nseparation = '100 ms'\nevery-sample = false",
        Alarms,
        &["X7"],
    ),
    (
        "every sample for who looks seldom",
        "written = 'continuously'\nsize = 16\nseparation = '100 ms'\nevery-sample = true\nslowest-reader = '1 s'",
        Continuous,
        &["X8"],
    ),
    (
        "old position",
        "written = 'continuously'\nsize = 16\nseparation = '10 ms'\nlatency = '50 ms'",
        Continuous,
        &["X9"],
    ),
    (
        "film of which each image counts",
        "written = 'continuously'\nsize = 200_000\nseparation = '40 ms'\nlatency = '400 ms'\nevery-sample = true",
        Continuous,
        &[],
    ),
    (
        "count of parts",
        "written = 'on-change'\nsize = 16\nseparation = '1 s'\nevery-sample = true",
        State,
        &[],
    ),
];

fn described(name: &str, said: &str) -> String {
    format!("[[topic]]\nname = '{name}'\n{said}\n")
}

fn advised(name: &str, said: &str) -> (Topic, Advice) {
    let topic = read("topics.toml", &described(name, said)).unwrap().remove(0);
    let advice = advise(&topic, &Rules::built_in().unwrap());
    (topic, advice)
}

#[test]
fn each_topic_has_its_class_and_contradictions_are_found() {
    for (name, said, class, contradictions) in CASES {
        if contradictions == ["unread"] {
            let problem = read("topics.toml", &described(name, said)).unwrap_err();
            assert!(problem.what.contains("unknown field `bursts`"), "{problem}");
            continue;
        }
        let (_, advice) = advised(name, said);
        assert_eq!(advice.class, Some(class), "{name}: {advice:?}");
        let found: Vec<&str> = advice.contradictions.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(found, contradictions, "{name}");
        assert!(advice.contradictions.iter().all(|one| one.remedy.is_some()));
    }
}

#[test]
fn each_rule_is_needed_by_a_case_and_asks_for_facts_that_there_are() {
    let rules = Rules::built_in().unwrap();
    for rule in &rules.rules {
        let alone = Rules { rules: vec![rule.clone()] };
        let applies = CASES.iter().filter(|case| case.3 != ["unread"]).any(|(name, said, ..)| {
            let topic = read("topics.toml", &described(name, said)).unwrap().remove(0);
            let advice = advise(&topic, &alone);
            !advice.reasons.is_empty() || !advice.contradictions.is_empty() || !advice.notes.is_empty()
        });
        assert!(applies, "{}", rule.id);
        let kinds = [rule.contradiction.is_some(), rule.note.is_some(), !rule.why.is_empty()];
        assert_eq!(kinds.iter().filter(|is| **is).count(), 1, "{}", rule.id);
    }
    let ids: std::collections::BTreeSet<&str> = rules.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids.len(), rules.rules.len());
}

#[test]
fn a_group_becomes_a_profile_that_is_read_and_says_what_was_advised() {
    let all: Vec<(Topic, Advice)> = CASES
        .iter()
        .filter(|(_, _, _, contradictions)| contradictions.is_empty())
        .map(|(name, said, ..)| advised(name, said))
        .collect();
    let text = profile_file("Ward", &all);
    let provider = qos_profiles::QosProvider::read("ward.xml", &text)
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems[0]));
    for (topic, advice) in &all {
        let profile = format!("Ward::{}", advice.class.unwrap().name());
        let writer = provider.datawriter_qos(&profile, &topic.name).unwrap();
        let reader = provider.datareader_qos(&profile, &topic.name).unwrap();
        let is =
            |policy: &str, value: &str| advice.policies.get(policy).is_some_and(|(said, _)| said == value);
        let (writer, reader) = (format!("{writer:?}"), format!("{reader:?}"));
        assert_eq!(writer.contains("TransientLocal"), reader.contains("TransientLocal"), "{}", topic.name);
        if is("history", "KEEP_ALL") {
            assert!(writer.contains("KeepAll") && reader.contains("KeepAll"), "{writer}");
        }
        if is("ownership", "SHARED") {
            assert!(writer.contains("Shared") && reader.contains("Shared"), "{writer}");
        }
        if is("reliability", "RELIABLE") {
            assert!(writer.contains("Reliable") && reader.contains("Reliable"), "{writer}");
        }
    }
    let flows = flow_file(&all);
    assert_eq!(flows.matches("[[topic]]").count(), all.len());
    let place = |name: &str| flows.find(&format!("name = \"{name}\"")).unwrap();
    assert!(place("emergency stop") < place("operating mode") && place("operating mode") < place("arm pose"));
}

#[test]
fn rules_that_ask_for_what_there_is_not_are_refused() {
    for (text, what) in [
        (
            "[[rule]]\nid = 'a'\nwhen = { colour = 'red' }\nclass = 'state'",
            "a asks for a fact that no topic has",
        ),
        ("[[rule]]\nid = 'a'\nwhen = { is = 'big' }\nclass = 'state'", "a asks for a fact that no topic has"),
        (
            "[[rule]]\nid = 'a'\nwhen = { given = 'size' }\nclass = 'state'",
            "a asks for a fact that no topic has",
        ),
        ("[[rule]]\nid = 'a'\nwhen = {}\nclass = 'red'", "unknown variant `red`"),
        ("[[rules]]", "unknown field"),
    ] {
        let problem = Rules::read("rules.toml", text).unwrap_err();
        assert!(problem.what.contains(what), "{text}: {problem}");
    }
    assert!(Rules::read("rules.toml", "").unwrap().rules.is_empty());
}

#[test]
fn what_is_wrong_has_its_place() {
    for (text, what) in [
        ("", "there is no topic"),
        (
            "[[topic]]\nname = 'a'\nwritten = 'often'\nsize = 1\nseparation = '1 s'\n",
            "unknown variant `often`",
        ),
        ("[[topic]]\nname = ''\nwritten = 'on-event'\nsize = 1\nseparation = '1 s'\n", "this can be no name"),
        (
            "[[topic]]\nname = 'a\"b'\nwritten = 'on-event'\nsize = 1\nseparation = '1 s'\n",
            "this can be no name",
        ),
        ("[[topic]]\nname = 'a'\nwritten = 'on-event'\nsize = 0\nseparation = '1 s'\n", "it is 0"),
        ("[[topic]]\nname = 'a'\nwritten = 'on-event'\nsize = 99_999_999\nseparation = '1 s'\n", "too much"),
        ("[[topic]]\nname = 'a'\nwritten = 'on-event'\nsize = 9\nseparation = '0 s'\n", "expected a time"),
        ("[[topic]]\nname = 'a'\nwritten = 'on-event'\nsize = 9\nseparation = 'soon'\n", "expected a time"),
        ("topic = 3", "invalid type"),
    ] {
        let problem = read("topics.toml", text).unwrap_err();
        assert!(problem.what.contains(what), "{text}: {problem}");
        assert!(!problem.remedy.is_empty());
    }
}

#[test]
fn policies_that_something_else_has_found_are_read_as_they_are() {
    let all: std::collections::BTreeMap<_, _> = [("deadline", "25830000"), ("latency_budget", "905000")]
        .map(|(policy, time)| (policy.to_owned(), (time.to_owned(), "predicted".to_owned())))
        .into();
    let budget = all.iter().filter(|(policy, _)| *policy == "latency_budget");
    let budget = budget.map(|(policy, value)| (policy.clone(), value.clone())).collect();
    let text = policy_file("predicted", "ward", None, &[("ward/pose", &all), ("ward/<stop>", &budget)]);
    let provider = qos_profiles::QosProvider::read("ward.xml", &text)
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems[0]));
    let reader = |topic| format!("{:?}", provider.datareader_qos("predicted::ward", topic).unwrap());
    assert_ne!(reader("ward/pose"), reader("ward/<stop>"), "only one of them has a deadline");
    assert_ne!(reader("ward/<stop>"), reader("other"), "another topic has neither");
    let writer = |topic| format!("{:?}", provider.datawriter_qos("predicted::ward", topic).unwrap());
    assert_ne!(writer("ward/pose"), writer("ward/<stop>"));
    assert_eq!(writer("ward/<stop>"), writer("other"), "a latency budget is the reader's");
}
