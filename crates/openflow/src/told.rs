//! Whether what a switch says that it has is what it was told. Switches report in forms of their own: instructions in another order,
//! lengths of outputs that mean nothing.
use alloc::vec::Vec;

use crate::action::{Action, MaxLen};
use crate::flow::{FlowFlags, FlowMod};
use crate::group::{Bucket, GroupMod};
use crate::instruction::Instruction;
use crate::meter::MeterMod;
use crate::multipart::{FlowStats, GroupDescription, MeterConfig};
use crate::words::PortNo;

impl FlowStats {
    /// True if this is the flow that was added with `told`, which is at the same place (table, priority and match): its cookie, timeouts,
    /// SEND_FLOW_REM and instructions are the same.
    pub fn is_as_told(&self, told: &FlowMod) -> bool {
        let tells = |flags: FlowFlags| flags.contains(FlowFlags::SEND_FLOW_REM);
        self.cookie == told.cookie
            && self.idle_timeout == told.idle_timeout
            && self.hard_timeout == told.hard_timeout
            && tells(self.flags) == tells(told.flags)
            && plain_instructions(&self.instructions) == plain_instructions(&told.instructions)
    }
}

impl GroupDescription {
    /// True if this is the group that was made with `told`, which has its number: kind and buckets are the same.
    pub fn is_as_told(&self, told: &GroupMod) -> bool {
        let plain = |bucket: &Bucket| Bucket { actions: plain_actions(&bucket.actions), ..*bucket };
        self.kind == told.kind && self.buckets.iter().map(plain).eq(told.buckets.iter().map(plain))
    }
}

impl MeterConfig {
    /// True if this is the meter that was made with `told`, which has its number: flags and bands are the same.
    pub fn is_as_told(&self, told: &MeterMod) -> bool {
        self.flags == told.flags && self.bands == told.bands
    }
}

/// Instructions in the order of their execution, without those that do nothing. The order of actions within one instruction counts.
fn plain_instructions(list: &[Instruction]) -> Vec<Instruction> {
    let rank = |instruction: &Instruction| match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        Instruction::ClearActions => 2,
        Instruction::WriteActions(_) => 3,
        Instruction::WriteMetadata { .. } => 4,
        Instruction::GotoTable(_) => 5,
        Instruction::Experimenter { .. } => 6,
    };
    let mut list: Vec<_> = list
        .iter()
        .filter_map(|instruction| match instruction {
            Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) if actions.is_empty() => {
                None
            }
            Instruction::ApplyActions(actions) => Some(Instruction::ApplyActions(plain_actions(actions))),
            Instruction::WriteActions(actions) => Some(Instruction::WriteActions(plain_actions(actions))),
            other => Some(other.clone()),
        })
        .collect();
    list.sort_by_key(rank);
    list
}

/// Actions without the length that only means something for the controller.
fn plain_actions(list: &[Action]) -> Vec<Action> {
    let plain = |action: &Action| match action {
        Action::Output { port, .. } if *port != PortNo::CONTROLLER => {
            Action::Output { port: *port, max_len: MaxLen(0) }
        }
        other => other.clone(),
    };
    list.iter().map(plain).collect()
}
