//! The flow tables and groups of a switch as its controllers have told them: what is taken, what is refused, what goes with time.
mod checks;

use std::collections::BTreeMap;
use std::time::Duration;

use openflow::action::Action;
use openflow::error_code::ErrorCode;
use openflow::flow::{FlowCommand, FlowFlags, FlowMod, FlowRemoved, FlowRemovedReason};
use openflow::group::{Bucket, GroupCommand, GroupMod};
use openflow::instruction::Instruction;
use openflow::matching::{CanonicalMatch, Match};
use openflow::multipart::{FlowFilter, FlowStats, GroupDescription, Traffic};
use openflow::oxm::{AnyOxm, OxmField};
use openflow::words::{Age, GroupId, PortNo, TableId};

use checks::check_group;
pub(crate) use checks::is_tagged;

/// Flow tables that a frame may pass, numbered from 0.
pub const TABLES: u8 = 4;
/// The most flow entries.
pub const MOST_FLOWS: usize = 4_096;
/// The most groups.
pub const MOST_GROUPS: usize = 256;
/// The most buckets of a group, and the most actions of an entry or a bucket.
pub const MOST_PARTS: usize = 64;

/// Where a flow entry stands: table, priority and what it matches.
pub type Place = (u8, u16, CanonicalMatch);

/// A flow entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number, which no other entry has or had.
    pub id: u64,
    /// As it was told.
    pub flow: FlowMod,
    /// When it came.
    since: Duration,
    /// When it was last seen to have counted.
    used: Duration,
    /// What it has counted, as far as that was read.
    pub traffic: Traffic,
}

/// All tables and groups.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tables {
    flows: BTreeMap<Place, Entry>,
    groups: BTreeMap<u32, GroupMod>,
    next: u64,
}

impl Tables {
    /// All entries, by table, priority and match.
    pub fn entries(&self) -> impl Iterator<Item = (&Place, &Entry)> {
        self.flows.iter()
    }

    /// The entry of this number.
    pub fn entry(&self, id: u64) -> Option<&Entry> {
        self.flows.values().find(|entry| entry.id == id)
    }

    /// All groups by number.
    pub fn groups(&self) -> impl Iterator<Item = (u32, &GroupMod)> {
        self.groups.iter().map(|(number, group)| (*number, group))
    }

    /// Changes flow entries as a controller says; the result is what is to be told of entries that went.
    ///
    /// # Errors
    /// What cannot be done by this switch; nothing has changed then.
    pub fn change_flow(&mut self, flow: &FlowMod, now: Duration) -> Result<Vec<FlowRemoved>, ErrorCode> {
        match flow.command {
            FlowCommand::Add => self.add(flow, now),
            FlowCommand::DeleteStrict => {
                let place = place(flow);
                let has = self.flows.get(&place).is_some_and(|entry| is_meant(flow, entry));
                Ok(self.remove_if(now, FlowRemovedReason::Delete, |at, _| has && *at == place))
            }
            FlowCommand::Delete => {
                Ok(self.remove_if(now, FlowRemovedReason::Delete, |_, entry| is_meant(flow, entry)))
            }
            FlowCommand::Modify | FlowCommand::ModifyStrict => Err(ErrorCode::FlowBadCommand),
        }
    }

    fn add(&mut self, flow: &FlowMod, now: Duration) -> Result<Vec<FlowRemoved>, ErrorCode> {
        self.check_flow(flow)?;
        let place = place(flow);
        if !self.flows.contains_key(&place) && self.flows.len() >= MOST_FLOWS {
            return Err(ErrorCode::FlowTableFull);
        }
        self.next = self.next.saturating_add(1);
        let entry = Entry {
            id: self.next,
            flow: flow.clone(),
            since: now,
            used: now,
            traffic: Traffic { packets: 0, octets: 0 },
        };
        self.flows.insert(place, entry);
        Ok(Vec::new())
    }

    /// Changes a group as a controller says.
    ///
    /// # Errors
    /// What cannot be done by this switch; nothing has changed then.
    pub fn change_group(&mut self, group: &GroupMod, now: Duration) -> Result<Vec<FlowRemoved>, ErrorCode> {
        let number = group.group.0;
        let known = self.groups.contains_key(&number);
        match group.command {
            GroupCommand::Delete => {
                return Ok(self.remove_groups(now, |of| group.group == GroupId::ALL || of == number));
            }
            GroupCommand::Add if known => return Err(ErrorCode::GroupExists),
            GroupCommand::Add if self.groups.len() >= MOST_GROUPS => return Err(ErrorCode::GroupOutOfGroups),
            GroupCommand::Modify if !known => return Err(ErrorCode::GroupUnknown),
            GroupCommand::Add | GroupCommand::Modify => {}
        }
        check_group(group)?;
        self.groups.insert(number, GroupMod { command: GroupCommand::Add, ..group.clone() });
        Ok(Vec::new())
    }

