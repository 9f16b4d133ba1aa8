//! One pair, at the side of its reader or of its writer.
use alloc::string::String;
use alloc::sync::Arc;
use core::net::SocketAddr;

use wire::admission::{OfferedAssurance, Request, RequestedAssurance, Socket, Stage, State};
use wire::discovery::EndpointData;
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use super::verdict::Grant;
use super::{PairAssurance, Way};

/// What is known of a pair, and how it runs.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) local: EntityId,
    pub(super) remote: Arc<EndpointData>,
    pub(super) way: Way,
    pub(super) side: Side,
    /// The last request, made here or heard; 0 before the first.
    pub(super) serial: u64,
    pub(super) state: State,
    pub(super) reason: String,
    pub(super) offered_latency: u64,
    pub(super) offered_separation: u64,
    /// The manager has said that it is at it.
    pub(super) is_taken_up: bool,
    pub(super) grant: Option<Grant>,
    /// How the local endpoint is matched at present.
    pub(super) runs: Runs,
    /// Without a decision by then it counts as refused.
    pub(super) patience_at: Instant,
}

/// How a local endpoint is matched.
#[allow(clippy::large_enum_variant, reason = "there is one for each pair, and most pairs here are assured")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Runs {
    /// It is not.
    No,
    /// As ever.
    Plainly,
    /// Along the flow of a grant.
    Assured(Grant),
}

#[derive(Debug)]
pub(super) enum Side {
    /// The reader is ours: we ask.
    Reader {
        /// What it asks for.
        wanted: RequestedAssurance,
        /// The request in force; `None` if there is nothing to ask for.
        request: Option<Request>,
        /// It may run without a bound: refused or revoked, and it does not insist.
        is_released: bool,
    },
    /// The writer is ours: we follow.
    Writer {
        /// What it promises; `None` if it promises nothing and the reader insists.
        offered: Option<OfferedAssurance>,
        /// Where the reader has announced that it receives.
        announced: alloc::vec::Vec<SocketAddr>,
        /// What the reader says that it does.
        stage: Stage,
        /// The participant of the manager that the reader's participant asks, if it has said so.
        manager: Option<GuidPrefix>,
    },
}

impl Pair {
    /// Writer and reader.
    pub(super) fn names(&self, own: GuidPrefix) -> (Guid, Guid) {
        let local = Guid::new(own, self.local);
        match self.side {
            Side::Reader { .. } => (self.remote.guid, local),
            Side::Writer { .. } => (local, self.remote.guid),
        }
    }

    /// What it does at present.
    pub(super) fn stage(&self) -> Stage {
        match self.runs {
            Runs::No => Stage::Waiting,
            Runs::Plainly => Stage::Unassured,
            Runs::Assured(_) => Stage::Assured,
        }
    }

    pub(super) fn status(&self, own: GuidPrefix) -> PairAssurance {
        let (writer, reader) = self.names(own);
        let some = |nanos: u64| (nanos > 0).then(|| duration(nanos));
        PairAssurance {
            writer,
            reader,
            state: self.state,
            stage: self.stage(),
            bound: self.grant.as_ref().map(|grant| duration(grant.bound)),
            losses: self
                .grant
                .as_ref()
                .and_then(|grant| grant.repairs)
                .map(|kept| (kept.frames, duration(kept.within))),
            reason: self.reason.clone(),
            offered_latency: some(self.offered_latency),
            offered_separation: some(self.offered_separation),
        }
    }

    /// It is decided; the reason is kept for people.
    pub(super) fn decide(&mut self, state: State, reason: impl Into<String>) {
        self.state = state;
        self.reason = reason.into();
        (self.offered_latency, self.offered_separation) = (0, 0);
        if matches!(state, State::Refused | State::Revoked) {
            self.grant = None;
            if let Side::Reader { wanted, is_released, .. } = &mut self.side {
                *is_released = !wanted.is_required;
            }
        }
    }

