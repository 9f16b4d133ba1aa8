//! Types of topics, as far as a bridge needs them: to tell instances apart.
use std::sync::{Arc, Mutex, PoisonError};

use dds::cdr::{EncodeError, EncodeFault, KeyHash, Representation};
use dds::xtypes::{Described, describe, recover};
use dds::{DomainParticipant, Duration, KeyError, KeylessTypeSupport, TypeSupport};
use dynamic::{Definition, DynamicTypeSupport, Schema, Type, TypeIndex};
use wire::discovery::EndpointData;

/// How long a participant is asked for a type.
const ASK: Duration = Duration::from_secs(5);

/// Support for a type with its keys.
pub(crate) type Support = Box<dyn TypeSupport + Send>;

/// The type that a participant tells of an endpoint.
#[derive(Clone)]
pub(crate) struct Told {
    schema: Arc<Schema>,
    index: TypeIndex,
}

impl Told {
    /// Asks for the type of an endpoint; takes a while.
    pub(crate) fn ask(participant: &DomainParticipant, endpoint: &EndpointData) -> Option<Self> {
        endpoint.type_information.as_ref()?;
        let found = participant.find_type(endpoint, ASK).ok().flatten()?;
        let (schema, mut index) = recover(&found.objects, found.id)?;
        while let Some(Definition::Alias(alias)) = schema.get(index) {
            let Type::Named(of) = alias.plain else { return None };
            index = of;
        }
        schema.get(index)?.extensibility()?;
        Some(Self { schema: Arc::new(schema), index })
    }

    /// Its type objects, for other sites; `None` where there are none.
    pub(crate) fn described(&self) -> Option<Described> {
        describe(&self.schema, self.index).ok()
    }

    pub(crate) fn support(&self) -> Support {
        Box::new(DynamicTypeSupport::new(Arc::clone(&self.schema), self.index))
    }
}

/// Samples without key, or of which it is not known.
pub(crate) fn unknown(keyed: bool) -> Support {
    if keyed { Box::new(ByHash(Next::default())) } else { Box::new(KeylessTypeSupport) }
}

/// The instance of the next sample that is written: its key hash, and its serialized key if the instance ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Next(Arc<Mutex<([u8; 16], Vec<u8>)>>);

impl Next {
    pub(crate) fn set(&self, hash: [u8; 16], key: &[u8]) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.0 = hash;
        next.1.clear();
        next.1.extend_from_slice(key);
    }
}

/// Samples of instances whose key hash came with them: the hash is the canonical key, and no type is needed.
#[derive(Clone, Debug)]
pub(crate) struct ByHash(pub(crate) Next);

impl TypeSupport for ByHash {
    fn has_key(&self) -> bool {
        true
    }

    fn key(&mut self, _: &[u8], _: bool, key: &mut Vec<u8>) -> Result<(), KeyError> {
        key.extend_from_slice(&self.0.0.lock().unwrap_or_else(PoisonError::into_inner).0);
        Ok(())
    }

    fn key_hash(&mut self, key: &[u8], _: Representation) -> Result<KeyHash, KeyError> {
        key.try_into().map(KeyHash).map_err(|_| none())
    }

    fn key_payload(&mut self, key: &[u8], _: Representation, out: &mut Vec<u8>) -> Result<(), KeyError> {
        let next = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if next.0 != *key || next.1.is_empty() {
            return Err(none());
        }
        out.extend_from_slice(&next.1);
        Ok(())
    }
}

const fn none() -> KeyError {
    KeyError::Encode(EncodeError { fault: EncodeFault::NoKey, at: 0, member: None })
}
