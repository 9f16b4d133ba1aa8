//! A store in etcd, which several managers of a network share; one of them leads.
//!
//! Below the prefix of a name there are: `format`, `identity` (which tells this store from others), `epoch`, `leader` (bound to the leader's lease),
//! `sequence`, `network` (the network file that leads), `grants/` with a key of 16 hexadecimal digits for each grant, and `drains/` with a key for each
//! switch that is drained, by its name. Each change is one transaction, which compares that the key `leader` is the one that this process created, and that `sequence` has the value of the change before: so a change of one that leads no longer does nothing, and neither does one that
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
use crate::{Change, Key, Standing, Store, StoreError, keep, listed, next_epoch_after};
use http::{Connection, Trouble};
use keeper::{Question, Shared};
use words::{
    Entry, delete, encoded, entries, get, has_value, is_created_at, put, range, transacted, transaction,
};

/// Reads bytes as an answer of etcd, as the store does: how many entries are in it.
///
/// # Errors
/// What is wrong with it, or what etcd refuses.
pub fn read_answer(bytes: &[u8]) -> Result<usize, String> {
    let answer = http::read(200, bytes).map_err(|trouble| trouble.to_string())?;
    let of_range = entries(&answer).map_err(|trouble| trouble.to_string())?;
    let (_, of_transaction) = transacted(&answer).map_err(|trouble| trouble.to_string())?;
    for key in ["ID", "TTL", "revision"] {
        words::number(&answer, key).map_err(|trouble| trouble.to_string())?;
    }
    Ok(of_range.len() + of_transaction.iter().map(Vec::len).sum::<usize>())
}

/// The longest time that a change takes, or fails.
const CHANGE: Duration = Duration::from_secs(1);
/// The longest time that reading all takes, or fails; and a piece of it.
const START: Duration = Duration::from_secs(20);
const PIECE: Duration = Duration::from_secs(3);
/// The wait after a change that failed, in which others fail at once: the owner has more to do than to wait for them.
const PAUSE: Duration = Duration::from_millis(300);
/// Changes in one transaction: etcd takes 128 operations, if it is not told to take more (`--max-txn-ops`).
const MOST_CHANGES: usize = 64;
/// Bytes of what is kept in one transaction: etcd takes 1.5 MiB, if it is not told to take more (`--max-request-bytes`).
const MOST_BYTES: usize = 1 << 20;
/// Bytes of a network file: half of that, so that there is room for as many grants beside it when what is in doubt is written again.
const MOST_BYTES_OF_NETWORK: usize = MOST_BYTES / 2;
/// Things that are read at once; and in all, which is more than a manager knows requests.
const PAGE: usize = 100;
const MOST_KEPT: usize = 1 << 17;
/// Bytes of all of it.
const MOST_BYTES_OF_ALL: usize = 256 << 20;
/// What the keys mean; another text is refused, but those before: 2 has no drains, and 3 no network file. Programs of that time must not overlook them.
const FORMAT: &str = "punctual grants 4";
const FORMATS_BEFORE: [&str; 2] = ["punctual grants 2", "punctual grants 3"];

/// A store in etcd.
pub struct EtcdStore {
    address: Address,
    shared: Arc<Shared>,
    /// `None` when it ends.
    questions: Option<UnboundedSender<Question>>,
    thread: Option<JoinHandle<()>>,
    term: Option<Term>,
    kept: BTreeMap<Key, Vec<u8>>,
    /// Of these it is not known whether etcd has what is in `kept`.
    doubtful: BTreeSet<Key>,
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
            kept: BTreeMap::new(),
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