    /// Why it counts as refused if nothing more comes.
    pub(super) fn unheard(&self) -> String {
        match self.side {
            Side::Writer { stage: Stage::Assured, .. } => {
                "the verdict that the reader has heard has not come to the participant of the writer".into()
            }
            _ if self.is_taken_up && self.reason.is_empty() => {
                "the resource manager has not decided in time".into()
            }
            _ if self.is_taken_up => {
                alloc::format!("the resource manager has not decided in time: {}", self.reason)
            }
            _ => "no resource manager answers in this domain".into(),
        }
    }

    /// How it should run now.
    pub(super) fn goal(&self) -> Runs {
        match (&self.side, &self.grant) {
            (Side::Reader { .. }, Some(grant)) => Runs::Assured(grant.clone()),
            (Side::Reader { is_released: true, .. }, None) => Runs::Plainly,
            (Side::Reader { .. }, None) => Runs::No,
            (Side::Writer { stage: Stage::Waiting, .. }, _) => Runs::No,
            (Side::Writer { stage: Stage::Unassured, .. }, _) => Runs::Plainly,
            (Side::Writer { stage: Stage::Assured, .. }, Some(grant)) => Runs::Assured(grant.clone()),
            // The reader has heard the verdict before us, who wait for it. Or the lease has ended here first, or the verdict does not
            // come: better without a flow than not at all.
            (Side::Writer { stage: Stage::Assured, .. }, None) => match (&self.runs, self.state) {
                (Runs::No, State::Pending) => Runs::No,
                _ => Runs::Plainly,
            },
        }
    }
}

/// Why there is no use in asking for a flow, if there is none.
pub(super) fn hopeless(
    wanted: &RequestedAssurance,
    writer: &EndpointData,
    destination: Socket,
) -> Option<String> {
    let Some(offered) = &writer.offered_assurance else {
        return Some("the writer promises nothing about its samples: it has no ASSURANCE".into());
    };
    if offered.source.addr().is_none() {
        return Some("the participant of the writer has no socket for a flow of its own".into());
    }
    if destination.addr().is_none() {
        return Some("the participant of the reader announces no address at which a flow can end".into());
    }
    if let Some(losses) = &wanted.losses {
        let Some(repairs) = offered.repairs else {
            return Some(
                "the writer keeps no bound with losses: it is not reliable, asserts its liveliness by itself, or its participant cannot".into(),
            );
        };
        if losses.source.addr().is_none() {
            return Some("the participant of the reader has no socket for questions".into());
        }
        if repairs.kept < wanted.maximum_latency {
            return Some(alloc::format!(
                "the writer can repeat a sample for {}, and the maximum latency is {}: it needs a longer HISTORY or LIFESPAN",
                for_people(repairs.kept),
                for_people(wanted.maximum_latency)
            ));
        }
    }
    let most = offered.contract.maximum_separation;
    if wanted.maximum_separation > 0 && (most == 0 || most > wanted.maximum_separation) {
        return Some(alloc::format!(
            "maximum_separation: offered {}, requested {}",
            if most == 0 { "none".into() } else { for_people(most) },
            for_people(wanted.maximum_separation)
        ));
    }
    let waits = batching(writer);
    (wanted.maximum_latency <= waits).then(|| {
        alloc::format!(
            "LATENCY_BUDGET of the writer, {}, uses up the maximum latency of {}",
            for_people(waits),
            for_people(wanted.maximum_latency)
        )
    })
}

fn for_people(nanos: u64) -> String {
    alloc::format!("{}", Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)))
}

/// How long a sample may wait in its writer for others to share a datagram with.
pub(super) fn batching(writer: &EndpointData) -> u64 {
    u64::try_from(writer.qos.latency_budget.min(crate::writer::MAX_BATCH_DELAY).as_nanos()).unwrap_or(0)
}

pub(super) fn duration(nanos: u64) -> Duration {
    Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
