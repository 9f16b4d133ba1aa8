//! How a bad case came about, in words.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use crate::attack::Attack;
use crate::engine::run_logged;
use crate::outcome::Goal;
use crate::system::{Entry, SourceKind, System};

/// Something that happened; threads and cores are counted through all lanes and hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Happening {
    Fires { source: usize, number: usize, due: u64 },
    Skipped { source: usize },
    Arrives { connection: usize },
    Enters { port: usize, waiting: usize },
    Loses { port: usize },
    Keeps { port: usize, part: usize },
    GivesUp { port: usize },
    Writes { port: usize },
    Takes { thread: usize, port: usize },
    Begins { thread: usize, port: usize },
    Ends { thread: usize, port: usize },
    Waits { thread: usize, component: usize, holder: usize },
    Gets { thread: usize, component: usize },
    Wakes { thread: usize },
    Sleeps { thread: usize },
    Runs { core: usize, thread: Option<usize> },
    Stalls { core: usize, length: u64 },
    Thaws { core: usize },
    Throttles { core: usize },
    Unthrottles { core: usize },
    Exhausts { thread: usize },
    Replenishes { thread: usize },
    Overruns { port: usize },
    Publishes { port: usize },
    Completes { chain: usize, oldest: u32, newest: u32 },
}

/// Lines of an explanation at most; what is between the first and the last of a longer one is counted.
const MOST_LINES: usize = 80;

/// Says in words what happened between the beginning and the end of the worst that a run shows of a goal: one line for each
/// instant and thing, in nanoseconds.
pub fn explain(system: &System, attack: &Attack, goal: Goal) -> String {
    let (outcome, log) = run_logged(system, attack);
    let seen = outcome.seen(goal);
    let names = Names::new(system);
    let mut text = format!("{} was {}, from {} to {}\n", names.goal(goal), seen.value, seen.from, seen.until);
    // A handler that ran when the case began was begun before.
    let within: Vec<&(u64, Happening)> =
        log.iter().filter(|(at, _)| (seen.from..=seen.until).contains(at)).collect();
    let running = (0..names.cores.len()).filter_map(|core| {
        let before = log.iter().take_while(|(at, _)| *at < seen.from);
        let last = before.filter_map(|(at, what)| match what {
            Happening::Runs { core: other, thread } if *other == core => Some((*at, *thread)),
            _ => None,
        });
        let (at, thread) = last.last()?;
        Some(format!("{at}: {} runs {}\n", names.cores[core], names.thread(thread?)))
    });
    running.for_each(|line| text.push_str(&line));
    let left_out = within.len().saturating_sub(MOST_LINES);
    for (place, (at, what)) in within.iter().enumerate() {
        if left_out > 0 && place == MOST_LINES / 2 {
            let _ = writeln!(text, "... {left_out} more");
        }
        if left_out > 0 && place >= MOST_LINES / 2 && place < MOST_LINES / 2 + left_out {
            continue;
        }
        let _ = writeln!(text, "{at}: {}", names.happening(*what));
    }
    text
}

struct Names<'a> {
    system: &'a System,
    cores: Vec<String>,
    threads: Vec<String>,
}

impl<'a> Names<'a> {
    fn new(system: &'a System) -> Self {
        let parts = system.description();
        let cores = parts
            .hosts
            .iter()
            .flat_map(|host| (0..host.cores).map(move |core| format!("core {core} of {}", host.name)));
        let threads = parts.lanes.iter().flat_map(|lane| {
            (0..lane.threads.len()).map(move |thread| match lane.threads.len() {
                1 => lane.name.to_string(),
                _ => format!("{} thread {thread}", lane.name),
            })
        });
        Self { system, cores: cores.collect(), threads: threads.collect() }
    }

    fn thread(&self, thread: usize) -> &str {
        self.threads.get(thread).map_or("?", String::as_str)
    }

    fn port(&self, port: usize) -> String {
        let port = &self.system.description().ports[port];
        format!("{}.{}", self.system.description().components[port.component].name, port.name)
    }

