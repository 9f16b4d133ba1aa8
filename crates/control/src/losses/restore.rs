//! Grants with losses across starts: each of the three flows is stored as a grant, and names the others.
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use wire::admission::{Losses, Socket};

use super::{Role, Together};
use crate::grant::StoredAddress;
use crate::reservations::Granted;
use crate::resource_manager::ResourceManager;

/// The role of a stored grant in a flow with losses. Times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredRole {
    /// The flow of samples.
    Samples(Box<StoredTogether>),
    /// The flow of repairs, or that of questions, of the grant with this number.
    Beside(u64),
}

/// The data that three flows share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct StoredTogether {
    pub frames: u8,
    pub within: u64,
    pub kept: u64,
    pub repairs: (StoredAddress, u16),
    pub questions: (StoredAddress, u16),
    pub answered_at: (StoredAddress, u16),
    pub beside: [u64; 2],
    pub promised: u64,
    pub heartbeat: u64,
    pub patience: u64,
    pub again: u64,
    pub spacing: u64,
    pub datagram: u32,
}

impl Role {
    pub(crate) fn to_store(&self) -> Option<StoredRole> {
        let socket = |socket: Socket| (StoredAddress::from(socket.address), socket.port);
        match self {
            Self::Alone => None,
            Self::Beside(leader) => Some(StoredRole::Beside(*leader)),
            Self::Samples(together) => Some(StoredRole::Samples(Box::new(StoredTogether {
                frames: together.asked.frames,
                within: together.asked.within,
                kept: together.asked.kept,
                repairs: socket(together.asked.repairs),
                questions: socket(together.asked.questions),
                answered_at: socket(together.asked.answered_at),
                beside: together.beside,
                promised: together.promised,
                heartbeat: together.heartbeat,
                patience: together.patience,
                again: together.again,
                spacing: together.spacing,
                datagram: together.datagram,
            }))),
        }
    }

    pub(crate) fn of_stored(stored: Option<&StoredRole>) -> Self {
        let socket = |(address, port): (StoredAddress, u16)| Socket { address: address.into(), port };
        match stored {
            None => Self::Alone,
            Some(StoredRole::Beside(leader)) => Self::Beside(*leader),
            Some(StoredRole::Samples(stored)) => Self::Samples(Together {
                asked: Losses {
                    frames: stored.frames,
                    within: stored.within,
                    kept: stored.kept,
                    repairs: socket(stored.repairs),
                    questions: socket(stored.questions),
                    answered_at: socket(stored.answered_at),
                },
                beside: stored.beside,
                promised: stored.promised,
                heartbeat: stored.heartbeat,
                patience: stored.patience,
                again: stored.again,
                spacing: stored.spacing,
                datagram: stored.datagram,
            }),
        }
    }
}

impl ResourceManager {
    /// Restored grants of which not all three flows are there, or that the operator does not allow any more, go.
    pub(crate) fn end_incomplete(&mut self, now: Duration) {
        let is_whole = |grant: &Granted| {
            let leads = |number: u64, leader: u64| {
                self.reservations.get(number).is_some_and(|grant| grant.role.leader() == Some(leader))
            };
            match &grant.role {
                Role::Alone => true,
                Role::Samples(together) => {
                    self.config.losses.is_some()
                        && together.beside.iter().all(|number| leads(*number, grant.number))
                }
                Role::Beside(leader) => self.reservations.get(*leader).is_some_and(|leader| {
                    let together = leader.role.together();
                    together.is_some_and(|together| together.beside.contains(&grant.number))
                }),
            }
        };
        let broken: BTreeSet<u64> =
            self.reservations.all().filter(|grant| !is_whole(grant)).map(|grant| grant.number).collect();
        for number in broken {
            self.revoke(now, number, "not all flows of its bound with losses could be put back");
        }
    }

    /// Restored grants all of whose sites are there, those of the flows beside included.
    pub(crate) fn all_there(&self, is_there: impl Fn(&Granted) -> bool) -> BTreeSet<u64> {
        let restored = self.reservations.all().filter(|grant| grant.is_restored());
        let whole = |grant: &&Granted| {
            let leader = grant.role.leader().unwrap_or(grant.number);
            let all: Vec<&Granted> = self.reservations.together(leader).collect();
            is_there(grant) && all.into_iter().all(&is_there)
        };
        restored.filter(whole).map(|grant| grant.number).collect()
    }
}
