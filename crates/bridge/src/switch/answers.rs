//! Answers of a switch to multipart requests (OpenFlow 1.3.5, 7.3.5).
use std::collections::BTreeMap;
use std::time::Duration;

use openflow::Message;
use openflow::error_code::ErrorCode;
use openflow::multipart::{
    AggregateStats, Description, GroupFeatures, MeterFeatures, MultipartReply, MultipartRequest, TableStats,
    Traffic,
};
use openflow::words::{TableId, Xid};

use super::{Connection, Switch};
use crate::datapath::DataPath;
use crate::tables::{MOST_GROUPS, TABLES};

/// Entries, groups or ports in one message of an answer.
const EACH: usize = 50;

impl<D: DataPath> Switch<D> {
    /// Reads what the data path has. Entries and groups that it has lost are forgotten, so that controllers put them right.
    pub(super) fn look(&mut self) -> Option<BTreeMap<u64, Traffic>> {
        let found = match self.path.read(&self.tables) {
            Ok(found) => found,
            Err(error) => {
                self.log.push(format!("what forwards cannot be read: {error}"));
                return None;
            }
        };
        if found.altered {
            self.log.push(format!(
                "what forwards was changed by others: {} entries and {} groups are not what they were",
                found.flows.len(),
                found.groups.len()
            ));
            self.tables.forget(|id| found.flows.contains(&id), |number| found.groups.contains(&number));
            // The agent corrects here what no controller would set again.
            if found.flows.is_empty()
                && found.groups.is_empty()
                && let Err(error) = self.path.apply(&self.tables)
            {
                self.log.push(format!("it cannot be put right: {error}"));
            }
        }
        Some(found.traffic)
    }

    pub(super) fn answer(
        &mut self,
        connection: Connection,
        xid: Xid,
        request: &MultipartRequest,
        now: Duration,
    ) {
        let mut counted = || {
            if let Some(traffic) = self.look() {
                self.tables.count(&traffic, now);
            }
        };
        let replies = match request {
            MultipartRequest::Description => whole(MultipartReply::Description(Description {
                manufacturer: b"Punctual".to_vec(),
                hardware: b"Linux bridge".to_vec(),
                software: env!("CARGO_PKG_VERSION").into(),
                serial: Vec::new(),
                datapath: Vec::new(),
            })),
            MultipartRequest::Flow(filter) => {
                counted();
                parts(self.tables.stats(filter, now), MultipartReply::Flow)
            }
            MultipartRequest::Aggregate(filter) => {
                counted();
                let flows = self.tables.stats(filter, now);
                let sum = |of: fn(&Traffic) -> u64| {
                    flows.iter().fold(0_u64, |sum, flow| sum.saturating_add(of(&flow.traffic)))
                };
                let traffic = Traffic { packets: sum(|one| one.packets), octets: sum(|one| one.octets) };
                whole(MultipartReply::Aggregate(AggregateStats { traffic, flows: flows.len() as u32 }))
            }
            MultipartRequest::Table => {
                let of = |table: u8| {
                    let flows = self.tables.entries().filter(|((of, ..), _)| *of == table).count();
                    TableStats {
                        table: TableId(table),
                        active: flows as u32,
                        lookups: u64::MAX,
                        matched: u64::MAX,
                    }
                };
                whole(MultipartReply::Table((0..TABLES).map(of).collect()))
            }
            MultipartRequest::PortStats(port) => parts(self.path.counted(*port), MultipartReply::PortStats),
            MultipartRequest::PortDescription => parts(self.ports.clone(), MultipartReply::PortDescription),
            MultipartRequest::GroupDescription => {
                counted();
                parts(self.tables.descriptions(), MultipartReply::GroupDescription)
            }
            MultipartRequest::GroupFeatures => {
                // OUTPUT and SET_FIELD, in groups of type all.
                let (most, actions) = (MOST_GROUPS as u32, 1 | 1 << 25);
                whole(MultipartReply::GroupFeatures(GroupFeatures {
                    types: 1,
                    capabilities: 0,
                    max_groups: [most, 0, 0, 0],
                    actions: [actions, 0, 0, 0],
                }))
            }
            MultipartRequest::MeterFeatures => whole(MultipartReply::MeterFeatures(MeterFeatures {
                max_meters: 0,
                band_types: 0,
                capabilities: 0,
                max_bands: 0,
                max_color: 0,
            })),
            MultipartRequest::MeterConfig(_) => whole(MultipartReply::MeterConfig(Vec::new())),
            MultipartRequest::Meter(_) => whole(MultipartReply::Meter(Vec::new())),
            _ => return self.refuse(connection, xid, ErrorCode::RequestBadMultipart),
        };
        for reply in replies {
            self.say(connection, xid, reply);
        }
    }
}

fn whole(reply: MultipartReply) -> Vec<Message> {
    vec![Message::MultipartReply { more: false, reply }]
}

/// An answer in as many messages as it takes.
fn parts<T: Clone>(all: Vec<T>, reply: impl Fn(Vec<T>) -> MultipartReply) -> Vec<Message> {
    let count = all.len().div_ceil(EACH).max(1);
    let part = |index: usize| all.iter().skip(index.saturating_mul(EACH)).take(EACH).cloned().collect();
    (0..count)
        .map(|index| Message::MultipartReply { more: index + 1 < count, reply: reply(part(index)) })
        .collect()
}
