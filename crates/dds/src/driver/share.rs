//! What the driver does with shared memory: meeting other processes, and sending through it.
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use rtps::Transmit;

use crate::bytes::Bytes;
use crate::driver::inside::{Duty, Inside};
use crate::driver::links::{Links, Way};
use crate::driver::threads::Starter;
use crate::driver::{Driver, RETRY, clock};
use crate::host::{Engine, Sent};
use crate::lock::lock;

/// When it is tried again to begin after the system refused.
const BEGIN_AGAIN: Duration = Duration::from_secs(10);

impl Driver {
    /// If somebody is there who can be met, begins with shared memory: on a thread of normal priority in the network namespace of the sockets.
    /// Gives the time after which it is to be tried again.
    pub(super) fn begin_sharing(self: &Arc<Self>, engine: &Arc<dyn Engine>) -> Option<Duration> {
        let links = self.links.as_ref()?;
        match links.begin() {
            Ok(false) => None,
            Ok(true) => {
                let refused = self.start_sharing(links, engine).err();
                if refused.is_some() {
                    links.close();
                }
                links.set_trouble(refused.map(|error| format!("a thread was refused: {error}")));
                None
            }
            Err(why) => {
                links.set_trouble(Some(why));
                Some(BEGIN_AGAIN)
            }
        }
    }

    /// Starts the threads.
    fn start_sharing(self: &Arc<Self>, links: &Arc<Links>, engine: &Arc<dyn Engine>) -> io::Result<()> {
        let mut starter = Starter::new(&self.config.threads);
        let (driver, own, rings) = (Arc::clone(self), Arc::clone(engine), Arc::clone(links));
        let started =
            starter.start("rings", true, Box::new(move || driver.read_rings(rings, own))).and_then(|()| {
                let (driver, own) = (Arc::clone(self), Arc::clone(engine));
                starter.start("links", false, Box::new(move || driver.meet_others(&*own)))
            });
        let (threads, lines) = starter.finish();
        self.lines().threads.extend(lines);
        lock(&self.threads).extend(threads);
        started
    }

    /// The thread that meets other processes.
    pub(super) fn meet_others(&self, engine: &dyn Engine) {
        let Some(links) = &self.links else { return };
        links.meet_others(&|participant, link| {
            if !self.is_closing() {
                let _inside = Inside::enter(self.id, Duty::Other);
                engine.on_link(participant, link);
            }
        });
    }

    /// Sends along a link; `None` if it cannot go there.
    pub(super) fn send_shared(&self, link: NonZeroU32, datagram: &Transmit<Bytes>) -> Option<Sent> {
        match self.links.as_ref()?.send(link, datagram) {
            Way::Taken | Way::Lost => Some(Sent::Done),
            Way::Full => {
                self.timer.wish(clock::monotonic().after(RETRY));
                Some(Sent::Full)
            }
            Way::Unfit | Way::Closed | Way::Nonsense(_) => None,
        }
    }
}
