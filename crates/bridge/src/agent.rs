//! The agent of a bridge as a program: controllers, copies of frames, ports and time, in one task; its rules go when it ends.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use keys::{Identity, Role};
use openflow::{Message, Xid};
use system::{Error, check_packages, check_rights};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, UnboundedSender, channel};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::copies::{Copies, Copy, Links};
use crate::nft::PROGRAMS;
use crate::path::Bridge;
use crate::ports::Members;
use crate::queues::PortQueues;
use crate::session::{Controller, Heard, ears, keep};
use crate::switch::{Connection, Switch};
use crate::translate::{Ports, copy_of};

/// How often ports are looked at if the kernel does not say that one has changed.
const PORTS: Duration = Duration::from_secs(1);
/// How often counters are read for entries that go by themselves.
const COUNTERS: Duration = Duration::from_secs(1);
/// Pieces of copies that wait to be heard.
const WAITING: usize = 64;
/// How long changes wait that no barrier asks about.
const UNASKED: Duration = Duration::from_millis(50);

/// What an agent serves.
#[derive(Clone, Debug)]
pub struct Served {
    /// The bridge.
    pub bridge: String,
    /// Its ports by number.
    pub ports: Ports,
    /// The datapath id.
    pub datapath: u64,
    /// Where its controllers are.
    pub controllers: Vec<SocketAddr>,
    /// Who it is to them: the keys of this switch.
    pub keys: Option<Identity>,
    /// The queues that its ports get, if the agent is to make them.
    pub queues: Option<PortQueues>,
    /// The group of the netfilter log for copies.
    pub log: u16,
}

/// Serves until a signal comes (interrupt, terminate or hangup), and takes all rules away then. `ready` is called once the bridge is one that
/// can be served; `log` hears what an operator may want to know.
///
/// # Errors
/// The bridge cannot be served, its queues cannot be made, or rules or queues cannot be taken away.
pub fn serve(served: &Served, ready: impl FnOnce(), log: impl FnMut(&str)) -> Result<(), Error> {
    check_rights("a switch", "rules at its ports go into the kernel")?;
    check_packages("a bridge as a switch", &PROGRAMS, &[])?;
    if let Some(keys) = &served.keys
        && keys.role() != Role::Switch(served.datapath)
    {
        return Err(Error::new(
            format!("the keys are those of {}", keys.role()),
            "take those of this switch",
        ));
    }
    let members = Members::new(&served.bridge, served.ports.clone())?;
    // Who has the group has the bridge.
    let copies = Copies::open(served.log)?;
    let bridge = Bridge::new(&served.bridge, members, served.log)?;
    // Before anything is forwarded: where queues cannot be made, the bridge is as it was.
    served.queues.as_ref().map_or(Ok(()), PortQueues::make)?;
    let ended = forward(served, bridge, copies, ready, log);
    let removed = served.queues.as_ref().map_or(Ok(()), PortQueues::remove);
    ended.and(removed)
}

/// Forwards as managers say until a signal comes, and takes the rules away.
fn forward(
    served: &Served,
    mut bridge: Bridge,
    copies: Copies,
    ready: impl FnOnce(),
    log: impl FnMut(&str),
) -> Result<(), Error> {
    bridge.begin()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::system("the runtime"))?;
    let mut agent = Agent {
        switch: Switch::new(served.datapath, bridge),
        controllers: BTreeMap::new(),
        began: Instant::now(),
        log,
    };
    let ran = runtime.block_on(agent.run(served, copies, ready));
    let removed = agent.switch.path().remove();
    ran.and(removed)
}

struct Agent<L> {
    switch: Switch<Bridge>,
    controllers: BTreeMap<Connection, UnboundedSender<(Xid, Message)>>,
    began: Instant,
    log: L,
}

