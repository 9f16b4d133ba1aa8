//! Which value comes from where.
use std::collections::BTreeMap;

use serde_json::Value;

use crate::Settings;
use crate::problem::Origin;

/// A value, and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// Its path in a file: `participant.network.multicast`.
    pub key: String,
    /// The value, as JSON.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where what has this path comes from: something in it, or something that it is in.
pub(crate) fn origin(origins: &BTreeMap<String, Origin>, path: &str) -> Origin {
    let is_inside = |known: &str| known.starts_with(path) && known.as_bytes().get(path.len()) == Some(&b'.');
    let inside = || origins.iter().find(|(known, _)| is_inside(known)).map(|(_, origin)| origin);
    origins.get(path).or_else(inside).cloned().unwrap_or(Origin::Default)
}

/// The path of what the library calls so, as `lease_duration` or `shared_memory.ring`; the empty one if nothing was said of it.
pub(crate) fn named(origins: &BTreeMap<String, Origin>, place: &str) -> String {
    let end = format!(".{}", place.replace('_', "-"));
    let found = origins.keys().find(|known| known.ends_with(&end));
    found.cloned().unwrap_or_default()
}

pub(crate) fn participant(settings: &Settings) -> Vec<Explained> {
    let origins = &settings.origins;
    let mut explained = vec![Explained {
        key: "domain".to_owned(),
        value: settings.domain.to_string(),
        origin: origin(origins, "domain"),
    }];
    let config = serde_json::to_value(&settings.config).unwrap_or_default();
    for (section, keys) in config.as_object().into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            let path = format!("participant.{section}.{key}");
            // Two have another, shorter name.
            let short = match path.as_str() {
                "participant.network.interfaces" => origin(origins, "interfaces"),
                "participant.discovery.static-peers" => origin(origins, "peers"),
                _ => Origin::Default,
            };
            let origin = if short == Origin::Default { origin(origins, &path) } else { short };
            explained.push(Explained { key: path, value: value.to_string(), origin });
        }
    }
    explained
}

pub(crate) fn topic(settings: &Settings, topic: &str) -> Vec<Explained> {
    let writer = serde_json::to_value(settings.writer_qos(topic)).unwrap_or_default();
    let reader = serde_json::to_value(settings.reader_qos(topic)).unwrap_or_default();
    let mut explained = Vec::new();
    for (kind, qos) in [("writer", writer), ("reader", reader)] {
        let said = |key: &str, parts: &[&str]| {
            let rules: Vec<usize> = settings.rules(topic).map(|(number, _)| number).collect();
            let paths = rules.iter().rev().flat_map(|number| {
                parts.iter().map(move |part| match *part {
                    "" => format!("topics.{number}.{key}"),
                    part => format!("topics.{number}.{part}.{key}"),
                })
            });
            let mut origins = paths.map(|path| origin(&settings.origins, &path));
            origins.find(|origin| *origin != Origin::Default).unwrap_or(Origin::Default)
        };
        for (key, value) in qos.as_object().into_iter().flatten() {
            match value {
                Value::Object(policies) if key == "endpoint" => {
                    explained.extend(policies.iter().map(|(policy, value)| Explained {
                        key: format!("{kind}.{policy}"),
                        value: value.to_string(),
                        origin: said(policy, &[kind, "qos"]),
                    }));
                }
                value => explained.push(Explained {
                    key: format!("{kind}.{key}"),
                    value: value.to_string(),
                    origin: said(key, &[""]),
                }),
            }
        }
    }
    explained
}
