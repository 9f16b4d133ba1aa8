//! What a switch is to have: flows, groups and meters, and how to get there from what it says it has.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use openflow::Message;
use openflow::action::{Action, MaxLen};
use openflow::flow::{FlowCommand, FlowMod};
use openflow::group::{GroupCommand, GroupMod};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::meter::{MeterCommand, MeterMod};
use openflow::oxm::{AnyOxm, OxmField};
use openflow::words::{GroupId, MeterId, PortNo, TableId};

use crate::action::SwitchContent;

/// Where a flow stands: table, priority and what it matches.
type Place = (TableId, u16, Vec<(OxmField, u128, u128)>);

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
                let Some(place) = place(flow.table, flow.priority, &flow.matching) else { return };
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
        let other = target.flows.iter().filter(|(place, flow)| self.flows.get(*place) != Some(flow));
        more.extend(other.map(|(_, flow)| Message::FlowMod(flow.clone())));
        more.extend(last);
        (less, more)
    }

    /// Changes that make this of what a switch has: those that take away, and those that add or change. Flows that are
    /// there and as they should be are not touched, so that packets go on.
    pub(crate) fn repair(&self, content: &SwitchContent) -> (Vec<Message>, Vec<Message>) {
        let mut has = Self::default();
        let mut strange = Vec::new();
        for flow in &content.flows {
            let mut found = FlowMod::add(flow.priority, flow.matching.clone(), plain(&flow.instructions));
            (found.table, found.cookie, found.flags) = (flow.table, flow.cookie, flow.flags);
            (found.idle_timeout, found.hard_timeout) = (flow.idle_timeout, flow.hard_timeout);
            match place(flow.table, flow.priority, &flow.matching) {
                // The same flow as it would be told again.
                Some(place) => match self.flows.get(&place) {
                    Some(wanted) if same(wanted, &found) => has.flows.insert(place, wanted.clone()),
                    _ => has.flows.insert(place, found),
                },
                None => {
                    strange.push(deletion(&found));
                    None
                }
            };
        }
        for group in &content.groups {
            let mut buckets = group.buckets.clone();
            buckets.iter_mut().for_each(|bucket| bucket.actions = plain_actions(&bucket.actions));
            let found =
                GroupMod { command: GroupCommand::Add, kind: group.kind, group: group.group, buckets };
            has.groups.insert(group.group, found);
        }
        for meter in &content.meters {
            let (flags, bands) = (meter.flags, meter.bands.clone());
            has.meters.insert(
                meter.meter,
                MeterMod { command: MeterCommand::Add, flags, meter: meter.meter, bands },
            );
        }
        let (less, more) = has.changes_to(self);
        strange.extend(less);
        (strange, more)
    }
}

/// The groups and meters that a flow uses.
fn uses(flow: &FlowMod, groups: &mut BTreeSet<GroupId>, meters: &mut BTreeSet<MeterId>) {
    for instruction in &flow.instructions {
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

/// Whether a flow as the switch tells it is the wanted one; flags of counting do not count.
fn same(wanted: &FlowMod, found: &FlowMod) -> bool {
    wanted.cookie == found.cookie
        && (wanted.idle_timeout, wanted.hard_timeout) == (found.idle_timeout, found.hard_timeout)
        && plain(&wanted.instructions) == found.instructions
}

fn deletion(flow: &FlowMod) -> Message {
    Message::FlowMod(FlowMod::delete_strict(flow.table, flow.priority, flow.matching.clone()))
}

/// Where a flow stands; `None` if it matches fields that nobody here uses.
fn place(table: TableId, priority: u16, matching: &Match) -> Option<Place> {
    let mut fields = Vec::new();
    for field in matching.iter() {
        let AnyOxm::Known(oxm) = field else { return None };
        let mask = oxm.mask().unwrap_or(oxm.field().all_bits());
        fields.extend((mask != 0).then_some((oxm.field(), oxm.value(), mask)));
    }
    fields.sort_unstable();
    Some((table, priority, fields))
}

/// Instructions in one order, actions without lengths that mean nothing.
fn plain(instructions: &[Instruction]) -> Vec<Instruction> {
    let mut list: Vec<Instruction> = instructions
        .iter()
        .map(|instruction| match instruction {
            Instruction::ApplyActions(actions) => Instruction::ApplyActions(plain_actions(actions)),
            other => other.clone(),
        })
        .collect();
    list.sort_by_key(|instruction| match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        _ => 2,
    });
    list
}

fn plain_actions(actions: &[Action]) -> Vec<Action> {
    let plain = |action: &Action| match action {
        Action::Output { port, .. } if *port != PortNo::CONTROLLER => {
            Action::Output { port: *port, max_len: MaxLen(0) }
        }
        other => other.clone(),
    };
    actions.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use openflow::group::{Bucket, GroupType};
    use openflow::multipart::{FlowStats, GroupDescription, Traffic};
    use openflow::words::Age;

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
        let FlowMod {
            table,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie,
            matching,
            instructions,
            ..
        } = flow(2);
        let (age, traffic) = (Age::default(), Traffic { packets: 0, octets: 0 });
        let stats = FlowStats {
            table,
            age,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie,
            traffic,
            matching,
            instructions,
        };
        let content = SwitchContent {
            flows: alloc::vec![stats],
            groups: alloc::vec![known(2), known(4)],
            meters: Vec::new(),
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
