//! Which labs there are, and whether they work.
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::place::{is_held, names, record};
use crate::remove::processes;
use crate::tools::namespace_path;
use system::Error;

/// How a lab is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Everything that was built is there.
    Alive,
    /// A process builds or removes it now.
    Changing,
    /// Something is missing: the process that built it was ended, or one of its own has ended.
    LeftOver,
}

/// A lab.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// Seconds since it was begun.
    pub age: u64,
    /// The names of its hosts.
    pub hosts: Vec<String>,
    /// The names of its switches.
    pub switches: Vec<String>,
    /// How it is.
    pub condition: Condition,
}

/// All labs of this machine, by name.
///
/// # Errors
/// The folder of all labs cannot be read.
pub fn list() -> Result<Vec<Listed>, Error> {
    Ok(names()?.iter().map(|name| listed(name)).collect())
}

fn listed(name: &str) -> Listed {
    // What another version wrote is left over for this one.
    let record = record(name).ok().flatten();
    let begun = record
        .as_ref()
        .map_or(SystemTime::UNIX_EPOCH, |record| SystemTime::UNIX_EPOCH + Duration::from_secs(record.begun));
    let alive = record.as_ref().is_some_and(|record| {
        record.complete && record.namespaces.iter().all(|namespace| namespace_path(namespace).exists()) && {
            let there = processes(name, &record.namespaces);
            record.processes.iter().all(|id| there.contains(id))
        }
    });
    let condition = match (is_held(name), alive) {
        (true, _) => Condition::Changing,
        (false, true) => Condition::Alive,
        (false, false) => Condition::LeftOver,
    };
    let names = |names: Option<Vec<String>>| names.unwrap_or_default();
    Listed {
        name: name.to_owned(),
        age: record.as_ref().and_then(|_| begun.elapsed().ok()).map_or(0, |age| age.as_secs()),
        hosts: names(record.as_ref().map(|r| r.hosts.iter().map(|host| host.name.clone()).collect())),
        switches: names(
            record.as_ref().map(|r| r.switches.iter().map(|switch| switch.name.clone()).collect()),
        ),
        condition,
    }
}
