//! Threads that see when the host stands still: one on each core that is watched, above all lanes.
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::followed::instant;
use super::stalls::Stalls;
use super::traced::ahead;
use crate::context::nanos;
use crate::reports::Fault;
use crate::server::Server;

/// A wake that is later is a stall.
const LATE: Duration = Duration::from_micros(100);

/// Ends the probes of a server.
pub(crate) struct Probes(Arc<Stalls>);

impl Drop for Probes {
    fn drop(&mut self) {
        self.0.keep(&[]);
    }
}

impl Server {
    /// Has a thread on each of these cores see when the host stands still; without a core one wherever the process may run. It wakes each
    /// `period`, with this real-time priority, which is to be above those of all lanes. From then on it is told of each limit that is
    /// exceeded how long the host stood still meanwhile. Cores that are watched already stay as they are; the probes of others end when they wake
    /// next. What the system does not grant is reported. A simulated server has no probes.
    pub fn watch_stalls(&mut self, cores: &[usize], priority: u8, period: Duration) {
        let Some(ahead) = ahead(&self.clock) else { return };
        let stalls = self.reports.stalls.get_or_init(|| Arc::new(Stalls::new(nanos(LATE))));
        if self.probes.is_none() {
            self.probes = Some(Probes(Arc::clone(stalls)));
        }
        let cores = if cores.is_empty() { vec![None] } else { cores.iter().copied().map(Some).collect() };
        stalls.keep(&cores);
        for core in cores {
            let Some(place) = stalls.add(core, instant(self.clock.now())) else { continue };
            let (seen, late, reports) = (Arc::clone(&place), stalls.late, Arc::clone(&self.reports));
            let probe = move || {
                let pinned = core.map_or(Ok(()), |core| udp::thread::set_cores(&[core]).map(drop));
                let granted = pinned.and_then(|()| udp::thread::set_real_time(priority).map(drop));
                if let Err(error) = granted {
                    if let Ok(mut seen) = seen.lock() {
                        seen.is_first = false;
                    }
                    reports.add("probe", Fault::Thread(error.to_string()));
                }
                let local = |time: u64| instant(time).saturating_sub(ahead);
                threads::wakes(period, |due, woke| {
                    let Ok(mut seen) = seen.lock() else { return true };
                    seen.woke(local(due), local(woke), late, nanos(period));
                    !seen.is_over
                });
            };
            let name = core.map_or_else(|| "probe".to_owned(), |core| format!("probe {core}"));
            if let Err(error) = thread::Builder::new().name(name).spawn(probe) {
                if let Ok(mut seen) = place.lock() {
                    seen.give_up();
                }
                self.reports.add("probe", Fault::Thread(format!("no thread: {error}")));
            }
        }
    }

    /// Looks for stalls no more: each probe ends when it wakes next.
    pub fn end_probes(&mut self) {
        self.probes = None;
    }
}
