//! Which writers a reader is matched with, and where it goes on with one that was lost and is found again.
//!
//! A participant that is silent for as long as its lease counts as gone, and so do its writers. It may only have been out of reach: then its
//! writers come back with the names and the numbers that they had, and one that keeps its history offers all of it again. The reader takes
//! what it has not taken yet.
use alloc::collections::VecDeque;

use wire::{Guid, Now, SequenceNumber};

use super::writer_proxy::WriterProxy;
use super::{MatchedWriter, Reader};
use crate::conduct::Conduct;

/// Most writers that one reader remembers, at 24 bytes each; those that were lost first make room.
const MOST: usize = 1_024;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// In the order in which they were lost, each once: a writer, and the number that is expected of it next.
    writers: VecDeque<(Guid, SequenceNumber)>,
}

impl Gone {
    fn remember(&mut self, writer: Guid, next: SequenceNumber) {
        self.take(writer);
        if self.writers.len() >= MOST {
            self.writers.pop_front();
        }
        self.writers.push_back((writer, next));
    }

    /// Where to go on with a writer; it is forgotten here.
    fn take(&mut self, writer: Guid) -> Option<SequenceNumber> {
        let index = self.writers.iter().position(|(gone, _)| *gone == writer)?;
        self.writers.remove(index).map(|(_, next)| next)
    }
}

impl Reader {
    /// Matches a writer, or gives a matched one new paths.
    pub fn match_writer(&mut self, now: Now, writer: MatchedWriter) {
        match self.position(writer.guid) {
            Ok(index) => {
                if let Some(proxy) = self.writers.get_mut(index) {
                    proxy.set_paths(writer.paths);
                }
            }
            Err(index) => {
                let reliable = writer.reliable && self.config.reliable;
                let place = self.gone.take(writer.guid).filter(|_| reliable);
                self.writers.insert(index, WriterProxy::new(writer, reliable, now.monotonic, place));
            }
        }
    }

    /// Sets how repairs from a matched writer are conducted; `None`, the default, leaves them to the times of the configuration. False if the
    /// writer is not matched.
    pub fn set_conduct(&mut self, writer: Guid, conduct: Option<Conduct>) -> bool {
        let index = self.position(writer).ok();
        let Some(proxy) = index.and_then(|index| self.writers.get_mut(index)) else { return false };
        // The announcement, and the time of the last datagram, are still the same.
        if proxy.announced.as_ref().map(|announced| *announced.conduct()) != conduct {
            proxy.set_conduct(conduct);
        }
        true
    }

    /// Asks a reliable writer for a HEARTBEAT, until it comes.
    pub(crate) fn ask(&mut self, now: Now, writer: Guid) {
        let index = self.position(writer).ok();
        if let Some(proxy) = index.and_then(|index| self.writers.get_mut(index)) {
            proxy.ask(now.monotonic);
        }
    }

    /// Asks a reliable writer for a HEARTBEAT, as [`Reader::ask`]: if it says twice that the writer has not got so far as this reader
    /// believes, the reader goes on where the writer is.
    pub(crate) fn verify(&mut self, now: Now, writer: Guid) {
        let index = self.position(writer).ok();
        if let Some(proxy) = index.and_then(|index| self.writers.get_mut(index)) {
            proxy.verify(now.monotonic);
        }
    }

    /// Forgets what was read of a matched writer and reads on at `place`; without one everything that the writer holds.
    pub(crate) fn begin_anew(&mut self, now: Now, writer: Guid, place: Option<SequenceNumber>) {
        let index = self.position(writer).ok();
        if let Some(proxy) = index.and_then(|index| self.writers.get_mut(index)) {
            let paths = proxy.path.into_iter().collect();
            let writer = MatchedWriter { guid: writer, reliable: proxy.reliable, paths };
            let mut new = WriterProxy::new(writer, proxy.reliable, now.monotonic, place);
            new.set_conduct(proxy.announced.as_ref().map(|announced| *announced.conduct()));
            core::mem::replace(proxy, new).release(&mut self.store);
        }
    }

    /// Forgets a writer for good, and what waits from it; false if it was not matched. See also [`Reader::lose_writer`].
    pub fn unmatch_writer(&mut self, writer: Guid) -> bool {
        self.gone.take(writer);
        let Ok(index) = self.position(writer) else { return false };
        self.writers.remove(index).release(&mut self.store);
        true
    }

    /// A writer is lost with its participant, which may come back: as [`Reader::unmatch_writer`], but a reliable reader that is matched with
    /// this writer again takes no change that it has taken. False if it was not matched; what is remembered of it stays then.
    pub fn lose_writer(&mut self, writer: Guid) -> bool {
        let Ok(index) = self.position(writer) else { return false };
        let proxy = self.writers.remove(index);
        // A best-effort writer repeats nothing; and no HEARTBEAT would tell of one that begins anew under its name.
        if proxy.reliable && proxy.place() > SequenceNumber::FIRST {
            self.gone.remember(writer, proxy.place());
        }
        proxy.release(&mut self.store);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(number: usize) -> Guid {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Guid::from_bytes(bytes)
    }

    #[test]
    fn so_many_are_remembered_and_those_that_were_lost_last() {
        let mut gone = Gone::default();
        for number in 0..3 * MOST {
            gone.remember(writer(number), SequenceNumber(number as i64));
            gone.remember(writer(number), SequenceNumber(number as i64 + 1));
        }
        assert_eq!(gone.writers.len(), MOST);
        assert_eq!(gone.take(writer(2 * MOST - 1)), None);
        assert_eq!(gone.take(writer(2 * MOST)), Some(SequenceNumber(2 * MOST as i64 + 1)));
        assert_eq!(gone.take(writer(2 * MOST)), None);
    }
}
