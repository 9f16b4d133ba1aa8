//! The kernel's side of a bridge: its table of nftables, by the program `nft`.
use std::collections::BTreeMap;

use openflow::multipart::Traffic;
use serde_json::Value;
use system::{Error, finish, program};

use crate::listing::{Differences, Listing, Told};
use crate::ruleset::{Ruleset, TableName, document};
use crate::tables::Tables;
use crate::translate::{Ports, translate};

/// Programs that are needed, and the Debian packages that bring them.
pub const PROGRAMS: [(&str, &str); 2] = [("nft", "nftables"), ("ip", "iproute2")];

/// A table of nftables that is kept as flow tables say.
#[derive(Debug)]
pub struct Nft {
    name: TableName,
    log: u16,
    told: Option<Told>,
    /// What entries had counted before their rules were made anew.
    before: BTreeMap<u64, Traffic>,
    last: BTreeMap<u64, Traffic>,
}

impl Nft {
    /// The table of a bridge. Nothing is changed yet: what an agent before left stays until there is something to put in its place.
    pub fn new(bridge: &str, log: u16) -> Self {
        Self { name: TableName::of(bridge), log, told: None, before: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Lets nothing pass until there is something to go by. What an agent before has left stays until then.
    ///
    /// # Errors
    /// What `nft` says.
    pub fn begin(&mut self, ports: &Ports) -> Result<(), Error> {
        if self.list()?.table.is_some() { Ok(()) } else { self.apply(&Tables::default(), ports) }
    }

    fn list(&self) -> Result<Listing, Error> {
        let line = self.name.list();
        match finish(program("nft").args(line.split(' ')), None) {
            Ok(text) => read(&text),
            Err(error) if error.what.contains("No such file or directory") => Ok(Listing::default()),
            Err(error) => Err(error),
        }
    }

    /// Makes the kernel do what the tables say at these ports, in one step.
    ///
    /// # Errors
    /// What `nft` says; nothing has changed then.
    pub fn apply(&mut self, tables: &Tables, ports: &Ports) -> Result<(), Error> {
        let target = translate(tables, ports, self.log);
        if let Some(told) = &self.told {
            if told.ruleset == target {
                return Ok(());
            }
            let commands = self.name.changes(&told.ruleset, &target);
            if let Ok(given) = run(&commands) {
                self.note(target, given);
                return Ok(());
            }
            // Something of it is not there any more: all anew.
        }
        self.before.clone_from(&self.last);
        let given = run(&self.name.replacement(&target))?;
        self.told = None;
        self.note(target, given);
        Ok(())
    }

    fn note(&mut self, ruleset: Ruleset, given: Listing) {
        let mut told = self.told.take().unwrap_or_default();
        told.table = given.table.or(told.table);
        for (name, chain) in &ruleset.chains {
            if told.ruleset.chains.get(name) != Some(chain) {
                let numbers = given.chains.get(name).into_iter().flatten().map(|(number, _)| *number);
                told.numbers.insert(name.clone(), numbers.collect());
            }
        }
        told.numbers.retain(|name, _| ruleset.chains.contains_key(name));
        told.ruleset = ruleset;
        self.told = Some(told);
    }

    /// What the kernel has, against what it was told, and what its entries have counted.
    ///
    /// # Errors
    /// What `nft` says; that there is no such table is no error.
    pub fn read(&mut self) -> Result<(Differences, BTreeMap<u64, Traffic>), Error> {
        let Some(told) = &self.told else { return Ok((Differences::default(), BTreeMap::new())) };
        let listing = self.list()?;
        let differences = told.compare(&listing);
        let mut traffic = told.traffic(&listing);
        for (id, counted) in &mut traffic {
            if let Some(before) = self.before.get(id) {
                counted.packets = counted.packets.saturating_add(before.packets);
                counted.octets = counted.octets.saturating_add(before.octets);
            }
        }
        self.last.clone_from(&traffic);
        if differences.any {
            // What is there is not known well enough to be changed in parts.
            self.told = None;
        }
        Ok((differences, traffic))
    }

    /// Takes the table away: the bridge forwards as bridges do.
    ///
    /// # Errors
    /// What `nft` says.
    pub fn remove(&mut self) -> Result<(), Error> {
        self.told = None;
        run(&self.name.removal()).map(drop)
    }
}

fn read(text: &str) -> Result<Listing, Error> {
    Listing::read(text).map_err(|error| Error::new(format!("nft: {error}"), "nft 1.0 or later is needed"))
}

/// Has `nft` do commands as one transaction; what it says of what it has added.
fn run(commands: &[Value]) -> Result<Listing, Error> {
    read(&finish(program("nft").args(["-j", "-e", "-f", "-"]), Some(&document(commands)))?)
}
