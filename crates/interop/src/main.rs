//! Punctual behind the language of `crates/interop/peers/README.md`.
mod events;
mod kind;

use std::error::Error;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::Arc;

use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, Durability, EndpointQos, History, Reliability,
};
use dds::{DataWriter, DomainParticipantFactory, Duration, NO_STATUS, QosKind, StatusMask};

use events::{Events, say};
use kind::{Kind, Log, Reading, Report, ShapeType, Track};

/// How long a writer waits: for room, and for acknowledgements.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [role @ ("pub" | "sub"), topic, kind, terms @ ..] => match *kind {
            "keyed" => run::<ShapeType>(role, topic, terms),
            "keyless" => run::<Reading>(role, topic, terms),
            "numbered" => run::<Track>(role, topic, terms),
            "mutable" => run::<Report>(role, topic, terms),
            "grown" | "clashing" => run::<Log>(role, topic, terms),
            other => {
                Err(format!("{other} is no type: keyed, keyless, numbered, mutable, grown, clashing").into())
            }
        },
        _ => Err("see crates/interop/peers/README.md for the arguments".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("punctual-interop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run<K: Kind>(role: &str, topic: &str, terms: &[&str]) -> Result<(), Box<dyn Error>> {
    let factory = DomainParticipantFactory::get_instance();
    let participant = factory.create_participant(0, QosKind::Default, None, NO_STATUS)?;
    let events = Arc::new(Events);
    let inconsistent = StatusMask::INCONSISTENT_TOPIC;
    let topic = participant.create_topic::<K>(
        topic,
        K::TYPE_NAME,
        QosKind::Default,
        Some(Arc::clone(&events) as _),
        inconsistent,
    )?;
    let all = StatusMask(u32::MAX);
    if role == "pub" {
        let mut qos = DataWriterQos::default();
        adjust(&mut qos.endpoint, terms)?;
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        let writer = publisher.create_datawriter::<K>(&topic, QosKind::Specific(qos), Some(events), all)?;
        say("ready");
        obey(|command| carry_out(&writer, command))?;
    } else {
        let mut qos = DataReaderQos::default();
        let (terms, filter) = terms.split_at(terms.len().min(3));
        adjust(&mut qos.endpoint, terms)?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        // Named, so that it lives until the end.
        let qos = QosKind::Specific(qos);
        let _reader = match filter {
            [] => subscriber.create_datareader::<K>(&topic, qos, Some(events), all)?,
            [expression, parameters @ ..] => {
                let parameters = parameters.iter().copied();
                let filtered =
                    participant.create_contentfilteredtopic("Filtered", &topic, expression, parameters)?;
                subscriber.create_datareader::<K>(&filtered, qos, Some(events), all)?
            }
        };
        say("ready");
        obey(|_| Err("a reader only reads".into()))?;
    }
    participant.delete_contained_entities()?;
    factory.delete_participant(&participant)?;
    Ok(())
}

fn adjust(qos: &mut EndpointQos, terms: &[&str]) -> Result<(), Box<dyn Error>> {
    let [xcdr, reliability, durability] = terms else {
        return Err("give the version of XCDR, the reliability and the durability".into());
    };
    qos.representation = match *xcdr {
        "default" => qos.representation.clone(),
        "1" => vec![DataRepresentation::XCDR1],
        "2" => vec![DataRepresentation::XCDR2],
        other => return Err(format!("{other} is no version of XCDR: 1, 2, default").into()),
    };
    qos.reliability = match *reliability {
        "reliable" => Reliability { max_blocking_time: PATIENCE, ..Reliability::RELIABLE },
        "best-effort" => Reliability::BEST_EFFORT,
        other => return Err(format!("{other} is no reliability: reliable, best-effort").into()),
    };
    qos.durability = match *durability {
        "transient-local" => Durability::TransientLocal,
        "volatile" => Durability::Volatile,
        other => return Err(format!("{other} is no durability: transient-local, volatile").into()),
    };
    qos.history = History::KeepAll;
    Ok(())
}

/// Carries out the lines of the standard input until they end or say so.
fn obey(carry_out: impl Fn(&str) -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line == "quit" {
            break;
        }
        match carry_out(&line) {
            Ok(()) => say(&format!("ok {line}")),
            Err(error) => say(&format!("failed {error}")),
        }
    }
    Ok(())
}

fn carry_out<K: Kind>(writer: &DataWriter<K>, command: &str) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = command.split(' ').collect();
    match words.as_slice() {
        ["write", key, number, size] => {
            let (number, size): (i32, usize) = (number.parse()?, size.parse()?);
            let first = usize::try_from(number)?;
            let bytes: Vec<u8> = (0..=250).cycle().skip(first % 251).take(size).collect();
            writer.write(&sample::<K>(key, number, bytes)?)?;
        }
        ["dispose", key] => {
            writer.dispose(&sample::<K>(key, 0, Vec::new())?)?;
        }
        ["unregister", key] => {
            writer.unregister_instance(&sample::<K>(key, 0, Vec::new())?)?;
        }
        ["acknowledged"] => writer.wait_for_acknowledgments(PATIENCE)?,
        _ => return Err(format!("there is no command `{command}`").into()),
    }
    Ok(())
}

fn sample<K: Kind>(key: &str, number: i32, bytes: Vec<u8>) -> Result<K, String> {
    K::new(key, number, bytes).ok_or_else(|| format!("{key} is no key of {}", K::TYPE_NAME))
}