    fn remove_groups(&mut self, now: Duration, gone: impl Fn(u32) -> bool) -> Vec<FlowRemoved> {
        self.groups.retain(|number, _| !gone(*number));
        self.remove_if(now, FlowRemovedReason::GroupDelete, |_, entry| {
            actions(&entry.flow).any(|action| matches!(action, Action::Group(group) if gone(group.0)))
        })
    }

    fn remove_if(
        &mut self,
        now: Duration,
        reason: FlowRemovedReason,
        gone: impl Fn(&Place, &Entry) -> bool,
    ) -> Vec<FlowRemoved> {
        let mut told = Vec::new();
        self.flows.retain(|place, entry| {
            let goes = gone(place, entry);
            if goes && entry.flow.flags.contains(FlowFlags::SEND_FLOW_REM) {
                told.push(entry.removed(reason, now));
            }
            !goes
        });
        told
    }

    /// Forgets entries and groups that the kernel does not have any more.
    pub fn forget(&mut self, flows: impl Fn(u64) -> bool, groups: impl Fn(u32) -> bool) {
        self.flows.retain(|_, entry| !flows(entry.id));
        self.groups.retain(|number, _| !groups(*number));
    }

    /// An entry has counted so much since it came.
    pub fn count(&mut self, traffic: &BTreeMap<u64, Traffic>, now: Duration) {
        for entry in self.flows.values_mut() {
            if let Some(counted) = traffic.get(&entry.id)
                && *counted != entry.traffic
            {
                entry.traffic = *counted;
                entry.used = now;
            }
        }
    }

    /// Whether an entry goes by itself after some time.
    pub fn has_timeouts(&self) -> bool {
        self.flows.values().any(|entry| entry.flow.idle_timeout > 0 || entry.flow.hard_timeout > 0)
    }

    /// Takes away what has had its time; the result is what is to be told of it, and whether anything went.
    pub fn expire(&mut self, now: Duration) -> (Vec<FlowRemoved>, bool) {
        let before = self.flows.len();
        let over = |since: Duration, seconds: u16| {
            seconds > 0 && now >= since.saturating_add(Duration::from_secs(seconds.into()))
        };
        let mut told = self.remove_if(now, FlowRemovedReason::HardTimeout, |_, entry| {
            over(entry.since, entry.flow.hard_timeout)
        });
        told.extend(self.remove_if(now, FlowRemovedReason::IdleTimeout, |_, entry| {
            over(entry.used, entry.flow.idle_timeout)
        }));
        (told, self.flows.len() != before)
    }

    /// The entries that a controller asks for.
    pub fn stats(&self, filter: &FlowFilter, now: Duration) -> Vec<FlowStats> {
        let wanted = |entry: &&Entry| {
            let flow = &entry.flow;
            (filter.table == TableId::ALL || filter.table == flow.table)
                && (filter.cookie ^ flow.cookie) & filter.cookie_mask == 0
                && uses(flow, filter.out_port, filter.out_group)
                && covers(&filter.matching, &flow.matching)
        };
        self.flows.values().filter(wanted).map(|entry| entry.stats(now)).collect()
    }

    /// What groups are.
    pub fn descriptions(&self) -> Vec<GroupDescription> {
        let described = |group: &GroupMod| GroupDescription {
            kind: group.kind,
            group: group.group,
            buckets: group.buckets.clone(),
        };
        self.groups.values().map(described).collect()
    }
}

impl Entry {
    fn removed(&self, reason: FlowRemovedReason, now: Duration) -> FlowRemoved {
        FlowRemoved {
            cookie: self.flow.cookie,
            priority: self.flow.priority,
            reason,
            table: self.flow.table,
            age: age(now.saturating_sub(self.since)),
            idle_timeout: self.flow.idle_timeout,
            hard_timeout: self.flow.hard_timeout,
            packets: self.traffic.packets,
            octets: self.traffic.octets,
            matching: self.flow.matching.clone(),
        }
    }

    fn stats(&self, now: Duration) -> FlowStats {
        FlowStats {
            table: self.flow.table,
            age: age(now.saturating_sub(self.since)),
            priority: self.flow.priority,
            idle_timeout: self.flow.idle_timeout,
            hard_timeout: self.flow.hard_timeout,
            flags: self.flow.flags,
            cookie: self.flow.cookie,
            traffic: self.traffic,
            matching: self.flow.matching.clone(),
            instructions: self.flow.instructions.clone(),
        }
    }
}

fn age(time: Duration) -> Age {
    Age { seconds: u32::try_from(time.as_secs()).unwrap_or(u32::MAX), nanoseconds: time.subsec_nanos() }
}

fn place(flow: &FlowMod) -> Place {
    (flow.table.0, flow.priority, flow.matching.canonical())
}

/// The actions of an entry in their order.
pub fn actions(flow: &FlowMod) -> impl Iterator<Item = &Action> {
    flow.instructions.iter().flat_map(|instruction| match instruction {
        Instruction::ApplyActions(actions) => actions.as_slice(),
        _ => &[],
    })
}

