//! Names of instances and entities within a process (DDS 1.4, 2.3.3).
use core::fmt;

use wire::cdr::KeyHash;
use wire::{Guid, GuidPrefix};

/// Names an instance, or an entity, within its topic or domain. The standard's nil is `None` of an `Option`: sixteen
/// zeros are the handle of the instance whose key is zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceHandle([u8; 16]);

impl InstanceHandle {
    /// The one instance of a topic without key.
    pub const KEYLESS: Self = Self([0; 16]);

    /// The sixteen bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl From<KeyHash> for InstanceHandle {
    fn from(hash: KeyHash) -> Self {
        Self(hash.0)
    }
}

impl From<Guid> for InstanceHandle {
    fn from(guid: Guid) -> Self {
        Self(guid.to_bytes())
    }
}

/// The participant that a handle of it, or of an entity of it, names.
impl From<InstanceHandle> for GuidPrefix {
    fn from(handle: InstanceHandle) -> Self {
        Guid::from_bytes(handle.0).prefix
    }
}

impl fmt::Debug for InstanceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}
