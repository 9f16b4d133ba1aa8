//! Numbers of liveliness messages and of probes: always rising, and those of probes not to be guessed.
use wire::SequenceNumber;

/// Beyond this number probes are told apart by fewer bits, so that numbers never come to an end.
const SCARCE: i64 = 1 << 62;

/// The numbers of one participant, for all peers together. A number is used towards one peer only.
#[derive(Debug)]
pub(super) struct Numbers {
    last: i64,
    key: [u64; 2],
}

impl Numbers {
    /// `secret`: 64 random bits that only this participant knows.
    pub(super) fn new(secret: u64) -> Self {
        let key = [secret, secret.rotate_left(31) ^ 0x9e37_79b9_7f4a_7c15];
        let mut numbers = Self { last: 0, key };
        numbers.nonce();
        numbers
    }

    /// The next number of a message.
    pub(super) const fn next(&mut self) -> SequenceNumber {
        self.last = self.last.saturating_add(1);
        SequenceNumber(self.last)
    }

    /// The number of a probe: up to 2^16 above the last one, so that a sender which did not receive it cannot name it.
    pub(super) fn nonce(&mut self) -> SequenceNumber {
        let bits = if self.last < SCARCE { u64::from(u16::MAX) } else { 0xff };
        let jump = sip_hash(self.key, self.last.cast_unsigned()) & bits;
        self.last = self.last.saturating_add_unsigned(jump);
        self.next()
    }
}

/// SipHash-2-4 of one word of eight bytes (Aumasson and Bernstein, 2012).
fn sip_hash([k0, k1]: [u64; 2], word: u64) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    for block in [word, 8 << 56] {
        v[3] ^= block;
        v = round(round(v));
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    let [a, b, c, d] = (0..4).fold(v, |v, _| round(v));
    a ^ b ^ c ^ d
}

const fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // Vector 8 of the reference: key 00..0f, message 00..07.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(sip_hash(key, 0x0706_0504_0302_0100), 0x93f5_f579_9a93_2462);
    }

    #[test]
    fn numbers_rise_and_probes_differ_between_participants() {
        let (mut one, mut other) = (Numbers::new(1), Numbers::new(2));
        let mut last = SequenceNumber::ZERO;
        for round in 0..1_000 {
            let number = if round % 3 == 0 { one.next() } else { one.nonce() };
            assert!(number > last);
            last = number;
        }
        assert_ne!(one.nonce(), other.nonce());
        one.last = i64::MAX - 600;
        assert!(one.nonce() < SequenceNumber(i64::MAX));
    }
}
