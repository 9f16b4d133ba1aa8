//! What people should know about the driver, a line each.
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::config::Config;
use crate::driver::read;
use crate::driver::sockets::{self, Sockets};

/// What went wrong since the start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) truncated: AtomicU64,
    pub(super) receive_errors: AtomicU64,
    pub(super) wake_errors: AtomicU64,
}

/// Lines that do not change by themselves.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) opened: Vec<String>,
    pub(super) interfaces: Vec<String>,
    pub(super) threads: Vec<String>,
    pub(super) watch: Option<String>,
}

impl Lines {
    pub(super) fn all(&self) -> Vec<String> {
        let parts = [&self.opened, &self.interfaces, &self.threads].into_iter().flatten();
        parts.chain(&self.watch).cloned().collect()
    }
}

impl Counts {
    /// A line about each that is not zero. `sleeps`: how often the timer's thread was not let sleep.
    pub(super) fn lines(&self, sleeps: u64) -> impl Iterator<Item = String> {
        let counts = [
            ("datagrams larger than a buffer", self.truncated.load(Relaxed)),
            ("receive calls refused by the system", self.receive_errors.load(Relaxed)),
            (
                "wake-ups refused by the system (is the loopback interface up?)",
                self.wake_errors.load(Relaxed),
            ),
            ("sleeps refused by the system", sleeps),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what}: {count}"))
    }
}

/// The ports and buffers of a participant, and what is doubtful about them.
pub(super) fn opened(domain_id: u32, config: &Config, sockets: &Sockets) -> Vec<String> {
    let mut lines = vec![match sockets.participant_id {
        Some(id) => format!("participant {id} of domain {domain_id}"),
        None => format!(
            "participant of domain {domain_id} with ports of the system's choice: those of all participant ids are taken"
        ),
    }];
    lines.extend(sockets::ephemeral_ports().and_then(|range| sockets::ephemeral_collision(domain_id, range)));
    let granted = |bytes: std::io::Result<usize>| bytes.map_or("?".to_owned(), |bytes| bytes.to_string());
    if read::led(sockets).is_some_and(|socket| socket.waker().is_none()) {
        lines.push(
            "the loopback interface is off: threads that wait for data are woken by another one (ip link set lo up)".to_owned(),
        );
    }
    for (name, socket) in sockets.all() {
        lines.push(format!(
            "{name} {}: receive buffer {} bytes as the kernel counts ({} asked for, it counts twice), send buffer {} ({})",
            socket.local(),
            granted(socket.receive_buffer()),
            config.buffers.receive,
            granted(socket.send_buffer()),
            config.buffers.send,
        ));
    }
    lines
}

/// A line about each socket that lost something.
pub(super) fn losses(sockets: &Sockets) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, socket) in sockets.all() {
        if let Ok(dropped @ 1..) = socket.dropped() {
            lines.push(format!(
                "{name} {}: {dropped} datagrams came in and were lost: the receive buffer was full",
                socket.local()
            ));
        }
        let failures = socket.sender().failures();
        let counted = [
            ("waited for room in the send buffer", failures.would_block),
            ("too large", failures.too_large),
            ("unreachable", failures.unreachable),
            ("waited for memory of the system", failures.no_buffer),
            ("refused for other reasons", failures.other),
        ];
        for (what, count) in counted.iter().filter(|(_, count)| *count > 0) {
            lines.push(format!("{name} {}: {count} datagrams {what}", socket.local()));
        }
    }
    lines
}
