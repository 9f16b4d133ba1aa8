//! What is known of topics: from a file, as `punctual advise` takes it, and from QoS.
use std::net::IpAddr;
use std::path::Path;

use advice::Rules;
use control::foreign::fits;
use network::load;
use reservation::Traffic;
use wan::{Class, Prefix};
use wire::discovery::EndpointData;
use wire::{Duration, EntityKind};

use crate::exit::Failure;

/// Bytes of the header of a serialized sample, which sizes do not count.
const ENCAPSULATION: u32 = 4;

/// A topic of the file.
struct Topic {
    name: String,
    from: Vec<Prefix>,
    to: Vec<Prefix>,
    class: Class,
    traffic: Traffic,
    latency: Option<u64>,
}

/// All topics of the file; of several that fit the first counts.
#[derive(Default)]
pub(super) struct Described {
    topics: Vec<Topic>,
    /// What is not in the file asks for nothing, whatever its QoS.
    pub(super) is_all: bool,
}

/// What a writer and a reader ask for.
pub(super) struct Asked {
    pub(super) traffic: Result<Traffic, String>,
    pub(super) class: Option<Class>,
    pub(super) latency: Option<u64>,
}

/// The class of a codepoint of Table 3.
fn class(dscp: i32) -> Option<Class> {
    [Class::Af1, Class::Af4, Class::Ef].into_iter().find(|class| i32::from(class.dscp()) == dscp)
}

fn prefixes(topic: &str, names: &[String]) -> Result<Vec<Prefix>, String> {
    let prefix = |name: &String| {
        let whole = name
            .parse::<IpAddr>()
            .map(|address| Prefix { address, length: if address.is_ipv4() { 32 } else { 128 } });
        whole.ok().or_else(|| wan_server::prefix(name)).ok_or_else(|| {
            format!("topic {topic:?}: \"{name}\" is no address: give an address or a range such as 10.1.0.0/16, as hosts have no names here")
        })
    };
    names.iter().map(prefix).collect()
}

impl Described {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = load(path).map_err(Failure::Usage)?;
        Self::of(&path.to_string_lossy(), &text).map_err(Failure::Usage)
    }

    fn of(name: &str, text: &str) -> Result<Self, String> {
        let rules = Rules::built_in().map_err(|problem| problem.to_string())?;
        let topics = advice::read(name, text).map_err(|problem| problem.to_string())?;
        let one = |topic: advice::Topic| {
            let advice = advice::advise(&topic, &rules);
            let wrong = advice.contradictions.first();
            let class = advice.class.and_then(|of| class(of.dscp().into()));
            let (Some(class), None) = (class, wrong) else {
                let what = wrong.map_or("no rule gives it a class", |wrong| wrong.text.as_str());
                return Err(format!("{name}: topic {:?}: {what}: see punctual advise {name}", topic.name));
            };
            Ok(Topic {
                from: prefixes(&topic.name, &topic.from)?,
                to: prefixes(&topic.name, &topic.to)?,
                class,
                traffic: Traffic {
                    size: topic.size.saturating_add(ENCAPSULATION),
                    separation: topic.separation,
                    burst: topic.burst,
                },
                latency: topic.latency,
                name: topic.name,
            })
        };
        Ok(Self { topics: topics.into_iter().map(one).collect::<Result<_, _>>()?, is_all: false })
    }

    /// What is asked for between a writer and a reader at these addresses.
    pub(super) fn asked(
        &self,
        writer: &EndpointData,
        reader: &EndpointData,
        ends: (IpAddr, IpAddr),
    ) -> Asked {
        let is = |prefixes: &[Prefix], at| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| prefix.contains(at))
        };
        let suits = |topic: &&Topic| {
            fits(&topic.name, &writer.topic_name) && is(&topic.from, ends.0) && is(&topic.to, ends.1)
        };
        let budget = ends_after(reader.qos.latency_budget);
        match self.topics.iter().find(suits) {
            Some(topic) => Asked {
                traffic: Ok(topic.traffic),
                class: Some(topic.class),
                latency: topic.latency.or(budget),
            },
            None if self.is_all => Asked { traffic: announced(writer), class: None, latency: None },
            None => Asked {
                traffic: announced(writer),
                class: class(writer.qos.transport_priority),
                latency: budget,
            },
        }
    }
}

/// Nanoseconds of a time above zero that ends.
fn ends_after(time: Duration) -> Option<u64> {
    u64::try_from(time.as_nanos()).ok().filter(|nanoseconds| *nanoseconds > 0 && !time.is_infinite())
}