    fn goal(&self, goal: Goal) -> String {
        let chain = |chain: usize| &self.system.description().chains[chain].name;
        match goal {
            Goal::Reaction(index) => format!("the reaction of chain {}", chain(index)),
            Goal::Age(index) => format!("the data age of chain {}", chain(index)),
            Goal::Response(port) => format!("the response of {}", self.port(port)),
            Goal::Backlog(port) => format!("the backlog of {}", self.port(port)),
            Goal::Overruns(port) => format!("an overrun of {}", self.port(port)),
            Goal::Latency(index) => {
                let to = self.system.description().connections[index].target.port();
                format!("the latency of connection {index} to {}", self.port(to))
            }
        }
    }

    fn happening(&self, what: Happening) -> String {
        let parts = self.system.description();
        match what {
            Happening::Fires { source, number, due } => {
                let port = self.port(parts.sources[source].port);
                match parts.sources[source].kind {
                    SourceKind::Timer { .. } => {
                        format!("instant {number} of the timer of {port}, due at {due}, fires")
                    }
                    _ => format!("event {number} for {port} arrives"),
                }
            }
            Happening::Skipped { source } => {
                format!(
                    "the timer of {} is skipped: an earlier instant waits",
                    self.port(parts.sources[source].port)
                )
            }
            Happening::Arrives { connection } => {
                format!(
                    "an event for {} arrives from another host",
                    self.port(parts.connections[connection].target.port())
                )
            }
            Happening::Enters { port, waiting } => match parts.ports[port].entry {
                Entry::Queued { depth, .. } => {
                    format!("a delivery enters the queue of {}: {waiting} of {depth} wait", self.port(port))
                }
                Entry::Direct => format!("a delivery enters {}", self.port(port)),
            },
            Happening::Loses { port } => {
                format!("the queue of {} is full; a delivery is lost", self.port(port))
            }
            Happening::Keeps { port, part } => {
                format!("part {part} of the join of {} keeps an event", self.port(port))
            }
            Happening::GivesUp { port } => format!("the join of {} gives up events", self.port(port)),
            Happening::Writes { port } => format!("a register of {} gets a value", self.port(port)),
            Happening::Takes { thread, port } => {
                format!("{} takes a delivery of {}", self.thread(thread), self.port(port))
            }
            Happening::Begins { thread, port } => {
                format!("{} begins {}", self.thread(thread), self.port(port))
            }
            Happening::Ends { thread, port } => format!("{} ends {}", self.thread(thread), self.port(port)),
            Happening::Waits { thread, component, holder } => format!(
                "{} waits for the lock of {}, which {} holds",
                self.thread(thread),
                parts.components[component].name,
                self.thread(holder)
            ),
            Happening::Gets { thread, component } => {
                format!("{} gets the lock of {}", self.thread(thread), parts.components[component].name)
            }
            Happening::Wakes { thread } => format!("{} can run", self.thread(thread)),
            Happening::Sleeps { thread } => format!("{} sleeps", self.thread(thread)),
            Happening::Runs { core, thread: Some(thread) } => {
                format!("{} runs {}", self.cores[core], self.thread(thread))
            }
            Happening::Runs { core, thread: None } => format!("{} idles", self.cores[core]),
            Happening::Stalls { core, length } => format!("{} stalls for {length}", self.cores[core]),
            Happening::Thaws { core } => format!("{} goes on", self.cores[core]),
            Happening::Throttles { core } => {
                format!("fifo threads of {} have used their time of this window", self.cores[core])
            }
            Happening::Unthrottles { core } => format!("a window of {} begins", self.cores[core]),
            Happening::Exhausts { thread } => format!("{} has used its budget", self.thread(thread)),
            Happening::Replenishes { thread } => format!("{} gets a new budget", self.thread(thread)),
            Happening::Overruns { port } => {
                format!("{} is not ready at the end of its interval", self.port(port))
            }
            Happening::Publishes { port } => format!("what {} pushed is published", self.port(port)),
            Happening::Completes { chain, oldest, newest } if oldest == newest => {
                format!("chain {} completes with event {newest}", parts.chains[chain].name)
            }
            Happening::Completes { chain, oldest, newest } => {
                format!("chain {} completes with events {oldest} to {newest}", parts.chains[chain].name)
            }
        }
    }
}
