//! Writers of other sites.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use wire::discovery::EndpointData;

use crate::action::ProxyId;
use crate::key::BridgeId;

/// A writer of another site, as bridges announce it.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) id: ProxyId,
    pub(crate) data: EndpointData,
    pub(crate) keys: Vec<String>,
    /// Bridges that announce it now, and under which number of theirs.
    pub(crate) announced_by: BTreeMap<BridgeId, u64>,
    /// The announcement that came last.
    pub(crate) newest: (BridgeId, u64),
    /// Its writer at this site is there.
    pub(crate) is_open: bool,
    /// The number of its last change that was written at this site.
    pub(crate) last: i64,
    /// Since when no bridge announces it; milliseconds.
    pub(crate) lost_since: Option<u64>,
    /// It was told that it is gone: an announcement that is still there means nothing.
    pub(crate) is_gone: bool,
}

impl Remote {
    /// True if a bridge has announced it anew since it announced it under this number.
    pub(crate) fn is_newer(&self, bridge: BridgeId, number: u64) -> bool {
        self.announced_by.get(&bridge).is_some_and(|of| *of > number)
            || self.newest.0 == bridge && self.newest.1 > number
    }
}

/// A reader of the site.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) data: EndpointData,
    /// Its keys, of its partitions without wildcards.
    pub(crate) keys: Vec<String>,
    /// One of its partitions has wildcards: keys of writers are taken instead.
    pub(crate) has_pattern: bool,
}
