//! What a switch is to have: flows, groups and meters, and how to get there from what it says it has.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;

use openflow::Message;
use openflow::action::Action;
use openflow::flow::{FlowCommand, FlowMod};
use openflow::group::{GroupCommand, GroupMod};
use openflow::instruction::Instruction;
use openflow::matching::{CanonicalMatch, Match};
use openflow::meter::{MeterCommand, MeterMod};
use openflow::multipart::{FlowStats, GroupDescription, MeterConfig};
use openflow::words::{GroupId, MeterId, TableId};

use crate::action::SwitchContent;

/// Where a flow stands: table, priority and what it matches.
type Place = (TableId, u16, CanonicalMatch);

/// What a switch is to have, without what is learned.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Table {
    flows: BTreeMap<Place, FlowMod>,
    groups: BTreeMap<GroupId, GroupMod>,
    meters: BTreeMap<MeterId, MeterMod>,
}

impl Table {
    /// Notes a change; one that deletes by cookie is about learned flows and changes nothing here.
    pub(crate) fn apply(&mut self, message: &Message) {
        match message {
            Message::FlowMod(flow) => {
                let place = place(flow.table, flow.priority, &flow.matching);
                match flow.command {
                    FlowCommand::Add => {
                        self.flows.insert(place, flow.clone());
                    }
                    FlowCommand::DeleteStrict => {
                        self.flows.remove(&place);
                    }
                    FlowCommand::Delete | FlowCommand::Modify | FlowCommand::ModifyStrict => {}
                }
            }
            Message::GroupMod(group) => {
                self.groups.remove(&group.group);
                if group.command != GroupCommand::Delete {
                    self.groups.insert(group.group, GroupMod { command: GroupCommand::Add, ..group.clone() });
                }
            }
            Message::MeterMod(meter) => {
                self.meters.remove(&meter.meter);
                if meter.command != MeterCommand::Delete {
                    self.meters.insert(meter.meter, MeterMod { command: MeterCommand::Add, ..meter.clone() });
                }
            }
            _ => {}
        }
    }

    /// How many flows carry a cookie for which `is` holds.
    pub(crate) fn count(&self, is: impl Fn(u64) -> bool) -> usize {
        self.flows.values().filter(|flow| is(flow.cookie)).count()
    }

    pub(crate) fn meters(&self) -> usize {
        self.meters.len()
    }

    /// Changes that make this table the other one: those that take away, and those that add or change.
    pub(crate) fn changes_to(&self, target: &Self) -> (Vec<Message>, Vec<Message>) {
        let gone = self.flows.iter().filter(|(place, _)| !target.flows.contains_key(*place));
        let mut less: Vec<Message> = gone.map(|(_, flow)| deletion(flow)).collect();
        let mut more = Vec::new();
        // With a group or meter a switch takes the flows away that use it: those that are to be others have to be so first.
        let (mut groups, mut meters) = (BTreeSet::new(), BTreeSet::new());
        for flow in
            self.flows.iter().filter(|(place, _)| target.flows.contains_key(*place)).map(|(_, flow)| flow)
        {
            uses(flow, &mut groups, &mut meters);
        }
        let mut last = Vec::new();
        for group in self.groups.keys().filter(|group| !target.groups.contains_key(group)) {
            let when = if groups.contains(group) { &mut last } else { &mut less };
            when.push(Message::GroupMod(GroupMod::delete(*group)));
        }
        for meter in self.meters.keys().filter(|meter| !target.meters.contains_key(meter)) {
            let when = if meters.contains(meter) { &mut last } else { &mut less };
            when.push(Message::MeterMod(MeterMod::delete(*meter)));
        }
        for (number, group) in
            target.groups.iter().filter(|(number, group)| self.groups.get(number) != Some(group))
        {
            let command =
                if self.groups.contains_key(number) { GroupCommand::Modify } else { GroupCommand::Add };
            more.push(Message::GroupMod(GroupMod { command, ..group.clone() }));
        }
        for (number, meter) in
            target.meters.iter().filter(|(number, meter)| self.meters.get(number) != Some(meter))
        {
            let command =
                if self.meters.contains_key(number) { MeterCommand::Modify } else { MeterCommand::Add };
            more.push(Message::MeterMod(MeterMod { command, ..meter.clone() }));
        }
        // What is said of certain frames stands before what is said of all others, and the first table before those behind it.
        let other = target.flows.iter().filter(|(place, flow)| self.flows.get(*place) != Some(flow));
        let mut other: Vec<&FlowMod> = other.map(|(_, flow)| flow).collect();
        other.sort_by_key(|flow| (flow.table, Reverse(flow.priority)));
        more.extend(other.into_iter().map(|flow| Message::FlowMod(flow.clone())));
        more.extend(last);
        (less, more)
    }

