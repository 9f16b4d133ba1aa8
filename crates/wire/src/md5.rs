//! MD5 (RFC 1321), for the places where the standards use it as a fingerprint: key hashes, member ids, type hashes.
use md5::{Digest, Md5};

/// The MD5 digest of `bytes`.
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::md5;

    #[test]
    fn digests_of_rfc_1321() {
        assert_eq!(md5(b"")[..4], [0xd4, 0x1d, 0x8c, 0xd9]);
        assert_eq!(md5(b"message digest")[..4], [0xf9, 0x6b, 0x69, 0x7d]);
    }
}
