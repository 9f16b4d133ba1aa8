//! What a switch must have after changes, and how what it says it has differs from that.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::install::StartError;
use crate::flow::{FlowCommand, FlowMod};
use crate::group::{GroupCommand, GroupMod};
use crate::matching::{CanonicalMatch, Match};
use crate::message::Message;
use crate::meter::{MeterCommand, MeterMod};
use crate::multipart::{
    FlowFilter, FlowStats, GroupDescription, MeterConfig, MultipartReply, MultipartRequest,
};
use crate::words::{GroupId, MeterId, TableId};

/// Up to so many meters are asked for one by one.
const FEW: usize = 8;

/// How what the switch has differs from what it was told. Indices count the changes from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// The flow of this change is not there.
    FlowMissing(usize),
    /// The flow of this change is there and is another: cookie, timeouts, SEND_FLOW_REM or instructions.
    FlowOther(usize, FlowStats),
    /// A flow is there that this change should have deleted.
    FlowLeft(usize, FlowStats),
    /// The group of this change is not there.
    GroupMissing(usize),
    /// The group of this change is there and is another.
    GroupOther(usize, GroupDescription),
    /// A group is there that should have been deleted.
    GroupLeft(GroupId),
    /// The meter of this change is not there.
    MeterMissing(usize),
    /// The meter of this change is there and is another.
    MeterOther(usize, MeterConfig),
    /// A meter is there that should have been deleted.
    MeterLeft(MeterId),
}

type FlowKey = (TableId, u16, CanonicalMatch);

struct Flow {
    change: usize,
    wanted: FlowMod,
    seen: bool,
}

struct Deletion {
    change: usize,
    filter: FlowFilter,
    /// Priority and match of a strict one.
    strict: Option<(u16, Match)>,
}

/// Something with a number of its own: wanted as it is, or gone.
struct Numbered<K, T> {
    wanted: BTreeMap<K, (usize, T, bool)>,
    gone: BTreeSet<K>,
    /// True if all were deleted: then only those that are wanted may be there.
    all_gone: bool,
    touched: bool,
}

impl<K: Ord + Copy, T> Numbered<K, T> {
    const fn new() -> Self {
        Self { wanted: BTreeMap::new(), gone: BTreeSet::new(), all_gone: false, touched: false }
    }

    fn want(&mut self, number: K, change: usize, what: T) {
        self.touched = true;
        self.gone.remove(&number);
        self.wanted.insert(number, (change, what, false));
    }

    fn delete(&mut self, number: K) {
        self.touched = true;
        self.wanted.remove(&number);
        self.gone.insert(number);
    }

    fn delete_all(&mut self) {
        self.touched = true;
        self.all_gone = true;
        self.wanted.clear();
    }

    fn is_left(&self, number: K) -> bool {
        !self.wanted.contains_key(&number) && (self.all_gone || self.gone.contains(&number))
    }

    fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        self.wanted.values().filter(|(_, _, seen)| !seen).map(|(change, _, _)| *change)
    }
}

/// A question, and what its answer is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    Added,
    Deleted(usize),
    Groups,
    Meters,
}

/// What the switch must have.
pub(super) struct Expected {
    flows: BTreeMap<FlowKey, Flow>,
    deletions: Vec<Deletion>,
    groups: Numbered<GroupId, GroupMod>,
    meters: Numbered<MeterId, MeterMod>,
    differences: Vec<Difference>,
}

impl Expected {
    /// What must be after these changes, in their order.
    pub(super) fn after(changes: &[Message]) -> Result<Self, StartError> {
        let mut expected = Self {
            flows: BTreeMap::new(),
            deletions: Vec::new(),
            groups: Numbered::new(),
            meters: Numbered::new(),
            differences: Vec::new(),
        };
        for (index, change) in changes.iter().enumerate() {
            match change {
                Message::FlowMod(flow) => expected.flow(index, flow)?,
                Message::GroupMod(group) => match (group.command, group.group) {
                    (GroupCommand::Delete, GroupId::ALL) => expected.groups.delete_all(),
                    (GroupCommand::Delete, number) => expected.groups.delete(number),
                    (_, number) => expected.groups.want(number, index, group.clone()),
                },
                Message::MeterMod(meter) => match (meter.command, meter.meter) {
                    (MeterCommand::Delete, MeterId::ALL) => expected.meters.delete_all(),
                    (MeterCommand::Delete, number) => expected.meters.delete(number),
                    (_, number) => expected.meters.want(number, index, meter.clone()),
                },
                _ => return Err(StartError::NotReadable(index)),
            }
        }
        Ok(expected)
    }

