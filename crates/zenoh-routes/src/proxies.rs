//! Writers of other sites.
use alloc::collections::BTreeSet;
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
    /// Bridges that announce it now.
    pub(crate) announced_by: BTreeSet<BridgeId>,
    /// Its writer at this site is there.
    pub(crate) is_open: bool,
    /// The number of its last change that was written at this site.
    pub(crate) last: i64,
    /// Since when no bridge announces it; milliseconds.
    pub(crate) lost_since: Option<u64>,
    /// It was told that it is gone: an announcement that is still there means nothing.
    pub(crate) is_gone: bool,
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
