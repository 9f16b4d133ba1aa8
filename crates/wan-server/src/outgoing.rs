//! Messages to the manager of another domain: a bounded queue, and a connection that is made again when it ends.
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use connections::{From, To, why};
use keys::{Identity, Role};
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use crate::event::Event;
use crate::framing::{ALIVE, BEAT, SILENCE, next, put};

/// Messages that wait at most. The oldest ones are left out first: what they said has been said again by later ones, or will be.
const WAITING: usize = 8_192;
/// How long making a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// The wait before a connection is made again, at first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What is to be sent to one manager.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    waiting: Mutex<VecDeque<Vec<u8>>>,
    more: Notify,
    dropped: AtomicU64,
    is_connected: AtomicBool,
}

impl Outgoing {
    /// One message more.
    pub(crate) fn push(&self, message: Vec<u8>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING {
            waiting.pop_front();
            self.dropped.fetch_add(1, Relaxed);
        }
        waiting.push_back(message);
        drop(waiting);
        self.more.notify_one();
    }

    /// Messages that were left out.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// A connection is there.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Relaxed)
    }

    /// All that waits, as bytes of a connection.
    fn take(&self) -> Vec<u8> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        waiting.drain(..).for_each(|message| put(&message, &mut bytes));
        bytes
    }
}

/// Sends what comes to the manager of a domain at an address, for ever.
pub(crate) async fn run(
    asn: u32,
    address: String,
    identity: Identity,
    outgoing: Arc<Outgoing>,
    tell: Sender<Event>,
) {
    let mut pause = PAUSE;
    let mut told = None;
    loop {
        let trouble = match connect(asn, &address, &identity).await {
            Ok(stream) => {
                let began = Instant::now();
                outgoing.is_connected.store(true, Relaxed);
                if told.take().is_some() {
                    let _ = tell.send(Event::Odd(format!("AS {asn}: connected again"))).await;
                }
                let (from, to) = tokio::io::split(stream);
                let what = serve(from, to, &outgoing).await;
                outgoing.is_connected.store(false, Relaxed);
                if began.elapsed() > LONGEST_PAUSE {
                    pause = PAUSE;
                }
                format!("the connection has ended: {what}")
            }
            Err(what) => what,
        };
        // The same is told once.
        if told.as_ref() != Some(&trouble) {
            let _ = tell.send(Event::Odd(format!("AS {asn} at {address}: {trouble}"))).await;
            told = Some(trouble);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect(asn: u32, address: &str, identity: &Identity) -> Result<connections::Stream, String> {
    let role = Role::Domain(asn);
    let secure = identity.client_to(role).map_err(|error| error.to_string())?;
    match timeout(CONNECTING, connections::connect(address, Some(secure))).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(why(&error, role).unwrap_or_else(|| error.to_string())),
        Err(_) => Err(format!("no connection in {} s", CONNECTING.as_secs())),
    }
}

/// Until the connection ends: why it does.
async fn serve(mut from: From, mut to: To, outgoing: &Outgoing) -> String {
    // The other end says nothing but that it is there.
    let hears = async {
        loop {
            match next(&mut from).await {
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
    };
    let tells = async {
        loop {
            let _ = timeout(BEAT, outgoing.more.notified()).await;
            let mut bytes = outgoing.take();
            if bytes.is_empty() {
                bytes.extend(ALIVE);
            }
            let sent = async {
                to.write_all(&bytes).await?;
                to.flush().await
            };
            match timeout(SILENCE, sent).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return error.to_string(),
                Err(_) => return format!("it has not read for {} s", SILENCE.as_secs()),
            }
        }
    };
    tokio::select! {
        why = hears => why,
        why = tells => why,
    }
}