    fn flow(&mut self, change: usize, flow: &FlowMod) -> Result<(), StartError> {
        match flow.command {
            FlowCommand::Add => {
                let key = (flow.table, flow.priority, flow.matching.canonical());
                self.flows.insert(key, Flow { change, wanted: flow.clone(), seen: false });
            }
            // Which flows they reach would have to be computed from what the switch had.
            FlowCommand::Modify | FlowCommand::ModifyStrict => return Err(StartError::NotReadable(change)),
            FlowCommand::Delete | FlowCommand::DeleteStrict => {
                if !self.flows.is_empty() {
                    return Err(StartError::DeletesAfterAdding(change));
                }
                let strict = flow.command == FlowCommand::DeleteStrict;
                let filter = FlowFilter {
                    table: flow.table,
                    out_port: flow.out_port,
                    out_group: flow.out_group,
                    cookie: flow.cookie,
                    cookie_mask: flow.cookie_mask,
                    matching: flow.matching.clone(),
                };
                let strict = strict.then(|| (flow.priority, flow.matching.clone()));
                self.deletions.push(Deletion { change, filter, strict });
            }
        }
        Ok(())
    }

    /// What to ask the switch: as few questions as tell all.
    pub(super) fn questions(&self) -> Vec<(Question, MultipartRequest)> {
        let marks: BTreeSet<_> =
            self.flows.values().map(|flow| (flow.wanted.table, flow.wanted.cookie)).collect();
        let added = marks.into_iter().map(|(table, cookie)| {
            let filter = FlowFilter { table, cookie, cookie_mask: u64::MAX, ..FlowFilter::ALL };
            (Question::Added, MultipartRequest::Flow(filter))
        });
        let deleted = self.deletions.iter().enumerate().map(|(index, deletion)| {
            (Question::Deleted(index), MultipartRequest::Flow(deletion.filter.clone()))
        });
        let groups = self.groups.touched.then_some((Question::Groups, MultipartRequest::GroupDescription));
        // There are as many meters as flows; a switch says no to a question about one that it does not have.
        let few = self.meters.gone.is_empty() && !self.meters.all_gone && self.meters.wanted.len() <= FEW;
        let all = (self.meters.touched && !few).then_some(MeterId::ALL);
        let each = self.meters.wanted.keys().copied().filter(|_| few);
        let meters = each.chain(all).map(|meter| (Question::Meters, MultipartRequest::MeterConfig(meter)));
        added.chain(deleted).chain(groups).chain(meters).collect()
    }

    /// Compares an answer.
    pub(super) fn compare(&mut self, question: Question, reply: &MultipartReply) {
        match (question, reply) {
            (Question::Added, MultipartReply::Flow(list)) => {
                for stats in list {
                    self.compare_flow(stats);
                }
            }
            (Question::Deleted(index), MultipartReply::Flow(list)) => self.compare_deleted(index, list),
            (Question::Groups, MultipartReply::GroupDescription(list)) => {
                for group in list {
                    self.compare_group(group);
                }
            }
            (Question::Meters, MultipartReply::MeterConfig(list)) => {
                for meter in list {
                    self.compare_meter(meter);
                }
            }
            // The channel gives answers of the kind that was asked for.
            _ => {}
        }
    }

    fn compare_flow(&mut self, stats: &FlowStats) {
        let key = (stats.table, stats.priority, stats.matching.canonical());
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if !stats.is_as_told(&flow.wanted) && !flow.seen {
            self.differences.push(Difference::FlowOther(flow.change, stats.clone()));
        }
        flow.seen = true;
    }

    fn compare_deleted(&mut self, index: usize, list: &[FlowStats]) {
        let Some(deletion) = self.deletions.get(index) else { return };
        for stats in list {
            let meant = match &deletion.strict {
                Some((priority, matching)) => {
                    *priority == stats.priority && matching.is_same_as(&stats.matching)
                }
                None => true,
            };
            let key = (stats.table, stats.priority, stats.matching.canonical());
            if meant && !self.flows.contains_key(&key) {
                self.differences.push(Difference::FlowLeft(deletion.change, stats.clone()));
            }
        }
    }

    fn compare_group(&mut self, group: &GroupDescription) {
        if self.groups.is_left(group.group) {
            self.differences.push(Difference::GroupLeft(group.group));
        }
        let Some((change, wanted, seen)) = self.groups.wanted.get_mut(&group.group) else { return };
        if !group.is_as_told(wanted) && !*seen {
            self.differences.push(Difference::GroupOther(*change, group.clone()));
        }
        *seen = true;
    }

    fn compare_meter(&mut self, meter: &MeterConfig) {
        if self.meters.is_left(meter.meter) {
            self.differences.push(Difference::MeterLeft(meter.meter));
        }
        let Some((change, wanted, seen)) = self.meters.wanted.get_mut(&meter.meter) else { return };
        if !meter.is_as_told(wanted) && !*seen {
            self.differences.push(Difference::MeterOther(*change, meter.clone()));
        }
        *seen = true;
    }

    /// All differences, after all answers have been compared.
    pub(super) fn differences(&mut self) -> Vec<Difference> {
        let mut found = core::mem::take(&mut self.differences);
        let flows = self.flows.values().filter(|flow| !flow.seen).map(|flow| flow.change);
        found.extend(flows.map(Difference::FlowMissing));
        found.extend(self.groups.missing().map(Difference::GroupMissing));
        found.extend(self.meters.missing().map(Difference::MeterMissing));
        found
    }
}
