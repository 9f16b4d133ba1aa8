//! Bases, topic filters, and where each value comes from.
use qos_profiles::{Entity, MOST_DEPTH};
use wire::Duration;
use wire::qos::{History, ReliabilityKind};

use crate::{problems, provider};

const FILE: &str = r#"<qos_library name="A">
  <qos_profile name="Base">
    <datawriter_qos>
      <history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>5</depth></history>
      <lifespan><duration><sec>7</sec></duration></lifespan>
    </datawriter_qos>
    <datawriter_qos topic_filter="arm/*"><transport_priority><value>10</value></transport_priority></datawriter_qos>
    <datawriter_qos topic_filter="arm/pose"><transport_priority><value>20</value></transport_priority></datawriter_qos>
  </qos_profile>
  <qos_profile name="All" base_name="Base">
    <datawriter_qos><history><kind>KEEP_ALL_HISTORY_QOS</kind></history></datawriter_qos>
  </qos_profile>
  <qos_profile name="Last" base_name="A::All">
    <datawriter_qos><history><kind>KEEP_LAST_HISTORY_QOS</kind></history></datawriter_qos>
  </qos_profile>
  <datareader_qos name="Reader" base_name="punctual::alarms">
    <deadline><period><sec>2</sec></period></deadline>
  </datareader_qos>
  <qos_profile name="Mixed" base_name="Last">
    <datareader_qos base_name="Reader"/>
    <datawriter_qos topic_filter="leg/*" base_name="punctual::state"/>
  </qos_profile>
</qos_library>
"#;

#[test]
fn values_are_inherited_one_by_one() {
    let qos = provider(FILE);
    let writer = |profile: &str, topic: &str| qos.datawriter_qos(profile, topic).unwrap().endpoint;
    assert_eq!(writer("A::Base", "x").history, History::KeepLast(5));
    assert_eq!(writer("A::All", "x").history, History::KeepAll);
    assert_eq!(writer("A::All", "x").lifespan, Duration::from_secs(7));
    // The depth of Base counts again where the kind is KEEP_LAST again.
    assert_eq!(writer("A::Last", "x").history, History::KeepLast(5));
    assert_eq!(writer("A::Mixed", "x"), writer("A::Last", "x"));
    let reader = qos.datareader_qos("A::Mixed", "x").unwrap().endpoint;
    assert_eq!((reader.deadline, reader.history), (Duration::from_secs(2), History::KeepAll));
    assert_eq!(reader.reliability.kind, ReliabilityKind::Reliable);
}

#[test]
fn the_first_topic_filter_that_fits_decides() {
    let qos = provider(FILE);
    let writer = |profile: &str, topic: &str| qos.datawriter_qos(profile, topic).unwrap().endpoint;
    let priority = |profile: &str, topic: &str| writer(profile, topic).transport_priority;
    assert_eq!(priority("A::Base", "arm/pose"), 10, "the first one, not the nearest one");
    assert_eq!(priority("A::Base", "leg/pose"), 0);
    // A set with a filter takes the place of the one without in the same profile.
    assert_eq!(writer("A::Base", "arm/pose").lifespan, Duration::INFINITE);
    // All has none with a filter: its own is laid over the one of Base that the topic has there.
    let all = writer("A::All", "arm/x");
    assert_eq!((all.history, all.transport_priority), (History::KeepAll, 10));
    // The base of a set of policies takes the place of that of its profile.
    let leg = writer("A::Mixed", "leg/x");
    assert_eq!(
        (leg.transport_priority, leg.history, leg.lifespan),
        (34, History::KeepLast(1), Duration::INFINITE)
    );
    assert_eq!(priority("A::Mixed", "arm/x"), 10);
}

