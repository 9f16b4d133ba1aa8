//! Samples that say whose they are, so that a mixed-up or damaged one is noticed.
use wire::{Guid, SequenceNumber, Timestamp};

use crate::random::mix;

/// Shortest payload: encapsulation header, check and length.
pub const MIN_LEN: usize = 16;

/// Every byte of the payload of one sample: a function of writer, number and length.
pub fn make(writer: Guid, number: SequenceNumber, len: usize) -> Vec<u8> {
    let len = len.max(MIN_LEN);
    let mut state = seed(writer, number, len);
    let mut payload = Vec::with_capacity(len + 8);
    // CDR, little endian, no options.
    payload.extend_from_slice(&[0, 1, 0, 0]);
    payload.extend_from_slice(&(len as u32).to_le_bytes());
    while payload.len() < len {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        payload.extend_from_slice(&mix(state).to_le_bytes());
    }
    payload.truncate(len);
    payload
}

/// Whether a payload is that of the sample. Up to three bytes of padding may follow it, and then the last two bits of the
/// encapsulation options may say how many (XTypes 1.3, 7.6.3.1.2).
pub fn check(writer: Guid, number: SequenceNumber, payload: &[u8]) -> Result<(), String> {
    let len = payload
        .get(4..)
        .and_then(|rest| rest.first_chunk())
        .map(|bytes| u32::from_le_bytes(*bytes) as usize)
        .filter(|len| *len >= MIN_LEN && *len <= payload.len())
        .ok_or_else(|| {
            format!("{number:?} of {writer}: {} octets without a credible length", payload.len())
        })?;
    let mut expected = make(writer, number, len);
    if let (Some(found), Some(made)) = (payload.get(3), expected.get_mut(3))
        && usize::from(*found) == payload.len() - len
    {
        *made = *found;
    }
    if let Some(position) = payload.iter().zip(&expected).position(|(found, made)| found != made) {
        return Err(format!("{number:?} of {writer}: octet {position} of {len} differs"));
    }
    if payload.len() - len > 3 {
        return Err(format!("{number:?} of {writer}: {} octets, {len} were written", payload.len()));
    }
    Ok(())
}

/// The source timestamp of a sample: some share theirs with the one before, some have none.
pub fn timestamp(number: SequenceNumber) -> Option<Timestamp> {
    let nanos = 1_700_000_000_000_000_000 + number.0 / 3 * 1_000_003;
    (!mix(number.0 as u64).is_multiple_of(4)).then(|| Timestamp::from_nanos(nanos))
}

/// The key hash in the inline QoS of a sample; most have none.
pub fn key_hash(number: SequenceNumber) -> Option<[u8; 16]> {
    mix(number.0 as u64).is_multiple_of(7).then_some([number.0 as u8; 16])
}

fn seed(writer: Guid, number: SequenceNumber, len: usize) -> u64 {
    let fold =
        |hash: u64, octets: &[u8]| octets.iter().fold(hash, |hash, octet| mix(hash ^ u64::from(*octet)));
    fold(number.0 as u64 ^ (len as u64) << 40, &writer.to_bytes()[4..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{EntityId, EntityKind, GuidPrefix};

    #[test]
    fn timestamps_and_key_hashes_vary() {
        let numbers = || (1..100).map(SequenceNumber);
        assert!((10..40).contains(&numbers().filter(|number| timestamp(*number).is_none()).count()));
        assert!(
            numbers().any(|number| {
                timestamp(number).is_some() && timestamp(number) == timestamp(number.next())
            })
        );
        assert!((5..30).contains(&numbers().filter(|number| key_hash(*number).is_some()).count()));
    }

    #[test]
    fn only_the_right_payload_passes() {
        let writer = Guid::new(GuidPrefix([3; 12]), EntityId::user(1, EntityKind::WriterNoKey));
        let number = SequenceNumber(9);
        for len in [0, 16, 17, 1_000] {
            let payload = make(writer, number, len);
            assert_eq!(payload.len(), len.max(MIN_LEN));
            check(writer, number, &payload).unwrap();
            check(writer, SequenceNumber(10), &payload).unwrap_err();
            check(Guid::default(), number, &payload).unwrap_err();
            let mut damaged = payload.clone();
            *damaged.last_mut().unwrap() ^= 1;
            check(writer, number, &damaged).unwrap_err();
            check(writer, number, &payload[..payload.len() - 1]).unwrap_err();
            let padded = [payload.as_slice(), &[0; 3]].concat();
            check(writer, number, &padded).unwrap();
            let said = |count| [&[0, 1, 0, count], &padded[4..]].concat();
            check(writer, number, &said(3)).unwrap();
            check(writer, number, &said(2)).unwrap_err();
            check(writer, number, &[payload.as_slice(), &[0; 4]].concat()).unwrap_err();
        }
    }
}