/// Whether a deletion means an entry.
fn is_meant(deletion: &FlowMod, entry: &Entry) -> bool {
    (deletion.table == TableId::ALL || deletion.table == entry.flow.table)
        && (deletion.cookie ^ entry.flow.cookie) & deletion.cookie_mask == 0
        && uses(&entry.flow, deletion.out_port, deletion.out_group)
        && covers(&deletion.matching, &entry.flow.matching)
}

fn uses(flow: &FlowMod, port: PortNo, group: GroupId) -> bool {
    let out = |action: &Action| matches!(action, Action::Output { port: out, .. } if *out == port);
    (port == PortNo::ANY || actions(flow).any(out))
        && (group == GroupId::ANY || actions(flow).any(|action| *action == Action::Group(group)))
}

/// Whether each field of the wider match is in the narrower one, with at least its bits.
fn covers(wider: &Match, narrower: &Match) -> bool {
    wider.iter().all(|field| match field {
        AnyOxm::Unknown(_) => false,
        AnyOxm::Known(wanted) => narrower.get(wanted.field()).is_some_and(|has| {
            let all = wanted.field().all_bits();
            let (mask, own) = (wanted.mask().unwrap_or(all), has.mask().unwrap_or(all));
            mask & own == mask && has.value() & mask == wanted.value()
        }),
    })
}

/// Fields that a bucket sets.
fn set_fields(bucket: &Bucket) -> impl Iterator<Item = OxmField> + '_ {
    bucket.actions.iter().filter_map(|action| match action {
        Action::SetField(value) => Some(value.field()),
        _ => None,
    })
}

/// Buckets in the order in which a frame goes through them: those that set least first.
pub fn ordered(buckets: &[Bucket]) -> Vec<&Bucket> {
    let mut ordered: Vec<&Bucket> = buckets.iter().collect();
    ordered.sort_by_key(|bucket| set_fields(bucket).count());
    ordered
}

#[cfg(test)]
mod tests {
    use openflow::group::GroupType;
    use openflow::oxm::Oxm;

    use super::*;

    pub(super) const NOW: Duration = Duration::from_secs(100);

    pub(super) fn flow(fields: &[Oxm], actions: Vec<Action>) -> FlowMod {
        FlowMod::add(7, Match::of(fields).unwrap(), vec![Instruction::ApplyActions(actions)])
    }

    pub(super) fn group(number: u32, buckets: Vec<Vec<Action>>) -> GroupMod {
        let buckets = buckets.into_iter().map(Bucket::of).collect();
        GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: GroupId(number), buckets }
    }

    #[test]
    fn entries_go_with_their_group_and_with_time() {
        let mut tables = Tables::default();
        tables.change_group(&group(1, vec![vec![Action::output(PortNo(1))]]), NOW).unwrap();
        let mut told = flow(&[], vec![Action::Group(GroupId(1))]);
        told.flags = FlowFlags::SEND_FLOW_REM;
        tables.change_flow(&told, NOW).unwrap();
        let mut idle = flow(&[Oxm::in_port(PortNo(1))], Vec::new());
        (idle.idle_timeout, idle.flags) = (10, FlowFlags::SEND_FLOW_REM);
        tables.change_flow(&idle, NOW).unwrap();
        let id = tables.entries().map(|(_, entry)| entry.id).max().unwrap();
        let later = NOW + Duration::from_secs(6);
        tables.count(&[(id, Traffic { packets: 1, octets: 64 })].into(), later);
        assert_eq!(tables.expire(NOW + Duration::from_secs(12)), (Vec::new(), false));
        let (gone, went) = tables.expire(NOW + Duration::from_secs(16));
        assert!(went);
        let reasons: Vec<_> = gone.iter().map(|gone| (gone.reason, gone.packets)).collect();
        assert_eq!(reasons, [(FlowRemovedReason::IdleTimeout, 1)]);
        let gone = tables.change_group(&GroupMod::delete(GroupId::ALL), NOW).unwrap();
        assert_eq!(gone.first().map(|gone| gone.reason), Some(FlowRemovedReason::GroupDelete));
        assert_eq!(tables.entries().count(), 0);
    }

    #[test]
    fn deletions_mean_what_their_fields_and_cookies_say() {
        let mut tables = Tables::default();
        for port in 1..=3 {
            let mut one = flow(&[Oxm::in_port(PortNo(port))], vec![Action::output(PortNo(port + 10))]);
            one.cookie = u64::from(port);
            tables.change_flow(&one, NOW).unwrap();
        }
        tables.change_flow(&FlowMod::delete_by_cookie(2, u64::MAX), NOW).unwrap();
        let left = |tables: &Tables| tables.entries().map(|(_, entry)| entry.flow.cookie).collect::<Vec<_>>();
        assert_eq!(left(&tables), [1, 3]);
        let strict = FlowMod::delete_strict(TableId(0), 7, Match::of(&[Oxm::in_port(PortNo(3))]).unwrap());
        tables.change_flow(&strict, NOW).unwrap();
        assert_eq!(left(&tables), [1]);
    }
}