    /// The places in a table that changes are about.
    pub(crate) fn touch<'m>(places: &mut Places, messages: impl IntoIterator<Item = &'m Message>) {
        for message in messages {
            match message {
                Message::FlowMod(flow) => {
                    places.flows.insert(place(flow.table, flow.priority, &flow.matching));
                }
                Message::GroupMod(group) => {
                    places.groups.insert(group.group);
                }
                Message::MeterMod(meter) => {
                    places.meters.insert(meter.meter);
                }
                _ => {}
            }
        }
    }

    /// The same without these places.
    pub(crate) fn without(&self, places: &Places) -> Self {
        let mut table = self.clone();
        table.flows.retain(|place, flow| {
            let (mut groups, mut meters) = (BTreeSet::new(), BTreeSet::new());
            uses(flow, &mut groups, &mut meters);
            // With a group or meter a switch takes the flows away that use it.
            !places.flows.contains(place)
                && groups.is_disjoint(&places.groups)
                && meters.is_disjoint(&places.meters)
        });
        table.groups.retain(|group, _| !places.groups.contains(group));
        table.meters.retain(|meter, _| !places.meters.contains(meter));
        table
    }

    /// Changes that make this of what a switch has in other places than these, and without what is learned: entries that were not told are
    /// removed, those that are missing or different are added.
    pub(crate) fn repair_but(
        &self,
        content: &SwitchContent,
        places: &Places,
        is_learned: impl Fn(u64) -> bool,
    ) -> (Vec<Message>, Vec<Message>) {
        let mut content = content.clone();
        let known = |flow: &FlowStats| place(flow.table, flow.priority, &flow.matching);
        content.flows.retain(|flow| {
            let (mut groups, mut meters) = (BTreeSet::new(), BTreeSet::new());
            uses_of(&flow.instructions, &mut groups, &mut meters);
            !is_learned(flow.cookie)
                && !places.flows.contains(&known(flow))
                && groups.is_disjoint(&places.groups)
                && meters.is_disjoint(&places.meters)
        });
        content.groups.retain(|group| !places.groups.contains(&group.group));
        content.meters.retain(|meter| !places.meters.contains(&meter.meter));
        self.without(places).repair(&content)
    }

    /// Changes that make this of what a switch has: those that take away, and those that add or change. Flows that are
    /// there and as they should be are not touched, so that packets go on.
    pub(crate) fn repair(&self, content: &SwitchContent) -> (Vec<Message>, Vec<Message>) {
        // What is there as it was told is what would be told again.
        let mut has = Self::default();
        for flow in &content.flows {
            let place = place(flow.table, flow.priority, &flow.matching);
            let found = FlowMod {
                table: flow.table,
                cookie: flow.cookie,
                flags: flow.flags,
                idle_timeout: flow.idle_timeout,
                hard_timeout: flow.hard_timeout,
                ..FlowMod::add(flow.priority, flow.matching.clone(), flow.instructions.clone())
            };
            let told = self.flows.get(&place).filter(|told| flow.is_as_told(told));
            has.flows.insert(place, told.cloned().unwrap_or(found));
        }
        for group in &content.groups {
            let GroupDescription { kind, group: number, buckets } = group.clone();
            let found = GroupMod { command: GroupCommand::Add, kind, group: number, buckets };
            let told = self.groups.get(&number).filter(|told| group.is_as_told(told));
            has.groups.insert(number, told.cloned().unwrap_or(found));
        }
        // The limit of copies to the manager is looked after by itself: a switch may not have it.
        for meter in content.meters.iter().filter(|meter| meter.meter != MeterId::CONTROLLER) {
            let MeterConfig { flags, meter: number, bands } = meter.clone();
            let found = MeterMod { command: MeterCommand::Add, flags, meter: number, bands };
            let told = self.meters.get(&number).filter(|told| meter.is_as_told(told));
            has.meters.insert(number, told.cloned().unwrap_or(found));
        }
        has.changes_to(self)
    }
}

