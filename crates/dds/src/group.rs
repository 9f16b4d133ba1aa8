//! The publisher or subscriber of an endpoint that a builder makes.
use dcps::{Error, ReturnCode};

use crate::participant::DomainParticipant;

/// Where a new endpoint belongs.
pub(crate) enum Group<G> {
    /// To this publisher or subscriber.
    Given(G),
    /// To one that the participant's builders share, in these partitions; `None`: in those that are the default.
    Implicit(DomainParticipant, Option<Vec<String>>),
    /// A partition was named where the group was given.
    Both,
}

impl<G> Group<G> {
    /// One more partition.
    pub(crate) fn partition(&mut self, name: String) {
        match self {
            Self::Implicit(_, partition) => partition.get_or_insert_default().push(name),
            Self::Given(_) | Self::Both => *self = Self::Both,
        }
    }

    /// The group itself; `implicit` finds or makes the one that is shared.
    pub(crate) fn find(
        self,
        implicit: impl FnOnce(&DomainParticipant, Option<Vec<String>>) -> Result<G, Error>,
    ) -> Result<G, Error> {
        match self {
            Self::Given(group) => Ok(group),
            Self::Implicit(participant, partition) => implicit(&participant, partition),
            Self::Both => Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "partition",
                "the writer or reader is made by a publisher or subscriber, which has partitions of its own",
                "set PARTITION there, or begin with the participant",
            )),
        }
    }
}
