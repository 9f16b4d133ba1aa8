//! Paths to other domains, as a manager shows them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Paths to other domains: of the file, and as BGP tells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Paths {
    /// The domain.
    pub asn: u32,
    /// All of them.
    pub paths: Vec<PathStatus>,
    /// The BGP speaker, if the file has one.
    pub bgp: Option<BgpStatus>,
}

/// One path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PathStatus {
    /// Its domains, from the neighbour to the destination.
    pub domains: Vec<u32>,
    /// BGP tells it; otherwise the file.
    pub is_of_bgp: bool,
    /// For each class in which all of them tell their delay: nanoseconds over the path.
    pub told: BTreeMap<String, u64>,
}

/// How reading the table of BGP goes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BgpStatus {
    /// It was read at least once since the manager began.
    pub is_read: bool,
    /// Why it could not be read the last time.
    pub trouble: Option<String>,
}
