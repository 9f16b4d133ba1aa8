//! The client for programs: a thread with sockets and files of its own, and a handle that asks it.
use std::collections::BTreeMap;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::qos::QosResources;
use diameter::session::client::EndReason;
use system::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{sleep_until, timeout};
use tracing::info;

use super::clock::{Clock, random};
use super::serve::make_store;
use super::sockets::Sockets;
use super::storage::Storage;
use crate::client::{Ask, Client, Output, Permit, Refusal};
use crate::entry::SpoolEntry;
use crate::journal::Journal;
use crate::node_file::Node;

/// The file of a client in the folder of its store.
const SPOOL: &str = "spool";
/// Bytes that the file may have before it is written anew.
const LEAST_REWRITE: u64 = 4 << 20;

/// What a program has to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A session is over: stop serving it, then say so by [`Handle::stop`] if it is accounted.
    Ended {
        /// The session.
        session: String,
        /// Why; [`EndReason::Aborted`] if the server has ended it.
        reason: EndReason,
    },
    /// A grant was renewed, maybe with less.
    Renewed(Permit),
    /// Tell what was delivered, by [`Handle::interim`].
    InterimDue(String),
}

/// Something that will be known.
#[derive(Debug)]
pub struct Pending<T>(oneshot::Receiver<T>);

impl<T> Pending<T> {
    /// Waits for it, in a thread without an event loop. `None` if the client has ended.
    pub fn wait(self) -> Option<T> {
        self.0.blocking_recv().ok()
    }

    /// Waits for it in an event loop. `None` if the client has ended.
    pub async fn known(self) -> Option<T> {
        self.0.await.ok()
    }
}

/// A session of an earlier run that goes on.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The session.
    pub session: String,
    /// What was asked for.
    pub ask: Ask,
    /// How long its grant holds still.
    pub remaining: Duration,
}

/// The clock of a client.
#[derive(Clone, Copy, Debug)]
pub struct Clocks(Clock);

impl Clocks {
    /// When a grant ends, by the clock of this host; `None` if the server has said no end.
    pub fn until(&self, permit: &Permit) -> Option<Instant> {
        self.0.far_instant(permit.until?)
    }
}

/// What happens to the sessions of a client.
#[derive(Debug)]
pub struct Events(UnboundedReceiver<Event>);

impl Events {
    /// The next one, in an event loop; `None` if the client has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}

enum Order {
    Authorize(Ask, oneshot::Sender<Result<Permit, Refusal>>),
    AuthorizeAs(String, Ask, oneshot::Sender<Result<Permit, Refusal>>),
    Account(String, String, QosResources, oneshot::Sender<Result<(), String>>),
    Start(String, oneshot::Sender<Result<(), String>>),
    Interim(String, Usage, oneshot::Sender<Result<(), String>>),
    Stop(String, Usage, TerminationCause, oneshot::Sender<Result<(), String>>),
    End(String, TerminationCause),
    Undelivered(oneshot::Sender<(usize, bool)>),
    Close,
    Leave,
}

/// The client of a program. When it is dropped, its thread says good-bye and ends.
#[derive(Debug)]
pub struct Handle {
    orders: UnboundedSender<Order>,
    events: UnboundedReceiver<Event>,
    thread: Option<JoinHandle<()>>,
    clock: Clock,
    /// What the last records of sessions that go on said.
    told: BTreeMap<String, Usage>,
}

/// What the thread of spooling has to write.
enum Write {
    Append(SpoolEntry),
    Rewrite(Vec<SpoolEntry>),
}

impl Handle {
    /// Starts a client. Records of an earlier run that the server has not confirmed are sent, and sessions of it that were
    /// accounted are over.
    ///
    /// # Errors
    /// A file or a key cannot be read, or an address cannot be listened at.
    pub fn start(node: Node) -> Result<Self, Error> {
        Self::start_keeping(node, Vec::new(), &[])
    }

