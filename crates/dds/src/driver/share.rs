//! What the driver does with shared memory: meeting other processes, and sending through it.
use std::num::NonZeroU32;

use rtps::Transmit;

use crate::bytes::Bytes;
use crate::driver::inside::{Duty, Inside};
use crate::driver::links::Way;
use crate::driver::{Driver, RETRY, clock};
use crate::host::{Engine, Sent};

impl Driver {
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