/// What a writer announces of its samples.
///
/// # Errors
/// What is missing, and what to do.
fn announced(writer: &EndpointData) -> Result<Traffic, String> {
    let has_key = writer.guid.entity_id.kind() == EntityKind::WriterWithKey;
    let Some(size) = writer.max_serialized_size else {
        return Err(
            "its largest size is not known: describe the topic, as its writer announces none".to_owned()
        );
    };
    match ends_after(writer.qos.deadline) {
        None => Err("its rate is not known: describe the topic, or give its writer a DEADLINE".to_owned()),
        // Each instance may be written once in a DEADLINE, and the number of instances is not announced.
        Some(_) if has_key => {
            Err("its rate is not known: describe the topic, since a DEADLINE is for each instance and the topic has a key".to_owned())
        }
        Some(separation) => Ok(Traffic { size: size.saturating_add(ENCAPSULATION), separation, burst: 1 }),
    }
}

#[cfg(test)]
mod tests {
    use wire::qos::EndpointQos;
    use wire::{EntityId, Guid, GuidPrefix};

    use super::*;

    const TOPICS: &str = "[[topic]]\nname = \"Sq*\"\nwritten = \"on-event\"\nsize = 100\nseparation = \"10 ms\"\nlatency = \"20 ms\"\nfrom = [\"10.1.0.0/16\"]\n\
        [[topic]]\nname = \"Sq*\"\nwritten = \"on-change\"\nsize = 40\nseparation = \"1 s\"\n";

    fn endpoint(kind: u8, change: impl FnOnce(&mut EndpointData)) -> EndpointData {
        let guid = Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 1, kind]));
        let qos = if kind < 4 { EndpointQos::writer() } else { EndpointQos::reader() };
        let mut data = EndpointData::new(guid, "Square".into(), "Shape".into(), qos);
        change(&mut data);
        data
    }

    fn asked(text: &str, from: &str, writer: &EndpointData, reader: &EndpointData) -> Asked {
        let described =
            if text.is_empty() { Described::default() } else { Described::of("topics.toml", text).unwrap() };
        described.asked(writer, reader, (from.parse().unwrap(), "10.3.0.2".parse().unwrap()))
    }

    #[test]
    fn the_first_topic_that_fits_says_class_traffic_and_latency() {
        let writer = endpoint(3, |_| {});
        let reader = endpoint(4, |data| data.qos.latency_budget = Duration::from_millis(30));
        let one = asked(TOPICS, "10.1.0.2", &writer, &reader);
        let traffic = Traffic { size: 104, separation: 10_000_000, burst: 1 };
        assert_eq!((one.traffic, one.class, one.latency), (Ok(traffic), Some(Class::Ef), Some(20_000_000)));
        let other = asked(TOPICS, "10.2.0.2", &writer, &reader);
        assert_eq!(
            (other.class, other.latency),
            (Some(Class::Af4), Some(30_000_000)),
            "LATENCY_BUDGET where the file has none"
        );
        for (text, what) in [
            (TOPICS.replace("10.1.0.0/16", "camera"), "hosts have no names here"),
            (TOPICS.replace("\"1 s\"", "\"1\""), "topics.toml:12:14"),
        ] {
            let said = Described::of("topics.toml", &text).err().unwrap();
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn where_the_file_is_all_qos_asks_for_nothing() {
        let writer = endpoint(3, |data| {
            data.max_serialized_size = Some(60);
            data.qos.deadline = Duration::from_millis(50);
            data.qos.transport_priority = 46;
        });
        let reader = endpoint(4, |data| data.qos.latency_budget = Duration::from_millis(30));
        let ends = ("10.1.0.2".parse().unwrap(), "10.3.0.2".parse().unwrap());
        let said = |is_all| {
            let asked = Described { topics: Vec::new(), is_all }.asked(&writer, &reader, ends);
            (asked.traffic.is_ok(), asked.class, asked.latency)
        };
        assert_eq!(said(false), (true, Some(Class::Ef), Some(30_000_000)));
        assert_eq!(said(true), (true, None, None), "what it sends counts nevertheless");
    }

    #[test]
    fn what_qos_does_not_say_is_not_guessed() {
        let reader = endpoint(4, |_| {});
        let full = |data: &mut EndpointData| {
            data.max_serialized_size = Some(60);
            data.qos.deadline = Duration::from_millis(50);
            data.qos.transport_priority = 46;
        };
        let said = |kind, change: fn(&mut EndpointData)| {
            let writer = endpoint(kind, |data| {
                full(data);
                change(data);
            });
            asked("", "10.1.0.2", &writer, &reader)
        };
        let known = said(3, |_| {});
        let traffic = Traffic { size: 64, separation: 50_000_000, burst: 1 };
        assert_eq!((known.traffic, known.class, known.latency), (Ok(traffic), Some(Class::Ef), None));
        for (kind, change, what) in [
            (3, (|data| data.max_serialized_size = None) as fn(&mut EndpointData), "largest size"),
            (3, |data| data.qos.deadline = Duration::INFINITE, "its rate is not known"),
            (2, |_| {}, "a DEADLINE is for each instance"),
        ] {
            let why = said(kind, change).traffic.unwrap_err();
            assert!(why.contains(what) && why.contains("describe the topic"), "{why}");
        }
        assert_eq!(said(3, |data| data.qos.transport_priority = 13).class, None);
    }
}
