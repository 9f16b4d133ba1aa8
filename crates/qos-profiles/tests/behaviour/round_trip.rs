//! Random QoS is written as XML by a writer that knows nothing of the reader, and read as the same.
use std::fmt::Write as _;

use dcps::qos::{DataReaderQos, DataWriterQos, GroupQos};
use testkit::random::Random;
use wire::Duration;
use wire::qos::{
    DataRepresentation, DestinationOrder, Durability, EndpointQos, History, LivelinessKind, Ownership,
    ReliabilityKind, ResourceLimits,
};

use crate::provider;

const PRINTABLE: &[char] = &['a', 'Z', '*', ' ', '<', '&', '>', '"', 'é', '\u{1f916}', '?', '['];

/// What a duration is written as.
fn duration(name: &str, time: Duration, random: &mut Random) -> String {
    let inner = if time.is_infinite() {
        let all = [
            "<sec>DURATION_INFINITY</sec>",
            "<sec>DURATION_INFINITE_SEC</sec><nanosec>DURATION_INFINITE_NSEC</nanosec>",
            "<nanosec> DURATION_INFINITY\n</nanosec><sec>DURATION_INFINITY</sec>",
            "<sec>2147483647</sec><nanosec>2147483647</nanosec>",
        ];
        (*random.pick(&all).unwrap()).to_owned()
    } else {
        let (seconds, nanos) = (time.as_nanos() / 1_000_000_000, time.as_nanos() % 1_000_000_000);
        match random.below(3) {
            0 if nanos == 0 => format!("<sec>{seconds}</sec>"),
            1 if seconds == 0 => format!("<nanosec>{nanos:09}</nanosec>"),
            2 => format!("<nanosec>{nanos}</nanosec><!-- < --><sec>{seconds}</sec>"),
            _ => format!("<sec>{seconds}</sec>\n<nanosec>{nanos}</nanosec>"),
        }
    };
    format!("<{name}>{inner}</{name}>")
}

fn number(name: &str, value: i64, random: &mut Random) -> String {
    match u32::try_from(value) {
        Ok(value) if random.chance(20) => format!("<{name}>0x{value:x}</{name}>"),
        _ => format!("<{name}> {value}</{name}>"),
    }
}

fn limit(name: &str, limit: Option<u32>, random: &mut Random) -> String {
    match limit {
        Some(limit) => number(name, i64::from(limit), random),
        None => format!("<{name}>LENGTH_UNLIMITED</{name}>"),
    }
}

fn flag(name: &str, value: bool, random: &mut Random) -> String {
    let word = match (value, random.chance(50)) {
        (true, true) => "true",
        (true, false) => "1",
        (false, true) => "false",
        (false, false) => "0",
    };
    format!("<{name}>{word}</{name}>")
}

/// The base64 of RFC 4648, bit by bit.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let mut text = String::new();
    for six in bits.chunks(6) {
        let value = (0..6).fold(0, |value, at| value << 1 | usize::from(*six.get(at).unwrap_or(&0)));
        text.push(char::from(DIGITS[value]));
    }
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

fn bytes(policy: &str, bytes: &[u8], random: &mut Random) -> String {
    let inner = if random.chance(50) {
        format!("<valueB64>{}</valueB64>", base64(bytes))
    } else {
        let all: Vec<String> = bytes
            .iter()
            .map(|byte| if random.chance(30) { format!("0X{byte:X}") } else { byte.to_string() })
            .collect();
        format!("<value>{}</value>", all.join(if random.chance(50) { " ,\n" } else { "," }))
    };
    format!("<{policy}>{inner}</{policy}>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&#34;")
}

fn history(kind: &str, depth: &str, history: History, random: &mut Random) -> String {
    match history {
        History::KeepLast(count) => {
            format!("{}<{kind}>KEEP_LAST_HISTORY_QOS</{kind}>", number(depth, i64::from(count), random))
        }
        History::KeepAll => format!("<{kind}>KEEP_ALL_HISTORY_QOS</{kind}>"),
    }
}

fn limits(limits: ResourceLimits, random: &mut Random) -> String {
    let mut text = limit("max_samples_per_instance", limits.max_samples_per_instance, random);
    text += &limit("max_samples", limits.max_samples, random);
    text + &limit("max_instances", limits.max_instances, random)
}

