//! The embedded store: one file (crate `redb`), which one process at a time has open. A change is on the disk when the call returns.
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use tracing::error;

use crate::{Change, Key, Store, StoreError, keep, listed, next_epoch_after};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const GRANTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("grants");
/// By the names of drained switches.
const DRAINS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("drains");
/// Deployments by their names. Files of the same format that are older have none.
const DEPLOYMENTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("deployments");
/// What the manager of a domain holds, by its names of it. Files of the same format that are older have none.
const INTERDOMAIN: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("interdomain");
/// Files of text, by what they are.
const FILES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("files");
const EPOCH: &str = "epoch";
/// The network file among [`FILES`].
const NETWORK: &str = "network";
/// What the tables mean; another number is refused, but those before: the grants of format 1 are all for one reader's place, and files up to
/// format 2 have no drains. Programs of that time must not read trees, or overlook drains.
const FORMAT: u64 = 3;
const FORMAT_KEY: &str = "format";

/// A store in one file, which one process at a time has open.
///
/// What the file holds is known here, too: after an error it is opened again, and one that was deleted, replaced or damaged is made anew.
pub struct FileStore {
    path: PathBuf,
    /// `None` after an error.
    opened: Option<Opened>,
    epoch: u64,
    kept: BTreeMap<Key, Vec<u8>>,
    /// Not before then it is opened again, and how long the wait is after that.
    again: Instant,
    pause: Duration,
    /// Why it failed.
    why: String,
}

/// An open file.
struct Opened {
    database: Database,
    /// Device and number of the file: the name may come to mean another one.
    identity: (u64, u64),
    /// Its length in bytes when it was written last. It does not become shorter by itself.
    length: u64,
}

/// The wait before a store that has failed is opened again, first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How files of the store begin.
const MAGIC: &[u8] = b"redb";

/// What is wrong with a file.
enum Trouble {
    /// It is a store, and cannot be read as one any more.
    Damaged(String),
    /// Anything else.
    Other(String),
}

