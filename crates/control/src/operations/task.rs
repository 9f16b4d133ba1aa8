//! What operations are made of: what each is for, its steps, and the tasks of a step.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::Plan;
use openflow::Message;
use openflow::flow::FlowCommand;
use wire::admission::Verdict;

use crate::action::{GateChange, Pair, StoreChange, Token};
use crate::fabric::Site;

/// The most changes in one installation.
const CHUNK: usize = 512;

/// A change of the network or of grants that waits for its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chore {
    /// A grant goes.
    Release(u64),
    /// Branches without a reader are cut off.
    Prune(u64),
    /// Links of the tree change.
    Tree,
    /// Links have another rate.
    Rates,
    /// A link on the way of a grant is down: it gets another way, or is revoked.
    Reroute(u64),
}

/// What happens when its time has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    Token(Token),
    Repeat(Pair),
    Wait(Pair),
    Retry(Pair),
    Look,
    Groups(usize),
    Away(Site),
    Restored(u64),
    Store,
    Prune(u64),
    Inspect(Site),
    Cabling,
    /// Flows have to leave cables that were found to be silent.
    Cables,
    Drain(usize),
    Moved,
    /// Owners of tunnels may have been silent for too long.
    Tunnels,
}

/// A part of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// A change of a switch. One that is sure counts from when it is sent: what fails is put right when the switch is back.
    Install { switch: usize, messages: Vec<Message>, sure: bool },
    /// A change of gates, in the same two ways.
    Gate { switch: usize, change: GateChange, sure: bool },
    /// What is stored; a sure one that fails is tried again later, and nothing waits for that.
    Store { change: StoreChange, sure: bool },
    /// Participants are to hear of a verdict before what follows.
    Announce(Box<Verdict>),
    /// Time has to pass.
    Hold(Duration),
    /// What a switch has.
    Read(usize),
    /// What the gates of a switch have.
    ReadGates(usize),
}

impl Task {
    pub(crate) fn site(&self) -> Option<Site> {
        match self {
            Self::Install { switch, .. } | Self::Read(switch) => Some(Site::Switch(*switch)),
            Self::Gate { switch, .. } | Self::ReadGates(switch) => Some(Site::Gates(*switch)),
            Self::Store { .. } | Self::Announce(_) | Self::Hold(_) => None,
        }
    }

    /// Whether it counts from when it begins.
    pub(super) const fn is_sure(&self) -> bool {
        match self {
            Self::Install { sure, .. } | Self::Gate { sure, .. } | Self::Store { sure, .. } => *sure,
            Self::Announce(_) | Self::Hold(_) => true,
            Self::Read(_) | Self::ReadGates(_) => false,
        }
    }
}

/// Tasks that go on at the same time, and what undoes them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Step {
    pub(crate) tasks: Vec<Task>,
    pub(crate) undo: Vec<Task>,
    /// When it has come, what was done before it is not undone any more.
    pub(crate) keeps: bool,
}

impl Step {
    pub(crate) fn of(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

/// What an operation is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A new grant. While others move nothing else happens.
    Admit { number: u64, plan: Box<Plan> },
    /// A pair joins a grant that serves it already, with the request of this serial; 0 if it has left.
    Join { number: u64, pair: Pair, serial: u64 },
    /// Participants hear that a grant goes.
    Farewell { number: u64, pairs: Vec<Pair> },
    /// A grant goes.
    Release { number: u64 },
    /// Links of the tree change.
    Tree,
    /// What could not be stored is tried again.
    Store,
    /// A switch is put right; what it was to have when that began.
    Prepare { switch: usize, version: u64 },
    /// Gates are put right.
    PrepareGates { switch: usize, version: u64 },
    /// What a switch, or its gates, have is compared with what they are to have, and put right.
    Inspect(Site),
}

impl Kind {
    /// Whether it changes grants or the tree.
    pub(super) const fn is_change(&self) -> bool {
        !matches!(
            self,
            Self::Prepare { .. }
                | Self::PrepareGates { .. }
                | Self::Inspect(_)
                | Self::Farewell { .. }
                | Self::Store
        )
    }
}

/// What tasks do to what a site is to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// They change it.
    Change,
    /// They give it to a site that has come back.
    Prepare,
    /// They compare it with what a site has, and put that right.
    Inspect,
}

/// Changes of a switch as steps of bearable size. Flows of another table or priority than those before are another step: in one a switch may
/// add them in any order, and frames would pass by what is for all others while what is for them is not there.
pub(crate) fn installs(switch: usize, messages: &[Message], sure: bool) -> Vec<Step> {
    let rank = |message: &Message| match message {
        Message::FlowMod(flow) if flow.command == FlowCommand::Add => Some((flow.table, flow.priority)),
        _ => None,
    };
    let chunk = |messages: &[Message]| {
        Step::of(alloc::vec![Task::Install { switch, messages: messages.to_vec(), sure }])
    };
    let alike = |one: &Message, other: &Message| match (rank(one), rank(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    messages.chunk_by(alike).flat_map(|part| part.chunks(CHUNK)).map(chunk).collect()
}
