//! What a manager holds, in its store: read at the start, and written in groups, in order, by a thread of its own.
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use store::{Change, Store};
use wan::{AggregateId, Key, Record, SessionId};

use crate::domain_file::class_name;

/// The wait before what could not be written is written again.
const AGAIN: Duration = Duration::from_secs(1);
/// Changes that are written together at most.
const TOGETHER: usize = 4_096;
/// What the number of the last start is called in the store.
const EPOCH: &str = "epoch";

/// A record that is to be durable, and the number that says so.
pub(crate) struct Write {
    pub(crate) ticket: u64,
    pub(crate) key: Key,
    pub(crate) record: Option<Record>,
}

/// What the writer tells.
pub(crate) enum Written {
    /// These are durable.
    Stored(Vec<u64>),
    /// It does not work: why. It is tried again until it does.
    Trouble(String),
}

/// What a key is called in the store.
fn name(key: Key) -> String {
    let session = |SessionId { origin, number }| format!("{}-{number}", origin.0);
    match key {
        Key::Aggregate(AggregateId { tunnel, class }) => {
            format!("aggregate-{}-{}-{}", tunnel.origin.0, tunnel.number, class_name(class))
        }
        Key::Own(id) => format!("own-{}", session(id)),
        Key::Hosted(id) => format!("hosted-{}", session(id)),
    }
}

/// Begins a new start: its number, which is greater than that of all before, and durable; and what earlier ones have left.
///
/// # Errors
/// The store does not work, is that of another kind of manager, or has what cannot be read.
pub(crate) fn begin(store: &mut dyn Store) -> Result<(u32, Vec<(Key, Record)>), String> {
    // It looks whether the store can be written; its numbers have too many bits for messages.
    store.next_epoch().map_err(|error| error.to_string())?;
    let (mut last, mut records) = (0_u32, Vec::new());
    for (key, bytes) in store.kept().map_err(|error| error.to_string())? {
        let store::Key::Interdomain(called) = &key else {
            return Err(format!(
                "{}: it is the store of another kind of manager: name another file",
                store.place()
            ));
        };
        let unreadable = |what: &str| store.unreadable(&key, what).to_string();
        if called == EPOCH {
            let number = bytes.as_slice().try_into().map(u32::from_be_bytes);
            last = number.map_err(|_| unreadable("the number of the last start has not 4 bytes"))?;
            continue;
        }
        let (of, record) = Record::decode(&bytes).map_err(|error| {
            unreadable(&format!("the record {called} cannot be read {error}; what it holds would be let go"))
        })?;
        if name(of) != *called {
            return Err(unreadable(&format!("the record {called} is that of {}", name(of))));
        }
        records.push((of, record));
    }
    // Also if the store was lost and made anew.
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
    let epoch =
        last.checked_add(1).ok_or("the store has counted 2^32 starts: begin with a new one")?.max(seconds);
    let change = (store::Key::Interdomain(EPOCH.to_owned()), Some(epoch.to_be_bytes().to_vec()));
    store.change(&[change]).map_err(|error| error.to_string())?;
    Ok((epoch, records))
}

