//! The node manager of a host as a program: its connection to the execution manager, and the lock that keeps two of them apart.
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use execution::{ManagerWord, NodeAction, NodeInput, NodeManager, NodePatience, NodeWord};
use keys::Identity;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use super::connection::{Reader, send, to_manager};
use super::local::{Hosting, Locals};
use super::state::StateFolder;
use super::{NodeArguments, identity, node_role};
use crate::children::Happening;
use crate::command::{DONE, FAILED, Failure, print};
use crate::control::{Asked, folder};
use crate::launch::interruptions;
use crate::signatures::Signers;

const SECOND: u64 = 1_000_000_000_000;
const PATIENCE: NodePatience = NodePatience { beat: SECOND / 4, silence: 30 * SECOND, again: 5 * SECOND };
/// The wait before a connection is made again: a manager adopts within a second.
const AGAIN: Duration = Duration::from_millis(250);
/// A manager that has said nothing for so long is gone, or cannot be reached: another connection is made.
const SILENCE: Duration = Duration::from_secs(30);
/// How often is looked whether another node manager of this host has ended.
const LOOK: Duration = Duration::from_millis(50);

pub(super) enum Event {
    /// A connection to the manager is there; this speaks on it.
    Joined(UnboundedSender<NodeWord>),
    Heard(ManagerWord),
    /// It has ended, or could not be made.
    Left(String),
    /// A process of a deployment did something.
    Child(String, Happening),
    /// A command on this host asks about a deployment.
    Asked(String, Asked),
    Interrupted,
}

/// A node manager at work.
struct Running<'o> {
    machine: NodeManager,
    locals: Locals<'o>,
    start: Instant,
    say: Option<UnboundedSender<NodeWord>>,
    /// The manager has answered since they are connected.
    is_known: bool,
    interruptions: u32,
}

/// Runs until Ctrl-C.
///
/// # Errors
/// The keys or the folder of programs cannot be used.
pub(crate) fn run(
    arguments: &NodeArguments,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    let identity = identity(&arguments.keys, node_role(&arguments.name)?)?;
    let signers = arguments.signed.then(|| Signers(identity.clone()));
    let programs = std::fs::canonicalize(&arguments.programs)
        .map_err(|error| (FAILED, format!("--programs {}: {error}", arguments.programs.display())))?;
    let hosting = Hosting { programs, signers, lease: arguments.lease };
    let (tell, events) = channel();
    interruptions(&tell, || Event::Interrupted)?;
    let folder = folder()?;
    let Some(lock) = alone(&folder, &arguments.name, &events, told)? else { return Ok(DONE) };
    let states = StateFolder::open(&folder, &arguments.name)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let incarnation = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let mut running = Running {
        machine: NodeManager::new(arguments.name.clone(), incarnation, PATIENCE),
        locals: Locals::new(&arguments.name, states, hosting, &arguments.manager, &tell, told),
        start: Instant::now(),
        say: None,
        is_known: false,
        interruptions: 0,
    };
    let inputs = running.locals.adopt(&mut running.machine)?;
    keep_connected(arguments.manager.clone(), identity, tell)?;
    print(out, format_args!("node {}: the manager is {}\n", arguments.name, arguments.manager))?;
    out.flush().map_err(|error| (FAILED, error.to_string()))?;
    running.inputs(inputs);
    running.look_after(&events);
    drop(lock);
    Ok(DONE)
}

/// Waits until no other node manager of this host runs. `None` if it was interrupted meanwhile.
fn alone(
    folder: &Path,
    name: &str,
    events: &Receiver<Event>,
    told: &mut dyn Write,
) -> Result<Option<File>, Failure> {
    let path = folder.join(format!("node-{name}.lock"));
    let failed = |what: String| (FAILED, format!("{}: {what}", path.display()));
    let lock = File::create(&path).map_err(|error| failed(error.to_string()))?;
    let mut is_told = false;
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
            Err(TryLockError::WouldBlock) => {
                if !is_told {
                    is_told = true;
                    let path = path.display();
                    print(
                        told,
                        format_args!(
                            "punctual: waits for the end of another node manager of {name}; fuser {path} names it\n"
                        ),
                    )?;
                }
                if let Ok(Event::Interrupted) = events.recv_timeout(LOOK) {
                    return Ok(None);
                }
            }
        }
    }
    Ok(Some(lock))
}

/// Keeps up a connection to the manager, on a thread of its own that ends with the program.
fn keep_connected(manager: String, identity: Identity, tell: Sender<Event>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| (FAILED, error.to_string()))?;
    let connects = thread::Builder::new().name("manager".to_owned());
    let spawned = connects.spawn(move || {
        runtime.block_on(async {
            let mut before = String::new();
            loop {
                let why = match to_manager(&manager, &identity).await {
                    Ok(stream) => {
                        before.clear();
                        converse(stream, &tell).await
                    }
                    Err(what) => what,
                };
                // What goes on is told once.
                if why != before && tell.send(Event::Left(why.clone())).is_err() {
                    return;
                }
                before = why;
                sleep(AGAIN).await;
            }
        });
    });
    spawned.map(drop).map_err(|error| (FAILED, error.to_string()))
}

