//! Samples of Punctual that are written into the memory that their reader's process copies them out of, and looked at as they came.
use dds::serialized::{Request, Sample};
use dds::{DataReader, DataWriter, ReturnCode, WriteOptions};

use super::measure::{Counter, Wrong};
use super::ours::{AT_ONCE, Message, Take};

/// What stands before the data: the encapsulation header of XCDR1 in little-endian, the number, and how many bytes follow.
const HEAD: usize = 12;
const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];

/// Writes one whose data are these; false if there was no room.
pub(super) fn write(writer: &DataWriter<Message>, number: u32, data: &[u8]) -> Result<bool, Wrong> {
    let mut loan = writer.loan(HEAD + data.len())?;
    let (head, bytes) = loan.split_at_mut(HEAD);
    let parts = [ENCAPSULATION, number.to_le_bytes(), u32::try_from(data.len())?.to_le_bytes()];
    head.copy_from_slice(parts.as_flattened());
    bytes.copy_from_slice(data);
    match writer.write_loaned(loan, &WriteOptions::default()) {
        Ok(_) => Ok(true),
        Err(error) if error.code == ReturnCode::Timeout => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The number of a sample and its data.
fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (head, data) = bytes.split_at_checked(HEAD)?;
    let word = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let data = data.get(..usize::try_from(word(8)?).ok()?)?;
    head.starts_with(&ENCAPSULATION[..2]).then_some((u64::from(word(4)?), data))
}

/// Counts samples without making a [`Message`] of them.
pub(super) struct Bytes {
    pub(super) counter: Counter,
    taken: Vec<Sample>,
}

impl Bytes {
    pub(super) fn new(counter: Counter) -> Self {
        Self { counter, taken: Vec::with_capacity(AT_ONCE) }
    }
}

impl Take for Bytes {
    fn take(&mut self, reader: &DataReader<Message>, _: &mut Message) -> Result<usize, Wrong> {
        let count = reader.access_serialized(&Request { max: AT_ONCE, ..Request::TAKE }, &mut self.taken)?;
        for sample in self.taken.iter().filter(|sample| sample.info.valid_data) {
            let bytes = sample.payload.as_ref().map_or(&[][..], AsRef::as_ref);
            let (number, data) = read(bytes).ok_or("a sample is no message")?;
            self.counter.add(number, data);
        }
        reader.recycle(self.taken.drain(..));
        Ok(count)
    }

    fn idle(&mut self) {
        self.counter.idle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_not_read() {
        let message = [0, 1, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 7, 8, 9, 0];
        assert_eq!(read(&message), Some((5, &[7, 8, 9][..])));
        assert_eq!(read(&message[..15]), Some((5, &[7, 8, 9][..])));
        for len in 0..15 {
            assert_eq!(read(&message[..len]), None);
        }
        let mut other = message;
        other[1] = 7;
        assert_eq!(read(&other), None);
    }
}
