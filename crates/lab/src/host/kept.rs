//! Queues and entries for neighbours are made and taken away, and what they took the place of is remembered meanwhile.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::neighbours::{self, Neighbour};
use super::wanted::{Ahead, Have, Wanted};
use crate::tools::Tools;
use system::Error;

/// Where it is remembered, until the machine starts again.
const PLACE: &str = "/run/punctual/host";

/// What was made at an interface.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
struct Made {
    /// The rate at which queues are served, if one was asked for.
    rate: Option<u64>,
    /// Files with limits, and what they had before.
    limits: BTreeMap<PathBuf, String>,
    /// Entries for the addresses of other hosts.
    #[serde(default)]
    neighbours: Vec<Neighbour>,
}

/// The queues of an interface, and what is remembered of them.
pub(crate) struct Kept {
    interface: String,
    limits: Vec<PathBuf>,
    file: PathBuf,
}

/// Whether queues could not be made because the kernel has no `prio`.
pub(crate) fn lacks_prio(error: &Error) -> bool {
    error.what.contains("qdisc kind is unknown")
}

impl Kept {
    pub(crate) fn of(facts: &Facts) -> Self {
        Self::at(Path::new(PLACE), facts)
    }

    /// With what is remembered in another folder.
    fn at(place: &Path, facts: &Facts) -> Self {
        // Interfaces of several namespaces may have the same name.
        let namespace = fs::read_link("/proc/self/ns/net").unwrap_or_default();
        let namespace: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        Self {
            interface: facts.name.clone(),
            limits: facts.limits.clone(),
            file: place.join(format!("{namespace}-{}-{}.json", facts.index, facts.name)),
        }
    }

    fn made(&self) -> Option<Made> {
        serde_json::from_str(&fs::read_to_string(&self.file).ok()?).ok()
    }