/// One connection, to its end; why it ended.
async fn converse(stream: connections::Stream, tell: &Sender<Event>) -> String {
    let (from, mut to) = tokio::io::split(stream);
    let (say, mut said): (_, UnboundedReceiver<NodeWord>) = unbounded_channel();
    if tell.send(Event::Joined(say)).is_err() {
        return String::new();
    }
    let mut reader = Reader::new(from);
    let hears = async {
        loop {
            let Ok(heard) = timeout(SILENCE, reader.next::<ManagerWord>()).await else {
                return format!("the manager has said nothing for {} s", SILENCE.as_secs());
            };
            match heard {
                Ok(Some(word)) => {
                    if tell.send(Event::Heard(word)).is_err() {
                        return String::new();
                    }
                }
                Ok(None) => return "the manager has ended the connection".to_owned(),
                Err(what) => return what,
            }
        }
    };
    let tells = async {
        while let Some(word) = said.recv().await {
            if let Err(what) = send(&mut to, &word).await {
                return what;
            }
        }
        String::new()
    };
    tokio::select! {
        why = hears => why,
        why = tells => why,
    }
}

impl Running<'_> {
    /// Picoseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1_000)).unwrap_or(u64::MAX)
    }

    fn look_after(&mut self, events: &Receiver<Event>) {
        while self.interruptions == 0 || !self.locals.is_empty() {
            let of_machine =
                Duration::from_nanos(self.machine.next_tick().saturating_sub(self.now()).div_ceil(1_000));
            let wait = self.locals.wait().map_or(of_machine, |wait| wait.min(of_machine));
            match events.recv_timeout(wait) {
                Ok(event) => self.happens(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let inputs = self.locals.tick();
            self.inputs(inputs);
            let now = self.now();
            if self.machine.next_tick() <= now {
                self.machine.tick(now);
            }
            self.act();
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Joined(say) => {
                (self.say, self.is_known) = (Some(say), false);
                let now = self.now();
                self.machine.connected(now);
            }
            Event::Heard(word) => {
                // Orders answer the first report: from then on the manager counts with this host.
                if matches!(word, ManagerWord::Orders(_)) && !std::mem::replace(&mut self.is_known, true) {
                    self.locals.tell("connected to the manager");
                }
                self.inputs(vec![NodeInput::Word(word)]);
            }
            Event::Left(why) => {
                self.say = None;
                self.locals.tell(&format!("no manager: {why}; what runs goes on"));
            }
            Event::Child(deployment, happening) => {
                let inputs = self.locals.happens(&deployment, happening);
                self.inputs(inputs);
            }
            Event::Asked(deployment, asked) => {
                let inputs = self.locals.asked(&deployment, asked);
                self.inputs(inputs);
            }
            Event::Interrupted => {
                // No node manager leads this host any more: the manager sees that the connection ends.
                self.say = None;
                self.interruptions += 1;
                self.locals.end(self.interruptions > 1);
            }
        }
    }

    fn inputs(&mut self, inputs: Vec<NodeInput>) {
        for input in inputs {
            let now = self.now();
            self.machine.handle(now, input);
        }
        self.act();
    }

    /// Does what the machine wants.
    fn act(&mut self) {
        loop {
            let actions = self.machine.take_actions();
            if actions.is_empty() || self.interruptions > 0 {
                return;
            }
            for action in actions {
                let inputs = match action {
                    NodeAction::Send(word) => {
                        // One that is lost is said again.
                        if let Some(say) = &self.say {
                            let _ = say.send(word);
                        }
                        Vec::new()
                    }
                    NodeAction::Examine { deployment, epoch, bundle } => {
                        vec![self.locals.examine(deployment, epoch, &bundle)]
                    }
                    NodeAction::Propose { deployment, epoch } => self.locals.begin(&deployment, epoch, false),
                    NodeAction::Launch { deployment, epoch } => self.locals.begin(&deployment, epoch, true),
                    NodeAction::Proceed { deployment, until, published } => {
                        self.locals.proceed(&deployment, until, published)
                    }
                    NodeAction::Decide { deployment, holds } => self.locals.decide(&deployment, holds),
                    NodeAction::Stop { deployment } => self.locals.stop(&deployment),
                    NodeAction::Ask { deployment, number } => self.locals.ask(&deployment, number),
                    NodeAction::Tell(text) => {
                        self.locals.tell(&text);
                        Vec::new()
                    }
                };
                for input in inputs {
                    let now = self.now();
                    self.machine.handle(now, input);
                }
            }
        }
    }
}
