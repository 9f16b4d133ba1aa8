//! The terms of the command line.
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use credentials::KeyFolder;
use dds::Duration;
use dds::config::{Config, Given, Interfaces, Peer};
use dds::qos::{EndpointQos, History, OfferedAssurance, Reliability, RequestedAssurance, WhenRefused};

/// Most bytes of a sample that has a contract.
const MOST_ASSURED: u32 = 1_200;

/// How the endpoint and its participant are to be.
pub(crate) struct Terms {
    /// Of the participant.
    pub(crate) config: Config,
    /// Most bytes in the cache of the endpoint; `None` for the default.
    pub(crate) bytes: Option<usize>,
    /// What a writer promises.
    pub(crate) offered: Option<OfferedAssurance>,
    /// What a reader asks for; it takes nothing without.
    pub(crate) requested: Option<RequestedAssurance>,
    reliability: Reliability,
    history: History,
}

impl Terms {
    /// Reads them; what is not known is named.
    pub(crate) fn read(words: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut config = Config::default();
        // Attacks on the network are to meet the network.
        config.shared_memory.enabled = false;
        let mut terms = Self {
            config,
            bytes: None,
            offered: None,
            requested: None,
            reliability: Reliability { max_blocking_time: Duration::from_secs(5), ..Reliability::RELIABLE },
            history: History::KeepAll,
        };
        let (mut keys, mut user) = (None, None);
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match (name, value) {
                ("best-effort", "") => terms.reliability = Reliability::BEST_EFFORT,
                ("last", depth) => terms.history = History::KeepLast(depth.parse()?),
                ("bytes", limit) => terms.bytes = Some(limit.parse()?),
                ("peer", address) => {
                    let peer = Peer { address: address.parse()?, port: None };
                    terms.config.discovery.static_peers.push(peer);
                }
                ("interface", name) => {
                    terms.config.network.interfaces = Interfaces::Named(vec![name.to_owned()]);
                }
                ("every", milliseconds) => {
                    let maximum_size = Some(MOST_ASSURED);
                    let every = OfferedAssurance::every(Duration::from_millis(milliseconds.parse()?));
                    terms.offered = Some(OfferedAssurance { maximum_size, ..every });
                }
                ("within", milliseconds) => {
                    let within = RequestedAssurance::within(Duration::from_millis(milliseconds.parse()?));
                    terms.requested = Some(RequestedAssurance { when_refused: WhenRefused::Fail, ..within });
                    terms.config.assurance.patience = Duration::from_secs(60);
                }
                ("keys", folder) => keys = Some(folder),
                ("user", name) => user = Some(name),
                ("shm", on @ ("on" | "off")) => terms.config.shared_memory.enabled = on == "on",
                ("patience", seconds) => {
                    terms.reliability.max_blocking_time = Duration::from_secs(seconds.parse()?);
                }
                _ => return Err(format!("{word} is no term").into()),
            }
        }
        if let Some((folder, user)) = keys.zip(user) {
            let keys = KeyFolder::load(Path::new(folder), &format!("user-{user}"))?;
            terms.config.assurance.credentials = Some(Given(Arc::new(keys)));
        }
        Ok(terms)
    }

    /// Into the QoS of the endpoint.
    pub(crate) fn adjust(&self, qos: &mut EndpointQos) {
        qos.reliability = self.reliability;
        qos.history = self.history;
    }
}
