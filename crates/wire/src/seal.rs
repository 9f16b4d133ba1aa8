//! Signatures under what participants and resource managers say to each other: what is signed, and the bytes that carry it.
//!
//! A *seal* stands after the serialized payload of a sample, so that programs that know no seals read the sample as before. A certificate
//! travels once for each participant, as [`Identity`](crate::admission::Identity). What a seal says, and to whom, is in [`Statement`]:
//! nothing of it can be used for another participant, another manager, another start of a manager, or a second time.
//! See `docs/decisions/0019-signed-requests.md`.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::{Guid, GuidPrefix};

/// Bytes of a seal.
pub const SEAL_SIZE: usize = 8 + MOST_SIGNATURE + 4;
/// Most bytes of a signature: ECDSA over P-256 in DER.
pub const MOST_SIGNATURE: usize = 72;
/// Most bytes of a certificate that is looked at.
pub const MOST_CERTIFICATE: usize = 2_048;
/// Most bytes of the name of a user.
pub const MOST_NAME: usize = 58;

/// The last two bytes of every seal.
const MARK: [u8; 2] = [0x5e, 0xa1];
/// The beginning of all that is signed: a key that signs something else as well signs nothing that could be taken for it.
const CONTEXT: &[u8] = b"punctual admission 1\0";

/// What a seal is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Purpose {
    /// A pair is asked for.
    Request = 1,
    /// It is asked for no longer.
    Withdrawal = 2,
    /// A manager answers.
    Verdict = 3,
    /// A participant shows its certificate.
    Identity = 4,
    /// Who asks for sessions over domains tells what became of one.
    Session = 5,
}

impl Purpose {
    const fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Request),
            2 => Some(Self::Withdrawal),
            3 => Some(Self::Verdict),
            4 => Some(Self::Identity),
            5 => Some(Self::Session),
            _ => None,
        }
    }
}

/// A signature, as a certificate's key makes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    bytes: [u8; MOST_SIGNATURE],
    len: u8,
}

impl Signature {
    /// These bytes; `None` if there are none, or more than [`MOST_SIGNATURE`].
    pub fn new(signature: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST_SIGNATURE];
        bytes.get_mut(..signature.len())?.copy_from_slice(signature);
        let len = u8::try_from(signature.len()).ok().filter(|len| *len > 0)?;
        Some(Self { bytes, len })
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({} bytes)", self.len)
    }
}

/// A payload with a seal, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sealed<'p> {
    /// The payload without the seal.
    pub content: &'p [u8],
    /// What the seal is for.
    pub purpose: Purpose,
    /// Larger in each seal of a participant.
    pub counter: u64,
    /// Not verified.
    pub signature: Signature,
}

/// Appends a seal to a payload.
pub fn append(payload: &mut Vec<u8>, purpose: Purpose, counter: u64, signature: &Signature) {
    payload.extend_from_slice(&counter.to_be_bytes());
    payload.extend_from_slice(&signature.bytes);
    payload.extend_from_slice(&[signature.len, purpose as u8]);
    payload.extend_from_slice(&MARK);
}

/// Takes a payload apart; `None` if it has no seal. There is one way alone to write each seal.
pub fn open(payload: &[u8]) -> Option<Sealed<'_>> {
    let (content, seal) = payload.split_last_chunk::<SEAL_SIZE>()?;
    let (counter, rest) = seal.split_first_chunk::<8>()?;
    let (signature, end) = rest.split_first_chunk::<MOST_SIGNATURE>()?;
    let [len, purpose, mark @ ..] = *end.first_chunk::<4>()?;
    let signature = Signature { bytes: *signature, len };
    let after = signature.bytes.get(usize::from(len)..)?;
    let is_canonical = mark == MARK && len > 0 && after.iter().all(|byte| *byte == 0);
    let purpose = Purpose::of(purpose).filter(|_| is_canonical)?;
    Some(Sealed { content, purpose, counter: u64::from_be_bytes(*counter), signature })
}

/// All that a signature stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statement<'c> {
    /// What is said.
    pub purpose: Purpose,
    /// Whose participant says it.
    pub from: GuidPrefix,
    /// The participant of the manager that it is said to, or by.
    pub manager: GuidPrefix,
    /// The epoch of that manager.
    pub epoch: u64,
    /// Larger than in all that this participant has signed before.
    pub counter: u64,
    /// The payload, encapsulation header and padding included; of an identity the certificate.
    pub content: &'c [u8],
}

impl Statement<'_> {
    /// The bytes that are signed: each part has its length fixed but the last one, so that no two statements have the same.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(CONTEXT.len().saturating_add(64).saturating_add(self.content.len()));
        bytes.extend_from_slice(CONTEXT);
        bytes.push(self.purpose as u8);
        bytes.extend_from_slice(&self.from.0);
        bytes.extend_from_slice(&self.manager.0);
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&self.counter.to_be_bytes());
        bytes.extend_from_slice(self.content);
        bytes
    }
}

/// What a certificate says of its holder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Holder {
    /// It may manage the network.
    Manager,
    /// It may ask, in this name.
    User(String),
}

/// A certificate that was found to be good, and its holder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certified {
    /// The holder.
    pub holder: Holder,
    /// The certificate.
    pub certificate: Vec<u8>,
}