/// Places in a table that are being changed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Places {
    flows: BTreeSet<Place>,
    groups: BTreeSet<GroupId>,
    meters: BTreeSet<MeterId>,
}

/// The groups and meters that a flow uses.
fn uses(flow: &FlowMod, groups: &mut BTreeSet<GroupId>, meters: &mut BTreeSet<MeterId>) {
    uses_of(&flow.instructions, groups, meters);
}

fn uses_of(instructions: &[Instruction], groups: &mut BTreeSet<GroupId>, meters: &mut BTreeSet<MeterId>) {
    for instruction in instructions {
        match instruction {
            Instruction::Meter(meter) => {
                meters.insert(*meter);
            }
            Instruction::ApplyActions(actions) => {
                groups.extend(actions.iter().filter_map(|action| match action {
                    Action::Group(group) => Some(*group),
                    _ => None,
                }))
            }
            _ => {}
        }
    }
}

fn deletion(flow: &FlowMod) -> Message {
    Message::FlowMod(FlowMod::delete_strict(flow.table, flow.priority, flow.matching.clone()))
}

/// Where a flow stands.
fn place(table: TableId, priority: u16, matching: &Match) -> Place {
    (table, priority, matching.canonical())
}

#[cfg(test)]
mod tests {
    use openflow::group::{Bucket, GroupType};
    use openflow::multipart::Traffic;
    use openflow::words::{Age, PortNo};

    use super::*;

    fn group(number: u32) -> GroupMod {
        let buckets = alloc::vec![Bucket::of(alloc::vec![Action::output(PortNo(1))])];
        GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: GroupId(number), buckets }
    }

    fn flow(number: u32) -> FlowMod {
        let actions = alloc::vec![Action::Group(GroupId(number))];
        FlowMod::add(7, Match::default(), alloc::vec![Instruction::ApplyActions(actions)])
    }

    /// A switch that takes flows away with their group never is without the flow.
    #[test]
    fn a_group_goes_when_no_flow_needs_it_any_more() {
        let mut wanted = Table::default();
        wanted.apply(&Message::GroupMod(group(3)));
        wanted.apply(&Message::FlowMod(flow(3)));
        let known = |number| {
            let GroupMod { kind, group, buckets, .. } = group(number);
            GroupDescription { kind, group, buckets }
        };
        let there = flow(2);
        let stats = FlowStats {
            table: there.table,
            age: Age::default(),
            priority: there.priority,
            idle_timeout: 0,
            hard_timeout: 0,
            flags: there.flags,
            cookie: there.cookie,
            traffic: Traffic { packets: 0, octets: 0 },
            matching: there.matching,
            instructions: there.instructions,
        };
        let content = SwitchContent {
            flows: alloc::vec![stats],
            groups: alloc::vec![known(2), known(4)],
            meters: Vec::new(),
            counters: Vec::new(),
        };
        let (less, more) = wanted.repair(&content);
        assert_eq!(less, [Message::GroupMod(GroupMod::delete(GroupId(4)))], "nobody uses it");
        let expected = [
            Message::GroupMod(group(3)),
            Message::FlowMod(flow(3)),
            Message::GroupMod(GroupMod::delete(GroupId(2))),
        ];
        assert_eq!(more, expected);
    }
}
