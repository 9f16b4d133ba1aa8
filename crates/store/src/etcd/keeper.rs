//! The thread that speaks with etcd: one task keeps the lead or waits for it, one asks what the store's owner wants to know. Neither waits for
//! the other, as each has a connection of its own.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::{info, warn};

use super::Address;
use super::http::{Connection, Trouble};
use super::words::{get, is_created_at, number, put, transacted, transaction};
use crate::leadership::{Answer, Ask, Leadership, SECONDS};

/// The longest wait for what etcd answers from memory, and for what it writes to its disks.
const READS: Duration = Duration::from_millis(400);
const WRITES: Duration = Duration::from_secs(1);
/// The longest wait at the end for the lease to be given back.
const GOODBYE: Duration = Duration::from_millis(500);
/// Characters of what a leader says of itself that are repeated.
const LONGEST_NAME: usize = 200;

/// A question of the owner: where to, what, how long it may take, and who hears the answer.
pub(super) struct Question {
    pub(super) path: &'static str,
    pub(super) words: Value,
    pub(super) patience: Duration,
    pub(super) answer: SyncSender<Result<Value, Trouble>>,
}

/// What the thread and the owner share.
pub(super) struct Shared {
    start: Instant,
    leadership: Mutex<Leadership>,
    trouble: Mutex<Option<String>>,
    /// What tells this store from others, once a leader has given it that.
    identity: Mutex<Option<String>>,
    wake: Notify,
    ends: AtomicBool,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            leadership: Mutex::new(Leadership::new(Duration::ZERO)),
            trouble: Mutex::new(None),
            identity: Mutex::new(None),
            wake: Notify::new(),
            ends: AtomicBool::new(false),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// No thread panics while it holds it, and what is in it is whole between calls.
    pub(super) fn leadership(&self) -> MutexGuard<'_, Leadership> {
        self.leadership.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn identity(&self) -> Option<String> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Something has changed that the thread does not know.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Gives back what is held, and ends the thread.
    pub(super) fn end(&self) {
        self.leadership().resign(self.now());
        self.ends.store(true, Ordering::Release);
        self.wake();
    }

    /// Keeps what is wrong, and writes it when it begins and when it is over.
    fn note(&self, place: &Address, trouble: Option<&Trouble>) {
        let mut known = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match (trouble, known.is_some()) {
            // What exactly changes from try to try.
            (Some(trouble), before) => {
                if !before {
                    warn!("the store {place}: {trouble}");
                }
                *known = Some(trouble.to_string());
            }
            (None, true) => {
                info!("the store {place} answers again");
                *known = None;
            }
            (None, false) => {}
        }
    }
}

/// Asks for the owner until it is gone.
pub(super) async fn ask_for(mut connection: Connection, mut questions: UnboundedReceiver<Question>) {
    while let Some(Question { path, words, patience, answer }) = questions.recv().await {
        // Who has waited for too long is gone.
        let _ = answer.try_send(connection.ask(path, &words, patience).await);
    }
}

/// Does what the leadership wants until the end.
pub(super) async fn keep(mut connection: Connection, address: Address, shared: Arc<Shared>) {
    let value = own_name();
    let mut ends_by = None;
    loop {
        let now = shared.now();
        if shared.ends.load(Ordering::Acquire) {
            let until = *ends_by.get_or_insert(now.saturating_add(GOODBYE));
            if now >= until || !shared.leadership().holds_lease() {
                return;
            }
        }
        let (ask, due) = {
            let mut leadership = shared.leadership();
            (leadership.poll_ask(now), leadership.poll_timeout())
        };
        let Some(ask) = ask else {
            let wait = due.map_or(READS, |due| due.saturating_sub(now));
            let _ = tokio::time::timeout(wait.max(Duration::from_millis(1)), shared.wake.notified()).await;
            continue;
        };
        let answer = put_to(&mut connection, &address, &shared, &value, ask).await;
        shared.note(&address, answer.as_ref().err());
        shared.leadership().answered(shared.now(), answer.unwrap_or(Answer::Unknown));
    }
}

/// What this process says of itself while it leads.
pub(super) fn own_name() -> String {
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    format!("{}, process {}", host.unwrap_or_else(|| "an unnamed host".to_owned()), std::process::id())
}

async fn put_to(
    connection: &mut Connection,
    address: &Address,
    shared: &Shared,
    own: &str,
    ask: Ask,
) -> Result<Answer, Trouble> {
    let leader = address.key("leader");
    match ask {
        Ask::Look => {
            let words = transaction(&[], &[get(&leader), get(&address.key("identity"))], &[]);
            let (_, ranges) = transacted(&connection.ask("/v3/kv/txn", &words, READS).await?)?;
            let mut ranges = ranges.into_iter();
            let leader = ranges.next().unwrap_or_default();
            let identity = ranges.flatten().next().map(|entry| shown(&entry.value));
            *shared.identity.lock().unwrap_or_else(PoisonError::into_inner) = identity;
            Ok(Answer::Holder(holder(leader)))
        }
        Ask::Grant => {
            let answer =
                connection.ask("/v3/lease/grant", &json!({"TTL": SECONDS.to_string()}), WRITES).await?;
            let (lease, length) = (number(&answer, "ID")?, seconds(&answer)?);
            match length {
                Some(length) if lease != 0 => Ok(Answer::Granted(lease, length)),
                _ => Err(Trouble::Strange("a lease without a number or a length".to_owned())),
            }
        }
        Ask::Campaign(lease) => {
            let created = [put(&leader, own, lease), get(&leader)];
            let words = transaction(&[is_created_at(&leader, 0)], &created, &[get(&leader)]);
            let (won, ranges) = transacted(&connection.ask("/v3/kv/txn", &words, WRITES).await?)?;
            let holder = holder(ranges.into_iter().flatten().collect());
            match (won, holder) {
                (true, Some((revision, _))) => Ok(Answer::Won(revision)),
                (true, None) => Err(Trouble::Strange("a key that was written and is not there".to_owned())),
                (false, holder) => Ok(Answer::Holder(holder)),
            }
        }
        Ask::Renew(lease) => {
            let answer =
                connection.ask("/v3/lease/keepalive", &json!({"ID": lease.to_string()}), READS).await?;
            let result = answer.get("result").unwrap_or(&Value::Null);
            Ok(Answer::Renewed(seconds(result)?))
        }
        Ask::Revoke(lease) => {
            let revoked = connection.ask("/v3/lease/revoke", &json!({"ID": lease.to_string()}), WRITES).await;
            match revoked {
                // It has ended already.
                Ok(_) | Err(Trouble::Refused(5, _)) => Ok(Answer::Revoked),
                Err(trouble) => Err(trouble),
            }
        }
    }
}

/// The length of a lease; none if it has ended.
fn seconds(answer: &Value) -> Result<Option<Duration>, Trouble> {
    Ok(u64::try_from(number(answer, "TTL")?).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs))
}

fn holder(entries: Vec<super::words::Entry>) -> Option<(i64, String)> {
    entries.into_iter().next().map(|entry| (entry.created, shown(&entry.value)))
}

/// What is under a key, as far as it is repeated.
fn shown(value: &[u8]) -> String {
    String::from_utf8_lossy(value).chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect()
}