/// Writes until nothing more can come: all that has come meanwhile is one change, in its order. What could not be written is written again before
/// anything else.
pub(crate) fn run(
    mut store: Box<dyn Store>,
    writes: Receiver<Write>,
    tell: impl Fn(Written) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let run = move || {
        while let Ok(first) = writes.recv() {
            let (mut tickets, mut changes): (Vec<u64>, Vec<Change>) = (Vec::new(), Vec::new());
            let group = std::iter::once(first).chain(writes.try_iter().take(TOGETHER - 1));
            for Write { ticket, key, record } in group {
                // Lists are never longer than what is read: `wan` has limited them already.
                let value = record.and_then(|record| record.encode(key));
                tickets.push(ticket);
                changes.push((store::Key::Interdomain(name(key)), value));
            }
            while let Err(error) = store.change(&changes) {
                if !tell(Written::Trouble(error.to_string())) {
                    return;
                }
                thread::sleep(AGAIN);
            }
            if !tell(Written::Stored(tickets)) {
                return;
            }
        }
    };
    thread::Builder::new().name("store".to_owned()).spawn(run).map(drop)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use store::{FileStore, MemoryStore, StoreError};
    use wan::{Asn, HostedSession};

    use super::*;

    /// A store that waits before each change until it is told what becomes of it, and says which changes it was given.
    struct Led {
        within: MemoryStore,
        allowed: Receiver<bool>,
        given: Sender<Vec<Change>>,
    }

    impl Store for Led {
        fn next_epoch(&mut self) -> Result<u64, StoreError> {
            self.within.next_epoch()
        }

        fn kept(&self) -> Result<Vec<(store::Key, Vec<u8>)>, StoreError> {
            self.within.kept()
        }

        fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
            self.given.send(changes.to_vec()).unwrap();
            if self.allowed.recv().unwrap() {
                return self.within.change(changes);
            }
            // The error of another store: no path goes through a file.
            FileStore::open(Path::new("/dev/null/none")).map(drop)
        }

        fn place(&self) -> String {
            self.within.place()
        }
    }

    fn write(ticket: u64, number: u64, is_there: bool) -> Write {
        let record = HostedSession {
            caller: "10.0.0.1".parse().unwrap(),
            callees: Vec::new(),
            flows: Vec::new(),
            rates: vec![ticket],
            legs: Vec::new(),
        };
        let key = Key::Hosted(SessionId { origin: Asn(1), number });
        Write { ticket, key, record: is_there.then_some(Record::Hosted(record)) }
    }

    #[test]
    fn what_comes_while_it_writes_is_one_change_in_order_and_told_when_it_is_durable() {
        let (allow, allowed) = channel();
        let (given, changes) = channel();
        let (say, told) = channel();
        let (put, writes) = channel();
        let store = Led { within: MemoryStore::default(), allowed, given };
        run(Box::new(store), writes, move |news| say.send(news).is_ok()).unwrap();
        let names = |changes: Vec<Change>| -> Vec<(String, bool)> {
            let name = |(key, value): Change| match key {
                store::Key::Interdomain(name) => (name, value.is_some()),
                other => panic!("{other:?}"),
            };
            changes.into_iter().map(name).collect()
        };
        put.send(write(1, 1, true)).unwrap();
        let first = names(changes.recv().unwrap());
        assert_eq!(first, [("hosted-1-1".to_owned(), true)]);
        for (ticket, number, is_there) in [(2, 2, true), (3, 1, false), (4, 1, true)] {
            put.send(write(ticket, number, is_there)).unwrap();
        }
        assert!(told.try_recv().is_err(), "nothing is durable yet");
        allow.send(true).unwrap();
        assert!(matches!(told.recv().unwrap(), Written::Stored(tickets) if tickets == [1]));
        // The three are one change, in their order; it fails, and is tried again before anything else.
        let second = changes.recv().unwrap();
        put.send(write(5, 3, true)).unwrap();
        allow.send(false).unwrap();
        assert!(matches!(told.recv().unwrap(), Written::Trouble(_)));
        let again = changes.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(second, again);
        let order = [("hosted-1-2", true), ("hosted-1-1", false), ("hosted-1-1", true)];
        assert_eq!(names(again), order.map(|(name, is_there)| (name.to_owned(), is_there)));
        assert!(told.try_recv().is_err(), "it has failed, and is said to be durable");
        allow.send(true).unwrap();
        assert!(matches!(told.recv().unwrap(), Written::Stored(tickets) if tickets == [2, 3, 4]));
        assert_eq!(names(changes.recv().unwrap()).len(), 1);
        allow.send(true).unwrap();
        assert!(matches!(told.recv().unwrap(), Written::Stored(tickets) if tickets == [5]));
    }

    #[test]
    fn a_start_has_a_greater_number_and_what_earlier_ones_have_left() {
        let mut store = MemoryStore::default();
        let (first, records) = begin(&mut store).unwrap();
        assert!(records.is_empty() && first > 1_700_000_000, "{first}");
        let Write { key, record, .. } = write(7, 9, true);
        let record = record.unwrap();
        let bytes = record.encode(key).unwrap();
        let named = |called: &str| store::Key::Interdomain(called.to_owned());
        store.change(&[(named("hosted-1-9"), Some(bytes.clone()))]).unwrap();
        let (second, records) = begin(&mut store).unwrap();
        assert!(second > first);
        assert_eq!(records, [(key, record)]);
        // What is not as it was written is not passed over: what it held would be let go.
        for (called, bytes, what) in [
            ("hosted-1-8", bytes.clone(), "is that of hosted-1-9"),
            ("hosted-1-9", bytes[1..].to_vec(), "cannot be read"),
            ("epoch", vec![1], "has not 4 bytes"),
        ] {
            let mut store = MemoryStore::default();
            store.change(&[(named(called), Some(bytes))]).unwrap();
            let said = begin(&mut store).unwrap_err();
            assert!(said.contains(what), "{said}");
        }
        let mut other = MemoryStore::default();
        other.change(&[(store::Key::Grant(1), Some(Vec::new()))]).unwrap();
        assert!(begin(&mut other).unwrap_err().contains("another kind of manager"));
    }
}
