//! The network that a manager leads with: that of its own file, or of the file that managers of a store share.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use control::network::Network;
use network::Texts;
use serde::{Deserialize, Serialize};
use store::network_file::{Led, lead};
use store::{Key, Store};
use tracing::{info, warn};

use crate::{Error, topology};

/// The format of a stored network file. Another one is refused.
const FORMAT: u32 = 1;

/// The file that a network was read from.
pub struct NetworkFile {
    /// Where it is: from there it is read again.
    pub path: PathBuf,
    /// What was read.
    pub texts: Texts,
    /// Where the agents of gates are in the network of a file.
    pub agents: AgentsOf,
}

/// Says where the agents of a network's gates are; what is wrong, if that cannot be said.
pub type AgentsOf = Box<dyn Fn(&network::Network) -> Result<Agents, String> + Send>;

/// The agents of gates.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Agents {
    /// By datapath id of their switch.
    pub known: BTreeMap<u64, SocketAddr>,
    /// Switches that were named and that the network does not have.
    pub unknown: Vec<String>,
}

impl Agents {
    /// Those of a network that has all the switches that were named.
    ///
    /// # Errors
    /// Which one it does not have.
    pub fn all(self) -> Result<BTreeMap<u64, SocketAddr>, String> {
        match self.unknown.first() {
            Some(name) => Err(format!("--gates: the network has no switch \"{name}\"")),
            None => Ok(self.known),
        }
    }
}

/// What a manager leads with.
pub(crate) struct InForce {
    pub(crate) network: Network,
    pub(crate) agents: BTreeMap<u64, SocketAddr>,
    /// Which file that is, in words, if it is another one than this manager was given; else empty.
    pub(crate) other_file: String,
}

/// A network file as it is in a store.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u32,
    network: Texts,
}

/// What is stored of a network file.
///
/// # Errors
/// What the encoder says.
pub(crate) fn to_bytes(texts: &Texts) -> Result<Vec<u8>, String> {
    serde_json::to_vec(&Stored { format: FORMAT, network: texts.clone() }).map_err(|error| error.to_string())
}

/// The texts and the network that are stored.
///
/// # Errors
/// Why this program cannot read them.
fn from_bytes(bytes: &[u8]) -> Result<(Texts, network::Network), String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let Format { format } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if format != FORMAT {
        return Err(format!("its format is {format}, and {FORMAT} is what this program reads"));
    }
    let Stored { network: texts, .. } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let network = texts.network().map_err(|problem| problem.to_string())?;
    // What the manager refuses is wrong with the file, too.
    topology::network(&network).check().map_err(|error| error.to_string())?;
    Ok((texts, network))
}

impl NetworkFile {
    /// Reads the file again: its texts and the network.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where; or it lacks a switch whose agent was named.
    pub(crate) fn read_again(&self) -> Result<(Texts, Network), String> {
        let (texts, planned) = Texts::open(&self.path).map_err(|problem| problem.to_string())?;
        (self.agents)(&planned)?.all()?;
        Ok((texts, topology::network(&planned)))
    }
}

impl InForce {
    /// Takes the next epoch of the store, and makes this what its managers lead with.
    ///
    /// # Errors
    /// The store does not work, or has a network file that this program cannot read: this manager must not act.
    pub(crate) fn begin(&mut self, store: &mut dyn Store, file: Option<&NetworkFile>) -> Result<u64, Error> {
        let epoch = store.next_epoch()?;
        let Some(file) = file else { return Ok(epoch) };
        let kept = match lead(store, &to_bytes(&file.texts).map_err(Error::System)?)? {
            Led::Own => None,
            Led::TooLarge(most) => {
                warn!(
                    "the network file is larger than the {most} bytes that the store takes: each manager leads with its own, so they must be the same"
                );
                None
            }
            Led::Kept(bytes) => Some(bytes),
        };
        self.take(store, file, kept.as_deref())?;
        Ok(epoch)
    }

    /// The network of the kept file, or of the manager's own.
    fn take(&mut self, store: &dyn Store, file: &NetworkFile, kept: Option<&[u8]>) -> Result<(), Error> {
        let unreadable = |why: String| {
            let what = format!(
                "is a network file that this program cannot read ({why}): let a manager lead that can, such as the version that wrote it, or, to lead with the file of the next manager that starts,"
            );
            Error::Store(store.unreadable(&Key::Network, &what))
        };
        let (texts, planned) = match kept {
            Some(bytes) => from_bytes(bytes).map_err(unreadable)?,
            None => {
                let planned = file.texts.network().map_err(|problem| Error::System(problem.to_string()))?;
                (file.texts.clone(), planned)
            }
        };
        let network = topology::network(&planned);
        let Agents { known, unknown } = (file.agents)(&planned).map_err(Error::System)?;
        for name in unknown {
            warn!("--gates: the network that leads has no switch {name:?}: it is left out");
        }
        let own = file.path.display();
        self.other_file = match texts.say_the_same(&file.texts) {
            true => String::new(),
            false => format!(
                "the one in the store, read from {}, which is not what {own} was when this manager was given it; `punctual grm reload` changes to the latter",
                network::printable(texts.file())
            ),
        };
        if !self.other_file.is_empty() {
            info!("leads with another network file: {}", self.other_file);
        }
        (self.network, self.agents) = (network, known);
        Ok(())
    }
}
