//! Keys for tests of what is signed, without cryptography: a signature is a hash with a secret that only its holder is given.
use std::sync::Arc;

use wire::seal::{Certified, Credentials, Holder, Signature};

/// Keys of one holder, by an authority that has a number.
#[derive(Clone, Debug)]
pub struct ToyKeys {
    holder: Holder,
    certificate: Vec<u8>,
    authority: u8,
}

impl ToyKeys {
    /// The keys of a holder; the certificate holds until then, in seconds since 1970.
    pub fn new(authority: u8, holder: Holder, until: u64) -> Arc<Self> {
        let name = match &holder {
            Holder::Manager => String::new(),
            Holder::User(name) => format!("={name}"),
        };
        let certificate = [&[authority][..], &until.to_be_bytes(), name.as_bytes()].concat();
        Arc::new(Self { holder, certificate, authority })
    }

    /// Those of a user.
    pub fn user(authority: u8, name: &str, until: u64) -> Arc<Self> {
        Self::new(authority, Holder::User(name.to_owned()), until)
    }
}

/// 72 bytes that are not found by chance.
fn hash(certificate: &[u8], message: &[u8]) -> [u8; 72] {
    let mut out = [0; 72];
    for (round, part) in out.chunks_exact_mut(8).enumerate() {
        let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ ((round as u64) << 32);
        for byte in certificate.iter().chain(b"secret").chain(message) {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        part.copy_from_slice(&state.to_be_bytes());
    }
    out
}

impl Credentials for ToyKeys {
    fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    fn holder(&self) -> &Holder {
        &self.holder
    }

    fn sign(&self, message: &[u8]) -> Option<Signature> {
        Signature::new(&hash(&self.certificate, message))
    }

    fn certify(&self, certificate: &[u8], now: u64) -> Result<Certified, String> {
        let (authority, rest) = certificate.split_first().ok_or("it shows no certificate")?;
        let (until, name) = rest.split_first_chunk::<8>().ok_or("it shows no certificate")?;
        if *authority != self.authority {
            return Err("its certificate is of another authority".to_owned());
        }
        if u64::from_be_bytes(*until) < now {
            return Err("its certificate has expired".to_owned());
        }
        let holder = match name.split_first() {
            None => Holder::Manager,
            Some((_, name)) => {
                Holder::User(String::from_utf8(name.to_vec()).map_err(|error| error.to_string())?)
            }
        };
        Ok(Certified { holder, certificate: certificate.to_vec() })
    }

    fn has_signed(&self, certified: &Certified, message: &[u8], signature: &Signature) -> bool {
        hash(&certified.certificate, message) == signature.as_bytes()
    }
}
