//! With what a manager knows its own frames of LLDP: a key that is drawn at each start, and HMAC-SHA-256.
use ring::hmac::{HMAC_SHA256, Key, sign};
use ring::rand::{SecureRandom, SystemRandom};

use crate::Error;

/// A new key.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn secret() -> Result<[u8; 32], Error> {
    let mut secret = [0; 32];
    let filled = SystemRandom::new().fill(&mut secret);
    filled.map_err(|_| Error::System("the system has no random numbers".to_owned()))?;
    Ok(secret)
}

/// HMAC-SHA-256 (RFC 2104).
pub(crate) fn digest(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    let tag = sign(&Key::new(HMAC_SHA256, key), message);
    digest.iter_mut().zip(tag.as_ref()).for_each(|(digest, byte)| *digest = *byte);
    digest
}

#[cfg(test)]
mod tests {
    /// RFC 4231, test case 2, with the key filled up with zeros as HMAC does itself.
    #[test]
    fn it_is_hmac_sha_256() {
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let digest = super::digest(&key, b"what do ya want for nothing?");
        let shown: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(shown, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn each_start_has_its_own_key() {
        assert_ne!(super::secret().unwrap(), super::secret().unwrap());
    }
}
