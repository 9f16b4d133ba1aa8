//! What survives a restart: the epoch and the grants, in an embedded transactional store.
//!
//! [`Store`] is the trait; [`FileStore`] keeps one file (crate `redb`), [`MemoryStore`] nothing. A change is on the disk when the
//! call returns.
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const GRANTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("grants");
const EPOCH: &str = "epoch";
/// What the tables mean; another number is refused, but that before, whose grants are all for one reader's place and read as
/// they are: programs of that time must not read trees.
const FORMAT: u64 = 2;
const FORMAT_BEFORE: u64 = 1;
const FORMAT_KEY: &str = "format";

/// Keeps grants.
pub trait Store: Send {
    /// The epoch of this start: one more than that of the start before.
    ///
    /// # Errors
    /// [`StoreError`].
    fn next_epoch(&mut self) -> Result<u64, StoreError>;

    /// All grants, by number.
    ///
    /// # Errors
    /// [`StoreError`].
    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError>;

    /// Keeps grants, each in place of the former one of its number, or forgets them; in this order, all or none.
    ///
    /// # Errors
    /// [`StoreError`]; nothing has changed then.
    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError>;
}

/// A grant to be kept, by its number; without one that of the number is to be forgotten, if there is any.
pub type Change = (u64, Option<Vec<u8>>);

/// Why the store does not work.
#[derive(Debug)]
pub struct StoreError {
    /// The file.
    path: PathBuf,
    /// What happened.
    what: String,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "the store {path} does not work: {}; name another file with --store", self.what)
    }
}

impl std::error::Error for StoreError {}

/// A store in one file, which one process at a time has open.
pub struct FileStore {
    path: PathBuf,
    database: Database,
}

impl FileStore {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be opened, another manager has it open, or it is something else.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |what: String| StoreError { path: path.to_owned(), what };
        let database = Database::create(path).map_err(|error| failed(error.to_string()))?;
        let store = Self { path: path.to_owned(), database };
        let format = store.transact(|meta, _| {
            let known = meta.get(FORMAT_KEY)?.map(|known| known.value());
            if known.is_none_or(|known| known == FORMAT_BEFORE) {
                meta.insert(FORMAT_KEY, FORMAT)?;
                return Ok(FORMAT);
            }
            Ok(known.unwrap_or(FORMAT))
        })?;
        if format != FORMAT {
            return Err(failed(format!("its format is {format}, and {FORMAT} is what this program reads")));
        }
        Ok(store)
    }

    fn failed(&self, error: impl fmt::Display) -> StoreError {
        StoreError { path: self.path.clone(), what: error.to_string() }
    }

    /// One transaction, which is on the disk when this returns.
    fn transact<R>(
        &self,
        change: impl FnOnce(
            &mut redb::Table<'_, &'static str, u64>,
            &mut redb::Table<'_, u64, &'static [u8]>,
        ) -> Result<R, redb::StorageError>,
    ) -> Result<R, StoreError> {
        let transaction = self.database.begin_write().map_err(|error| self.failed(error))?;
        let result = {
            let mut meta = transaction.open_table(META).map_err(|error| self.failed(error))?;
            let mut grants = transaction.open_table(GRANTS).map_err(|error| self.failed(error))?;
            change(&mut meta, &mut grants).map_err(|error| self.failed(error))?
        };
        transaction.commit().map_err(|error| self.failed(error))?;
        Ok(result)
    }
}

impl Store for FileStore {
    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        self.transact(|meta, _| {
            let next = meta.get(EPOCH)?.map_or(0, |epoch| epoch.value()).saturating_add(1);
            meta.insert(EPOCH, next)?;
            Ok(next)
        })
    }

    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let transaction = self.database.begin_read().map_err(|error| self.failed(error))?;
        let table = transaction.open_table(GRANTS).map_err(|error| self.failed(error))?;
        let mut grants = Vec::new();
        for entry in table.iter().map_err(|error| self.failed(error))? {
            let (number, grant) = entry.map_err(|error| self.failed(error))?;
            grants.push((number.value(), grant.value().to_vec()));
        }
        Ok(grants)
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        self.transact(|_, grants| {
            for (number, grant) in changes {
                match grant {
                    Some(grant) => grants.insert(number, grant.as_slice())?,
                    None => grants.remove(number)?,
                };
            }
            Ok(())
        })
    }
}

/// A store that forgets: after a restart all grants are asked for again, and the epoch is the time.
#[derive(Debug, Default)]
pub struct MemoryStore {
    grants: BTreeMap<u64, Vec<u8>>,
}

impl Store for MemoryStore {
    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(since.map_or(1, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }

    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(self.grants.iter().map(|(number, grant)| (*number, grant.clone())).collect())
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        for (number, grant) in changes {
            match grant {
                Some(grant) => self.grants.insert(*number, grant.clone()),
                None => self.grants.remove(number),
            };
        }
        Ok(())
    }
}
