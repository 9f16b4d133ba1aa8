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
