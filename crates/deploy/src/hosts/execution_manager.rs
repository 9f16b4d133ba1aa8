//! The execution manager as a program: connections of node managers and commands, and its store.
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::mpsc::channel as std_channel;
use std::thread;
use std::time::{Duration, Instant};

use connections::{Accepted, Arrival, accept};
use deployment::line;
use execution::{
    Answer, Bundle, Command, Content, ExecutionManager, ManagerAction, ManagerInput, ManagerWord, NodeWord,
    Patience, Record,
};
use keys::{Identity, Role};
use schedulability::Deployed;
use store::{FileStore, Key, Store};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::connection::{Reader, send};
use super::{ManagerArguments, identity, opened};
use crate::admit::{self, Other};
use crate::command::{DONE, FAILED, Failure, print};
use crate::files::Loaded;
use crate::launch::interruptions;
use crate::target::processes;
use crate::together::Together;
use crate::transfers;

const SECOND: u64 = 1_000_000_000_000;
/// A stage takes a supervisor 30 seconds at most, and somewhat longer to say so.
const PATIENCE: Patience =
    Patience { beat: SECOND / 4, silence: 10 * SECOND, stage: 60 * SECOND, follow: 60 * SECOND };
/// How long a command may take to say what it wants.
const HEARING: Duration = Duration::from_secs(10);
/// The wait before what could not be kept is written again.
const AGAIN: Duration = Duration::from_secs(1);
/// Events that wait at most; connections wait then.
const WAITING: usize = 256;
/// Messages that wait for a node manager at most. One that reads so slowly is left, and connects again.
const UNSENT: usize = 64;
/// Commands that are heard at the same time.
const COMMANDS: usize = 64;

enum Event {
    /// A node manager has connected: its host, and the number of its connection.
    Joined(String, u64, Sender<ManagerWord>),
    Said(String, u64, NodeWord),
    Left(String, u64, String),
    Asked(Command, oneshot::Sender<Answer>),
    /// For the log.
    Odd(String),
    Interrupted,
}

/// A manager at work.
struct Running<'o> {
    machine: ExecutionManager,
    store: Box<dyn Store>,
    start: Instant,
    /// Connections of hosts, by number.
    hosts: BTreeMap<String, (u64, Sender<ManagerWord>)>,
    asked: BTreeMap<u64, oneshot::Sender<Answer>>,
    next: u64,
    /// What is not in the store yet, in this order.
    unkept: VecDeque<(u64, String, Option<Record>)>,
    /// When it is written again, after an error.
    again: Option<Instant>,
    /// What is proved of the chains of these plans together.
    together: (Vec<Bundle>, Together),
    told: &'o mut dyn Write,
}

/// Runs until Ctrl-C.
///
/// # Errors
/// The address, the keys or the store cannot be used.
pub(crate) fn run(
    arguments: &ManagerArguments,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    let identity = identity(&arguments.keys, Role::Manager)?;
    let failed = |what: String| (FAILED, what);
    let mut store = FileStore::open(&arguments.store).map_err(|error| failed(error.to_string()))?;
    let start = store.next_epoch().map_err(|error| failed(error.to_string()))?;
    let records = records(&store)?;
    let count = records.len();
    let machine = ExecutionManager::new(start, records, PATIENCE)
        .map_err(|what| failed(format!("the store {}: {what}", arguments.store.display())))?;
    let running = Running {
        machine,
        store: Box::new(store),
        start: Instant::now(),
        hosts: BTreeMap::new(),
        asked: BTreeMap::new(),
        next: 0,
        unkept: VecDeque::new(),
        again: None,
        together: (Vec::new(), Together::default()),
        told,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(arguments.listen).await.map_err(|error| {
            let what = format!("{}: {error}; give an address of this host with --listen", arguments.listen);
            failed(what)
        })?;
        let at = listener.local_addr().map_err(|error| failed(error.to_string()))?;
        let (tell, events) = channel(WAITING);
        interrupted(&tell)?;
        let server = identity.server().map_err(|error| failed(error.to_string()))?;
        let (accepted, arrivals) = channel(1);
        tokio::spawn(accept(listener, Some(server), "node managers and commands", accepted));
        tokio::spawn(admit_arrivals(arrivals, tell));
        print(out, format_args!("listens at {at}; leads {count} deployments\n"))?;
        out.flush().map_err(|error| failed(error.to_string()))?;
        running.look_after(events).await;
        Ok(DONE)
    })
}