/// The policies that writers and readers have in common.
fn common(qos: &EndpointQos, random: &mut Random) -> Vec<String> {
    let durability = match qos.durability {
        Durability::Volatile => "VOLATILE",
        _ => "TRANSIENT_LOCAL",
    };
    let liveliness = match qos.liveliness.kind {
        LivelinessKind::Automatic => "AUTOMATIC",
        LivelinessKind::ManualByParticipant => "MANUAL_BY_PARTICIPANT",
        LivelinessKind::ManualByTopic => "MANUAL_BY_TOPIC",
    };
    let reliability =
        if qos.reliability.kind == ReliabilityKind::Reliable { "RELIABLE" } else { "BEST_EFFORT" };
    let order = match qos.destination_order {
        DestinationOrder::ByReceptionTimestamp => "BY_RECEPTION_TIMESTAMP",
        DestinationOrder::BySourceTimestamp => "BY_SOURCE_TIMESTAMP",
    };
    let ownership = if qos.ownership == Ownership::Exclusive { "EXCLUSIVE" } else { "SHARED" };
    let representations: String = qos
        .representation
        .iter()
        .map(|one| if *one == DataRepresentation::XCDR2 { "XCDR2" } else { "XCDR" })
        .map(|name| format!("<element>{name}_DATA_REPRESENTATION</element>"))
        .collect();
    vec![
        format!("<durability><kind>{durability}_DURABILITY_QOS</kind></durability>"),
        format!("<deadline>{}</deadline>", duration("period", qos.deadline, random)),
        format!("<latency_budget>{}</latency_budget>", duration("duration", qos.latency_budget, random)),
        format!(
            "<liveliness>{}<kind>{liveliness}_LIVELINESS_QOS</kind></liveliness>",
            duration("lease_duration", qos.liveliness.lease_duration, random)
        ),
        format!(
            "<reliability><kind>{reliability}_RELIABILITY_QOS</kind>{}</reliability>",
            duration("max_blocking_time", qos.reliability.max_blocking_time, random)
        ),
        format!("<destination_order><kind>{order}_DESTINATIONORDER_QOS</kind></destination_order>"),
        format!("<history>{}</history>", history("kind", "depth", qos.history, random)),
        format!("<resource_limits>{}</resource_limits>", limits(qos.resource_limits, random)),
        format!("<ownership><kind>{ownership}_OWNERSHIP_QOS</kind></ownership>"),
        bytes("user_data", &qos.user_data, random),
        format!("<representation><value>{representations}</value></representation>"),
    ]
}

fn writer(qos: &DataWriterQos, random: &mut Random) -> Vec<String> {
    let endpoint = &qos.endpoint;
    let service = &endpoint.durability_service;
    let mut all = common(endpoint, random);
    all.push(format!(
        "<durability_service>{}{}{}</durability_service>",
        history("history_kind", "history_depth", service.history, random),
        duration("service_cleanup_delay", service.cleanup_delay, random),
        limits(service.limits, random)
    ));
    let strength = number("value", i64::from(endpoint.ownership_strength), random);
    all.push(format!("<ownership_strength>{strength}</ownership_strength>"));
    let priority = number("value", i64::from(endpoint.transport_priority), random);
    all.push(format!("<transport_priority>{priority}</transport_priority>"));
    all.push(format!("<lifespan>{}</lifespan>", duration("duration", endpoint.lifespan, random)));
    let autodispose = qos.writer_data_lifecycle.autodispose_unregistered_instances;
    let autodispose = flag("autodispose_unregistered_instances", autodispose, random);
    all.push(format!("<writer_data_lifecycle>{autodispose}</writer_data_lifecycle>"));
    all
}

