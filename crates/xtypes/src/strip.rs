//! From a complete type object to the minimal one of the same type.
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::identifier::{CollectionHeader, Nothing, TypeIdentifier, kind};
use crate::object::{MemberDetail, NameHash, Related, complete, minimal};

/// The minimal type object. `identifier` gives the identifier by minimal type objects of one by complete type objects.
///
/// # Errors
/// Those of `identifier`.
pub(crate) fn object<E>(
    of: &complete::Object,
    identifier: &mut impl FnMut(&TypeIdentifier) -> Result<TypeIdentifier, E>,
) -> Result<minimal::Object, E> {
    let hash = |detail: &MemberDetail| NameHash::of(&detail.name);
    Ok(match of {
        complete::Object::Alias(of) => {
            let common = Related { flags: of.body.common.flags, ty: identifier(&of.body.common.ty)? };
            minimal::Object::Alias(minimal::Alias {
                flags: of.flags,
                header: minimal::Header { detail: Nothing {} },
                body: minimal::Body { common, besides: Nothing {} },
            })
        }
        complete::Object::Enumeration(of) => {
            let literals = of.literals.iter();
            let literals = literals.map(|literal| minimal::Literal {
                common: literal.common.clone(),
                detail: hash(&literal.detail),
            });
            minimal::Object::Enumeration(minimal::Enumeration {
                flags: of.flags,
                header: minimal::BitHeader { bit_bound: of.header.bit_bound, detail: Nothing {} },
                literals: literals.collect(),
            })
        }
        complete::Object::Bitmask(of) => {
            let bits = of.bits.iter();
            let bits = bits.map(|bit| minimal::Bit { common: bit.common.clone(), detail: hash(&bit.detail) });
            minimal::Object::Bitmask(minimal::Bitmask {
                flags: of.flags,
                header: minimal::BitHeader { bit_bound: of.header.bit_bound, detail: Nothing {} },
                bits: bits.collect(),
            })
        }
        complete::Object::Bitset(of) => {
            let fields = of.fields.iter();
            let fields = fields
                .map(|field| minimal::Field { common: field.common.clone(), detail: hash(&field.detail) });
            minimal::Object::Bitset(minimal::Bitset {
                flags: of.flags,
                header: minimal::Header { detail: Nothing {} },
                fields: fields.collect(),
            })
        }
        complete::Object::Struct(of) => {
            let mut members = Vec::with_capacity(of.members.len());
            for member in &of.members {
                let mut common = member.common.clone();
                common.ty = identifier(&common.ty)?;
                members.push(minimal::Member { common, detail: hash(&member.detail) });
            }
            let header = minimal::StructHeader { base: identifier(&of.header.base)?, detail: Nothing {} };
            minimal::Object::Struct(minimal::Struct { flags: of.flags, header, members })
        }
        complete::Object::Union(of) => {
            let mut cases = Vec::with_capacity(of.cases.len());
            for case in &of.cases {
                let mut common = case.common.clone();
                common.ty = identifier(&common.ty)?;
                cases.push(minimal::Case { common, detail: hash(&case.detail) });
            }
            let common = Related {
                flags: of.discriminator.common.flags,
                ty: identifier(&of.discriminator.common.ty)?,
            };
            minimal::Object::Union(minimal::Union {
                flags: of.flags,
                header: minimal::Header { detail: Nothing {} },
                discriminator: minimal::Body { common, besides: Nothing {} },
                cases,
            })
        }
    })
}

/// The identifier of the same collection with other parts; `part` gives the identifier of each part. Others stay as they are.
///
/// # Errors
/// Those of `part`.
pub(crate) fn identifier<E>(
    of: &TypeIdentifier,
    part: &mut impl FnMut(&TypeIdentifier) -> Result<TypeIdentifier, E>,
) -> Result<TypeIdentifier, E> {
    let header = |header: CollectionHeader| CollectionHeader {
        equivalence: match header.equivalence {
            kind::EK_COMPLETE => kind::EK_MINIMAL,
            other => other,
        },
        ..header
    };
    let mut of = of.clone();
    let (beginning, parts): (_, [Option<&mut Box<TypeIdentifier>>; 2]) = match &mut of {
        TypeIdentifier::Sequence(of) => (&mut of.header, [Some(&mut of.element), None]),
        TypeIdentifier::LargeSequence(of) => (&mut of.header, [Some(&mut of.element), None]),
        TypeIdentifier::Array(of) => (&mut of.header, [Some(&mut of.element), None]),
        TypeIdentifier::LargeArray(of) => (&mut of.header, [Some(&mut of.element), None]),
        TypeIdentifier::Map(of) => (&mut of.header, [Some(&mut of.element), Some(&mut of.key)]),
        TypeIdentifier::LargeMap(of) => (&mut of.header, [Some(&mut of.element), Some(&mut of.key)]),
        _ => return Ok(of),
    };
    *beginning = header(*beginning);
    for inner in parts.into_iter().flatten() {
        **inner = part(inner)?;
    }
    Ok(of)
}