/// What a store has of deployments.
fn records(store: &dyn Store) -> Result<Vec<(String, Record)>, Failure> {
    let mut records = Vec::new();
    for (key, value) in store.kept().map_err(|error| (FAILED, error.to_string()))? {
        let Key::Deployment(name) = &key else {
            let what = format!("{}: it is the store of a resource manager: name another file", store.place());
            return Err((FAILED, what));
        };
        let record = serde_json::from_slice(&value)
            .map_err(|error| (FAILED, store.unreadable(&key, &error.to_string()).to_string()))?;
        records.push((name.clone(), record));
    }
    Ok(records)
}

/// Ctrl-C becomes an event.
fn interrupted(tell: &Sender<Event>) -> Result<(), Failure> {
    let (signal, signals) = std_channel();
    interruptions(&signal, || ())?;
    let tell = tell.clone();
    let waits = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for () in signals {
            if tell.blocking_send(Event::Interrupted).is_err() {
                return;
            }
        }
    });
    waits.map(drop).map_err(|error| (FAILED, error.to_string()))
}

/// Takes connections over, each by the role that its certificate shows.
async fn admit_arrivals(mut arrivals: Receiver<Accepted>, tell: Sender<Event>) {
    let commands = std::sync::Arc::new(tokio::sync::Semaphore::new(COMMANDS));
    let mut number = 0;
    while let Some(accepted) = arrivals.recv().await {
        let arrival = match accepted {
            Accepted::Arrived(arrival) => arrival,
            Accepted::Unknown(peer, why) => {
                let _ = tell.send(Event::Odd(format!("{} is turned away: {why}", peer.ip()))).await;
                continue;
            }
        };
        let peer = arrival.peer.ip();
        match arrival.shown.as_deref().and_then(Identity::shown_by) {
            Some(Role::Node(name)) => {
                number += 1;
                tokio::spawn(attend(name.as_str().to_owned(), number, arrival, tell.clone()));
            }
            Some(Role::Operator(_)) => match std::sync::Arc::clone(&commands).try_acquire_owned() {
                Ok(place) => {
                    let tell = tell.clone();
                    tokio::spawn(async move {
                        command(arrival, &tell).await;
                        drop(place);
                    });
                }
                Err(_) => {
                    let what = format!("a command from {peer} is turned away: {COMMANDS} are heard already");
                    let _ = tell.send(Event::Odd(what)).await;
                }
            },
            other => {
                let role = other.map_or_else(|| "no role".to_owned(), |role| role.to_string());
                let what = format!(
                    "{peer} is turned away: its certificate is that of {role}, and neither of a node nor of an operator"
                );
                let _ = tell.send(Event::Odd(what)).await;
            }
        }
    }
}