    /// The rate at which queues are served that were made here.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.made()?.rate
    }

    /// Whether all is as it is wanted.
    pub(crate) fn is_there(&self, have: &Have, wanted: &Wanted, ahead: Ahead, rate: Option<u64>) -> bool {
        let limited = |limit: u64| {
            self.limits
                .iter()
                .all(|file| fs::read_to_string(file).is_ok_and(|is| is.trim() == limit.to_string()))
        };
        *have == wanted.made()
            && self.made().unwrap_or_default().rate == rate
            && ahead.limit.is_none_or(limited)
    }

    /// Makes the queues, and reads them back.
    ///
    /// # Errors
    /// Others have made queues here, which stay, or the kernel refuses ours: then there are none of ours.
    pub(crate) fn make(
        &self,
        tools: &Tools,
        have: &Have,
        wanted: &Wanted,
        ahead: Ahead,
        rate: Option<u64>,
    ) -> Result<(), Error> {
        let interface = &self.interface;
        if have.is_of_others() {
            let what =
                format!("{interface} has queues that something else has made: {} {}", have.kind, have.handle);
            return Err(Error::new(
                what,
                format!("if nothing needs them: tc qdisc del dev {interface} root"),
            ));
        }
        if have.is_ours() {
            self.remove(tools)?;
        }
        let made = self.make_anew(tools, wanted, ahead, rate);
        if made.is_err() {
            // The first error is reported; an error of the removal after it is not.
            let _ = self.remove(tools);
        }
        made
    }

    fn make_anew(
        &self,
        tools: &Tools,
        wanted: &Wanted,
        ahead: Ahead,
        rate: Option<u64>,
    ) -> Result<(), Error> {
        let mut made = Made { rate, ..Made::default() };
        for file in self.limits.iter().filter(|_| ahead.limit.is_some()) {
            made.limits
                .insert(file.clone(), fs::read_to_string(file).map_err(Error::system(file.display()))?);
        }
        // First, so that nothing is there of which nothing is known.
        self.remember(&made)?;
        tools.batch("tc", None, &wanted.commands())?;
        if let Some(limit) = ahead.limit {
            for file in &self.limits {
                fs::write(file, limit.to_string()).map_err(Error::system(file.display()))?;
            }
        }
        let have = Have::read(tools, &self.interface)?;
        if self.is_there(&have, wanted, ahead, rate) {
            return Ok(());
        }
        let what = format!("{} has other queues than it was told to have", self.interface);
        Err(Error::new(what, "see `tc qdisc show`: something else may set them"))
    }

    fn remember(&self, made: &Made) -> Result<(), Error> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(Error::system(folder.display()))?;
        let text = serde_json::to_string(made).map_err(|error| Error::new(error.to_string(), ""))?;
        fs::write(&self.file, text).map_err(Error::system(self.file.display()))
    }

    /// Makes permanent entries for these addresses, beside queues that were made.
    ///
    /// # Errors
    /// The kernel refuses: then nothing of ours is left.
    pub(crate) fn add_neighbours(&self, tools: &Tools, missing: &[Neighbour]) -> Result<(), Error> {
        let mut made = self.made().unwrap_or_default();
        made.neighbours.extend_from_slice(missing);
        // One that was lost meanwhile is made once more, and taken away once.
        made.neighbours.sort();
        made.neighbours.dedup();
        let commands = neighbours::commands(missing, &self.interface);
        let added = self.remember(&made).and_then(|()| tools.batch("ip", None, &commands));
        if added.is_err() {
            // The first error is reported; an error of the removal after it is not.
            let _ = self.remove(tools);
        }
        added
    }

    /// Takes the queues away, and the entries that came with them; false if there are none of ours.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn remove(&self, tools: &Tools) -> Result<bool, Error> {
        let interface = &self.interface;
        let ours = Have::read(tools, interface)?.is_ours();
        if ours {
            tools.run(&format!("tc qdisc del dev {interface} root"))?;
        }
        let made = self.made();
        for (file, before) in made.iter().flat_map(|made| &made.limits) {
            fs::write(file, before).map_err(Error::system(file.display()))?;
        }
        neighbours::remove(tools, interface, made.as_ref().map_or(&[], |made| &made.neighbours))?;
        if made.is_some() {
            fs::remove_file(&self.file).map_err(Error::system(self.file.display()))?;
        }
        Ok(ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inside::inside;
    use bridge::classes::Scheduler;

    /// A namespace with an interface, and a folder; both are gone when this is dropped.
    struct Alone {
        name: String,
        folder: PathBuf,
    }

    impl Alone {
        /// `None` without the right to make one.
        fn new(test: &str) -> Option<Self> {
            let name = format!("host-{test}-{}", std::process::id());
            let tools = Tools::of_host();
            if let Err(error) = tools.run(&format!("ip netns add {name}")) {
                assert!(std::env::var_os("CI").is_none(), "{error}");
                eprintln!("passed over: {error}");
                return None;
            }
            let folder = std::env::temp_dir().join(&name);
            fs::create_dir_all(&folder).unwrap();
            tools.run(&format!("ip -n {name} link add v0 up type veth peer name v1")).unwrap();
            Some(Self { name, folder })
        }
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            let _ = Tools::of_host().run(&format!("ip netns del {}", self.name));
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn limits_are_set_and_put_back_and_a_failure_leaves_nothing() {
        let Some(alone) = Alone::new("kept") else { return };
        let tools = Tools::of_host();
        let good = alone.folder.join("limit_max");
        fs::write(&good, "1879048192\n").unwrap();
        inside(&alone.name, || {
            let mut facts = Facts::read(&tools, "v0", &alone.folder)?;
            facts.limits = vec![good.clone()];
            let wanted = Wanted::new(&facts, 8, None, Scheduler::Htb)?;
            let ahead = Ahead { most: None, limit: Some(7_830) };
            let kept = Kept::at(&alone.folder, &facts);
            let none = Have::read(&tools, "v0")?;
            kept.make(&tools, &none, &wanted, ahead, None)?;
            let have = Have::read(&tools, "v0")?;
            assert!(
                kept.is_there(&have, &wanted, ahead, None) && !kept.is_there(&have, &wanted, ahead, Some(1))
            );
            assert_eq!(fs::read_to_string(&good).unwrap(), "7830");
            // Another program sets the limit back: that is seen, and the limit is made anew.
            fs::write(&good, "1").unwrap();
            assert!(!kept.is_there(&have, &wanted, ahead, None));
            assert!(kept.remove(&tools)?);
            assert_eq!(fs::read_to_string(&good).unwrap(), "1879048192\n");
            assert_eq!((Have::read(&tools, "v0")?, kept.file.exists()), (none.clone(), false));
            // A limit that cannot be written, when the queues are there already.
            facts.limits = vec![PathBuf::from("/proc/version")];
            let broken = Kept::at(&alone.folder, &facts);
            assert!(broken.make(&tools, &none, &wanted, ahead, None).is_err());
            assert_eq!(Have::read(&tools, "v0")?, none);
            Ok(())
        })
        .unwrap();
    }
}
