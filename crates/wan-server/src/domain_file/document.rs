//! What a domain's file may say, as TOML.
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

use super::access::AccessRouters;
use super::bgp::BgpTable;
use super::lan::LanTable;
use super::linux::LinuxTable;
use super::ovs::OvsTable;
use super::quantities::{Addresses, Bytes, Loss, Rate, SessionClass, Time};

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Document {
    pub(super) asn: Spanned<u32>,
    pub(super) listen: Spanned<String>,
    #[serde(rename = "domain")]
    pub(super) domains: Vec<Spanned<DomainTable>>,
    #[serde(default, rename = "agreement")]
    pub(super) agreements: Vec<Spanned<AgreementTable>>,
    #[serde(default, rename = "path")]
    pub(super) paths: Vec<Spanned<PathTable>>,
    #[serde(default, rename = "user")]
    pub(super) users: Vec<Spanned<UserTable>>,
    #[serde(default, rename = "network-service")]
    pub(super) network_services: Vec<Spanned<NetworkServiceTable>>,
    #[serde(default, rename = "session-service")]
    pub(super) session_services: Vec<Spanned<SessionServiceTable>>,
    #[serde(default, rename = "callee")]
    pub(super) callees: Vec<Spanned<CalleeTable>>,
    #[serde(default)]
    pub(super) limits: Option<Spanned<LimitsTable>>,
    #[serde(default)]
    pub(super) declared: Option<Spanned<DeclaredTable>>,
    #[serde(default)]
    pub(super) linux: Option<Spanned<LinuxTable>>,
    #[serde(default)]
    pub(super) ovs: Option<Spanned<OvsTable>>,
    #[serde(default)]
    pub(super) access: Option<Spanned<AccessRouters>>,
    #[serde(default)]
    pub(super) lan: Option<Spanned<LanTable>>,
    #[serde(default)]
    pub(super) aaa: Option<AaaTable>,
    #[serde(default)]
    pub(super) bgp: Option<BgpTable>,
}

/// The AAA server that sessions are granted by.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AaaTable {
    /// The file of its client.
    pub(super) client: PathBuf,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DomainTable {
    pub(super) asn: u32,
    /// Where its manager is; the own domain has none.
    #[serde(default)]
    pub(super) manager: Option<Spanned<String>>,
    pub(super) prefixes: Vec<Spanned<Addresses>>,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TermsTable {
    pub(super) rate: Rate,
    pub(super) burst: Bytes,
    pub(super) delay: Time,
    #[serde(default)]
    pub(super) jitter: Time,
    #[serde(default)]
    pub(super) loss: Loss,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ExcessWord {
    Drop,
    Demote,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AgreementTable {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) link: u32,
    pub(super) destinations: Vec<u32>,
    #[serde(default)]
    pub(super) begins: Option<Spanned<Datetime>>,
    #[serde(default)]
    pub(super) ends: Option<Spanned<Datetime>>,
    #[serde(default)]
    pub(super) price: u64,
    #[serde(default)]
    pub(super) hides_price: bool,
    #[serde(default)]
    pub(super) excess: Option<ExcessWord>,
    /// Domains that may ask the receiving one themselves.
    #[serde(default)]
    pub(super) direct: Option<Spanned<Vec<u32>>>,
    #[serde(default)]
    pub(super) ef: Option<TermsTable>,
    #[serde(default)]
    pub(super) af4: Option<TermsTable>,
    #[serde(default)]
    pub(super) af1: Option<TermsTable>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PathTable {
    /// From the neighbour to the destination.
    pub(super) domains: Vec<u32>,
    #[serde(default)]
    pub(super) ef: Option<Vec<Time>>,
    #[serde(default)]
    pub(super) af4: Option<Vec<Time>>,
    #[serde(default)]
    pub(super) af1: Option<Vec<Time>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct UserTable {
    pub(super) name: String,
    pub(super) id: u32,
    #[serde(default)]
    pub(super) begins: Option<Spanned<Datetime>>,
    #[serde(default)]
    pub(super) ends: Option<Spanned<Datetime>>,
    pub(super) classes: Vec<SessionClass>,
    pub(super) destinations: Vec<u32>,
    pub(super) quota: Rate,
    pub(super) most_sessions: u32,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NetworkServiceTable {
    pub(super) name: String,
    pub(super) id: u32,
    pub(super) destinations: Vec<u32>,
    pub(super) bandwidth: Rate,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SessionServiceTable {
    pub(super) name: String,
    pub(super) id: u32,
    pub(super) network_service: Spanned<String>,
    pub(super) classes: Vec<SessionClass>,
    pub(super) most_rate: Rate,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CalleeTable {
    /// Callees.
    pub(super) prefix: Addresses,
    /// Who may call; without it all.
    #[serde(default)]
    pub(super) callers: Option<Vec<Addresses>>,
    /// A program is asked.
    #[serde(default)]
    pub(super) ask: bool,
    #[serde(default)]
    pub(super) ef: Option<Rate>,
    #[serde(default)]
    pub(super) af4: Option<Rate>,
    #[serde(default)]
    pub(super) af1: Option<Rate>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LimitsTable {
    #[serde(default)]
    pub(super) refresh: Option<Time>,
    #[serde(default)]
    pub(super) lifetime: Option<Time>,
    #[serde(default)]
    pub(super) guard: Option<Time>,
    #[serde(default)]
    pub(super) retransmit: Option<Time>,
    #[serde(default)]
    pub(super) patience: Option<Time>,
    #[serde(default)]
    pub(super) callee_patience: Option<Time>,
    #[serde(default)]
    pub(super) most_in_setup: Option<u32>,
    #[serde(default)]
    pub(super) most_aggregates: Option<u32>,
    #[serde(default)]
    pub(super) most_hosted: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DeclaredTable {
    pub(super) edges: Vec<Spanned<String>>,
    #[serde(default, rename = "link")]
    pub(super) links: Vec<Spanned<LinkTable>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinkTable {
    pub(super) between: [Spanned<String>; 2],
    #[serde(default)]
    pub(super) ef: Option<TermsTable>,
    #[serde(default)]
    pub(super) af4: Option<TermsTable>,
    #[serde(default)]
    pub(super) af1: Option<TermsTable>,
}
