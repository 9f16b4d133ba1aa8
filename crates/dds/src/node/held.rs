//! Readers whose acknowledgements wait for a datagram to go with.
//!
//! They wait for no longer than the endpoints' socket is not read: a thread that reads on sends them first. So holding them back needs
//! no timer, and delays nothing that would not be delayed anyway: a question that came meanwhile would lie in the socket too.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rtps::{Path, Transmit};
use wire::Now;

use super::reader::ReaderCell;
use crate::bytes::Bytes;
use crate::lock::lock;

/// See the module.
#[derive(Default)]
pub(super) struct Held {
    /// There may be some: this is looked at for every datagram.
    some: AtomicBool,
    readers: Mutex<Vec<Arc<ReaderCell>>>,
}

impl Held {
    /// Remembers a reader.
    pub(super) fn add(&self, cell: &Arc<ReaderCell>) {
        let mut readers = lock(&self.readers);
        if !readers.iter().any(|known| Arc::ptr_eq(known, cell)) {
            readers.push(Arc::clone(cell));
        }
        self.some.store(true, Ordering::Release);
    }

    /// False if [`Held::release`] has nothing to do.
    pub(super) fn is_any(&self) -> bool {
        self.some.load(Ordering::Acquire)
    }

    /// Lets a writer's datagram of at most `limit` bytes take along what goes to the same place.
    pub(super) fn carry(&self, limit: u32, datagram: &mut Transmit<Bytes>) {
        if !self.is_any() || datagram.is_message() || datagram.segment().is_some() {
            return;
        }
        // What others need not read is not sent to them.
        let &[path] = datagram.paths() else { return };
        if path == Path::IN_PROCESS || path.flow.is_some() {
            return;
        }
        let limit = path.max_datagram.min(limit) as usize;
        let mut readers = lock(&self.readers);
        readers.retain(|cell| {
            let room = limit.saturating_sub(datagram.len());
            let reader = &mut cell.lock().rtps;
            reader.carry(&path, room, datagram);
            reader.holds()
        });
        self.some.store(!readers.is_empty(), Ordering::Release);
    }

    /// Lets go by themselves those that still wait, and gives each of their readers to `touch`.
    pub(super) fn release(&self, now: Now, mut touch: impl FnMut(&Arc<ReaderCell>)) {
        let mut readers = lock(&self.readers);
        for cell in readers.drain(..) {
            cell.lock().rtps.release(now);
            touch(&cell);
        }
        self.some.store(false, Ordering::Release);
    }
}
