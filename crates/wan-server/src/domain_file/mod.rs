//! The file of one domain: all that an operator says to its manager, as TOML. `docs/wan.md` says what it looks like.
mod access;
mod bgp;
mod check;
mod document;
mod inside;
mod lan;
mod linux;
mod ovs;
mod quantities;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use diagnostics::{Problem, Source};
use wan::{Asn, BgpPath, Class, Config, Prefix};

use crate::declared::Inside;
use crate::lan::LanPlan;
use crate::linux_routers::Routers;
use crate::open_vswitch::Switches;
pub use bgp::BgpSource;
pub use quantities::prefix;
pub(crate) use quantities::{class, class_name};

/// Most bytes of a file.
const LARGEST: usize = 4 << 20;
/// Most entries of each kind.
const MOST: usize = 10_000;

/// What a file says.
#[derive(Clone, Debug)]
pub struct DomainFile {
    /// What the manager decides by.
    pub config: Config,
    /// Where managers of other domains connect.
    pub listen: SocketAddr,
    /// Where managers of other domains are: host and port.
    pub managers: BTreeMap<Asn, String>,
    /// Paths to other domains that the file tells.
    pub paths: Vec<BgpPath>,
    /// The BGP speaker that tells further ones.
    pub bgp: Option<BgpSource>,
    /// Numbers of users by their names.
    pub users: BTreeMap<String, u32>,
    /// Numbers of session services by their names.
    pub services: BTreeMap<String, u32>,
    /// Who takes part in sessions, in the order of the file.
    pub callees: Vec<CalleeRule>,
    /// Nanoseconds that a program of callees may take to answer.
    pub callee_patience: u64,
    /// The inside of the domain.
    pub inside: Within,
    /// The file of the client of its AAA server, from the folder of this file; without it no server is asked.
    pub aaa: Option<PathBuf>,
}

/// What the inside of a domain consists of.
#[derive(Clone, Debug)]
pub enum Within {
    /// Links of which the operator says what they keep; nothing is set up.
    Declared(Inside),
    /// Linux routers, which are set up; between some of them there may be accesses.
    Linux(Box<Routers>),
    /// Switches of Open vSwitch, which are set up.
    Ovs(Box<Switches>),
    /// A LAN, whose own manager is asked.
    Lan(Box<LanPlan>),
}

/// What callees of a range of addresses say to sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CalleeRule {
    /// The callees.
    pub callees: Prefix,
    /// The callers that it is for; none means all.
    pub callers: Option<Vec<Prefix>>,
    /// What they say.
    pub answer: CalleeAnswer,
}

/// What callees say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CalleeAnswer {
    /// They take flows of these classes, each up to so many bits per second.
    UpTo(BTreeMap<Class, u64>),
    /// Their program is asked.
    Ask,
}

impl CalleeRule {
    /// It is for this callee and this caller.
    pub(crate) fn is_for(&self, callee: IpAddr, caller: IpAddr) -> bool {
        let is_callers =
            self.callers.as_ref().is_none_or(|all| all.iter().any(|prefix| prefix.contains(caller)));
        self.callees.contains(callee) && is_callers
    }
}

impl DomainFile {
    /// Reads a file, of 4 MiB at most.
    ///
    /// # Errors
    /// What is wrong, with its line and a caret.
    pub fn open(path: &Path) -> Result<Self, String> {
        let text = network::load(path)?;
        let name = path.to_string_lossy();
        Self::read(&name, &text).map_err(|problem| Source { file: &name, text: &text }.show(&problem))
    }

    /// What a text says.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn read(name: &str, text: &str) -> Result<Self, Problem> {
        let source = Source { file: name, text };
        if text.len() > LARGEST {
            return Err(source.problem(0, format!("the file is longer than {LARGEST} bytes"), ""));
        }
        let document: document::Document = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().trim().replace('\n', "; ");
            source.problem(at, what, "docs/wan.md says what files of domains look like")
        })?;
        check::checked(source, &document)
    }
}