    /// Starts a client as [`Handle::start`] does; these sessions of an earlier run go on, because what serves them has outlived it. For each of
    /// them there is [`Event::Renewed`] or [`Event::Ended`]. So do the records of `accounts`, sessions that no server was asked for: those that have
    /// any are in [`Handle::told`].
    ///
    /// # Errors
    /// A file or a key cannot be read, or an address cannot be listened at.
    pub fn start_keeping(node: Node, kept: Vec<Kept>, accounts: &[String]) -> Result<Self, Error> {
        make_store(&node.store)?;
        let (mut journal, found) = Journal::open::<SpoolEntry>(&node.store.join(SPOOL))?;
        let clock = Clock::start();
        let mut client = Client::new(node.client(), found.entries, clock.now(), random()?);
        journal.rewrite(&client.snapshot()).map_err(Error::system(journal.path().display()))?;
        let mut told = BTreeMap::new();
        for Kept { session, ask, remaining } in kept {
            let now = clock.now();
            let remaining = u64::try_from(remaining.as_nanos()).unwrap_or(u64::MAX);
            told.extend(client.told(&session).map(|usage| (session.clone(), usage)));
            client.resume(now, &session, ask, now.monotonic.saturating_add(remaining));
        }
        for session in accounts {
            if client.resume_account(clock.now(), session) {
                told.extend(client.told(session).map(|usage| (session.clone(), usage)));
            }
        }
        client.end_restored(clock.now());
        let storage = Storage::start(move |batch| commit(&mut journal, batch));
        let (orders, ordered) = unbounded_channel();
        let (tell, events) = unbounded_channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = ready.send(Err(Error::system("the event loop")(error)));
                    return;
                }
            };
            runtime.block_on(async {
                match Sockets::open(&node).await {
                    Ok(sockets) => {
                        let _ = ready.send(Ok(()));
                        let written = 0;
                        Running { clock, client, storage, sockets, tell, written, rewrite_at: LEAST_REWRITE }
                            .run(ordered)
                            .await;
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            });
        });
        let ended = || Err(Error::new("the thread of the client has ended", ""));
        is_ready.recv().unwrap_or_else(|_| ended())?;
        Ok(Self { orders, events, thread: Some(thread), clock, told })
    }

    fn order<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Pending<T> {
        let (told, known) = oneshot::channel();
        // If the thread has ended, the answer is that nothing is known.
        let _ = self.orders.send(order(told));
        Pending(known)
    }

    /// Asks whether a session may be. There is an answer within the limit of the file; without one, it is a refusal.
    pub fn authorize(&self, ask: Ask) -> Pending<Result<Permit, Refusal>> {
        self.order(|told| Order::Authorize(ask, told))
    }

    /// Asks whether a session may be that its owner names: `host;number;number`, as no other before.
    pub fn authorize_as(&self, session: &str, ask: Ask) -> Pending<Result<Permit, Refusal>> {
        self.order(|told| Order::AuthorizeAs(session.to_owned(), ask, told))
    }

    /// What says when grants end, for tasks of their own.
    pub fn clocks(&self) -> Clocks {
        Clocks(self.clock)
    }

    /// What the last record of a session that goes on had said when the client started.
    pub fn told(&self, session: &str) -> Option<Usage> {
        self.told.get(session).copied()
    }

    /// The events, for a task of their own. From then on the handle has none.
    pub fn take_events(&mut self) -> Events {
        let (_, none) = unbounded_channel();
        Events(std::mem::replace(&mut self.events, none))
    }

    /// Ends the client, and leaves sessions as they are: another one that starts goes on with them, or they run out. Nothing that is asked later
    /// is done.
    pub fn leave(&self) {
        let _ = self.orders.send(Order::Leave);
    }

    /// Begins the records of a session. It may be served when this is known to be done: then its first record is stored.
    pub fn start_accounting(&self, session: &str) -> Pending<Result<(), String>> {
        self.order(|told| Order::Start(session.to_owned(), told))
    }

    /// Begins the records of a session that another one answers for, `host;number;number;more`: no server is asked whether it may be. Known when the
    /// first one is stored; [`Self::stop`] ends them.
    pub fn account(&self, session: &str, user: &str, reserved: QosResources) -> Pending<Result<(), String>> {
        self.order(|told| Order::Account(session.to_owned(), user.to_owned(), reserved, told))
    }

    /// A record in between, with what was delivered since the session began.
    pub fn interim(&self, session: &str, usage: Usage) -> Pending<Result<(), String>> {
        self.order(|told| Order::Interim(session.to_owned(), usage, told))
    }

    /// The last record of a session, which ends. Known when it is stored.
    pub fn stop(&self, session: &str, usage: Usage, cause: TerminationCause) -> Pending<Result<(), String>> {
        self.order(|told| Order::Stop(session.to_owned(), usage, cause, told))
    }

    /// Ends a session that is not accounted.
    pub fn end(&self, session: &str, cause: TerminationCause) {
        let _ = self.orders.send(Order::End(session.to_owned(), cause));
    }

    /// How many records the server has not confirmed or requests have no answer, and whether a server can be asked.
    pub fn undelivered(&self) -> Pending<(usize, bool)> {
        self.order(Order::Undelivered)
    }

    /// The next event, in a thread without an event loop; `None` if the client has ended.
    pub fn wait_event(&mut self) -> Option<Event> {
        self.events.blocking_recv()
    }

    /// The next event, in an event loop; `None` if the client has ended.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event, if there is one in so much time, in a thread without an event loop.
    pub fn wait_event_for(&mut self, time: Duration) -> Option<Event> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().ok()?;
        runtime.block_on(async { timeout(time, self.events.recv()).await.ok().flatten() })
    }

    /// An event that is there already.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn commit(journal: &mut Journal, batch: Vec<(u64, Write)>) -> Vec<(u64, bool)> {
    let mut done = Vec::new();
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    let mut append = |journal: &mut Journal, entries: &mut Vec<SpoolEntry>, numbers: &mut Vec<u64>| {
        let written = if entries.is_empty() { Ok(()) } else { journal.append(entries) };
        if let Err(error) = &written {
            tracing::warn!("{}: {error}", journal.path().display());
        }
        entries.clear();
        done.extend(numbers.drain(..).map(|number| (number, written.is_ok())));
    };
    for (number, write) in batch {
        match write {
            Write::Append(entry) => {
                entries.push(entry);
                numbers.push(number);
            }
            Write::Rewrite(all) => {
                append(journal, &mut entries, &mut numbers);
                if let Err(error) = journal.rewrite(&all) {
                    tracing::warn!("{}: {error}", journal.path().display());
                }
            }
        }
    }
    append(journal, &mut entries, &mut numbers);
    done
}