impl<L: FnMut(&str)> Agent<L> {
    async fn run(&mut self, served: &Served, copies: Copies, ready: impl FnOnce()) -> Result<(), Error> {
        let failed = Error::system("signals");
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [interrupt, terminate, hangup] = signals;
        let (mut interrupt, mut terminate, mut hangup) = match (interrupt, terminate, hangup) {
            (Ok(one), Ok(two), Ok(three)) => (one, two, three),
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => return Err(failed(error)),
        };
        let mut copies = heard_by_thread(copies);
        let mut changes = heard_of_links(Links::open()?);
        let (told, mut heard) = ears();
        let step = served.controllers.len() as Connection;
        for (number, address) in (1..).zip(&served.controllers) {
            let controller = Controller { address: *address, keys: served.keys.clone() };
            tokio::spawn(keep(controller, number, step, told.clone()));
        }
        let mut ports = interval(PORTS);
        let mut counters = interval(COUNTERS);
        for timer in [&mut ports, &mut counters] {
            timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        ready();
        let mut unasked = false;
        loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
                _ = hangup.recv() => return Ok(()),
                news = heard.recv() => {
                    let Some(news) = news else { return Ok(()) };
                    unasked = true;
                    self.hear(news);
                    // What else has come meanwhile belongs to the same step.
                    while let Ok(news) = heard.try_recv() {
                        self.hear(news);
                    }
                    if self.switch.is_asked() {
                        self.switch.settle();
                        unasked = false;
                    }
                }
                () = sleep(UNASKED), if unasked => {
                    self.switch.settle();
                    unasked = false;
                }
                copied = copies.recv() => match copied {
                    Some(Ok(copies)) => {
                        for copy in copies {
                            self.copied(&copy.prefix, copy.interface, &copy.frame);
                        }
                    }
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                },
                _ = ports.tick() => self.switch.look_at_ports(),
                // What several interfaces tell at once is one change.
                Some(()) = changes.recv() => self.switch.look_at_ports(),
                _ = counters.tick() => self.switch.tick(self.began.elapsed()),
            }
            self.speak();
        }
    }

    fn hear(&mut self, news: Heard) {
        let now = self.began.elapsed();
        match news {
            Heard::Up(connection, say) => {
                (self.log)("a controller is there");
                self.controllers.insert(connection, say);
                self.switch.connected(connection);
            }
            Heard::Said(connection, messages) => {
                for (xid, message) in &messages {
                    self.switch.hear(connection, *xid, message, now);
                }
            }
            Heard::Down(connection, why) => {
                (self.log)(&format!("no controller: {why}"));
                self.controllers.remove(&connection);
                self.switch.gone(connection);
            }
        }
    }

    fn copied(&mut self, prefix: &str, interface: u32, frame: &[u8]) {
        let Some((table, entry)) = copy_of(prefix) else { return };
        let Some(port) = self.switch.path().port_of(interface) else { return };
        self.switch.copied(table, entry, port, frame.len(), frame);
    }

    fn speak(&mut self) {
        for (connection, xid, message) in self.switch.take_said() {
            if let Some(say) = self.controllers.get(&connection) {
                // Who has gone is told of as such.
                let _ = say.send((xid, message));
            }
        }
        for line in self.switch.take_log() {
            (self.log)(&line);
        }
    }
}

/// Waits for copies on a thread, which ends with the process; what waits to be heard is bounded, here and in the kernel.
fn heard_by_thread(mut copies: Copies) -> Receiver<Result<Vec<Copy>, Error>> {
    let (told, heard) = channel(WAITING);
    std::thread::spawn(move || {
        loop {
            let copied = copies.wait();
            let ends = copied.is_err();
            if told.blocking_send(copied).is_err() || ends {
                return;
            }
        }
    });
    heard
}

/// Waits on a thread for changes of interfaces, which ends with the process.
fn heard_of_links(mut links: Links) -> Receiver<()> {
    let (told, heard) = channel(1);
    std::thread::spawn(move || {
        while links.wait().is_ok() {
            // Who has not looked yet will see this change, too.
            if let Err(TrySendError::Closed(())) = told.try_send(()) {
                return;
            }
        }
    });
    heard
}
