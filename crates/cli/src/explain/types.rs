//! Types of one name that are not the same: those of a writer and a reader, and the one that was described here.
use std::fmt;

use rtps::discovery::TypeVerdict;
use wire::discovery::EndpointData;
use xtypes::identifier::Hash;
use xtypes::{TypeInformation, Verdict};

use super::{About, Finding, Scene};

const COMPARE: &str = "Compare both descriptions of the type: order, names, types and ids of members, @key, @optional, and how far the types may \
    change. It depends on what differs whether the samples are read as they were meant.";

/// What is known of an endpoint's type besides its name.
#[derive(PartialEq, Eq)]
enum Announced {
    /// Nothing.
    Nothing,
    /// Something that cannot be read, or that has no minimal type object.
    Unknown,
    /// The hash of the minimal type object.
    Minimal(Hash),
}

/// A hash as it is shown: enough to tell two apart.
struct Short(Hash);

/// What matching makes of it; types that are not described are compared by name in the end.
pub(super) fn verdict(of: &Verdict) -> TypeVerdict {
    match of {
        Verdict::ByName(_) | Verdict::Pending => TypeVerdict::ByName,
        Verdict::Assignable => TypeVerdict::Assignable,
        Verdict::Different(difference) => TypeVerdict::Different(difference.clone()),
    }
}

/// A writer and a reader that match; `silent` if it is worth knowing that one of them says nothing of its type.
pub(super) fn pair(
    writer: &EndpointData,
    reader: &EndpointData,
    types: &Verdict,
    silent: bool,
) -> Option<(String, String)> {
    if *types == Verdict::Assignable {
        return None;
    }
    let by_name = |which: &str, how: &str| {
        let what = format!("type: compared by its name alone, since the {which} {how}");
        silent.then(|| (what, format!("If samples are not what they should be: {}", lowered(COMPARE))))
    };
    match (announced(writer), announced(reader)) {
        (Announced::Minimal(written), Announced::Minimal(read)) if written != read => Some((
            format!(
                "type: written as one {:?}, read as another, type objects {} and {}, and no participant tells what they are; Punctual matches them by name in the end, others may not",
                writer.type_name,
                Short(written),
                Short(read)
            ),
            COMPARE.to_owned(),
        )),
        (Announced::Unknown, _) => by_name("writer", "announces type information that is not understood"),
        (_, Announced::Unknown) => by_name("reader", "announces type information that is not understood"),
        (Announced::Nothing, Announced::Minimal(_)) => by_name("writer", "announces no type information"),
        (Announced::Minimal(_), Announced::Nothing) => by_name("reader", "announces no type information"),
        (Announced::Nothing, Announced::Nothing) | (Announced::Minimal(_), Announced::Minimal(_)) => None,
    }
}

/// Endpoints whose type is another one than was described here.
pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    let (Some(described), Some(asked)) = (scene.described, &scene.topic) else { return Vec::new() };
    let others = scene.endpoints.iter().filter(|data| data.topic_name == *asked);
    let others = others.filter_map(|data| match announced(data) {
        Announced::Minimal(hash) if hash != described => Some((data, hash)),
        _ => None,
    });
    let told = others.map(|(data, hash)| {
        let (endpoint, described, hash) = (scene.people.endpoint(data), Short(described), Short(hash));
        let what = format!(
            "topic {asked:?}: the type that was described is not that of {endpoint}: type objects {described} and {hash}"
        );
        Finding::note(About::Pairs, what, COMPARE)
    });
    told.collect()
}

fn announced(data: &EndpointData) -> Announced {
    let Some(bytes) = &data.type_information else { return Announced::Nothing };
    let read = TypeInformation::read(bytes).ok();
    read.and_then(|information| information.minimal_hash().copied())
        .map_or(Announced::Unknown, Announced::Minimal)
}

fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(char::to_lowercase).into_iter().flatten();
    first.chain(letters).collect()
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}