    /// Checks that the state that is kept is of this format.
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
            Some(format) if FORMATS_BEFORE.map(str::as_bytes).contains(&format) => {}
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
        let mut written = vec![
            put(&key("format"), FORMAT, 0),
            put(&key("epoch"), epoch.to_string(), 0),
            put(&key("sequence"), term.sequence(), 0),
        ];
        // No two stores have the same: the epoch has the time, and the revision counts the changes of this etcd.
        if entries(&self.ask("/v3/kv/range", json!({"key": encoded(key("identity"))}), PIECE)?)?.is_empty() {
            let identity = format!("{epoch} {revision} {}", keeper::own_name());
            written.push(put(&key("identity"), identity, 0));
        }
        let (is_ours, _) = self.transact(&[is_created_at(&key("leader"), revision)], &written, &[], PIECE)?;
        if !is_ours {
            return Err(Trouble::Refused(NOT_LEADING, "another manager leads".to_owned()));
        }
        // No other manager writes from here on, and nothing that this process has written before comes any more.
        self.kept = self.read_all()?;
        self.doubtful.clear();
        (self.term, self.fails) = (Some(term), None);
        Ok(epoch)
    }

    /// All that is kept.
    fn read_all(&self) -> Result<BTreeMap<Key, Vec<u8>>, Trouble> {
        let (began, mut kept, mut bytes) = (Instant::now(), BTreeMap::new(), 0_usize);
        let network = json!({"key": encoded(self.path(&Key::Network))});
        let network = entries(&self.ask("/v3/kv/range", network, PIECE)?)?;
        kept.extend(network.into_iter().map(|entry| (Key::Network, entry.value)));
        for folder in ["grants", "drains", "deployments", "interdomain"] {
            let prefix = self.address.key(&format!("{folder}/"));
            // The character after the last one of the prefix.
            let end = self.address.key(&format!("{folder}0"));
            let mut from = Some(prefix.clone());
            while let Some(first) = from.take() {
                if began.elapsed() > START {
                    return Err(Trouble::Away(format!("reading all takes more than {} s", START.as_secs())));
                }
                let page = entries(&self.ask("/v3/kv/range", range(&first, &end, PAGE), PIECE)?)?;
                let is_last = page.len() < PAGE;
                for Entry { key, value, .. } in page {
                    let known = key.strip_prefix(&prefix).and_then(|name| key_of(folder, name));
                    let known = known.filter(|known| self.path(known) == key);
                    let known = known
                        .ok_or_else(|| wrong(&shown(key.as_bytes()), &format!("is none of the {folder}:")))?;
                    bytes = bytes.saturating_add(value.len());
                    if kept.len() >= MOST_KEPT || bytes > MOST_BYTES_OF_ALL {
                        return Err(wrong(&prefix, "has more than any manager writes:"));
                    }
                    kept.insert(known, value);
                    from = (!is_last).then(|| format!("{key}\0"));
                }
            }
        }
        Ok(kept)
    }

    /// Where something is kept.
    fn path(&self, key: &Key) -> String {
        self.address.key(&match key {
            Key::Grant(number) => format!("grants/{number:016x}"),
            Key::Drain(name) => format!("drains/{name}"),
            Key::Network => "network".to_owned(),
            Key::Deployment(name) => format!("deployments/{name}"),
            Key::Interdomain(name) => format!("interdomain/{name}"),
        })
    }

    /// Writes these, and what may not be written yet, until a time.
    fn write(&mut self, changes: &BTreeMap<Key, Option<&[u8]>>, until: Instant) -> Result<(), Trouble> {
        let Some(mut term) = self.term else {
            return Err(Trouble::Refused(NOT_LEADING, "this manager does not lead".to_owned()));
        };
        let [leader, sequence] = ["leader", "sequence"].map(|end| self.address.key(end));
        let mut operations: Vec<Value> = changes
            .iter()
            .map(|(key, value)| match value {
                Some(value) => put(&self.path(key), value, 0),
                None => delete(&self.path(key)),
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
            let some: Vec<Key> = self.doubtful.iter().take(MOST_CHANGES).cloned().collect();
            let kept = std::mem::take(&mut self.kept);
            let changes = some.iter().map(|key| (key.clone(), kept.get(key).map(Vec::as_slice))).collect();
            let written = self.write(&changes, until);
            self.kept = kept;
            written?;
            for key in &some {
                self.doubtful.remove(key);
            }
        }
        Ok(())
    }

    fn try_change(&mut self, changes: &[Change]) -> Result<(), Trouble> {
        let until = Instant::now() + CHANGE;
        let new: usize = changes.iter().filter_map(|(_, value)| value.as_ref()).map(Vec::len).sum();
        let doubtful = self.doubtful.iter().filter_map(|key| self.kept.get(key)).map(Vec::len);
        let has_room = new.saturating_add(doubtful.sum()) <= MOST_BYTES;
        let left = if has_room { MOST_CHANGES.saturating_sub(changes.len()) } else { 0 };
        self.settle(left, until)?;
        let kept = std::mem::take(&mut self.kept);
        let mut wanted: BTreeMap<Key, Option<&[u8]>> =
            self.doubtful.iter().map(|key| (key.clone(), kept.get(key).map(Vec::as_slice))).collect();
        wanted.extend(changes.iter().map(|(key, value)| (key.clone(), value.as_deref())));
        let bytes: usize = wanted.values().flatten().map(|value| value.len()).sum();
        let written = match bytes {
            ..=MOST_BYTES => self.write(&wanted, until),
            _ => Err(Trouble::Refused(
                TOO_MUCH,
                format!("{bytes} bytes at once, and {MOST_BYTES} are the most"),
            )),
        };
        let keys: Vec<Key> = wanted.into_keys().collect();
        self.kept = kept;
        match &written {
            Ok(()) => self.doubtful.clear(),
            Err(_) => self.doubtful.extend(keys),
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

    fn kept(&self) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        Ok(listed(&self.kept))
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
        keep(&mut self.kept, changes);
        Ok(())
    }

    fn most_changes(&self) -> usize {
        MOST_CHANGES
    }

    fn most_bytes_of_network(&self) -> usize {
        MOST_BYTES_OF_NETWORK
    }

    fn identity(&self) -> Option<String> {
        self.shared.identity()
    }

    fn unreadable(&self, key: &Key, what: &str) -> StoreError {
        self.failed_by(&wrong(&self.path(key), &format!("{what};")))
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

/// What a name in a folder stands for.
fn key_of(folder: &str, name: &str) -> Option<Key> {
    match folder {
        "grants" => u64::from_str_radix(name, 16).ok().map(Key::Grant),
        "deployments" => Some(Key::Deployment(name.to_owned())),
        "interdomain" => Some(Key::Interdomain(name.to_owned())),
        _ => Some(Key::Drain(name.to_owned())),
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
