//! The inside of a domain, as its manager sees it: one trait for all kinds of devices, and the thread that they are set up in.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use linux_edge::observed::Delivered;
use wan::{BackendAnswer, BackendCommand, Holding, LegId};

/// The back-end of one domain: it knows devices and their ledgers, and neither users, agreements nor neighbours.
///
/// It has a thread of its own, so it may take time; the manager does not wait. [`crate::conformance`] says what it has to keep, and looks whether it does.
pub trait Backend: Send {
    /// Carries commands out in their order, and answers those that have an answer. Commands that have come meanwhile are given together, so that
    /// one change of a device can be for all of them.
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer>;

    /// What was not done before is tried again, and devices are asked whether they hold what they should. Called before commands are, and every
    /// so often ([`Backend::every`]).
    fn again(&mut self) -> Vec<BackendAnswer> {
        Vec::new()
    }

    /// How often that has to be.
    fn every(&self) -> Option<Duration> {
        None
    }

    /// A link inside the domain, by its place, is cut or works again: what is lost by that. What passes it only is refused until it works.
    fn link(&mut self, link: usize, is_up: bool) -> Vec<BackendAnswer> {
        let _ = (link, is_up);
        Vec::new()
    }

    /// An interface of a router, by its place, may have been down and is up: what the kernel has forgotten of it is put back, sooner or later.
    fn interface_again(&mut self, router: usize, interface: &str) {
        let _ = (router, interface);
    }

    /// What edges have let in of each flow since they let it in; `None` if they do not count, or cannot be asked now.
    fn delivered(&mut self) -> Option<BTreeMap<LegId, Delivered>> {
        None
    }

    /// What has to be said beside each bound, because the back-end itself does not see to it that the bound holds.
    fn caveat(&self) -> Option<&'static str>;
}

/// Commands that are carried out together at most.
const TOGETHER: usize = 256;

/// What the thread of a back-end has to do.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Command(BackendCommand),
    /// Tell what edges have let in.
    Count,
    /// A link inside the domain, by its place, is cut or works again.
    Link(usize, bool),
    /// Interfaces of routers, by their places, may have been down and are up.
    InterfacesAgain(Vec<(usize, String)>),
}

/// What it has done.
pub(crate) enum Done {
    /// So many commands, and their answers.
    Commands(usize, Vec<BackendAnswer>),
    /// What edges have let in by now; `None` if they do not count, or could not be asked.
    Counted(Option<BTreeMap<LegId, Delivered>>),
}

/// Counters end by it: those of a flow, also where it is let into another aggregate, and those of all flows of an aggregate.
fn shuts(command: &BackendCommand) -> bool {
    matches!(command, BackendCommand::Release { .. } | BackendCommand::Open { .. })
}

/// Runs a back-end in a thread of its own until nothing more can come; `tell` is told what was done, and says whether that is still wanted. If
/// flows are accounted, what they have let in is told right before they are shut, and right after they are let into another aggregate.
pub(crate) fn run(
    mut backend: Box<dyn Backend>,
    orders: Receiver<Order>,
    accounts: bool,
    tell: impl Fn(Done) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let run = move || {
        // Flows that have been counted, and are open or will be again.
        let mut counted = BTreeSet::new();
        loop {
            let first = match backend.every() {
                Some(every) => orders.recv_timeout(every),
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if first == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let mut batch = Vec::new();
            let mut counts = false;
            let mut links = Vec::new();
            for order in first.into_iter().chain(orders.try_iter().take(TOGETHER - 1)) {
                match order {
                    Order::Command(command) => batch.push(command),
                    Order::Count => counts = true,
                    Order::Link(link, is_up) => links.push((link, is_up)),
                    Order::InterfacesAgain(interfaces) => {
                        for (router, interface) in interfaces {
                            backend.interface_again(router, &interface);
                        }
                    }
                }
            }
            if counts || accounts && batch.iter().any(shuts) {
                // Who waits for it hears of it in any case.
                let delivered = backend.delivered();
                counted.extend(delivered.iter().flatten().map(|(leg, _)| *leg));
                if !tell(Done::Counted(delivered)) {
                    return;
                }
            }
            let mut moves = false;
            for command in &batch {
                match command {
                    BackendCommand::Open { leg, .. } => moves |= counted.contains(leg),
                    BackendCommand::Release { holding: Holding::Flow(leg), .. } => {
                        counted.remove(leg);
                    }
                    _ => {}
                }
            }
            let count = batch.len();
            let mut answers = backend.again();
            for (link, is_up) in links {
                answers.extend(backend.link(link, is_up));
            }
            answers.extend(backend.execute(batch));
            // That a counter began anew is seen by what it has less than before, which it has again after a while.
            if accounts && moves && !tell(Done::Counted(backend.delivered())) {
                return;
            }
            if (count > 0 || !answers.is_empty()) && !tell(Done::Commands(count, answers)) {
                return;
            }
        }
    };
    thread::Builder::new().name("back-end".to_owned()).spawn(run).map(drop)
}