/// A node manager, until its connection ends.
async fn attend(host: String, number: u64, arrival: Arrival, tell: Sender<Event>) {
    let (from, mut to) = tokio::io::split(arrival.stream);
    let (say, mut said) = channel::<ManagerWord>(UNSENT);
    if tell.send(Event::Joined(host.clone(), number, say)).await.is_err() {
        return;
    }
    let mut reader = Reader::new(from);
    let hears = async {
        loop {
            match reader.next::<NodeWord>().await {
                Ok(Some(word)) => {
                    if tell.send(Event::Said(host.clone(), number, word)).await.is_err() {
                        return "the manager ends".to_owned();
                    }
                }
                Ok(None) => return "the connection to it has ended".to_owned(),
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
        "it has connected again, or hears nothing".to_owned()
    };
    let why = tokio::select! {
        why = hears => why,
        why = tells => why,
    };
    let _ = tell.send(Event::Left(host, number, why)).await;
}

/// A command: what it wants, and the answer.
async fn command(arrival: Arrival, tell: &Sender<Event>) {
    let (from, mut to) = tokio::io::split(arrival.stream);
    let mut reader = Reader::new(from);
    let answer = match timeout(HEARING, reader.next::<Command>()).await {
        Err(_) | Ok(Ok(None)) => return,
        Ok(Err(what)) => Answer::Refused { what },
        Ok(Ok(Some(command))) => {
            let (answer, answered) = oneshot::channel();
            if tell.send(Event::Asked(command, answer)).await.is_err() {
                return;
            }
            match answered.await {
                Ok(answer) => answer,
                Err(_) => return,
            }
        }
    };
    // A command that was interrupted does not hear it.
    let _ = send(&mut to, &answer).await;
}

impl Running<'_> {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1_000)).unwrap_or(u64::MAX)
    }

    /// How long nothing has to be done unless something happens.
    fn wait(&self) -> Duration {
        let of_machine = self.machine.next_tick().map(|at| at.saturating_sub(self.now()).div_ceil(1_000));
        let of_machine = of_machine.map_or(AGAIN, Duration::from_nanos);
        let of_store = self.again.map(|again| again.saturating_duration_since(Instant::now()));
        of_store.map_or(of_machine, |of_store| of_machine.min(of_store))
    }

    async fn look_after(mut self, mut events: Receiver<Event>) {
        loop {
            match timeout(self.wait(), events.recv()).await {
                Ok(Some(Event::Interrupted) | None) => return,
                Ok(Some(event)) => self.happens(event),
                Err(_) => {}
            }
            // What has come already counts before a peer is called silent.
            while let Ok(event) = events.try_recv() {
                if matches!(event, Event::Interrupted) {
                    return;
                }
                self.happens(event);
            }
            let now = self.now();
            self.machine.tick(now);
            self.act();
        }
    }

    fn input(&mut self, input: ManagerInput) {
        let now = self.now();
        self.machine.handle(now, input);
        self.act();
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Joined(host, number, say) => {
                // One that connects again may not have seen the end of its connection before.
                if self.hosts.insert(host.clone(), (number, say)).is_some() {
                    self.input(ManagerInput::Lost(host));
                }
            }
            Event::Said(host, number, word) if self.is_current(&host, number) => {
                self.input(ManagerInput::Word(host, word));
            }
            Event::Left(host, number, why) if self.is_current(&host, number) => {
                self.hosts.remove(&host);
                self.tell(&format!("host {host}: {why}"));
                self.input(ManagerInput::Lost(host));
            }
            Event::Said(..) | Event::Left(..) | Event::Interrupted => {}
            Event::Odd(what) => self.tell(&what),
            Event::Asked(command, answer) => {
                let command = match command {
                    Command::Launch(bundle) => self.screened(bundle).map(Command::Launch),
                    Command::Apply(bundle) => self.screened(bundle).map(Command::Apply),
                    other => Ok(other),
                };
                match command {
                    Ok(command) => {
                        self.next += 1;
                        self.asked.insert(self.next, answer);
                        self.input(ManagerInput::Command(self.next, command));
                    }
                    Err(what) => drop(answer.send(Answer::Refused { what })),
                }
            }
        }
    }

    fn is_current(&self, host: &str, number: u64) -> bool {
        self.hosts.get(host).is_some_and(|(current, _)| *current == number)
    }

    /// A plan that can be launched as a whole, and whose chains keep their limits beside all others, unless that is not asked for.
    fn screened(&mut self, bundle: Bundle) -> Result<Bundle, String> {
        let loaded = opened(&bundle).map_err(|(_, what)| what)?;
        // Warnings are told by the hosts.
        processes(&loaded, None, &mut std::io::sink()).map_err(|(_, what)| what)?;
        let name = deployment::deployment_name(&loaded.plan);
        let bundles = self.machine.deployments().filter(|(other, _)| *other != name);
        let bundles: Vec<(&str, &Bundle)> = bundles.map(|(other, it)| (other, &it.bundle)).collect();
        // What is there comes first on networks that plans share.
        let of_others = |(other, bundle): &(&str, &Bundle)| {
            opened(bundle).map_err(|(_, what)| format!("deployment {other}, which runs: {what}"))
        };
        let mut all: Vec<Loaded> = bundles.iter().map(of_others).collect::<Result<_, _>>()?;
        all.push(loaded);
        // Without a proof, too: a network that does not fit would take the bounds of all others away.
        let shares = transfers::compute(&all).map_err(|(_, what)| what)?;
        let Some(loaded) = all.pop() else { return Err("there is no plan".to_owned()) };
        if !bundle.is_unproved {
            let others: Vec<Other<'_>> = bundles
                .iter()
                .zip(&all)
                .map(|((_, bundle), loaded)| Other {
                    name: &bundle.file,
                    is_proved: !bundle.is_unproved,
                    deployed: loaded.deployed(),
                })
                .collect();
            admit::demand(&loaded, &loaded.plan, &others, "launch").map_err(|(_, what)| what)?;
            transfers::demand(&loaded, others.len(), &shares).map_err(|(_, what)| what)?;
        }
        let proofs = admit::proofs(&loaded);
        let bundle = Bundle { proofs, ..bundle };
        let word = ManagerWord::Plan {
            deployment: name,
            epoch: execution::Epoch::default(),
            bundle: bundle.clone(),
        };
        let length = line(&word).map_err(|error| error.to_string())?.len();
        if length >= deployment::LONGEST_LINE {
            return Err(format!(
                "plan and manifests are too long for one message: {length} bytes, and {} are allowed",
                deployment::LONGEST_LINE
            ));
        }
        Ok(bundle)
    }

    fn act(&mut self) {
        loop {
            let actions = self.machine.take_actions();
            if actions.is_empty() && self.unkept.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    ManagerAction::Send(host, word) => {
                        let is_full =
                            self.hosts.get(&host).is_some_and(|(_, say)| say.try_send(word).is_err());
                        // It connects again, and hears all then.
                        if is_full && self.hosts.remove(&host).is_some() {
                            self.input_later(&host);
                        }
                    }
                    ManagerAction::Answer(number, answer) => {
                        let answer = self.proved(answer);
                        if let Some(asked) = self.asked.remove(&number) {
                            let _ = asked.send(answer);
                        }
                    }
                    ManagerAction::Keep { number, deployment, record } => {
                        self.unkept.push_back((number, deployment, record));
                    }
                    ManagerAction::Tell(text) => self.tell(&text),
                }
            }
            if !self.keep() {
                return;
            }
        }
    }

    /// An answer with what is proved of the chains of all plans together.
    fn proved(&mut self, answer: Answer) -> Answer {
        let Answer::Status { mut deployments, hosts } = answer else { return answer };
        let all: Vec<(&str, &Content)> = self.machine.deployments().collect();
        let bundles: Vec<&Bundle> = all.iter().map(|(_, it)| &it.bundle).collect();
        if !self.together.0.iter().eq(bundles.iter().copied()) {
            let opened = |(name, it): &(&str, &Content)| Some(((*name).to_owned(), opened(&it.bundle).ok()?));
            let (names, loaded): (Vec<String>, Vec<Loaded>) = all.iter().filter_map(opened).unzip();
            let _ = transfers::compute(&loaded);
            let plans: Vec<Deployed<'_>> = loaded.iter().map(Loaded::deployed).collect();
            self.together = (bundles.into_iter().cloned().collect(), Together::of(names.into_iter(), &plans));
        }
        for deployment in &mut deployments {
            for status in deployment.hosts.iter_mut().filter_map(|host| host.status.as_mut()) {
                self.together.1.put(&deployment.deployment, status);
            }
        }
        Answer::Status { deployments, hosts }
    }

    /// A host that does not read what it is told is away.
    fn input_later(&mut self, host: &str) {
        let now = self.now();
        self.machine.handle(now, ManagerInput::Lost(host.to_owned()));
    }

    /// Writes what is not in the store yet; whether something more may have to be done.
    fn keep(&mut self) -> bool {
        if self.again.is_some_and(|again| again > Instant::now()) {
            return false;
        }
        self.again = None;
        while let Some((number, deployment, record)) = self.unkept.front() {
            let value = record.as_ref().map(serde_json::to_vec).transpose();
            let change = (Key::Deployment(deployment.clone()), value.unwrap_or_default());
            match self.store.change(&[change]) {
                Ok(()) => {
                    let number = *number;
                    self.unkept.pop_front();
                    let now = self.now();
                    self.machine.handle(now, ManagerInput::Kept(number));
                }
                Err(error) => {
                    // It may have been written or not, so nothing goes on until it is.
                    let text = format!("{error}; it is tried again");
                    self.tell(&text);
                    self.again = Some(Instant::now() + AGAIN);
                    return false;
                }
            }
        }
        true
    }

    fn tell(&mut self, text: &str) {
        // The reader of the log may be gone; the hosts are led all the same.
        let _ = self.told.write_all(format!("punctual: {text}\n").as_bytes());
    }
}
