//! A store in etcd, which several managers of a network share; one of them leads.
//!
//! Below the prefix of a name there are: `format`, `epoch`, `leader` (bound to the leader's lease), `sequence`, and `grants/` with a key of 16
//! hexadecimal digits for each grant. Each change is one transaction, which compares that the key `leader` is the one that this process
//! created, and that `sequence` has the value of the change before: so a change of one that leads no longer does nothing, and neither does one that
//! was sent before another one and comes later. Where it is not known whether a change has arrived, `sequence` says it afterwards.
mod address;
mod http;
mod keeper;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keys::{Identity, Role};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

pub use address::Address;

use crate::leadership;
use crate::{Change, Standing, Store, StoreError, keep, next_epoch_after};
use http::{Connection, Trouble};
use keeper::{Question, Shared};
use words::{Entry, delete, entries, get, has_value, is_created_at, put, range, transacted, transaction};

/// The longest time that a change takes, or fails.
const CHANGE: Duration = Duration::from_secs(1);
/// The longest time that reading all takes, or fails; and a piece of it.
const START: Duration = Duration::from_secs(20);
const PIECE: Duration = Duration::from_secs(3);
/// The wait after a change that failed, in which others fail at once: the owner has more to do than to wait for them.
const PAUSE: Duration = Duration::from_millis(300);
/// Changes in one transaction: etcd takes 128 operations, if it is not told to take more (`--max-txn-ops`).
const MOST_CHANGES: usize = 64;
/// Bytes of the grants in one transaction: etcd takes 1.5 MiB, if it is not told to take more (`--max-request-bytes`).
const MOST_BYTES: usize = 1 << 20;
/// Grants that are read at once; and in all, which is more than a manager knows requests.
const PAGE: usize = 100;
const MOST_GRANTS: usize = 1 << 17;
/// Bytes of all grants.
const MOST_BYTES_OF_ALL: usize = 256 << 20;
/// What the keys mean; another text is refused.
const FORMAT: &str = "punctual grants 2";

/// A store in etcd.
pub struct EtcdStore {
    address: Address,
    shared: Arc<Shared>,
    /// `None` when it ends.
    questions: Option<UnboundedSender<Question>>,
    thread: Option<JoinHandle<()>>,
    term: Option<Term>,
    grants: BTreeMap<u64, Vec<u8>>,
    /// Of these it is not known whether etcd has what is in `grants`.
    doubtful: BTreeSet<u64>,
    /// Until then changes fail at once, and why.
    fails: Option<(Instant, String)>,
}

/// As what this process changes things.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// The revision at which its key was created.
    revision: i64,
    epoch: u64,
    /// How many changes there were.
    changes: u64,
}

impl Term {
    fn sequence(self) -> String {
        format!("{}:{}", self.epoch, self.changes)
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore")
            .field("address", &self.address)
            .field("term", &self.term)
            .finish_non_exhaustive()
    }
}