struct Running {
    clock: Clock,
    client: Client,
    storage: Storage<Write>,
    sockets: Sockets,
    tell: UnboundedSender<Event>,
    written: u64,
    rewrite_at: u64,
}

/// Orders whose answers come later.
#[derive(Default)]
struct Open {
    asked: BTreeMap<String, oneshot::Sender<Result<Permit, Refusal>>>,
    accounted: BTreeMap<String, Vec<oneshot::Sender<Result<(), String>>>>,
}

impl Running {
    async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        let mut open = Open::default();
        let mut ending = None;
        self.client.start(self.clock.now());
        loop {
            self.outputs(&mut open);
            self.sockets.flush(&mut self.client);
            if ending.is_some_and(|end| tokio::time::Instant::now() >= end || self.is_quiet()) {
                return;
            }
            let due = self.clock.instant(self.client.due());
            tokio::select! {
                happened = self.sockets.happened() => {
                    self.sockets.on(self.clock.now(), &mut self.client, happened);
                }
                done = self.storage.done() => {
                    let now = self.clock.now();
                    done.into_iter().for_each(|(number, is_stored)| self.client.stored(now, number, is_stored));
                }
                order = orders.recv(), if ending.is_none() => match order {
                    Some(order @ (Order::Close | Order::Leave)) => {
                        match order {
                            Order::Leave => self.client.leave(self.clock.now()),
                            _ => self.client.stop(self.clock.now()),
                        }
                        let patience = Duration::from_secs(2);
                        ending = Some(tokio::time::Instant::now() + patience);
                    }
                    Some(order) => self.on_order(order, &mut open),
                    // The handle says before it is dropped how to end.
                    None => return,
                },
                () = sleep_until(ending.map_or(due, |end| end.min(due))) => {
                    self.client.on_timer(self.clock.now());
                }
            }
        }
    }

    /// No more is stored or said.
    fn is_quiet(&self) -> bool {
        self.client.is_disconnected() && self.client.is_stored()
    }

    fn on_order(&mut self, order: Order, open: &mut Open) {
        let now = self.clock.now();
        let later =
            |open: &mut Open, session: String, told: oneshot::Sender<_>, done: Result<(), String>| match done
            {
                Ok(()) => open.accounted.entry(session).or_default().push(told),
                Err(why) => drop(told.send(Err(why))),
            };
        match order {
            Order::Authorize(ask, told) => {
                let session = self.client.authorize(now, ask);
                open.asked.insert(session, told);
            }
            Order::AuthorizeAs(session, ask, told) => {
                open.asked.insert(session.clone(), told);
                self.client.authorize_as(now, &session, ask);
            }
            Order::Start(session, told) => {
                let done = self.client.start_accounting(now, &session);
                later(open, session, told, done);
            }
            Order::Account(session, user, reserved, told) => {
                let done = self.client.account(now, &session, &user, reserved);
                later(open, session, told, done);
            }
            Order::Interim(session, usage, told) => {
                let done = self.client.interim(now, &session, usage);
                later(open, session, told, done);
            }
            Order::Stop(session, usage, cause, told) => {
                let done = self.client.stop_accounting(now, &session, usage, cause);
                later(open, session, told, done);
            }
            Order::End(session, cause) => self.client.end(now, &session, cause),
            Order::Undelivered(told) => {
                let count = self.client.undelivered() + self.client.under_way();
                let _ = told.send((count, self.client.is_available()));
            }
            Order::Close | Order::Leave => {}
        }
    }

    fn outputs(&mut self, open: &mut Open) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Connect(host) => self.sockets.connect(host),
                Output::Close { connection, last } => self.sockets.close(connection, last),
                Output::Store { number, entry } => self.store(number, entry),
                Output::Decided { session, result } => {
                    if let Some(told) = open.asked.remove(&session)
                        && let Err(Ok(permit)) = told.send(result)
                    {
                        // The program does not wait for it any more.
                        self.client.end(
                            self.clock.now(),
                            &permit.session,
                            TerminationCause::ServiceNotProvided,
                        );
                    }
                }
                Output::Accounted { session, .. } => {
                    // Records of a session are stored in their order.
                    if let Some(waiting) = open.accounted.get_mut(&session) {
                        if !waiting.is_empty() {
                            let _ = waiting.remove(0).send(Ok(()));
                        }
                        if waiting.is_empty() {
                            open.accounted.remove(&session);
                        }
                    }
                }
                Output::Renewed(permit) => drop(self.tell.send(Event::Renewed(permit))),
                Output::Ended { session, reason } => drop(self.tell.send(Event::Ended { session, reason })),
                Output::InterimDue(session) => drop(self.tell.send(Event::InterimDue(session))),
                Output::Log(text) => info!("{text}"),
            }
        }
    }

    fn store(&mut self, number: u64, entry: SpoolEntry) {
        if let SpoolEntry::Added { message, .. } = &entry {
            self.written += 2 * message.0.len() as u64 + 64;
        }
        self.storage.store(number, Write::Append(entry));
        if self.written > self.rewrite_at {
            let all = self.client.snapshot();
            self.rewrite_at = (2 * all.len() as u64 * 1_024).max(LEAST_REWRITE);
            self.written = 0;
            self.storage.store(u64::MAX, Write::Rewrite(all));
        }
    }
}
