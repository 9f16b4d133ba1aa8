//! Unions: enums with data and a discriminator.
use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream as Tokens};
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Error, Expr, Fields, Ident, Type, Variant};

use crate::attribute::{TypeAttributes, plain_name};
use crate::enumeration::integer;
use crate::member::{Member, MemberAttributes, MemberIds, bare};

const WORDS: [&str; 12] = [
    "case",
    "default",
    "id",
    "hashid",
    "name",
    "must_understand",
    "bound",
    "recursive",
    "octet",
    "boxed",
    "try_construct",
    "no_value",
];

pub(crate) fn expand(
    input: &DeriveInput,
    attributes: &TypeAttributes,
    data: &DataEnum,
) -> Result<Tokens, Error> {
    let Some(discriminator) = &attributes.discriminator else {
        return Err(Error::new_spanned(&input.ident, "a union has a discriminator"));
    };
    let cases = parse(input, attributes, data)?;
    let Some(first) = cases.first() else {
        return Err(Error::new_spanned(&input.ident, "a union has a case"));
    };
    let (cdr, ident, extensibility) = (&attributes.cdr, &input.ident, attributes.extensibility());
    let tag = quote!(<#discriminator as #cdr::CdrType>);
    // The discriminator is a member that every receiver must understand (XTypes 1.3, 7.4.3.5.3).
    let tag_info = quote! {
        &#cdr::Member {
            name: "discriminator",
            id: 0,
            must_understand: true,
            bound: ::core::option::Option::None,
        }
    };
    let has_key = attributes.discriminator_key;
    let size_xcdr1 = any(cdr, cases.iter().map(|case| case.size(cdr, |m| m.size_xcdr1(cdr, &extensibility))));
    let size_xcdr2 = any(cdr, cases.iter().map(|case| case.size(cdr, |m| m.size_xcdr2(cdr, &extensibility))));
    let key_size = |version| {
        if has_key {
            return quote!(#cdr::SizeBound::EMPTY);
        }
        any(cdr, cases.iter().map(|case| case.size(cdr, |member| member.key_size(cdr, version))))
    };
    let (key_size_xcdr1, key_size_xcdr2) = (key_size(1), key_size(2));
    let initial = first.initial(cdr);
    let labels = cases.iter().map(Case::label);
    let all = cases.iter().flat_map(|case| &case.labels).collect::<Vec<_>>();
    let encode = cases.iter().map(|case| case.encode(cdr, has_key, &all));
    let decode = cases.iter().filter(|case| !case.labels.is_empty()).map(|case| {
        let (labels, decode) = (&case.labels, case.decode(cdr, has_key));
        quote!(if [#(#labels),*].contains(&discriminator) { #decode } else)
    });
    let otherwise = cases.iter().find(|case| case.default).map_or_else(
        || quote!(return ::core::result::Result::Err(decoder.error(#cdr::DecodeFault::UnknownDiscriminator));),
        |case| case.decode(cdr, has_key),
    );
    let name = &attributes.name;
    let described = cases.iter().filter_map(|case| {
        let labels: Vec<Tokens> = case.labels.iter().map(|label| number(discriminator, label)).collect();
        case.member.as_ref().map(|member| member.described_case(cdr, &labels, case.default))
    });
    let octets = attributes.octets;
    let body = quote! {
        Union {
            discriminator: #cdr::description::describe::<#discriminator>,
            octets: #octets,
            key: #has_key,
            cases: &[#(#described),*],
        }
    };
    let description = attributes.description(ident, false, &body);
    Ok(quote! {
        #[automatically_derived]
        impl #cdr::CdrType for #ident {
            #description
            const LENGTH_CODE: #cdr::LengthCode = #cdr::LengthCode::NextInt;
            const SIZE_XCDR1: #cdr::SizeBound = #tag::SIZE_XCDR1
                .member_xcdr1(#extensibility, 0, false)
                .then(#size_xcdr1)
                .aggregate_xcdr1(#extensibility);
            const SIZE_XCDR2: #cdr::SizeBound = #tag::SIZE_XCDR2
                .member_xcdr2(#extensibility, #tag::LENGTH_CODE, false)
                .then(#size_xcdr2)
                .aggregate_xcdr2(#extensibility);
            const KEY_SIZE_XCDR1: #cdr::SizeBound = #tag::KEY_SIZE_XCDR1.then(#key_size_xcdr1);
            const KEY_SIZE_XCDR2: #cdr::SizeBound = #tag::KEY_SIZE_XCDR2.then(#key_size_xcdr2);

            fn initial() -> Self {
                #initial
            }

            fn encode<S: #cdr::Sink>(
                &self,
                encoder: &mut #cdr::Encoder<S>,
            ) -> ::core::result::Result<(), #cdr::EncodeError> {
                let aggregate = encoder.begin(#extensibility)?;
                let discriminator: #discriminator = match self {
                    #(#labels,)*
                };
                encoder.member(&aggregate, #tag_info, &discriminator)?;
                match self {
                    #(#encode)*
                }
                encoder.end(aggregate)
            }

            fn decode_into(
                &mut self,
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                let part = decoder.begin(#extensibility)?;
                let mut discriminator = #tag::initial();
                decoder.member_of_union(&part, #tag_info, &mut discriminator)?;
                #(#decode)* { #otherwise }
                decoder.end_union(part)
            }
        }

        #[automatically_derived]
        impl #cdr::DdsType for #ident {
            const TYPE_NAME: &'static str = #name;
            const EXTENSIBILITY: #cdr::Extensibility = #extensibility;
            const HAS_KEY: bool = #has_key;
        }
    })
}

/// A label as an integer: of what is made by the name of the discriminator's type, as `Kind(3)`, what is inside.
fn number(discriminator: &Type, label: &Expr) -> Tokens {
    let last = match bare(discriminator) {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    if let Expr::Call(call) = label
        && let (Expr::Path(made), Some(inner), 1) = (&*call.func, call.args.first(), call.args.len())
        && let Some(name) = made.path.segments.last().map(|last| last.ident.to_string())
        && (name == last || name == "Char8" || name == "Char16")
    {
        return number(discriminator, inner);
    }
    let is_character = (last == "Char8" || last == "Char16") && !matches!(label, Expr::Lit(_));
    if is_character { quote!((#label).0 as i64) } else { quote!((#label) as i64) }
}

struct Case {
    variant: Ident,
    /// The value, if the case has one.
    member: Option<Member>,
    /// The case keeps the label that was received, in a first field.
    keeps_label: bool,
    labels: Vec<Expr>,
    default: bool,
    /// The label that is written.
    written: Tokens,
}

fn parse(input: &DeriveInput, attributes: &TypeAttributes, data: &DataEnum) -> Result<Vec<Case>, Error> {
    let mut ids = MemberIds::new(attributes, 1);
    let mut parsed = Vec::new();
    for variant in &data.variants {
        let found = MemberAttributes::parse(&variant.attrs, &WORDS)?;
        if found.labels.is_empty() && !found.default {
            return Err(Error::new_spanned(variant, "a case needs #[dds(case = …)] or #[dds(default)]"));
        }
        let member = if found.no_value {
            if !matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1) {
                return Err(Error::new_spanned(
                    variant,
                    "a case with no_value has the label as its one field",
                ));
            }
            None
        } else {
            value(variant, &found, &input.ident, &mut ids)?
        };
        parsed.push((variant, found, member));
    }
    if let Some((variant, ..)) = parsed.iter().filter(|(_, found, _)| found.default).nth(1) {
        return Err(Error::new_spanned(variant, "a union has one default case"));
    }
    let labels = parsed.iter().flat_map(|(_, found, _)| &found.labels);
    let taken = labels.map(integer).collect::<Option<BTreeSet<_>>>();
    let free = taken.and_then(|taken| (0..).find(|label| !taken.contains(label)));
    parsed
        .into_iter()
        .map(|(variant, found, member)| {
            let written = match (found.labels.first(), &found.default_label, free) {
                (Some(label), ..) | (None, Some(label), _) => quote!(#label),
                (None, None, Some(free)) => {
                    let free = Literal::i64_unsuffixed(free);
                    quote!(#free)
                }
                (None, None, None) => {
                    return Err(Error::new_spanned(variant, "the label to write is unclear: default = …"));
                }
            };
            let default = found.default;
            let keeps_label = found.no_value || variant.fields.len() == 2;
            Ok(Case {
                variant: variant.ident.clone(),
                member,
                keeps_label,
                labels: found.labels,
                default,
                written,
            })
        })
        .collect()
}

fn value(
    variant: &Variant,
    attributes: &MemberAttributes,
    owner: &Ident,
    ids: &mut MemberIds,
) -> Result<Option<Member>, Error> {
    let name = plain_name(&variant.ident);
    match &variant.fields {
        Fields::Unit => Ok(None),
        Fields::Unnamed(fields) if matches!(fields.unnamed.len(), 1 | 2) => {
            let Some(field) = fields.unnamed.last() else { return Ok(None) };
            let ident = format_ident!("value", span = variant.ident.span());
            let member = Member::new(ident, &field.ty, attributes, &name, owner, ids)?;
            if member.optional {
                return Err(Error::new_spanned(&field.ty, "the value of a case cannot be optional"));
            }
            Ok(Some(member))
        }
        _ => Err(Error::new_spanned(
            variant,
            "a case has a value or none: at most one unnamed field, or two if the first keeps the label",
        )),
    }
}

impl Case {
    fn size(&self, cdr: &Tokens, of: impl Fn(&Member) -> Tokens) -> Tokens {
        self.member.as_ref().map_or_else(|| quote!(#cdr::SizeBound::EMPTY), of)
    }

    fn initial(&self, cdr: &Tokens) -> Tokens {
        let (variant, written) = (&self.variant, &self.written);
        let Some(member) = &self.member else {
            return if self.keeps_label { quote!(Self::#variant(#written)) } else { quote!(Self::#variant) };
        };
        let initial = member.initial(cdr);
        if self.keeps_label {
            quote!(Self::#variant(#written, #initial))
        } else {
            quote!(Self::#variant(#initial))
        }
    }

    /// The arm that gives the label to write.
    fn label(&self) -> Tokens {
        let (variant, written) = (&self.variant, &self.written);
        match &self.member {
            Some(_) if self.keeps_label => quote!(Self::#variant(label, _) => *label),
            Some(_) => quote!(Self::#variant(_) => #written),
            None if self.keeps_label => quote!(Self::#variant(label) => *label),
            None => quote!(Self::#variant => #written),
        }
    }

    /// A label that was kept must be one of this case: `all` are the labels of all cases.
    fn check_label(&self, cdr: &Tokens, all: &[&Expr]) -> Tokens {
        let (labels, default) = (&self.labels, self.default);
        if !self.keeps_label {
            return Tokens::new();
        }
        let others = if default { quote!(|| ![#(#all),*].contains(&discriminator)) } else { Tokens::new() };
        let own =
            if labels.is_empty() { quote!(false) } else { quote!([#(#labels),*].contains(&discriminator)) };
        quote! {
            if !(#own #others) {
                return ::core::result::Result::Err(encoder.error(#cdr::EncodeFault::WrongDiscriminator));
            }
        }
    }

    fn encode(&self, cdr: &Tokens, key_is_label: bool, all: &[&Expr]) -> Tokens {
        let variant = &self.variant;
        let check_label = self.check_label(cdr, all);
        let Some(member) = &self.member else {
            return if self.keeps_label {
                quote!(Self::#variant(_) => { #check_label })
            } else {
                quote!(Self::#variant => {})
            };
        };
        let (info, check) = (member.info(cdr), member.check(cdr, &quote!(value)));
        let label = if self.keeps_label { quote!(_,) } else { Tokens::new() };
        let encode = quote! {
            #check
            encoder.member(&aggregate, #info, value)?;
        };
        let encode =
            if key_is_label { quote!(if encoder.scope() == #cdr::Scope::Data { #encode }) } else { encode };
        quote! {
            Self::#variant(#label value) => {
                #check_label
                #encode
            }
        }
    }

    fn decode(&self, cdr: &Tokens, key_is_label: bool) -> Tokens {
        let (variant, initial) = (&self.variant, self.initial(cdr));
        let Some(member) = &self.member else {
            return if self.keeps_label {
                quote!(*self = Self::#variant(discriminator);)
            } else {
                quote!(*self = #initial;)
            };
        };
        let info = member.info(cdr);
        let (label, keep) = if self.keeps_label {
            (quote!(label,), quote!(*label = discriminator;))
        } else {
            (Tokens::new(), Tokens::new())
        };
        let decode = quote!(decoder.member_of_union(&part, #info, value)?;);
        let decode = if key_is_label {
            let initial = member.initial(cdr);
            quote!(if decoder.scope() == #cdr::Scope::Data { #decode } else { *value = #initial; })
        } else {
            decode
        };
        quote! {
            if !::core::matches!(self, Self::#variant(..)) {
                *self = #initial;
            }
            if let Self::#variant(#label value) = self {
                #keep
                #decode
            }
        }
    }
}

/// The size of any one of several.
fn any(cdr: &Tokens, mut sizes: impl Iterator<Item = Tokens>) -> Tokens {
    let first = sizes.next().unwrap_or_else(|| quote!(#cdr::SizeBound::EMPTY));
    quote!(#first #(.or(#sizes))*)
}
