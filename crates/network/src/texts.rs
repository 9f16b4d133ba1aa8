//! The texts that make a network: kept as a whole, they can be read again elsewhere, without the disk that they come from.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use diagnostics::Problem;
use serde::{Deserialize, Serialize};

use crate::file::load;
use crate::network::Network;

/// A network file, and the files with models of switches that it names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// What the network file is called: its path where it was read. The paths of model files are relative to it.
    file: String,
    /// Its text.
    text: String,
    /// The model files, by their paths.
    models: BTreeMap<String, String>,
}

impl Texts {
    /// Reads a network file and the model files that it names, and the network that they make; `-` is standard input.
    ///
    /// # Errors
    /// The first thing that is wrong with a file, and where.
    pub fn open(path: &Path) -> Result<(Self, Network), Problem> {
        let file = path.to_string_lossy().into_owned();
        let text = Network::text_of(path)?;
        let models = RefCell::new(BTreeMap::new());
        let network = Network::parse(&file, &text, |path| {
            let text = load(path)?;
            models.borrow_mut().insert(path.to_string_lossy().into_owned(), text.clone());
            Ok(text)
        })?;
        Ok((Self { file, text, models: models.into_inner() }, network))
    }

    /// Whether the files say the same, whatever they are called.
    pub fn is_same(&self, other: &Self) -> bool {
        self.text == other.text && self.models.values().eq(other.models.values())
    }

    /// The network that these texts make. No file is read.
    ///
    /// # Errors
    /// The first thing that is wrong with them, and where.
    pub fn network(&self) -> Result<Network, Problem> {
        self.with("")
    }

    /// The network that these texts make with more tables behind those of the network file, such as `[[flow]]`. No file is read.
    ///
    /// # Errors
    /// The first thing that is wrong with them, and where: in what is added, behind the last line of the file.
    pub fn with(&self, more: &str) -> Result<Network, Problem> {
        Network::parse(&self.file, &[self.text.as_str(), more].join("\n"), |path| {
            let found = self.models.get(path.to_string_lossy().as_ref());
            let lacks = || {
                format!(
                    "the text of {} was not kept with the network file",
                    path.display().to_string().escape_default()
                )
            };
            found.cloned().ok_or_else(lacks)
        })
    }

    /// What the network file is called.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether both say the same, wherever they were read.
    pub fn say_the_same(&self, other: &Self) -> bool {
        self.text == other.text && self.models.values().eq(other.models.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "model-files = [\"models.xml\"]\n[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n[[switch]]\nname = \"s1\"\nmodel = \"own\"\n\
        [[link]]\nends = [\"a\", \"s1:1\"]\n[[link]]\nends = [\"b\", \"s1:2\"]\n";

    #[test]
    fn texts_make_the_same_network_when_their_files_are_gone() {
        let folder = std::env::temp_dir().join(format!("punctual-texts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let models = "<switch-model><name>own</name><ports>4</ports><queues>8</queues><bandwidth>1 Gb/s</bandwidth></switch-model>";
        std::fs::write(folder.join("models.xml"), models).unwrap();
        std::fs::write(folder.join("net.toml"), TEXT).unwrap();
        let read = Texts::open(&folder.join("net.toml"));
        let broken = std::fs::write(folder.join("net.toml"), "[[host]]\n")
            .map(|()| Texts::open(&folder.join("net.toml")));
        std::fs::remove_dir_all(&folder).unwrap();
        let (texts, network) = read.unwrap();
        let again = texts.network().unwrap();
        assert_eq!((again.switches(), again.cables()), (network.switches(), network.cables()));
        assert_eq!(again.switches()[0].model, "own");
        assert!(broken.unwrap().is_err());
        let forgotten = Texts { models: BTreeMap::new(), ..texts.clone() };
        let said = forgotten.network().unwrap_err().to_string();
        assert!(said.contains("models.xml") && said.contains("net.toml:1"), "{said}");
    }

    #[test]
    fn texts_are_compared_without_the_places_where_they_were_read() {
        let texts = |file: &str, text: &str| Texts {
            file: file.to_owned(),
            text: text.to_owned(),
            models: BTreeMap::new(),
        };
        assert!(texts("/a/net.toml", "x").say_the_same(&texts("/b/net.toml", "x")));
        assert!(!texts("/a/net.toml", "x").say_the_same(&texts("/a/net.toml", "y")));
        let with_models = Texts { models: [("m".to_owned(), "z".to_owned())].into(), ..texts("a", "x") };
        assert!(!with_models.say_the_same(&texts("a", "x")));
    }
}
