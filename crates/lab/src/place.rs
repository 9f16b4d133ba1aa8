//! Where a lab is written down, so that it can be found and removed even if the process that built it was killed.
//!
//! Each lab has a folder below [`PLACE`]. `lab.json` is there before anything else is made, and names everything that will
//! be; the folder goes last. Who builds or removes a lab holds a lock on the file `lock`, which the system takes back when
//! its process ends.
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::layout::{Host, Layout, Switch};
use crate::tools::namespace_path;
use crate::wan::WanLayout;
use system::{Error, make_folder};

/// The folder of all labs; it is gone when the machine starts again, as the labs are.
pub const PLACE: &str = "/run/punctual/lab";
/// How long to wait for another process that builds or removes the same lab.
const PATIENCE: Duration = Duration::from_secs(2);
/// The version of `lab.json`.
const VERSION: u32 = 1;

/// What is written down about a lab.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record {
    version: u32,
    /// What it is called.
    pub name: String,
    /// The title of its network.
    pub title: String,
    /// When it was begun, in seconds since 1970.
    pub begun: u64,
    /// Whether it was built to the end.
    pub complete: bool,
    /// Whether its switches got real-time priority.
    pub real_time: bool,
    /// Its hosts.
    pub hosts: Vec<Host>,
    /// Its switches.
    pub switches: Vec<Switch>,
    /// All its namespaces, those of hosts and switches too.
    pub namespaces: Vec<String>,
    /// The processes that it needs.
    pub processes: Vec<u32>,
    /// The folder of the keys with which its switches and gates speak with the manager, if they do by TLS.
    #[serde(default)]
    pub keys: Option<PathBuf>,
    /// Its links between domains.
    #[serde(default)]
    pub borders: Vec<BorderLink>,
}

/// A link between domains.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BorderLink {
    /// Its number.
    pub number: u32,
    /// The namespaces of the routers at its ends.
    pub namespaces: [String; 2],
}

impl Record {
    /// What is known before the lab is built.
    pub(crate) fn new(layout: &Layout, title: &str) -> Self {
        Self {
            version: VERSION,
            name: layout.name.clone(),
            title: title.to_owned(),
            begun: now(),
            complete: false,
            real_time: false,
            hosts: layout.hosts.clone(),
            switches: layout.switches.clone(),
            namespaces: layout.namespaces(),
            processes: Vec::new(),
            keys: None,
            borders: Vec::new(),
        }
    }