fn reader(qos: &DataReaderQos, random: &mut Random) -> Vec<String> {
    let endpoint = &qos.endpoint;
    let mut all = common(endpoint, random);
    let separation = duration("minimum_separation", endpoint.time_based_filter, random);
    all.push(format!("<time_based_filter>{separation}</time_based_filter>"));
    let lifecycle = &qos.reader_data_lifecycle;
    let delays = [
        ("autopurge_disposed_samples_delay", lifecycle.autopurge_disposed_samples_delay),
        ("autopurge_nowriter_samples_delay", lifecycle.autopurge_nowriter_samples_delay),
    ];
    let delays: String = delays.into_iter().map(|(name, delay)| duration(name, delay, random)).collect();
    all.push(format!("<reader_data_lifecycle>{delays}</reader_data_lifecycle>"));
    let types = &endpoint.type_consistency;
    let mut text =
        format!("<kind>{}ALLOW_TYPE_COERCION</kind>", if types.allow_type_coercion { "" } else { "DIS" });
    for (name, value) in [
        ("ignore_sequence_bounds", types.ignore_sequence_bounds),
        ("ignore_string_bounds", types.ignore_string_bounds),
        ("ignore_member_names", types.ignore_member_names),
        ("prevent_type_widening", types.prevent_type_widening),
        ("force_type_validation", types.force_type_validation),
    ] {
        text += &flag(name, value, random);
    }
    all.push(format!("<type_consistency>{text}</type_consistency>"));
    all
}

fn group(qos: &GroupQos, random: &mut Random) -> Vec<String> {
    let names: String =
        qos.partition.iter().map(|name| format!("<element>{}</element>", escaped(name))).collect();
    vec![
        format!("<partition><name>{names}</name></partition>"),
        bytes("group_data", &qos.group_data, random),
        format!(
            "<entity_factory>{}</entity_factory>",
            flag("autoenable_created_entities", qos.entity_factory.autoenable_created_entities, random)
        ),
    ]
}

fn some_duration(random: &mut Random) -> Duration {
    match random.below(5) {
        0 => Duration::INFINITE,
        1 => Duration::from_nanos(random.range(1, 999_999_999).cast_signed()),
        2 => Duration::from_secs(random.range(1, 2_147_483_646).cast_signed()),
        _ => Duration::from_nanos(random.range(1, 5_000_000_000).cast_signed()),
    }
}

fn some_limits(random: &mut Random) -> ResourceLimits {
    let each = random.chance(50).then(|| random.range(10, 20) as u32);
    ResourceLimits {
        max_samples: random.chance(50).then(|| random.range(20, u64::from(u32::MAX >> 1)) as u32),
        max_instances: random.chance(50).then(|| random.range(1, 100) as u32),
        max_samples_per_instance: each,
    }
}

fn some_history(random: &mut Random) -> History {
    if random.chance(30) { History::KeepAll } else { History::KeepLast(random.range(1, 10) as u32) }
}

fn some_bytes(random: &mut Random) -> Vec<u8> {
    (0..random.below(20)).map(|_| random.below(256) as u8).collect()
}

fn change_common(qos: &mut EndpointQos, random: &mut Random) {
    qos.durability = *random.pick(&[Durability::Volatile, Durability::TransientLocal]).unwrap();
    qos.deadline = some_duration(random);
    qos.latency_budget = some_duration(random);
    let all = [LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic];
    qos.liveliness.kind = *random.pick(&all).unwrap();
    qos.liveliness.lease_duration = some_duration(random);
    qos.reliability.kind = *random.pick(&[ReliabilityKind::BestEffort, ReliabilityKind::Reliable]).unwrap();
    qos.reliability.max_blocking_time = some_duration(random);
    let all = [DestinationOrder::ByReceptionTimestamp, DestinationOrder::BySourceTimestamp];
    qos.destination_order = *random.pick(&all).unwrap();
    qos.history = some_history(random);
    qos.resource_limits = some_limits(random);
    qos.ownership = *random.pick(&[Ownership::Shared, Ownership::Exclusive]).unwrap();
    qos.user_data = some_bytes(random);
    let (one, two) = (DataRepresentation::XCDR1, DataRepresentation::XCDR2);
    qos.representation =
        random.pick(&[vec![], vec![one], vec![two], vec![one, two], vec![two, one]]).unwrap().clone();
}