impl FileStore {
    /// Opens a file, or makes it. One that is damaged is renamed, which is told in the log, and a new one is made.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be opened, another manager has it open, or it is something else.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut store = Self {
            path: path.to_owned(),
            opened: None,
            epoch: 0,
            kept: BTreeMap::new(),
            again: Instant::now(),
            pause: PAUSE,
            why: String::new(),
        };
        let read = match store.connect().and_then(|opened| Ok((read_all(&opened.database)?, opened))) {
            Err(Trouble::Damaged(what)) => {
                store.put_aside(&what)?;
                store.connect().and_then(|opened| Ok((read_all(&opened.database)?, opened)))
            }
            read => read,
        };
        let ((epoch, kept), opened) = read.map_err(|trouble| store.failed(trouble.what()))?;
        (store.epoch, store.kept, store.opened) = (epoch, kept, Some(opened));
        Ok(store)
    }

    fn failed(&self, what: impl fmt::Display) -> StoreError {
        let what = format!("{what}; mend that, or name another file with --store");
        StoreError::new(self.path.display(), what)
    }

    /// Opens the file, or makes it, and sees that its format is known.
    fn connect(&self) -> Result<Opened, Trouble> {
        match std::fs::File::open(&self.path) {
            Ok(mut file) => {
                let mut start = Vec::new();
                let read = (&mut file).take(MAGIC.len() as u64).read_to_end(&mut start);
                read.map_err(|error| Trouble::Other(error.to_string()))?;
                if start.is_empty() {
                    return Err(Trouble::Damaged("it is empty".to_owned()));
                }
                if start.iter().all(|byte| *byte == 0) && only_zeros(file) {
                    // What a loss of power leaves of a file that was being written.
                    return Err(Trouble::Damaged("it holds nothing but zeros".to_owned()));
                }
                if start != MAGIC {
                    return Err(Trouble::Other("it is no store of grants".to_owned()));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Trouble::Other(error.to_string())),
        }
        let database = guarded(|| Database::create(&self.path).map_err(Trouble::from))?;
        let format = guarded(|| {
            transact(&database, |Tables { meta, .. }| {
                let known = meta.get(FORMAT_KEY)?.map(|known| known.value());
                if known.is_none_or(|known| (1..FORMAT).contains(&known)) {
                    meta.insert(FORMAT_KEY, FORMAT)?;
                    return Ok(FORMAT);
                }
                Ok(known.unwrap_or(FORMAT))
            })
        })?;
        if format != FORMAT {
            let what = format!("its format is {format}, and {FORMAT} is what this program reads");
            return Err(Trouble::Other(what));
        }
        let found = self.look().map_err(|error| Trouble::Other(error.to_string()))?;
        Ok(Opened { database, identity: (found.dev(), found.ino()), length: found.len() })
    }

    fn look(&self) -> std::io::Result<std::fs::Metadata> {
        std::fs::metadata(&self.path)
    }

    /// A damaged file gets another name, so that it can be examined.
    fn put_aside(&self, what: &str) -> Result<(), StoreError> {
        let aside = (1..1_000_u32)
            .map(|number| {
                let mut name = self.path.clone().into_os_string();
                name.push(format!(".damaged-{number}"));
                PathBuf::from(name)
            })
            .find(|aside| !aside.exists());
        let aside =
            aside.ok_or_else(|| self.failed("a thousand damaged ones are kept beside it: remove them"))?;
        std::fs::rename(&self.path, &aside).map_err(|error| self.failed(format!("{what}; {error}")))?;
        error!(
            "the store {} was damaged ({what}): it is kept as {}, and a new one is made",
            self.path.display(),
            aside.display()
        );
        Ok(())
    }

    /// Whether the open file is still the one of that name, and whole.
    fn check_place(&mut self) {
        let Some(opened) = &self.opened else { return };
        let what = match self.look() {
            Ok(found) if (found.dev(), found.ino()) != opened.identity => "it was replaced by another file",
            Ok(found) if found.len() < opened.length => "it was cut off",
            Ok(_) => return,
            Err(error) if error.kind() == ErrorKind::NotFound => "it was deleted",
            Err(_) => "it cannot be looked at",
        };
        error!("the store {}: {what}; it is opened again, and all is written", self.path.display());
        self.close();
        self.again = Instant::now();
    }

    /// Gives the open file up.
    fn close(&mut self) {
        if let Some(opened) = self.opened.take() {
            // It writes what it has not written, which may fail as well.
            let _ = guarded(|| {
                drop(opened);
                Ok(())
            });
        }
    }

    /// Opens the file again after an error, with all that is known here in it, but not too often.
    fn reopen(&mut self) -> Result<(), StoreError> {
        if self.opened.is_some() {
            return Ok(());
        }
        if Instant::now() < self.again {
            return Err(self.failed(&self.why));
        }
        let mut connected = self.connect();
        if let Err(Trouble::Damaged(what)) = &connected {
            self.put_aside(what)?;
            connected = self.connect();
        }
        let written = connected.and_then(|opened| {
            let (epoch, all) = (self.epoch, &self.kept);
            guarded(|| {
                transact(&opened.database, |tables| {
                    tables.meta.insert(EPOCH, epoch)?;
                    tables.grants.retain(|number, _| all.contains_key(&Key::Grant(number)))?;
                    tables.drains.retain(|name, _| all.contains_key(&Key::Drain(name.to_owned())))?;
                    tables.files.retain(|_, _| all.contains_key(&Key::Network))?;
                    tables
                        .deployments
                        .retain(|name, _| all.contains_key(&Key::Deployment(name.to_owned())))?;
                    tables
                        .interdomain
                        .retain(|name, _| all.contains_key(&Key::Interdomain(name.to_owned())))?;
                    all.iter().try_for_each(|(key, value)| tables.change(key, Some(value)))
                })
            })?;
            Ok(opened)
        });
        match written {
            Ok(opened) => {
                (self.opened, self.pause) = (Some(opened), PAUSE);
                Ok(())
            }
            Err(trouble) => {
                self.again = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                trouble.what().clone_into(&mut self.why);
                Err(self.failed(trouble.what()))
            }
        }
    }

    /// One transaction, which is on the disk when this returns. After an error the file is opened again next time.
    fn transact<R>(
        &mut self,
        change: impl Fn(&mut Tables<'_>) -> Result<R, redb::StorageError>,
    ) -> Result<R, StoreError> {
        self.check_place();
        self.reopen()?;
        let Some(opened) = &mut self.opened else { return Err(self.failed("it is not open")) };
        match guarded(|| transact(&opened.database, &change)) {
            Ok(result) => {
                opened.length = std::fs::metadata(&self.path).map_or(opened.length, |found| found.len());
                Ok(result)
            }
            Err(trouble) => {
                self.close();
                self.again = Instant::now() + PAUSE;
                trouble.what().clone_into(&mut self.why);
                Err(self.failed(trouble.what()))
            }
        }
    }
}

/// The tables of a file.
struct Tables<'t> {
    meta: redb::Table<'t, &'static str, u64>,
    grants: redb::Table<'t, u64, &'static [u8]>,
    drains: redb::Table<'t, &'static str, &'static [u8]>,
    files: redb::Table<'t, &'static str, &'static [u8]>,
    deployments: redb::Table<'t, &'static str, &'static [u8]>,
    interdomain: redb::Table<'t, &'static str, &'static [u8]>,
}

