//! What bgpd of FRR says of routes, as JSON: the questions that are put to it, and its answers as routes. All routes to a range are read, the best or not.
use serde::Deserialize;
use wan::{Asn, BgpRoute, Prefix, Segment};

use crate::domain_file::prefix;

/// The question for one range of addresses, as `vtysh` takes it.
pub(crate) fn question(of: Prefix) -> String {
    let family = if of.address.is_ipv4() { "ipv4" } else { "ipv6" };
    format!("show bgp {family} unicast {}/{} json", of.address, of.length)
}

/// An answer; of a range without routes it says nothing.
#[derive(Deserialize)]
struct Answered {
    prefix: Option<String>,
    #[serde(default)]
    paths: Vec<Path>,
    warning: Option<String>,
}

#[derive(Deserialize)]
struct Path {
    aspath: AsPath,
    #[serde(default)]
    valid: bool,
    #[serde(rename = "largeCommunity")]
    large_community: Option<LargeCommunity>,
}

#[derive(Deserialize)]
struct AsPath {
    segments: Vec<PathSegment>,
}

#[derive(Deserialize)]
struct PathSegment {
    r#type: String,
    list: Vec<u32>,
}

#[derive(Deserialize)]
struct LargeCommunity {
    list: Vec<String>,
}

/// Routes that are valid, of answers to a question for each of these ranges, in their order.
///
/// # Errors
/// The first text that is not such an answer, in words.
pub fn routes(asked: &[Prefix], answers: &[u8]) -> Result<Vec<BgpRoute>, String> {
    let mut found = Vec::new();
    let mut all = serde_json::Deserializer::from_slice(answers).into_iter::<Answered>();
    for of in asked {
        let name = question(*of);
        let answer = all.next().ok_or_else(|| format!("no answer to \"{name}\""))?;
        let answer =
            answer.map_err(|error| format!("the answer to \"{name}\" is not understood: {error}"))?;
        if let Some(warning) = answer.warning {
            return Err(format!("the answer to \"{name}\" is: {}", warning.escape_default()));
        }
        if let Some(other) = answer.prefix.filter(|text| prefix(text) != Some(*of)) {
            return Err(format!("the answer to \"{name}\" is about {}", other.escape_default()));
        }
        for path in answer.paths.into_iter().filter(|path| path.valid) {
            let communities = path.large_community.map(|all| all.list).unwrap_or_default();
            let communities = communities.iter().map(|text| {
                large_community(text).ok_or_else(|| {
                    let text = text.escape_default();
                    format!("the answer to \"{name}\" has \"{text}\", which is no large community")
                })
            });
            found.push(BgpRoute {
                prefix: *of,
                as_path: path.aspath.segments.into_iter().map(segment).collect(),
                large_communities: communities.collect::<Result<_, _>>()?,
            });
        }
    }
    match all.next() {
        None => Ok(found),
        Some(_) => Err(format!("more is said than answers to {} questions", asked.len())),
    }
}

fn segment(of: PathSegment) -> Segment {
    match &*of.r#type {
        "as-sequence" => Segment::Sequence(of.list.into_iter().map(Asn).collect()),
        _ => Segment::Unordered,
    }
}

fn large_community(text: &str) -> Option<[u32; 3]> {
    let parts: Vec<u32> = text.splitn(4, ':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}