    /// The same of a lab of domains.
    pub(crate) fn of_domains(name: &str, layout: &WanLayout) -> Self {
        let border = |(number, namespaces): &(u32, [String; 2])| BorderLink {
            number: *number,
            namespaces: namespaces.clone(),
        };
        Self {
            version: VERSION,
            name: name.to_owned(),
            title: name.to_owned(),
            begun: now(),
            complete: false,
            real_time: true,
            hosts: layout.hosts.iter().map(|(host, ..)| host.clone()).collect(),
            switches: Vec::new(),
            namespaces: layout.namespaces(),
            processes: Vec::new(),
            keys: None,
            borders: layout.links.iter().map(border).collect(),
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The folder of a lab, held: no other process builds or removes it meanwhile.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    _lock: File,
}

impl Place {
    /// Takes a name that no lab has, and writes down what will be made.
    pub(crate) fn reserve(record: &Record) -> Result<Self, Error> {
        let all = lock_all()?;
        let path = Path::new(PLACE).join(&record.name);
        if path.exists() {
            let what = format!("there is a lab \"{}\" already", record.name);
            let remedy = format!("punctual lab down {}, or another --name", record.name);
            return Err(Error::new(what, remedy));
        }
        // Only what is free before it is written down may be removed later.
        let taken = record.namespaces.iter().find(|namespace| namespace_path(namespace).exists());
        if let Some(namespace) = taken {
            let what = format!("there is a network namespace \"{namespace}\" that is not of this lab");
            return Err(Error::new(what, "choose another --name"));
        }
        make_folder(&path)?;
        let lock = open_lock(&path)?;
        lock.lock().map_err(Error::system(path.join("lock").display()))?;
        let place = Self { path, _lock: lock };
        place.write(record)?;
        drop(all);
        Ok(place)
    }

    /// Takes hold of a lab that is there; `None` if there is none with that name.
    pub(crate) fn hold(name: &str) -> Result<Option<Self>, Error> {
        let path = Path::new(PLACE).join(name);
        let since = Instant::now();
        loop {
            if !path.is_dir() {
                return Ok(None);
            }
            let lock = open_lock(&path)?;
            match lock.try_lock() {
                // It may have been removed by the process that had the lock.
                Ok(()) if path.join("lock").exists() => return Ok(Some(Self { path, _lock: lock })),
                Ok(()) => return Ok(None),
                Err(TryLockError::WouldBlock) if since.elapsed() > PATIENCE => {
                    let what = format!("the lab \"{name}\" is being built or removed by another process");
                    return Err(Error::new(what, "wait for it, or end it with Ctrl-C, and try again"));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::Error(error)) => {
                    return Err(Error::system(path.join("lock").display())(error));
                }
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the record; who reads it at any moment gets the old one or the new one.
    pub(crate) fn write(&self, record: &Record) -> Result<(), Error> {
        let (path, next) = (self.path.join("lab.json"), self.path.join("lab.json.next"));
        let text = serde_json::to_string_pretty(record).map_err(|error| Error::new(error.to_string(), ""))?;
        let written = File::create(&next).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            fs::rename(&next, &path)
        });
        written.map_err(Error::system(path.display()))
    }
}

/// The record of a lab; `None` if nothing was made yet.
///
/// # Errors
/// It is there and cannot be read.
pub fn record(name: &str) -> Result<Option<Record>, Error> {
    let Some(text) = text(name)? else { return Ok(None) };
    let remedy = format!("punctual lab down {name}, and build it again");
    let wrong = |what: String| Error::new(format!("lab {name}: {what}"), remedy.clone());
    let record: Record = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if record.version != VERSION || record.name != name {
        return Err(wrong("written by another version".to_owned()));
    }
    Ok(Some(record))
}

/// The namespaces of a lab, whichever version wrote its record.
pub(crate) fn namespaces(name: &str) -> Result<Vec<String>, Error> {
    /// What every version writes.
    #[derive(Deserialize)]
    struct Least {
        namespaces: Vec<String>,
    }
    let Some(text) = text(name)? else { return Ok(Vec::new()) };
    let least: Least = serde_json::from_str(&text).map_err(|error| {
        let remedy = format!("remove its namespaces with ip netns del, then the folder {PLACE}/{name}");
        Error::new(format!("lab {name}: what it consists of cannot be read: {error}"), remedy)
    })?;
    Ok(least.namespaces)
}

fn text(name: &str) -> Result<Option<String>, Error> {
    let path = Path::new(PLACE).join(name).join("lab.json");
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => text.map(Some).map_err(Error::system(path.display())),
    }
}

/// The names of all labs, whether they work or are left over, by name.
///
/// # Errors
/// The folder of all labs cannot be read.
pub fn names() -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(PLACE) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::system(PLACE))?,
    };
    let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Whether a process builds or removes the lab now.
pub(crate) fn is_held(name: &str) -> bool {
    let lock = File::open(Path::new(PLACE).join(name).join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Holds what concerns all labs until the result is dropped.
pub(crate) fn lock_all() -> Result<File, Error> {
    make_folder(Path::new(PLACE))?;
    let lock = open_lock(Path::new(PLACE))?;
    lock.lock().map_err(Error::system(PLACE))?;
    Ok(lock)
}

fn open_lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let mut options = fs::OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
    file.map_err(Error::system(path.display()))
}
