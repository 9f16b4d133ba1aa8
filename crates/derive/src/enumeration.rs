//! Enumerations: enums without data.
use proc_macro2::{Literal, TokenStream as Tokens};
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Expr, ExprLit, ExprUnary, Fields, Lit, UnOp};

use crate::attribute::{TypeAttributes, plain_name};
use crate::member::MemberAttributes;

pub(crate) fn expand(
    input: &DeriveInput,
    attributes: &TypeAttributes,
    data: &DataEnum,
) -> Result<Tokens, Error> {
    let (bit_bound, span) = attributes.bit_bound.unwrap_or((32, input.ident.span()));
    let (cdr, ident) = (&attributes.cdr, &input.ident);
    let (holder, greatest) = match bit_bound {
        1..=8 => (quote!(i8), i64::from(i8::MAX)),
        9..=16 => (quote!(i16), i64::from(i16::MAX)),
        17..=32 => (quote!(i32), i64::from(i32::MAX)),
        _ => return Err(Error::new(span, "the bit bound of an enumeration is from 1 to 32")),
    };
    let mut next = 0;
    let mut default = None;
    let (mut literals, mut values, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(
                variant,
                "an enum with data is a union and needs #[dds(discriminator = \"…\")]",
            ));
        }
        if let Some((_, value)) = &variant.discriminant {
            next = integer(value)
                .ok_or_else(|| Error::new_spanned(value, "the value of a literal is an integer literal"))?;
        }
        if next > greatest || next < -greatest - 1 {
            return Err(Error::new_spanned(variant, format!("{next} exceeds the bit bound {bit_bound}")));
        }
        let found = MemberAttributes::parse(&variant.attrs, &["default", "name"])?;
        if found.default && default.replace((&variant.ident, next)).is_some() {
            return Err(Error::new_spanned(variant, "an enumeration has one default literal"));
        }
        names.push(found.name.unwrap_or_else(|| plain_name(&variant.ident)));
        literals.push(&variant.ident);
        values.push(Literal::i64_unsuffixed(next));
        next += 1;
    }
    let said = match default {
        Some((_, value)) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    };
    let body = quote! {
        Enumeration { bit_bound: #bit_bound as u8, literals: &[#((#names, #values)),*], default: #said }
    };
    let description = attributes.description(ident, true, &body);
    let default = default.map(|(literal, _)| literal);
    let Some(initial) = default.or(literals.first().copied()) else {
        return Err(Error::new_spanned(ident, "an enumeration has a literal"));
    };
    let unknown = match default {
        Some(default) => quote!(_ => Self::#default),
        None => quote! {
            other => {
                return ::core::result::Result::Err(
                    decoder.error(#cdr::DecodeFault::UnknownLiteral(::core::convert::From::from(other))),
                );
            }
        },
    };
    let inner = quote!(<#holder as #cdr::CdrType>);
    Ok(quote! {
        #[automatically_derived]
        impl #cdr::CdrType for #ident {
            #description
            const LENGTH_CODE: #cdr::LengthCode = #inner::LENGTH_CODE;
            const SIZE_XCDR1: #cdr::SizeBound = #inner::SIZE_XCDR1;
            const SIZE_XCDR2: #cdr::SizeBound = #inner::SIZE_XCDR2;

            fn initial() -> Self {
                Self::#initial
            }

            fn encode<S: #cdr::Sink>(
                &self,
                encoder: &mut #cdr::Encoder<S>,
            ) -> ::core::result::Result<(), #cdr::EncodeError> {
                let value: #holder = match self {
                    #(Self::#literals => #values,)*
                };
                #inner::encode(&value, encoder)
            }

            fn decode_into(
                &mut self,
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                *self = match #inner::decode(decoder)? {
                    #(#values => Self::#literals,)*
                    #unknown
                };
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// The value of an integer literal with or without a minus.
pub(crate) fn integer(expression: &Expr) -> Option<i64> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        Expr::Group(group) => integer(&group.expr),
        Expr::Paren(paren) => integer(&paren.expr),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => integer(expr).and_then(i64::checked_neg),
        _ => None,
    }
}
