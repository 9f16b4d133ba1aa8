//! Bytes that wait to be sent, up to a limit.
use alloc::vec::Vec;

use super::SendError;
use crate::message::Message;
use crate::words::Xid;

#[derive(Debug)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// How many of them have been sent.
    sent: usize,
    limit: usize,
}

impl Output {
    pub(super) const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), sent: 0, limit }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes).min(self.bytes.len());
        // Moved only when more is gone than is left, so that a byte is moved once on the average.
        if self.sent >= self.len() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Drops what was put last, down to `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(self.sent.saturating_add(len));
    }

    pub(super) fn put(&mut self, xid: Xid, message: &Message) -> Result<(), SendError> {
        let before = self.len();
        message.encode(xid, &mut self.bytes).map_err(SendError::TooLong)?;
        if self.len() > self.limit {
            self.truncate(before);
            return Err(SendError::OutputFull);
        }
        Ok(())
    }
}
