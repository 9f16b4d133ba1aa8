//! QoS of a DomainParticipant.
use alloc::vec::Vec;

use super::EntityFactory;
use super::check::data_octets;
use crate::error::Error;

/// QoS of a DomainParticipant. All of it can be changed at any time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct DomainParticipantQos {
    /// USER_DATA, announced with the participant; at most 32,768 bytes. Default none.
    pub user_data: Vec<u8>,
    /// ENTITY_FACTORY, for publishers, subscribers and topics.
    pub entity_factory: EntityFactory,
}

impl DomainParticipantQos {
    /// Checks every value.
    ///
    /// # Errors
    /// `BadParameter`, with the policy and its values.
    pub fn check(&self) -> Result<(), Error> {
        data_octets("USER_DATA", self.user_data.len())
    }

    /// Checks whether an enabled participant may change from this QoS to `new`.
    ///
    /// # Errors
    /// What `check` says of `new`.
    pub fn check_change(&self, new: &Self) -> Result<(), Error> {
        new.check()
    }
}
