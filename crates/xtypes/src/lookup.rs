//! What participants ask each other about types, and answer (XTypes 1.3, 7.6.3.3).
use alloc::vec::Vec;

use derive::DdsType;
use wire::cdr::{
    BoundedString, BoundedVec, CdrType, DecodeError, Decoder, Description, EncodeError, Encoder, LengthCode,
    Representation, Sink, SizeBound,
};
use wire::cursor::Endianness;

use crate::identifier::TypeIdentifier;
use crate::information::IdentifierWithSize;
use crate::object::TypeObject;

/// A sample of some writer.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct SampleIdentity {
    /// The bytes of the writer's guid.
    pub writer: [u8; 16],
    /// Its number, high half.
    pub high: i32,
    /// Its number, low half.
    pub low: u32,
}

/// A question.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct Request {
    /// Which one it is, for the answer.
    pub id: SampleIdentity,
    /// Who is asked.
    pub instance_name: BoundedString<255>,
    /// What is asked.
    pub call: Call,
}

/// What is asked.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(appendable, discriminator = "i32")]
pub enum Call {
    /// Type objects.
    #[dds(case = 0x0182_52d3)]
    Types(TypesIn),
    /// The types that others need.
    #[dds(case = 0x05aa_fb31)]
    Dependencies(DependenciesIn),
}

/// The types whose type objects are asked for.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(mutable)]
pub struct TypesIn {
    /// The types.
    #[dds(hashid)]
    pub type_ids: Vec<TypeIdentifier>,
}

/// The types whose dependencies are asked for.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(mutable)]
pub struct DependenciesIn {
    /// The types.
    #[dds(hashid)]
    pub type_ids: Vec<TypeIdentifier>,
    /// Where the last answer ended; empty at first.
    #[dds(hashid)]
    pub continuation_point: BoundedVec<u8, 32>,
}

/// An answer.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct Reply {
    /// The question.
    pub related: SampleIdentity,
    /// 0, or why there is no answer.
    pub exception: i32,
    /// The answer.
    pub result: Return,
}

/// An answer to one or the other question.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(appendable, discriminator = "i32")]
pub enum Return {
    /// Type objects.
    #[dds(case = 0x0182_52d3)]
    Types(TypesResult),
    /// The types that others need.
    #[dds(case = 0x05aa_fb31)]
    Dependencies(DependenciesResult),
}

/// Type objects, if there are any.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(appendable, discriminator = "i32")]
pub enum TypesResult {
    /// They are.
    #[dds(case = 0)]
    Found(TypesOut),
    /// They are not.
    #[dds(default, default = 1)]
    Failed,
}

/// The types that others need, if that is known.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(appendable, discriminator = "i32")]
pub enum DependenciesResult {
    /// It is.
    #[dds(case = 0)]
    Found(DependenciesOut),
    /// It is not.
    #[dds(default, default = 1)]
    Failed,
}

/// Type objects.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(mutable)]
pub struct TypesOut {
    /// Types with their type objects.
    #[dds(hashid)]
    pub types: Vec<TypeAndObject>,
    /// Of types that were asked for by the one kind of type objects and are answered by the other.
    #[dds(hashid)]
    pub complete_to_minimal: Vec<TypePair>,
}

/// The types that others need.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(mutable)]
pub struct DependenciesOut {
    /// They.
    #[dds(hashid)]
    pub dependent_typeids: Vec<IdentifierWithSize>,
    /// Where the answer ends; empty if these are all.
    #[dds(hashid)]
    pub continuation_point: BoundedVec<u8, 32>,
}

/// A type and its type object.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct TypeAndObject {
    /// The type.
    pub ty: TypeIdentifier,
    /// Its type object.
    pub object: SerializedObject,
}

/// A type by its complete and by its minimal type object.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct TypePair {
    /// By the complete one.
    pub complete: TypeIdentifier,
    /// By the minimal one.
    pub minimal: TypeIdentifier,
}

/// A type object as it was serialized, of which the hash is made. What it has that is not understood here is kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SerializedObject(pub Vec<u8>);

impl CdrType for SerializedObject {
    const DESCRIPTION: Description = TypeObject::DESCRIPTION;
    const LENGTH_CODE: LengthCode = LengthCode::NextInt;
    const SIZE_XCDR1: SizeBound = TypeObject::SIZE_XCDR1;
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED.with_min(4);

    fn initial() -> Self {
        Self::default()
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        encoder.align(4)?;
        encoder.octets(&self.0)
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let encoding = (decoder.representation(), decoder.endianness());
        if encoding != (Representation::Xcdr2, Endianness::Little) {
            let object = TypeObject::decode(decoder)?;
            self.0 = object.serialize().unwrap_or_default();
            return Ok(());
        }
        // A type object begins with its length.
        let len = decoder.u32()?;
        let bytes = decoder.octets(len as usize)?;
        self.0.clear();
        self.0.extend_from_slice(&len.to_le_bytes());
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}
