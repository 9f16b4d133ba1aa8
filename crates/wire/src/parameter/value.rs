//! Values inside of parameters: plain CDR, aligned to the start of the value.
use alloc::string::String;
use alloc::vec::Vec;

use super::ParameterReason;
use crate::cursor::Cursor;
use crate::guid::Guid;
use crate::locator::Locator;
use crate::sequence_number::SequenceNumber;
use crate::time::Duration;

pub(crate) fn duration(fields: &mut Cursor<'_>) -> Option<Duration> {
    Some(Duration::from_wire(fields.i32()?, fields.u32()?))
}

pub(crate) fn guid(fields: &mut Cursor<'_>) -> Option<Guid> {
    fields.array().map(Guid::from_bytes)
}

pub(crate) fn boolean(fields: &mut Cursor<'_>) -> Option<bool> {
    fields.u8().map(|octet| octet != 0)
}

pub(crate) fn sequence_number(fields: &mut Cursor<'_>) -> Option<SequenceNumber> {
    Some(SequenceNumber::from_words(fields.i32()?, fields.u32()?))
}

/// A locator (RTPS 2.5, 9.3.2.4).
pub(crate) fn locator(fields: &mut Cursor<'_>) -> Option<Locator> {
    Some(Locator { kind: fields.i32()?, port: fields.u32()?, address: fields.array()? })
}

/// A sequence of bytes; its copy is as large as the bytes that are really there.
pub(crate) fn octets(fields: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let len = usize::try_from(fields.u32()?).ok()?;
    fields.take(len).map(<[u8]>::to_vec)
}

/// A string of at most `max` bytes without its NUL.
pub(crate) fn text(fields: &mut Cursor<'_>, max: usize) -> Result<String, ParameterReason> {
    let len =
        fields.u32().and_then(|len| usize::try_from(len).ok()).ok_or(ParameterReason::TextWithoutNul)?;
    if len > max.saturating_add(1) {
        return Err(ParameterReason::TextTooLong);
    }
    let Some([text @ .., 0]) = fields.take(len) else { return Err(ParameterReason::TextWithoutNul) };
    if text.contains(&0) {
        return Err(ParameterReason::TextWithNul);
    }
    core::str::from_utf8(text).map(String::from).map_err(|_| ParameterReason::TextNotUtf8)
}

#[inline(never)]
pub(crate) fn put_duration(out: &mut Vec<u8>, duration: Duration) {
    let (secs, fraction) = duration.to_wire();
    out.extend_from_slice(&secs.to_le_bytes());
    out.extend_from_slice(&fraction.to_le_bytes());
}

pub(crate) fn put_sequence_number(out: &mut Vec<u8>, number: SequenceNumber) {
    let (high, low) = number.to_words();
    out.extend_from_slice(&high.to_le_bytes());
    out.extend_from_slice(&low.to_le_bytes());
}

#[inline(never)]
pub(crate) fn put_locator(out: &mut Vec<u8>, locator: &Locator) {
    out.extend_from_slice(&locator.kind.to_le_bytes());
    out.extend_from_slice(&locator.port.to_le_bytes());
    out.extend_from_slice(&locator.address);
}

/// The length of a sequence or string. What is too long for it is too long for a parameter, which then is left out.
pub(crate) fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
}

pub(crate) fn put_octets(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

#[inline(never)]
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_len(out, text.len().saturating_add(1));
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Endianness;

    fn read(bytes: &[u8]) -> Result<String, ParameterReason> {
        text(&mut Cursor::new(bytes, Endianness::Little), 4)
    }

    #[test]
    fn a_string_ends_with_its_only_nul() {
        assert_eq!(read(&[1, 0, 0, 0, 0]).unwrap(), "");
        assert_eq!(read(&[5, 0, 0, 0, b'a', b'b', b'c', b'd', 0]).unwrap(), "abcd");
        assert_eq!(read(&[6, 0, 0, 0, b'a', b'b', b'c', b'd', b'e', 0]), Err(ParameterReason::TextTooLong));
        assert_eq!(read(&[0, 0, 0, 0]), Err(ParameterReason::TextWithoutNul));
        assert_eq!(read(&[2, 0, 0, 0, b'a', b'b']), Err(ParameterReason::TextWithoutNul));
        assert_eq!(read(&[3, 0, 0, 0, b'a', 0]), Err(ParameterReason::TextWithoutNul));
        assert_eq!(read(&[3, 0, 0, 0, b'a', 0, 0]), Err(ParameterReason::TextWithNul));
        assert_eq!(read(&[3, 0, 0, 0, 0xc3, 0x28, 0]), Err(ParameterReason::TextNotUtf8));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff]), Err(ParameterReason::TextTooLong));
    }
}