impl EtcdStore {
    /// A store in etcd, of a process that wants to lead from now on. With keys and an address with `https`, both ends show who they are: etcd that
    /// it has the role [`Role::Store`]. If etcd is away it is tried again until it is there.
    ///
    /// # Errors
    /// The address wants keys and there are none; what answers is no etcd; under the prefix is something else.
    pub fn open(address: &Address, keys: Option<&Identity>) -> Result<Self, StoreError> {
        let failed = |what: &dyn fmt::Display| StoreError::new(address, what);
        let secure = match (address.is_secure(), keys) {
            (true, None) => return Err(failed(&"https needs the manager's key: give --keys")),
            (true, Some(keys)) => Some(keys.client_to(Role::Store).map_err(|error| failed(&error))?),
            (false, _) => None,
        };
        let connection = || Connection::new(address.clone(), secure.clone());
        let (shared, kept) = (Arc::new(Shared::new()), address.clone());
        let (questions, asked) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| failed(&format!("no event loop: {error}")))?;
        let (keeps, asks, of) = (connection(), connection(), Arc::clone(&shared));
        let run = move || {
            runtime.block_on(async {
                tokio::spawn(keeper::ask_for(asks, asked));
                keeper::keep(keeps, kept, of).await;
            });
        };
        // Before the first question of the keeper.
        let mut store = Self {
            address: address.clone(),
            shared,
            questions: Some(questions),
            thread: None,
            term: None,
            grants: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            fails: None,
        };
        let thread = std::thread::Builder::new().name("etcd".to_owned()).spawn(run);
        store.thread = Some(thread.map_err(|error| failed(&format!("no thread: {error}")))?);
        match store.look() {
            Ok(()) | Err(Trouble::Away(_)) => Ok(store),
            Err(trouble) => Err(store.failed_by(&trouble)),
        }
    }

    /// Sees that what is there is of this format.
    fn look(&self) -> Result<(), Trouble> {
        self.ask("/v3/maintenance/status", json!({}), PIECE)?;
        self.read_state(None).map(drop)
    }

    fn failed(&self, what: impl fmt::Display) -> StoreError {
        StoreError::new(&self.address, what)
    }

    fn failed_by(&self, trouble: &Trouble) -> StoreError {
        let passes = !matches!(trouble, Trouble::Refused(WRONG, _) | Trouble::Strange(_));
        StoreError { passes, ..self.failed(trouble) }
    }

    /// Asks, and waits for the answer.
    fn ask(&self, path: &'static str, words: Value, patience: Duration) -> Result<Value, Trouble> {
        let gone = || Trouble::Away("its thread has ended".to_owned());
        let (answer, heard) = sync_channel(1);
        let question = Question { path, words, patience, answer };
        self.questions.as_ref().ok_or_else(gone)?.send(question).map_err(|_| gone())?;
        // The thread keeps the time; it is waited for a little longer if it does not run.
        heard.recv_timeout(patience.saturating_mul(2)).unwrap_or_else(|_| Err(gone()))
    }

    fn transact(
        &self,
        compare: &[Value],
        success: &[Value],
        failure: &[Value],
        patience: Duration,
    ) -> Result<(bool, Vec<Vec<Entry>>), Trouble> {
        transacted(&self.ask("/v3/kv/txn", transaction(compare, success, failure), patience)?)
    }

    /// The epoch of the last start. With a revision: if the key of that is there.
    fn read_state(&self, revision: Option<i64>) -> Result<u64, Trouble> {
        let [leader, format, epoch] = ["leader", "format", "epoch"].map(|end| self.address.key(end));
        let compare: Vec<Value> = revision.iter().map(|revision| is_created_at(&leader, *revision)).collect();
        let (is_ours, read) = self.transact(&compare, &[get(&format), get(&epoch)], &[], PIECE)?;
        if !is_ours {
            return Err(Trouble::Refused(NOT_LEADING, "another manager leads".to_owned()));
        }
        let value = |index: usize| {
            read.get(index).and_then(|range| range.first()).map(|entry| entry.value.as_slice())
        };
        match value(0) {
            None => {}
            Some(format) if format == FORMAT.as_bytes() => {}
            Some(other) => {
                let other = shown(other);
                return Err(wrong(
                    &format,
                    &format!(
                        "is \"{other}\", and \"{FORMAT}\" is what this program reads: use the program that wrote it, or"
                    ),
                ));
            }
        }
        let Some(value) = value(1) else { return Ok(0) };
        let read = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok());
        read.filter(|last| *last < u64::MAX)
            .ok_or_else(|| wrong(&epoch, &format!("is \"{}\", which is no epoch:", shown(value))))
    }

    /// Takes the next epoch, as the leader whose key was created at a revision.
    fn begin(&mut self, revision: i64) -> Result<u64, Trouble> {
        let last = self.read_state(Some(revision))?;
        let epoch = next_epoch_after(last);
        let term = Term { revision, epoch, changes: 0 };
        let key = |end: &str| self.address.key(end);
        let written = [
            put(&key("format"), FORMAT, 0),
            put(&key("epoch"), epoch.to_string(), 0),
            put(&key("sequence"), term.sequence(), 0),
        ];
        let (is_ours, _) = self.transact(&[is_created_at(&key("leader"), revision)], &written, &[], PIECE)?;
        if !is_ours {
            return Err(Trouble::Refused(NOT_LEADING, "another manager leads".to_owned()));
        }
        // No other manager writes from here on, and nothing that this process has written before comes any more.
        self.grants = self.read_grants()?;
        self.doubtful.clear();
        (self.term, self.fails) = (Some(term), None);
        Ok(epoch)
    }

    fn read_grants(&self) -> Result<BTreeMap<u64, Vec<u8>>, Trouble> {
        let (began, prefix) = (Instant::now(), self.address.key("grants/"));
        // The character after the last one of the prefix.
        let end = self.address.key("grants0");
        let (mut from, mut grants, mut bytes) = (prefix.clone(), BTreeMap::new(), 0_usize);
        loop {
            let page = entries(&self.ask("/v3/kv/range", range(&from, &end, PAGE), PIECE)?)?;
            let is_last = page.len() < PAGE;
            for Entry { key, value, .. } in page {
                let digits = key.strip_prefix(&prefix).filter(|digits| digits.len() == 16);
                let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                let number = number.filter(|number| self.grant(*number) == key);
                let number = number.ok_or_else(|| wrong(&shown(key.as_bytes()), "is no grant:"))?;
                bytes = bytes.saturating_add(value.len());
                if grants.len() >= MOST_GRANTS || bytes > MOST_BYTES_OF_ALL {
                    return Err(wrong(&prefix, "has more than any manager writes:"));
                }
                grants.insert(number, value);
                from = format!("{key}\0");
            }
            if is_last {
                return Ok(grants);
            }
            if began.elapsed() > START {
                return Err(Trouble::Away(format!("reading all takes more than {} s", START.as_secs())));
            }
        }
    }

    fn grant(&self, number: u64) -> String {
        self.address.key(&format!("grants/{number:016x}"))
    }

    /// Writes these, and what may not be written yet, until a time.
    fn write(&mut self, changes: &BTreeMap<u64, Option<&[u8]>>, until: Instant) -> Result<(), Trouble> {
        let Some(mut term) = self.term else {
            return Err(Trouble::Refused(NOT_LEADING, "this manager does not lead".to_owned()));
        };
        let [leader, sequence] = ["leader", "sequence"].map(|end| self.address.key(end));
        let mut operations: Vec<Value> = changes
            .iter()
            .map(|(number, grant)| match grant {
                Some(grant) => put(&self.grant(*number), grant, 0),
                None => delete(&self.grant(*number)),
            })
            .collect();
        loop {
            let patience = until.saturating_duration_since(Instant::now());
            let compare = [is_created_at(&leader, term.revision), has_value(&sequence, &term.sequence())];
            let next = Term { changes: term.changes.saturating_add(1), ..term };
            operations.push(put(&sequence, next.sequence(), 0));
            let asked = self.transact(&compare, &operations, &[get(&leader), get(&sequence)], patience);
            operations.pop();
            match asked {
                Ok((true, _)) => {
                    self.term = Some(next);
                    return Ok(());
                }
                Ok((false, found)) => {
                    let value = |index: usize| found.get(index).and_then(|range| range.first());
                    if value(0).is_none_or(|entry| entry.created != term.revision) {
                        self.shared.leadership().is_fenced(self.shared.now(), term.revision);
                        self.shared.wake();
                        self.term = None;
                        return Err(Trouble::Refused(NOT_LEADING, "another manager leads".to_owned()));
                    }
                    // An earlier change has arrived, of which that was not known.
                    if value(1).is_some_and(|entry| entry.value == next.sequence().as_bytes()) {
                        term = next;
                        self.term = Some(term);
                        continue;
                    }
                    let is = value(1).map(|entry| shown(&entry.value)).unwrap_or_default();
                    return Err(wrong(
                        &sequence,
                        &format!("is \"{is}\", which this manager has not written:"),
                    ));
                }
                // There is time for another member.
                Err(Trouble::Away(_)) if Instant::now() + PAUSE < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Writes what may not be written yet, but for so many.
    fn settle(&mut self, left: usize, until: Instant) -> Result<(), Trouble> {
        while self.doubtful.len() > left {
            let some: Vec<u64> = self.doubtful.iter().copied().take(MOST_CHANGES).collect();
            let grants = std::mem::take(&mut self.grants);
            let changes =
                some.iter().map(|number| (*number, grants.get(number).map(Vec::as_slice))).collect();
            let written = self.write(&changes, until);
            self.grants = grants;
            written?;
            for number in some {
                self.doubtful.remove(&number);
            }
        }
        Ok(())
    }

    fn try_change(&mut self, changes: &[Change]) -> Result<(), Trouble> {
        let until = Instant::now() + CHANGE;
        self.settle(MOST_CHANGES.saturating_sub(changes.len()), until)?;
        let grants = std::mem::take(&mut self.grants);
        let mut wanted: BTreeMap<u64, Option<&[u8]>> =
            self.doubtful.iter().map(|number| (*number, grants.get(number).map(Vec::as_slice))).collect();
        wanted.extend(changes.iter().map(|(number, grant)| (*number, grant.as_deref())));
        let bytes: usize = wanted.values().flatten().map(|grant| grant.len()).sum();
        let written = match bytes {
            ..=MOST_BYTES => self.write(&wanted, until),
            _ => Err(Trouble::Refused(
                TOO_MUCH,
                format!("{bytes} bytes of grants at once, and {MOST_BYTES} are the most"),
            )),
        };
        let numbers: Vec<u64> = wanted.into_keys().collect();
        self.grants = grants;
        match &written {
            Ok(()) => self.doubtful.clear(),
            Err(_) => self.doubtful.extend(numbers),
        }
        written
    }
}

impl Store for EtcdStore {
    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        let standing = self.shared.leadership().standing(self.shared.now());
        let leadership::Standing::Leads(revision) = standing else {
            return Err(
                self.failed_by(&Trouble::Refused(NOT_LEADING, "this manager does not lead".to_owned()))
            );
        };
        self.begin(revision).map_err(|trouble| self.failed_by(&trouble))
    }

    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(self.grants.iter().map(|(number, grant)| (*number, grant.clone())).collect())
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        if let Some((until, why)) = &self.fails
            && Instant::now() < *until
        {
            return Err(self.failed(why));
        }
        if changes.len() > MOST_CHANGES {
            return Err(
                self.failed(format!("{} changes at once, and {MOST_CHANGES} are the most", changes.len()))
            );
        }
        self.try_change(changes).map_err(|trouble| {
            self.fails = Some((Instant::now() + PAUSE, trouble.to_string()));
            self.failed_by(&trouble)
        })?;
        self.fails = None;
        keep(&mut self.grants, changes);
        Ok(())
    }

    fn most_changes(&self) -> usize {
        MOST_CHANGES
    }

    fn standing(&self) -> Standing {
        let leadership = self.shared.leadership();
        match leadership.standing(self.shared.now()) {
            leadership::Standing::Leads(_) => Standing::Leads,
            leadership::Standing::Unsure(_) => Standing::Unsure,
            leadership::Standing::Idle | leadership::Standing::StandsBy => {
                Standing::StandsBy(leadership.holder().map(str::to_owned))
            }
        }
    }

    fn stand_by(&mut self) {
        self.term = None;
        self.shared.leadership().stand_by(self.shared.now());
        self.shared.wake();
    }

    fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    fn place(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        self.shared.end();
        self.questions = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic, and ends soon.
            let _ = thread.join();
        }
    }
}

/// Something under the prefix that nothing of this program has written.
fn wrong(key: &str, what: &str) -> Trouble {
    let words = format!(
        "the key {key} {what} delete it with `etcdctl del`, or give another name after the address (/NAME)"
    );
    Trouble::Refused(WRONG, words)
}

/// Codes that gRPC does not have: this process does not lead; [`wrong`]; more than etcd takes at once.
const NOT_LEADING: i64 = -3;
const WRONG: i64 = -2;
const TOO_MUCH: i64 = -4;

/// Bytes as an error shows them.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..bytes.len().min(100)).unwrap_or_default()).escape_debug().to_string()
}
