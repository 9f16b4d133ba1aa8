//! Where the order of messages matters: between two barriers a switch may do them in any order (OpenFlow 1.3.5, 6.2).
use alloc::collections::{BTreeMap, BTreeSet};

use crate::action::Action;
use crate::flow::{FlowCommand, FlowFlags, FlowMod};
use crate::group::{GroupCommand, GroupMod};
use crate::matching::CanonicalMatch;
use crate::message::{Message, MessageType};
use crate::meter::MeterCommand;
use crate::words::TableId;

/// Where a flow stands.
type Place = (TableId, u16, CanonicalMatch);

/// What has been sent since the last barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    added: BTreeSet<Place>,
    deletes_flows: bool,
    groups: BTreeMap<u32, GroupCommand>,
    meters: BTreeMap<u32, MeterCommand>,
    packets: bool,
    reads: bool,
    /// A message that may not be reordered with any other.
    other: bool,
}

impl Order {
    /// True if the message has to be done after something that has been sent since the last barrier: only flows that are added to
    /// different places may be exchanged, deletions of flows, the same change of several groups or meters, packets, and questions. In a table
    /// without room for all of them it is open which are refused.
    pub(super) fn matters(&self, message: &Message) -> bool {
        let flows = self.deletes_flows || !self.added.is_empty();
        let parts = !self.groups.is_empty() || !self.meters.is_empty();
        let passive = self.packets || self.reads;
        match message {
            Message::FlowMod(flow) => {
                let against = match kind_of(flow) {
                    Kind::Adds => {
                        self.deletes_flows || !self.added.is_empty() && self.added.contains(&place(flow))
                    }
                    Kind::Deletes => !self.added.is_empty(),
                    Kind::StandsAlone => flows,
                };
                against || parts || passive || self.other
            }
            Message::GroupMod(group) => {
                let against = |(number, command): (&u32, &GroupCommand)| {
                    *number == group.group.0 || *command != group.command || is_chained(group)
                };
                self.groups.iter().any(against) || flows || passive || self.other
            }
            Message::MeterMod(meter) => {
                let against = |(number, command): (&u32, &MeterCommand)| {
                    *number == meter.meter.0 || *command != meter.command
                };
                self.meters.iter().any(against) || flows || passive || self.other
            }
            Message::PacketOut(_) => flows || parts || self.reads || self.other,
            other => match other.kind() {
                kind if asks(kind) => flows || parts || self.packets || self.other,
                kind if stands_alone(kind) => flows || parts || passive || self.other,
                _ => false,
            },
        }
    }

    /// Remembers what is sent.
    pub(super) fn sent(&mut self, message: &Message) {
        match message {
            Message::BarrierRequest => *self = Self::default(),
            Message::FlowMod(flow) => match kind_of(flow) {
                Kind::Adds => {
                    self.added.insert(place(flow));
                }
                Kind::Deletes => self.deletes_flows = true,
                Kind::StandsAlone => self.other = true,
            },
            Message::GroupMod(group) => {
                self.other |= is_chained(group);
                self.groups.insert(group.group.0, group.command);
            }
            Message::MeterMod(meter) => {
                self.meters.insert(meter.meter.0, meter.command);
            }
            Message::PacketOut(_) => self.packets = true,
            other => {
                self.reads |= asks(other.kind());
                self.other |= stands_alone(other.kind());
            }
        }
    }

    /// All questions have been answered.
    pub(super) const fn answered(&mut self) {
        self.reads = false;
    }
}

/// What a change of flows may be exchanged with: its like, or nothing.
enum Kind {
    Adds,
    Deletes,
    StandsAlone,
}

fn kind_of(flow: &FlowMod) -> Kind {
    match flow.command {
        // Whether it is taken depends on what is there.
        FlowCommand::Add if flow.flags.contains(FlowFlags::CHECK_OVERLAP) => Kind::StandsAlone,
        FlowCommand::Add => Kind::Adds,
        FlowCommand::Delete | FlowCommand::DeleteStrict => Kind::Deletes,
        FlowCommand::Modify | FlowCommand::ModifyStrict => Kind::StandsAlone,
    }
}

fn place(flow: &FlowMod) -> Place {
    (flow.table, flow.priority, flow.matching.canonical())
}

/// Whether the answer says what changes have made.
pub(super) const fn asks(kind: MessageType) -> bool {
    use MessageType::*;
    matches!(kind, MultipartRequest | GetConfigRequest | QueueGetConfigRequest | GetAsyncRequest)
}

/// Changes that nothing is exchanged with.
const fn stands_alone(kind: MessageType) -> bool {
    use MessageType::*;
    matches!(kind, SetConfig | PortMod | TableMod | SetAsync | RoleRequest | Experimenter)
}

/// Whether a group leads to others, which have to be there.
fn is_chained(group: &GroupMod) -> bool {
    let mut actions = group.buckets.iter().flat_map(|bucket| &bucket.actions);
    actions.any(|action| matches!(action, Action::Group(_)))
}
