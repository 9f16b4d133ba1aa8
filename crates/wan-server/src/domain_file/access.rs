//! The table `[access]` of a domain: sites behind accesses that are slow or lose packets, as routers of Linux at both ends of each.
use linux_edge::domain::{ALL, Access, CoreLink, End, Wire};
use serde::Deserialize;
use toml::Spanned;

use super::document::ExcessWord;
use super::linux::{BorderTable, CeilingTable, EdgeTable, EndTable, LinuxTable, RouterTable};
use super::quantities::{Loss, Rate, Time};

/// Bytes of the largest packet on an access, unless the file says otherwise: a tunnel adds 40 to those of hosts.
const MTU: u32 = 1_540;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AccessTable {
    /// What a router takes until a packet is in a queue.
    processing: Time,
    #[serde(default)]
    control: Option<CeilingTable>,
    /// Of AF of flows that stay in the domain.
    #[serde(default)]
    excess: Option<ExcessWord>,
    #[serde(default)]
    ef: Option<CeilingTable>,
    #[serde(default)]
    af4: Option<CeilingTable>,
    #[serde(default)]
    af1: Option<CeilingTable>,
    #[serde(rename = "router")]
    routers: Vec<Spanned<RouterTable>>,
    #[serde(rename = "line")]
    lines: Vec<Spanned<LineTable>>,
    #[serde(default, rename = "edge")]
    edges: Vec<Spanned<EdgeTable>>,
    #[serde(default, rename = "border")]
    borders: Vec<Spanned<BorderTable>>,
}

/// An access.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LineTable {
    /// The router at the site.
    pub(super) site: EndTable,
    /// The router that the access leads to.
    pub(super) head: EndTable,
    /// What is sent from the site, at most.
    up: Rate,
    /// What is sent to the site, at most.
    down: Rate,
    /// From port to port, of what arrives, at most.
    delay: Time,
    /// By which that varies, at most.
    #[serde(default)]
    jitter: Time,
    #[serde(default)]
    loss: Loss,
    #[serde(default)]
    mtu: Option<u32>,
}

/// A table `[access]`, as one of Linux routers whose links are accesses.
#[derive(Deserialize, Debug)]
#[serde(from = "AccessTable")]
pub(super) struct AccessRouters(pub(super) LinuxTable);

impl From<AccessTable> for AccessRouters {
    fn from(table: AccessTable) -> Self {
        let AccessTable { processing, control, excess, ef, af4, af1, routers, lines, edges, borders } = table;
        let links = Vec::new();
        // Keep-alives that an access loses would look like cuts.
        let keep_alive = Some(Time(0));
        Self(LinuxTable {
            processing,
            keep_alive,
            excess,
            control,
            ef,
            af4,
            af1,
            routers,
            links,
            edges,
            borders,
            lines: Some(lines),
        })
    }
}

impl LineTable {
    /// The link between its ends, or what is wrong and what to do.
    pub(super) fn link(&self, ends: [End; 2]) -> Result<CoreLink, (String, &'static str)> {
        let Self { up, down, delay, jitter, loss, mtu, .. } = self;
        if loss.0 >= ALL {
            let remedy = "`loss` is the part of all packets that do not arrive, such as \"2 %\"";
            return Err(("a line loses all packets".to_owned(), remedy));
        }
        let Some(propagation) = delay.0.checked_sub(jitter.0) else {
            let remedy = "`delay` is what a packet takes at most, with all of the `jitter`";
            return Err(("the delay of a line varies by more than it is".to_owned(), remedy));
        };
        let wire = Wire { rate: up.0, propagation, mtu: mtu.unwrap_or(MTU), bursts: 1 };
        let access = Access { back: down.0, jitter: jitter.0, loss: loss.0 };
        Ok(CoreLink { ends, wire, access: Some(access) })
    }
}
