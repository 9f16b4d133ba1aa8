//! Keys of types that are described at run time.
use alloc::sync::Arc;
use alloc::vec::Vec;

use dcps::{KeyError, TypeSupport};
use wire::cdr::sink::VecSink;
use wire::cdr::{EncodeError, EncodeFault, Encoder, Encoding, KeyHash, Representation, Scope};
use wire::cursor::Endianness;

use crate::value::Value;
use crate::{decode, encode};
use wire::schema::{Definition, Schema, Type, TypeIndex};

/// The keys of one type of a schema.
#[derive(Clone, Debug)]
pub struct DynamicTypeSupport {
    schema: Arc<Schema>,
    index: TypeIndex,
}

const CANONICAL: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big };

impl DynamicTypeSupport {
    /// The keys of the type at `index`.
    pub const fn new(schema: Arc<Schema>, index: TypeIndex) -> Self {
        Self { schema, index }
    }

    fn read_key(&self, key: &[u8]) -> Result<Value, KeyError> {
        decode::scoped(&self.schema, self.index, key, CANONICAL, Scope::KeyHash)
            .map_err(|unreadable| KeyError::Decode(unreadable.error))
    }

    fn write_key(&self, value: &Value, encoding: Encoding, key: &mut Vec<u8>) -> Result<(), KeyError> {
        let mut encoder = Encoder::new(VecSink::new(key), encoding, Scope::KeyHash);
        encode::value(&self.schema, &Type::Named(self.index), value, &mut encoder).map_err(KeyError::Encode)
    }
}

impl TypeSupport for DynamicTypeSupport {
    fn has_key(&self) -> bool {
        self.schema.get(self.index).is_some_and(Definition::has_key)
    }

    fn key(&mut self, payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Result<(), KeyError> {
        if !self.has_key() {
            return Ok(());
        }
        let value = decode::payload(&self.schema, self.index, payload, is_key)
            .map_err(|unreadable| KeyError::Decode(unreadable.error))?;
        self.write_key(&value, CANONICAL, key)
    }

    fn key_hash(&mut self, key: &[u8], representation: Representation) -> Result<KeyHash, KeyError> {
        let value = self.read_key(key)?;
        let mut bytes = Vec::new();
        self.write_key(&value, Encoding { representation, endianness: Endianness::Big }, &mut bytes)?;
        Ok(encode::key_hash(&self.schema, self.index, representation, &bytes))
    }

    fn key_payload(
        &mut self,
        key: &[u8],
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        if !self.has_key() {
            return Err(KeyError::Encode(EncodeError { fault: EncodeFault::NoKey, at: 0, member: None }));
        }
        let value = self.read_key(key)?;
        let encoding = match representation {
            Representation::Xcdr1 => Encoding::XCDR1,
            Representation::Xcdr2 => Encoding::XCDR2,
        };
        encode::key_payload(&self.schema, self.index, &value, encoding, out).map_err(KeyError::Encode)
    }
}