/// The cryptography, which is not done here: a key of one's own with its certificate, and an authority that is trusted.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// The own certificate, X.509 in DER, [`MOST_CERTIFICATE`] bytes at most.
    fn certificate(&self) -> &[u8];

    /// The holder of that certificate.
    fn holder(&self) -> &Holder;

    /// Signs a message; `None` if that cannot be.
    fn sign(&self, message: &[u8]) -> Option<Signature>;

    /// Whether the authority has signed a certificate, whether it holds at this time, in seconds since 1970, and whose it is.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    fn certify(&self, certificate: &[u8], now: u64) -> Result<Certified, String>;

    /// Whether the key of a certificate has signed a message.
    fn has_signed(&self, certified: &Certified, message: &[u8], signature: &Signature) -> bool;
}

/// Counters of seals: the time of day in nanoseconds since 1970 when the first is drawn, and larger with each. So that of a participant
/// that starts later is larger, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter(u64);

impl Counter {
    /// The next one; `wall` is the time in nanoseconds since 1970, if the clock knows one.
    pub fn draw(&mut self, wall: u64) -> u64 {
        self.0 = wall.max(self.0.saturating_add(1));
        self.0
    }
}

/// Signs the certificate of a participant in its name; the epoch is that of a manager, and 0 of others.
pub fn identity(
    credentials: &dyn Credentials,
    from: GuidPrefix,
    epoch: u64,
) -> Option<crate::admission::Identity> {
    let certificate = credentials.certificate();
    let statement = Statement {
        purpose: Purpose::Identity,
        from,
        manager: from,
        epoch,
        counter: 0,
        content: certificate,
    };
    let signature = credentials.sign(&statement.to_bytes())?;
    Some(crate::admission::Identity {
        participant: Guid::new(from, crate::EntityId::PARTICIPANT).to_bytes(),
        epoch,
        certificate: certificate.to_vec(),
        signature: signature.as_bytes().to_vec(),
    })
}

/// Whether a participant has shown a certificate that is good and its own. `from` is where the sample came from.
///
/// # Errors
/// What is wrong, in words.
pub fn check_identity(
    credentials: &dyn Credentials,
    from: GuidPrefix,
    identity: &crate::admission::Identity,
    now: u64,
) -> Result<Certified, String> {
    // Its key is the participant: with another entity it would be an instance of its own.
    if Guid::from_bytes(identity.participant) != Guid::new(from, crate::EntityId::PARTICIPANT) {
        return Err("it shows a certificate in the name of another participant".into());
    }
    if identity.certificate.len() > MOST_CERTIFICATE {
        return Err("its certificate is too long".into());
    }
    let certified = credentials.certify(&identity.certificate, now)?;
    let statement = Statement {
        purpose: Purpose::Identity,
        from,
        manager: from,
        epoch: identity.epoch,
        counter: 0,
        content: &identity.certificate,
    };
    let signature = Signature::new(&identity.signature)
        .filter(|signature| credentials.has_signed(&certified, &statement.to_bytes(), signature));
    signature
        .map(|_| certified)
        .ok_or_else(|| "it does not have the key of the certificate that it shows".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature() -> Signature {
        Signature::new(&[7; 70]).unwrap()
    }

    #[test]
    fn a_seal_is_read_as_it_was_written() {
        let mut payload = alloc::vec![0, 1, 0, 0, 9, 9, 9, 9];
        append(&mut payload, Purpose::Withdrawal, 77, &signature());
        assert_eq!(payload.len(), 8 + SEAL_SIZE);
        let sealed = open(&payload).unwrap();
        assert_eq!((sealed.content, sealed.counter), (&[0, 1, 0, 0, 9, 9, 9, 9][..], 77));
        assert_eq!((sealed.purpose, sealed.signature), (Purpose::Withdrawal, signature()));
    }

    #[test]
    fn each_seal_can_be_written_in_one_way_alone() {
        let mut payload = Vec::new();
        append(&mut payload, Purpose::Request, 1, &signature());
        assert!(open(&payload).is_some() && open(&payload[1..]).is_none() && open(&[]).is_none());
        for (at, wrong) in
            [(8 + 70, 1), (8 + 72, 0), (8 + 72, 73), (8 + 73, 0), (8 + 73, 6), (8 + 74, 0), (8 + 75, 0)]
        {
            let mut other = payload.clone();
            other[at] = wrong;
            assert!(open(&other).is_none(), "byte {at} is {wrong}");
        }
        assert!(Signature::new(&[]).is_none() && Signature::new(&[1; 73]).is_none());
    }

    #[test]
    fn whatever_differs_is_another_statement() {
        let (one, two) = (GuidPrefix([1; 12]), GuidPrefix([2; 12]));
        let base = Statement {
            purpose: Purpose::Request,
            from: one,
            manager: two,
            epoch: 3,
            counter: 4,
            content: b"abc",
        };
        let others = [
            Statement { purpose: Purpose::Withdrawal, ..base },
            Statement { from: two, ..base },
            Statement { manager: one, ..base },
            Statement { epoch: 4, ..base },
            Statement { counter: 3, ..base },
            Statement { content: b"ab", ..base },
        ];
        assert!(others.iter().all(|other| other.to_bytes() != base.to_bytes()));
    }

    #[test]
    fn counters_rise_also_if_the_clock_goes_back() {
        let mut counter = Counter::default();
        assert_eq!([10, 10, 5, 20].map(|wall| counter.draw(wall)), [10, 11, 12, 20]);
    }
}