impl Tables<'_> {
    fn change(&mut self, key: &Key, value: Option<&Vec<u8>>) -> Result<(), redb::StorageError> {
        match (key, value.map(Vec::as_slice)) {
            (Key::Grant(number), Some(grant)) => drop(self.grants.insert(number, grant)?),
            (Key::Grant(number), None) => drop(self.grants.remove(number)?),
            (Key::Drain(name), Some(drain)) => drop(self.drains.insert(name.as_str(), drain)?),
            (Key::Drain(name), None) => drop(self.drains.remove(name.as_str())?),
            (Key::Network, Some(file)) => drop(self.files.insert(NETWORK, file)?),
            (Key::Network, None) => drop(self.files.remove(NETWORK)?),
            (Key::Deployment(name), Some(it)) => drop(self.deployments.insert(name.as_str(), it)?),
            (Key::Deployment(name), None) => drop(self.deployments.remove(name.as_str())?),
            (Key::Interdomain(name), Some(it)) => drop(self.interdomain.insert(name.as_str(), it)?),
            (Key::Interdomain(name), None) => drop(self.interdomain.remove(name.as_str())?),
        }
        Ok(())
    }
}

impl Trouble {
    fn what(&self) -> &str {
        match self {
            Self::Damaged(what) | Self::Other(what) => what,
        }
    }
}

/// What is wrong with a file that is a store, by the error of the crate that reads it.
impl From<redb::Error> for Trouble {
    fn from(error: redb::Error) -> Self {
        let what = error.to_string();
        match error {
            redb::Error::Corrupted(_) => Self::Damaged(what),
            redb::Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => Self::Damaged(what),
            redb::Error::Io(error) if error.kind() == ErrorKind::InvalidData => Self::Damaged(what),
            _ => Self::Other(what),
        }
    }
}

impl From<redb::DatabaseError> for Trouble {
    fn from(error: redb::DatabaseError) -> Self {
        redb::Error::from(error).into()
    }
}

/// True if there is nothing else in the rest of a file; an error is no answer.
fn only_zeros(mut file: std::fs::File) -> bool {
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes) {
            Ok(0) => return true,
            Ok(read) if bytes.iter().take(read).all(|byte| *byte == 0) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

fn transact<R>(
    database: &Database,
    change: impl FnOnce(&mut Tables<'_>) -> Result<R, redb::StorageError>,
) -> Result<R, Trouble> {
    let all = || -> Result<R, redb::Error> {
        let transaction = database.begin_write()?;
        let result = {
            change(&mut Tables {
                meta: transaction.open_table(META)?,
                grants: transaction.open_table(GRANTS)?,
                drains: transaction.open_table(DRAINS)?,
                files: transaction.open_table(FILES)?,
                deployments: transaction.open_table(DEPLOYMENTS)?,
                interdomain: transaction.open_table(INTERDOMAIN)?,
            })?
        };
        transaction.commit()?;
        Ok(result)
    };
    all().map_err(Trouble::from)
}

/// The epoch of the last start, and all that is kept.
fn read_all(database: &Database) -> Result<(u64, BTreeMap<Key, Vec<u8>>), Trouble> {
    let all = || -> Result<_, redb::Error> {
        let transaction = database.begin_read()?;
        let epoch = transaction.open_table(META)?.get(EPOCH)?.map_or(0, |epoch| epoch.value());
        let mut kept = BTreeMap::new();
        for entry in transaction.open_table(GRANTS)?.iter()? {
            let (number, grant) = entry?;
            kept.insert(Key::Grant(number.value()), grant.value().to_vec());
        }
        for entry in transaction.open_table(DRAINS)?.iter()? {
            let (name, drain) = entry?;
            kept.insert(Key::Drain(name.value().to_owned()), drain.value().to_vec());
        }
        if let Some(file) = transaction.open_table(FILES)?.get(NETWORK)? {
            kept.insert(Key::Network, file.value().to_vec());
        }
        for entry in transaction.open_table(DEPLOYMENTS)?.iter()? {
            let (name, deployment) = entry?;
            kept.insert(Key::Deployment(name.value().to_owned()), deployment.value().to_vec());
        }
        for entry in transaction.open_table(INTERDOMAIN)?.iter()? {
            let (name, held) = entry?;
            kept.insert(Key::Interdomain(name.value().to_owned()), held.value().to_vec());
        }
        Ok((epoch, kept))
    };
    guarded(|| all().map_err(Trouble::from))
}

thread_local! {
    /// Panics of this thread are caught and told as errors.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// The crate that reads files takes it for granted that they are whole, and panics where they are not: that is an error here.
fn guarded<R>(act: impl FnOnce() -> Result<R, Trouble>) -> Result<R, Trouble> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info);
            }
        }));
    });
    let before = GUARDED.replace(true);
    let done = std::panic::catch_unwind(AssertUnwindSafe(act));
    GUARDED.set(before);
    done.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let what = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it is not whole");
        Err(Trouble::Damaged(what.lines().next().unwrap_or_default().to_owned()))
    })
}

impl Drop for FileStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for FileStore {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        let next = next_epoch_after(self.epoch);
        self.transact(|tables| tables.meta.insert(EPOCH, next).map(|_| ()))?;
        self.epoch = next;
        Ok(next)
    }

    fn kept(&self) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        Ok(listed(&self.kept))
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        self.transact(|tables| {
            changes.iter().try_for_each(|(key, value)| tables.change(key, value.as_ref()))
        })?;
        keep(&mut self.kept, changes);
        Ok(())
    }
}
