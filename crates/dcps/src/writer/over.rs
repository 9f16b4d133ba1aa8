//! Writing a sample over the only one that is held: what [`DataWriter::write_keyed`] comes to for a writer that keeps the last sample of a
//! topic without key, or of one instance, and for which no time counts.
use core::num::NonZeroU32;

use rtps::Payload;
use wire::qos::LivelinessKind;
use wire::{Now, SequenceNumber};

use super::{DataWriter, WriteOptions};
use crate::type_support::TypeSupport;

impl<T: TypeSupport, P: Payload> DataWriter<T, P> {
    /// True if [`DataWriter::write_over`] may do. It is asked of every sample, so it answers at once.
    #[inline]
    pub fn may_write_over(&self) -> bool {
        self.limits.depth == Some(1)
            && self.history.held() == 1
            && self.rtps.only_path().is_some_and(|path| path.link.is_some())
    }

    /// As [`DataWriter::write_keyed`], and polled: the one datagram that is to be sent is
    /// [`Writer::written_over`](rtps::writer::Writer::written_over), and it leaves through the shared memory that is given beside its number.
    /// `None` wherever that is not so simple; then nothing has changed but what was due.
    #[inline]
    pub fn write_over(
        &mut self,
        now: Now,
        key: &[u8],
        payload: &[u8],
        options: &WriteOptions,
    ) -> Option<(SequenceNumber, NonZeroU32)> {
        let endpoint = &self.qos.endpoint;
        let is_plain = self.limits.depth == Some(1)
            && self.history.held() == 1
            && self.samples.is_none()
            && options.instance.is_none()
            && options.related.is_none()
            && endpoint.lifespan.is_infinite()
            && endpoint.deadline.is_infinite()
            && endpoint.liveliness.kind == LivelinessKind::Automatic;
        if !is_plain {
            return None;
        }
        let link = self.rtps.only_path()?.link?;
        self.catch_up(now);
        let slot = self.history.table.by_key(key)?;
        if self.history.only(slot)? != self.rtps.last() {
            return None;
        }
        let number = self.rtps.write_over(now, options.source_timestamp.unwrap_or(now.wall), payload)?;
        self.history.renew(slot, number);
        Some((number, link))
    }
}
