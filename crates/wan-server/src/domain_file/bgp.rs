//! Where paths come from beside the file: the table of a BGP speaker, and what this domain appends to what it announces.
use diagnostics::Problem;
use serde::Deserialize;
use toml::Spanned;
use wan::Class;

use super::check::{Checker, by_class};
use super::quantities::Time;

/// The table is read so often, unless the file says otherwise.
const INTERVAL: u64 = 5_000_000_000;
/// More often is all that a host would do.
const SHORTEST: u64 = 100_000_000;
/// Words of a command.
const MOST_WORDS: usize = 32;

/// `[bgp]`.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BgpTable {
    /// Without questions, which are added to it.
    #[serde(default)]
    command: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    interval: Option<Spanned<Time>>,
    #[serde(default)]
    ef: Option<Time>,
    #[serde(default)]
    af4: Option<Time>,
    #[serde(default)]
    af1: Option<Time>,
}

/// How the table of a BGP speaker is read, and what this domain adds to its announcements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BgpSource {
    /// The program and its first arguments; `-c` and a question follow, several times.
    pub command: Vec<String>,
    /// Nanoseconds from one reading to the next.
    pub interval: u64,
    /// Microseconds that this domain needs in each class, with the link that it sends on.
    pub told: Vec<(Class, u32)>,
}

impl Checker<'_> {
    /// What the table of the file means.
    pub(super) fn bgp(&self, table: &BgpTable) -> Result<BgpSource, Problem> {
        let command = match &table.command {
            None => vec!["vtysh".to_owned()],
            Some(said) => {
                let (at, words) = (said.span().start, said.get_ref());
                let is_empty = words.first().is_none_or(|program| program.is_empty());
                if is_empty || words.len() > MOST_WORDS || words.iter().any(|word| word.contains('\0')) {
                    let what = format!("no command of 1 to {MOST_WORDS} words");
                    let remedy = "write [\"vtysh\"], or what begins with it: [\"vtysh\", \"--vty_socket\", \"/run/frr\"]";
                    return self.wrong(at, what, remedy);
                }
                words.clone()
            }
        };
        let interval = match &table.interval {
            None => INTERVAL,
            Some(said) if said.get_ref().0 < SHORTEST => {
                return self.wrong(said.span().start, "the interval is shorter than 100 ms", "");
            }
            Some(said) => said.get_ref().0,
        };
        let told = by_class(table.ef, table.af4, table.af1)
            .map(|(class, time)| (class, u32::try_from(time.0.div_ceil(1_000)).unwrap_or(u32::MAX)));
        Ok(BgpSource { command, interval, told: told.collect() })
    }
}
