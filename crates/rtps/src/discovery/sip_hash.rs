//! SipHash-2-4 (Aumasson and Bernstein, 2012), for what others shall not be able to guess.

/// The hash of whole words of eight bytes.
pub(super) fn sip_hash([k0, k1]: [u64; 2], words: &[u64]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    // The last block has the length in bytes, modulo 256, in its highest byte.
    let length = (words.len() as u64).wrapping_mul(8) << 56;
    for block in words.iter().copied().chain([length]) {
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
        // Vectors 0, 8 and 16 of the reference: key 00..0f, messages empty, 00..07 and 00..0f.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(sip_hash(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(sip_hash(key, &[0x0706_0504_0302_0100]), 0x93f5_f579_9a93_2462);
        assert_eq!(sip_hash(key, &[0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]), 0x3f2a_cc7f_57c2_9bdb);
    }
}
