//! The queues of an interface as `tc -j` reports them.
use serde::Deserialize;
use serde::de::DeserializeOwned;
use system::Error;

/// A queueing discipline at the root of an interface, or in one of its classes, as `tc -j qdisc show` reports it.
#[derive(Deserialize, Debug)]
pub struct Discipline {
    /// Its kind, as `htb`.
    pub kind: String,
    /// Its handle, as `d000:`; `0:` where the kernel has made it by itself.
    pub handle: String,
    /// Whether it is at the root.
    #[serde(default)]
    pub root: bool,
    /// The class that it is in, as `d000:1`.
    #[serde(default)]
    pub parent: Option<String>,
    /// Its parameters.
    #[serde(default)]
    pub options: Made,
}

/// The parameters of a discipline.
#[derive(Deserialize, Default, Debug)]
pub struct Made {
    /// Frames that a queue holds at most.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Bands of `prio`.
    #[serde(default)]
    pub bands: Option<usize>,
}

/// A filter: of `tc -j filter show`.
#[derive(Deserialize, Debug)]
pub struct Filter {
    /// Its matches and its target class.
    #[serde(default)]
    pub options: Match,
}

/// The matches of a filter, and its target class.
#[derive(Deserialize, Default, Debug)]
pub struct Match {
    /// The class.
    #[serde(default)]
    pub flowid: Option<String>,
    /// The word of the header.
    #[serde(default, rename = "match")]
    pub word: Option<Word>,
}

/// A word of a header that a filter compares, in hexadecimal.
#[derive(Deserialize, Debug)]
pub struct Word {
    /// The value to match.
    pub value: String,
    /// The bits that matter.
    pub mask: String,
    /// Bytes before it.
    #[serde(default)]
    pub off: i64,
}

impl Discipline {
    /// Those of an interface, from what `tc -j qdisc show` printed.
    ///
    /// # Errors
    /// It is no such list.
    pub fn all(text: &str) -> Result<Vec<Self>, Error> {
        read("qdisc", text)
    }
}

impl Filter {
    /// Those of a parent, from what `tc -j filter show` printed.
    ///
    /// # Errors
    /// It is no such list.
    pub fn all(text: &str) -> Result<Vec<Self>, Error> {
        read("filter", text)
    }
}

fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<Vec<T>, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(format!("tc -j {what} show: {error}"), "iproute2 is needed"))
}