#[test]
fn each_value_says_where_it_comes_from() {
    let qos = provider(FILE);
    let explained = qos.explain("A::Last", Some("x")).unwrap();
    let [writer] = &explained[..] else { panic!("{explained:?}") };
    assert_eq!((writer.entity, &*writer.place), (Entity::DataWriter, "q.xml:14"));
    let of = |key: &str| {
        let value = writer.values.iter().find(|value| value.key == key).unwrap();
        let origin = value.origin.as_ref().map(|(profile, place)| format!("{profile} {place}"));
        (value.value.clone(), origin.unwrap_or_default())
    };
    assert_eq!(of("history.kind"), ("KEEP_LAST_HISTORY_QOS".to_owned(), "A::Last q.xml:14".to_owned()));
    assert_eq!(of("history.depth"), ("5".to_owned(), "A::Base q.xml:4".to_owned()));
    assert_eq!(of("lifespan.duration"), ("7 s".to_owned(), "A::Base q.xml:5".to_owned()));
    assert_eq!(of("deadline.period"), ("infinite".to_owned(), String::new()));
    let mixed = qos.explain("A::Mixed", None).unwrap();
    let sets: Vec<_> = mixed.iter().map(|set| (set.entity, set.filter.as_deref(), &*set.place)).collect();
    assert_eq!(
        sets,
        [
            (Entity::DataWriter, Some("leg/*"), "q.xml:21"),
            (Entity::DataWriter, None, "q.xml:14"),
            (Entity::DataReader, None, "q.xml:20"),
        ]
    );
    let inherited = mixed[2].values.iter().find(|value| value.key == "history.kind").unwrap();
    let (profile, place) = inherited.origin.clone().unwrap();
    assert_eq!(profile, "punctual::alarms");
    assert!(place.starts_with("punctual.xml (built in):"), "{place}");
    assert_eq!(qos.is_said("A::Last", Entity::DataWriter, "x", "history.depth"), Ok(true));
    assert_eq!(qos.is_said("A::Last", Entity::DataWriter, "x", "deadline.period"), Ok(false));
}

#[test]
fn a_profile_that_is_not_there_is_told_with_the_nearest_name() {
    let qos = provider(FILE);
    let told = |name: &str| qos.topic_qos(name, "x").unwrap_err().to_string();
    assert_eq!(told("A::Bsae"), "q.xml: there is no profile \"A::Bsae\"\n  did you mean A::Base?");
    let all = "there are A::Base, A::All, A::Last, A::Reader, A::Mixed, punctual::continuous, punctual::state, punctual::alarms";
    assert_eq!(told("something else"), format!("q.xml: there is no profile \"something else\"\n  {all}"));
}

#[test]
fn what_contradicts_itself_for_one_topic_alone_is_told_when_it_is_asked_for() {
    let file = r#"<qos_library name="A">
  <qos_profile name="Base">
    <datareader_qos topic_filter="*[0-9]">
      <time_based_filter><minimum_separation><sec>5</sec></minimum_separation></time_based_filter>
    </datareader_qos>
  </qos_profile>
  <qos_profile name="Fast" base_name="Base">
    <datareader_qos>
      <deadline><period><sec>1</sec></period></deadline>
    </datareader_qos>
  </qos_profile>
</qos_library>"#;
    let qos = provider(file);
    assert!(qos.datareader_qos("A::Fast", "arm").is_ok());
    let told = qos.datareader_qos("A::Fast", "arm7").unwrap_err();
    assert_eq!(told.place, Some((9, 17)));
    assert!(told.what.starts_with("INCONSISTENT_POLICY: DEADLINE: period 1 s is shorter"), "{told}");
}

#[test]
fn as_many_inherit_from_each_other_as_the_limit_says() {
    let chain = |count: usize| {
        let first = "<qos_profile name=\"p0\"/>".to_owned();
        let more = (1..count).map(|n| format!("<qos_profile name=\"p{n}\" base_name=\"p{}\"/>", n - 1));
        format!("<qos_library name=\"L\">{first}{}</qos_library>", more.collect::<String>())
    };
    assert_eq!(problems(&chain(MOST_DEPTH)), [""; 0]);
    let told = problems(&chain(MOST_DEPTH + 1));
    assert!(told[0].contains("more than 16 profiles inherit from each other"), "{told:?}");
}
