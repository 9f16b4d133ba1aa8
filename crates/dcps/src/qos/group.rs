//! QoS of publishers and subscribers, and of factories of entities.
use alloc::string::String;
use alloc::vec::Vec;

use wire::qos::{EndpointQos, Presentation};

use super::check::{data_octets, partition, presentation, unchangeable};
use crate::error::Error;

/// ENTITY_FACTORY (DDS 1.4, 2.2.3.20).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct EntityFactory {
    /// What it creates is enabled at once. A change counts for what is created afterwards. Default true.
    pub autoenable_created_entities: bool,
}

impl Default for EntityFactory {
    fn default() -> Self {
        Self { autoenable_created_entities: true }
    }
}

/// QoS of a Publisher or a Subscriber: the standard gives both the same policies and defaults. What is announced of it travels
/// with each of its writers or readers; see [`GroupQos::apply`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct GroupQos {
    /// PRESENTATION; only the default is supported: access scope INSTANCE, neither coherent nor ordered.
    pub presentation: Presentation,
    /// PARTITION: at most 256 names or patterns of at most 256 bytes, 16,384 bytes together with eight more for each.
    /// Default none, which is the partition with the empty name.
    pub partition: Vec<String>,
    /// GROUP_DATA; at most 32,768 bytes. Default none.
    pub group_data: Vec<u8>,
    /// ENTITY_FACTORY, for writers or readers.
    pub entity_factory: EntityFactory,
}

/// QoS of a Publisher.
pub type PublisherQos = GroupQos;
/// QoS of a Subscriber.
pub type SubscriberQos = GroupQos;

impl GroupQos {
    /// Checks every value.
    ///
    /// # Errors
    /// `BadParameter` or `Unsupported`, with the policy and its values.
    pub fn check(&self) -> Result<(), Error> {
        presentation(self.presentation)?;
        partition(&self.partition)?;
        data_octets("GROUP_DATA", self.group_data.len())
    }

    /// Checks whether an enabled publisher or subscriber may change from this QoS to `new`, which is checked too.
    ///
    /// # Errors
    /// `ImmutablePolicy`, or what `check` says of `new`.
    pub fn check_change(&self, new: &Self) -> Result<(), Error> {
        if self.presentation != new.presentation {
            return Err(unchangeable("PRESENTATION"));
        }
        new.check()
    }

    /// Puts what is announced with each writer or reader into its QoS. After a change it has to be done for all of them, and the
    /// result given to the writer or reader and to discovery.
    pub fn apply(&self, endpoint: &mut EndpointQos) {
        endpoint.presentation = self.presentation;
        endpoint.partition.clone_from(&self.partition);
        endpoint.group_data.clone_from(&self.group_data);
    }
}
