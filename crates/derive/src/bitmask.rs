//! Bitmasks and bitsets: a structure around an unsigned number.
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{DeriveInput, Error, FieldsUnnamed, Type};

use crate::attribute::{FieldAttribute, TypeAttributes};
use crate::member::{MemberAttributes, bare};

pub(crate) fn expand(
    input: &DeriveInput,
    attributes: &TypeAttributes,
    fields: &FieldsUnnamed,
) -> Result<Tokens, Error> {
    let (Some(field), 1) = (fields.unnamed.first(), fields.unnamed.len()) else {
        return Err(Error::new_spanned(&input.ident, "a bitmask is a structure with one unnamed number"));
    };
    MemberAttributes::parse(&field.attrs, &[])?;
    let bits: u32 = match bare(&field.ty) {
        Type::Path(path) if path.path.is_ident("u8") => 8,
        Type::Path(path) if path.path.is_ident("u16") => 16,
        Type::Path(path) if path.path.is_ident("u32") => 32,
        Type::Path(path) if path.path.is_ident("u64") => 64,
        other => return Err(Error::new_spanned(other, "a bitmask is made of u8, u16, u32 or u64")),
    };
    // The standard's default bit bound is 32, which fits one of these types only.
    let (bit_bound, span) = attributes.bit_bound.unwrap_or((bits, input.ident.span()));
    let fits = match bits {
        8 => 1..=8,
        16 => 9..=16,
        32 => 17..=32,
        _ => 33..=64,
    };
    if !fits.contains(&bit_bound) {
        return Err(Error::new(span, format!("a bitmask of {bits} bits has a bit bound from {fits:?}")));
    }
    let known = u64::MAX >> (64 - bit_bound);
    let known = proc_macro2::Literal::u64_unsuffixed(known);
    let (cdr, ident, ty) = (&attributes.cdr, &input.ident, &field.ty);
    let inner = quote!(<#ty as #cdr::CdrType>);
    let mut flags = Vec::new();
    for (name, position) in &attributes.flags {
        let at = position.base10_parse::<u8>()?;
        if u32::from(at) >= bit_bound {
            return Err(Error::new_spanned(position, format!("flag {name} is beyond the {bit_bound} bits")));
        }
        flags.push(quote!((#name, #at)));
    }
    let body = match fields_of(attributes, bits)? {
        Some(fields) => quote!(Bitset { bits: #bits as u8, fields: &[#(#fields),*] }),
        None => quote!(Bitmask { bit_bound: #bit_bound as u8, flags: &[#(#flags),*] }),
    };
    // A bitset without fields says nothing of itself.
    let is_told = !attributes.bitset || !attributes.fields.is_empty();
    let description = if is_told { attributes.description(ident, true, &body) } else { Tokens::new() };
    Ok(quote! {
        #[automatically_derived]
        impl #cdr::CdrType for #ident {
            #description
            const LENGTH_CODE: #cdr::LengthCode = #inner::LENGTH_CODE;
            const SIZE_XCDR1: #cdr::SizeBound = #inner::SIZE_XCDR1;
            const SIZE_XCDR2: #cdr::SizeBound = #inner::SIZE_XCDR2;

            fn initial() -> Self {
                Self(0)
            }

            fn encode<S: #cdr::Sink>(
                &self,
                encoder: &mut #cdr::Encoder<S>,
            ) -> ::core::result::Result<(), #cdr::EncodeError> {
                if self.0 & #known != self.0 {
                    return ::core::result::Result::Err(encoder.error(#cdr::EncodeFault::UnknownBits));
                }
                #inner::encode(&self.0, encoder)
            }

            fn decode_into(
                &mut self,
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                let bits = #inner::decode(decoder)?;
                if bits & #known != bits {
                    return ::core::result::Result::Err(decoder.error(#cdr::DecodeFault::UnknownBits));
                }
                self.0 = bits;
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// The fields of a bitset of so many bits; `None` for a bitmask.
fn fields_of(attributes: &TypeAttributes, bits: u32) -> Result<Option<Vec<Tokens>>, Error> {
    if !attributes.bitset {
        return match attributes.fields.first() {
            Some(field) => Err(Error::new_spanned(&field.name, "fields are those of a bitset")),
            None => Ok(None),
        };
    }
    let (cdr, mut free) = (&attributes.cdr, 0);
    let mut fields = Vec::new();
    for FieldAttribute { name, ty, begin, end } in &attributes.fields {
        let (kind, most) = match ty.to_string().as_str() {
            "bool" => (quote!(Boolean), 1),
            "u8" => (quote!(U8), 8),
            "u16" => (quote!(U16), 16),
            "u32" => (quote!(U32), 32),
            "u64" => (quote!(U64), 64),
            "i8" => (quote!(I8), 8),
            "i16" => (quote!(I16), 16),
            "i32" => (quote!(I32), 32),
            "i64" => (quote!(I64), 64),
            _ => {
                return Err(Error::new_spanned(
                    ty,
                    "the type of a field is bool or an integer up to 64 bits",
                ));
            }
        };
        let (from, to) = (begin.base10_parse::<u32>()?, end.base10_parse::<u32>()?);
        if from < free || to <= from || to > bits {
            let message =
                format!("the bits of a field come after those of the one before, and are at most {bits}");
            return Err(Error::new_spanned(begin, message));
        }
        let width = to - from;
        if width > most {
            return Err(Error::new_spanned(end, format!("{ty} has {most} bits, and the field {width}")));
        }
        free = to;
        let place = quote!(position: #from as u8, width: #width as u8);
        fields.push(quote! {
            #cdr::description::Field { name: #name, #place, ty: #cdr::description::Primitive::#kind }
        });
    }
    Ok(Some(fields))
}
