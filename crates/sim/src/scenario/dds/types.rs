//! The types of topics: with a short key, with a long one, and without. Each sample says its instance and carries bytes.
use std::sync::Arc;

use dds::cdr::{Encoding, KeyHash, Representation};
use dds::{CdrTypeSupport, DataWriter, DdsType, Error, KeyError, SequenceNumber, TypeSupport};

/// How instances are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// By numbers: key hashes are the key, and differ between the versions of CDR.
    Numbered,
    /// By a text: key hashes are digests.
    Named,
    /// Not at all.
    Keyless,
}

/// See [`Form::Numbered`].
#[derive(DdsType)]
pub(super) struct Numbered {
    #[dds(key)]
    low: u8,
    #[dds(key)]
    number: u64,
    octets: Vec<u8>,
}

/// See [`Form::Named`].
#[derive(DdsType)]
pub(super) struct Named {
    octets: Vec<u8>,
    #[dds(key)]
    name: String,
}

/// See [`Form::Keyless`].
#[derive(DdsType)]
pub(super) struct Keyless {
    octets: Vec<u8>,
}

/// A sample of any of the types.
pub trait Datum: DdsType + Send + Sync + 'static {
    /// A sample of an instance.
    fn new(instance: u32, bytes: Vec<u8>) -> Self;

    /// The instance, if the key is that of one, and the bytes.
    fn parts(self) -> (Option<u32>, Vec<u8>);
}

impl Datum for Numbered {
    fn new(instance: u32, octets: Vec<u8>) -> Self {
        Self { low: instance as u8, number: u64::from(instance) << 32, octets }
    }

    fn parts(self) -> (Option<u32>, Vec<u8>) {
        let instance = u32::from(self.low);
        ((self.number == u64::from(instance) << 32).then_some(instance), self.octets)
    }
}

impl Datum for Named {
    fn new(instance: u32, octets: Vec<u8>) -> Self {
        Self { octets, name: format!("instance with the number {instance}") }
    }

    fn parts(self) -> (Option<u32>, Vec<u8>) {
        let number =
            self.name.strip_prefix("instance with the number ").and_then(|number| number.parse().ok());
        (number, self.octets)
    }
}

impl Datum for Keyless {
    fn new(_: u32, octets: Vec<u8>) -> Self {
        Self { octets }
    }

    fn parts(self) -> (Option<u32>, Vec<u8>) {
        (Some(0), self.octets)
    }
}

/// Does something with the type of a form.
macro_rules! with_type {
    ($form:expr, $type:ident => $what:expr) => {
        match $form {
            Form::Numbered => {
                type $type = $crate::scenario::dds::types::Numbered;
                $what
            }
            Form::Named => {
                type $type = $crate::scenario::dds::types::Named;
                $what
            }
            Form::Keyless => {
                type $type = $crate::scenario::dds::types::Keyless;
                $what
            }
        }
    };
}
pub(super) use with_type;

impl Form {
    /// A serialized sample.
    pub fn encode(self, instance: u32, bytes: &[u8], xcdr2: bool) -> Vec<u8> {
        let encoding = if xcdr2 { Encoding::XCDR2 } else { Encoding::XCDR1 };
        let mut out = Vec::new();
        let encoded =
            with_type!(self, T => T::new(instance, bytes.to_vec()).encode_payload(encoding, &mut out));
        debug_assert!(encoded.is_ok(), "no bound can be broken");
        out
    }

    /// Instance and bytes of a serialized sample.
    pub fn decode(self, payload: &[u8]) -> Result<(Option<u32>, Vec<u8>), String> {
        with_type!(self, T => T::decode_payload(payload).map(T::parts).map_err(|error| format!("{error}")))
    }

    /// The instance of a serialized key.
    pub fn decode_key(self, payload: &[u8]) -> Option<u32> {
        with_type!(self, T => T::decode_key_payload(payload).ok()?.parts().0)
    }

    /// What readers and untyped writers know of the type; `token` lives as long as the endpoint does.
    pub fn support(self, token: &Arc<()>) -> Box<dyn TypeSupport + Send> {
        let token = Arc::clone(token);
        with_type!(self, T => Box::new(Tracked { support: CdrTypeSupport::<T>::new(), _token: token }))
    }
}

/// A typed writer, whatever its type.
pub trait TypedWriter: Send + Sync {
    /// Writes a sample.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    fn write(&self, instance: u32, bytes: &[u8]) -> Result<SequenceNumber, Error>;
}

impl<T: Datum> TypedWriter for DataWriter<T> {
    fn write(&self, instance: u32, bytes: &[u8]) -> Result<SequenceNumber, Error> {
        Self::write(self, &T::new(instance, bytes.to_vec()))
    }
}

/// A type support with a token, so that it can be seen whether the endpoint that owns it is still there.
struct Tracked<T> {
    support: T,
    _token: Arc<()>,
}

impl<T: TypeSupport> TypeSupport for Tracked<T> {
    fn has_key(&self) -> bool {
        self.support.has_key()
    }

    fn key(&mut self, payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Result<(), KeyError> {
        self.support.key(payload, is_key, key)
    }

    fn key_hash(&mut self, key: &[u8], representation: Representation) -> Result<KeyHash, KeyError> {
        self.support.key_hash(key, representation)
    }

    fn key_payload(
        &mut self,
        key: &[u8],
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        self.support.key_payload(key, representation, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_gives_back_instance_and_octets() {
        for form in [Form::Numbered, Form::Named, Form::Keyless] {
            let instance = if form == Form::Keyless { 0 } else { 5 };
            for xcdr2 in [false, true] {
                let payload = form.encode(instance, &[1, 2, 3], xcdr2);
                assert_eq!(form.decode(&payload).unwrap(), (Some(instance), vec![1, 2, 3]));
            }
            let token = Arc::new(());
            let mut support = form.support(&token);
            assert_eq!(Arc::strong_count(&token), 2);
            let (mut key, mut payload) = (Vec::new(), Vec::new());
            support.key(&form.encode(instance, &[], false), false, &mut key).unwrap();
            if form != Form::Keyless {
                support.key_payload(&key, Representation::Xcdr2, &mut payload).unwrap();
                assert_eq!(form.decode_key(&payload), Some(5));
            }
        }
    }
}
