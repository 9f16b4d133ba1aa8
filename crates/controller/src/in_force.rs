//! The network that a manager leads with: that of its own file, or of the file that managers of a store share.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use control::ResourceManager;
use control::config::Config;
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
    let managed = ResourceManager::new(Config::default(), topology::network(&network), 0);
    managed.map_err(|error| error.to_string())?;
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

#[cfg(test)]
mod tests {
    use store::{Change, MemoryStore, Standing, StoreError};

    use super::*;

    const TEXT: &str = "[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n[[switch]]\nname = \"s1\"\nmodel = \"open-vswitch\"\n[[link]]\nends = [\"a\", \"s1:1\"]\n[[link]]\nends = [\"b\", \"s1:2\"]\n";

    /// A store that others share, and that this process leads.
    #[derive(Default)]
    struct Shared(MemoryStore);

    impl Store for Shared {
        fn next_epoch(&mut self) -> Result<u64, StoreError> {
            self.0.next_epoch()
        }

        fn kept(&self) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
            self.0.kept()
        }

        fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
            self.0.change(changes)
        }

        fn standing(&self) -> Standing {
            Standing::Leads
        }

        fn place(&self) -> String {
            "shared".to_owned()
        }
    }

    fn texts(file: &str, text: &str) -> Texts {
        serde_json::from_value(serde_json::json!({"file": file, "text": text, "models": {}})).unwrap()
    }

    /// A manager with a file of this text, whose options name the agents of s1 and of s9.
    fn given(text: &str) -> (NetworkFile, InForce) {
        let texts = texts("given.toml", text);
        let agents = |planned: &network::Network| {
            let known =
                planned.switches().iter().map(|switch| (switch.datapath, ([192, 0, 2, 1], 6_654).into()));
            Ok(Agents { known: known.collect(), unknown: vec!["s9".to_owned()] })
        };
        let network = topology::network(&texts.network().unwrap());
        let in_force = InForce { network, agents: BTreeMap::new(), other_file: String::new() };
        (NetworkFile { path: "given.toml".into(), texts, agents: Box::new(agents) }, in_force)
    }

    #[test]
    fn the_first_leader_keeps_its_file_and_the_next_one_leads_with_that() {
        let mut store = Shared::default();
        let (file, mut in_force) = given(TEXT);
        in_force.begin(&mut store, Some(&file)).unwrap();
        assert_eq!((in_force.other_file.as_str(), in_force.network.hosts.len()), ("", 2));
        let more = format!("{TEXT}[[host]]\nname = \"c\"\n[[link]]\nends = [\"c\", \"s1:3\"]\n");
        let (other, mut next) = given(&more);
        next.begin(&mut store, Some(&other)).unwrap();
        assert_eq!((next.network.hosts.len(), next.agents.len()), (2, 1));
        assert!(next.other_file.contains("not what given.toml was"), "{}", next.other_file);
        assert!(other.agents.as_ref()(&other.texts.network().unwrap()).unwrap().all().is_err());
        // Of a store of its own it reads its own file.
        let mut own = MemoryStore::default();
        next.begin(&mut own, Some(&other)).unwrap();
        assert_eq!((next.network.hosts.len(), own.kept().unwrap().len()), (3, 0));
    }

    #[test]
    fn a_kept_file_that_this_program_cannot_read_is_not_led_with() {
        let kept = |texts: &Texts| String::from_utf8(to_bytes(texts).unwrap()).unwrap();
        let good = kept(&texts("kept.toml", TEXT));
        for (bytes, why) in [
            (String::new(), "EOF"),
            ("[]".to_owned(), "invalid length 0"),
            (good.replace("\"format\":1", "\"format\":2"), "its format is 2"),
            (good.replace("\"models\"", "\"modules\""), "modules"),
            (kept(&texts("kept.toml", "[[hots]]\n")), "kept.toml:1"),
        ] {
            let mut store = Shared::default();
            store.change(&[(Key::Network, Some(bytes.clone().into_bytes()))]).unwrap();
            let (file, mut in_force) = given(TEXT);
            let error = in_force.begin(&mut store, Some(&file)).unwrap_err();
            assert!(matches!(&error, Error::Store(error) if !error.passes()), "{error}");
            let said = error.to_string();
            assert!(said.contains("cannot read") && said.contains(why), "{bytes}: {said}");
            assert_eq!(store.kept().unwrap()[0].1, bytes.into_bytes(), "it is not overwritten");
        }
    }
}