fn some_writer(random: &mut Random) -> DataWriterQos {
    let mut qos = DataWriterQos::default();
    change_common(&mut qos.endpoint, random);
    let endpoint = &mut qos.endpoint;
    endpoint.durability_service.cleanup_delay = some_duration(random);
    endpoint.durability_service.history = some_history(random);
    endpoint.durability_service.limits = some_limits(random);
    endpoint.ownership_strength = random.bits() as i32;
    endpoint.transport_priority = random.below(64) as i32;
    endpoint.lifespan = some_duration(random);
    qos.writer_data_lifecycle.autodispose_unregistered_instances = random.chance(50);
    qos
}

fn some_reader(random: &mut Random) -> DataReaderQos {
    let mut qos = DataReaderQos::default();
    change_common(&mut qos.endpoint, random);
    let endpoint = &mut qos.endpoint;
    endpoint.time_based_filter = some_duration(random).min(endpoint.deadline);
    for flag in [
        &mut endpoint.type_consistency.allow_type_coercion,
        &mut endpoint.type_consistency.ignore_sequence_bounds,
        &mut endpoint.type_consistency.ignore_string_bounds,
        &mut endpoint.type_consistency.ignore_member_names,
        &mut endpoint.type_consistency.prevent_type_widening,
        &mut endpoint.type_consistency.force_type_validation,
    ] {
        *flag = random.chance(50);
    }
    qos.reader_data_lifecycle.autopurge_disposed_samples_delay = some_duration(random);
    qos.reader_data_lifecycle.autopurge_nowriter_samples_delay = some_duration(random);
    qos
}

fn some_group(random: &mut Random) -> GroupQos {
    let mut qos = GroupQos::default();
    for _ in 0..random.below(4) {
        qos.partition.push((0..random.below(6)).map(|_| *random.pick(PRINTABLE).unwrap()).collect());
    }
    qos.group_data = some_bytes(random);
    qos.entity_factory.autoenable_created_entities = random.chance(50);
    qos
}

/// Divides policies at random among three sets that inherit from each other. Policies further up may be others': those further down count.
fn spread(element: &str, mut policies: Vec<String>, others: &[String], random: &mut Random) -> [String; 3] {
    policies.sort_by_cached_key(|_| random.bits());
    let mut sets = [String::new(), String::new(), String::new()];
    let tag = |policy: &str| policy.split_once('>').unwrap().0.to_owned();
    for policy in policies {
        let at = random.below(3);
        sets[at] += &policy;
        if at > 0 && random.chance(50) {
            let other = others.iter().find(|other| tag(other) == tag(&policy)).unwrap();
            sets[at - 1] += other;
        }
    }
    sets.map(|set| format!("<{element}>{set}</{element}>\n"))
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let tier = tiers::current();
    for case in 0..tier.number("property.cases") {
        let mut random = Random::of_case(tier.first_seed(), case);
        let random = &mut random;
        let (writing, reading, publishing) = (some_writer(random), some_reader(random), some_group(random));
        assert!(
            writing.check().is_ok() && reading.check().is_ok() && publishing.check().is_ok(),
            "case {case}"
        );
        // Of a base, what is inherited has to make sense by itself: it says values that go with any others.
        let (plain_writer, plain_reader) = (DataWriterQos::default(), DataReaderQos::default());
        let sets = [
            spread("datawriter_qos", writer(&writing, random), &writer(&plain_writer, random), random),
            spread("datareader_qos", reader(&reading, random), &reader(&plain_reader, random), random),
            spread("publisher_qos", group(&publishing, random), &group(&GroupQos::default(), random), random),
        ];
        let mut text = String::from("<dds><qos_library name='L'>");
        for level in 0..3 {
            let base = if level == 0 { String::new() } else { format!(" base_name='p{}'", level - 1) };
            write!(text, "<qos_profile name='p{level}'{base}>").unwrap();
            sets.iter().for_each(|set| text += &set[level]);
            text += "</qos_profile>\n";
        }
        text += "</qos_library></dds>";
        let qos = provider(&text);
        assert_eq!(qos.datawriter_qos("L::p2", "t"), Ok(writing), "case {case}: {text}");
        assert_eq!(qos.datareader_qos("L::p2", "t"), Ok(reading), "case {case}: {text}");
        assert_eq!(qos.publisher_qos("L::p2"), Ok(publishing), "case {case}: {text}");
    }
}
