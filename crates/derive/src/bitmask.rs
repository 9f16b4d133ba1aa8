//! Bitmasks and bitsets: a structure around an unsigned number.
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{DeriveInput, Error, FieldsUnnamed, Type};

use crate::attribute::TypeAttributes;
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
    let body = quote!(Bitmask { bit_bound: #bit_bound as u8, flags: &[#(#flags),*] });
    let description =
        if attributes.bitset { Tokens::new() } else { attributes.description(ident, true, &body) };
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
