//! Structures, and types that stand for another one.
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Fields, FieldsUnnamed};

use crate::attribute::{Extensibility, TypeAttributes, plain_name};
use crate::hash_map;
use crate::member::{Member, MemberAttributes, MemberIds};

const WORDS: [&str; 11] = [
    "key",
    "id",
    "hashid",
    "name",
    "must_understand",
    "optional",
    "bound",
    "recursive",
    "octet",
    "boxed",
    "try_construct",
];

pub(crate) fn expand(
    input: &DeriveInput,
    attributes: &TypeAttributes,
    fields: &Fields,
) -> Result<Tokens, Error> {
    let structure = Structure::parse(input, attributes, fields)?;
    let (cdr, ident, extensibility) = (&attributes.cdr, &input.ident, attributes.extensibility());
    let members = &structure.members;
    let fields = members.iter().map(|member| &member.ident);
    let initial = members.iter().map(|member| member.initial(cdr));
    let size_xcdr1 = members.iter().map(|member| member.size_xcdr1(cdr, &extensibility));
    let size_xcdr2 = members.iter().map(|member| member.size_xcdr2(cdr, &extensibility));
    let hashed = structure.hashed();
    let key_size_xcdr1 = hashed.iter().map(|member| member.key_size(cdr, 1));
    let key_size_xcdr2 = hashed.iter().map(|member| member.key_size(cdr, 2));
    let encode = structure.by_scope(cdr, &quote!(encoder), |members| structure.encode(cdr, members));
    let decode = match attributes.extensibility {
        Extensibility::Mutable => structure.decode_mutable(cdr),
        _ => structure.by_scope(cdr, &quote!(decoder), |members| structure.decode(cdr, members)),
    };
    let (name, has_key) = (&attributes.name, structure.has_key());
    let described = members.iter().map(|member| member.described(cdr));
    let base = match &attributes.base {
        Some(base) => quote!(::core::option::Option::Some(#cdr::description::describe::<#base>)),
        None => quote!(::core::option::Option::None),
    };
    let body = quote!(Struct { base: #base, members: &[#(#described),*] });
    let description = attributes.description(ident, false, &body);
    let to_key = structure.decode_to_key(cdr, attributes.extensibility, &extensibility);
    Ok(quote! {
        #[automatically_derived]
        impl #cdr::CdrType for #ident {
            #description
            const LENGTH_CODE: #cdr::LengthCode = #cdr::LengthCode::NextInt;
            const SIZE_XCDR1: #cdr::SizeBound =
                #cdr::SizeBound::EMPTY #(.then(#size_xcdr1))* .aggregate_xcdr1(#extensibility);
            const SIZE_XCDR2: #cdr::SizeBound =
                #cdr::SizeBound::EMPTY #(.then(#size_xcdr2))* .aggregate_xcdr2(#extensibility);
            const KEY_SIZE_XCDR1: #cdr::SizeBound = #cdr::SizeBound::EMPTY #(.then(#key_size_xcdr1))*;
            const KEY_SIZE_XCDR2: #cdr::SizeBound = #cdr::SizeBound::EMPTY #(.then(#key_size_xcdr2))*;

            fn initial() -> Self {
                Self { #(#fields: #initial),* }
            }

            fn encode<S: #cdr::Sink>(
                &self,
                encoder: &mut #cdr::Encoder<S>,
            ) -> ::core::result::Result<(), #cdr::EncodeError> {
                let aggregate = encoder.begin(#extensibility)?;
                #encode
                encoder.end(aggregate)
            }

            fn decode_into(
                &mut self,
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                let part = decoder.begin(#extensibility)?;
                #decode
                decoder.end(part);
                ::core::result::Result::Ok(())
            }
        }

        #[automatically_derived]
        impl #cdr::DdsType for #ident {
            const TYPE_NAME: &'static str = #name;
            const EXTENSIBILITY: #cdr::Extensibility = #extensibility;
            const HAS_KEY: bool = #has_key;
            #to_key
        }
    })
}

/// A structure with one unnamed field is another name for the type of that field.
pub(crate) fn expand_alias(
    input: &DeriveInput,
    attributes: &TypeAttributes,
    fields: &FieldsUnnamed,
) -> Result<Tokens, Error> {
    let (Some(field), 1) = (fields.unnamed.first(), fields.unnamed.len()) else {
        return Err(Error::new_spanned(&input.ident, "a structure of DDS has named fields"));
    };
    let octets = MemberAttributes::parse(&field.attrs, &["octet"])?.octets;
    let (cdr, ident, ty) = (&attributes.cdr, &input.ident, &field.ty);
    let inner = quote!(<#ty as #cdr::CdrType>);
    let body = quote!(Alias { of: #cdr::description::describe::<#ty>, octets: #octets });
    let description = attributes.description(ident, false, &body);
    Ok(quote! {
        #[automatically_derived]
        impl #cdr::CdrType for #ident {
            #description
            const PRIMITIVE: bool = #inner::PRIMITIVE;
            const FLAT_PRIMITIVE: bool = #inner::FLAT_PRIMITIVE;
            const LENGTH_CODE: #cdr::LengthCode = #inner::LENGTH_CODE;
            const SIZE_XCDR1: #cdr::SizeBound = #inner::SIZE_XCDR1;
            const SIZE_XCDR2: #cdr::SizeBound = #inner::SIZE_XCDR2;
            const KEY_SIZE_XCDR1: #cdr::SizeBound = #inner::KEY_SIZE_XCDR1;
            const KEY_SIZE_XCDR2: #cdr::SizeBound = #inner::KEY_SIZE_XCDR2;
            const ELEMENT_SIZE_XCDR2: #cdr::SizeBound = #inner::ELEMENT_SIZE_XCDR2;
            const ELEMENT_KEY_SIZE_XCDR2: #cdr::SizeBound = #inner::ELEMENT_KEY_SIZE_XCDR2;

            fn initial() -> Self {
                Self(#inner::initial())
            }

            fn encode<S: #cdr::Sink>(
                &self,
                encoder: &mut #cdr::Encoder<S>,
            ) -> ::core::result::Result<(), #cdr::EncodeError> {
                #inner::encode(&self.0, encoder)
            }

            fn decode_into(
                &mut self,
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                #inner::decode_into(&mut self.0, decoder)
            }

            fn encode_flat<S: #cdr::Sink>(
                items: &[Self],
                encoder: &mut #cdr::Encoder<S>,
            ) -> ::core::result::Result<(), #cdr::EncodeError> {
                items.iter().try_for_each(|item| #inner::encode_flat(::core::slice::from_ref(&item.0), encoder))
            }

            fn decode_flat(
                items: &mut [Self],
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                items
                    .iter_mut()
                    .try_for_each(|item| #inner::decode_flat(::core::slice::from_mut(&mut item.0), decoder))
            }
        }
    })
}

struct Structure {
    members: Vec<Member>,
}

impl Structure {
    fn parse(input: &DeriveInput, attributes: &TypeAttributes, fields: &Fields) -> Result<Self, Error> {
        let mut ids = MemberIds::new(attributes, 0);
        let mut members = Vec::new();
        for field in fields {
            let Some(ident) = field.ident.clone() else { continue };
            let attributes = MemberAttributes::parse(&field.attrs, &WORDS)?;
            let name = plain_name(&ident);
            members.push(Member::new(ident, &field.ty, &attributes, &name, &input.ident, &mut ids)?);
        }
        Ok(Self { members })
    }

    fn has_key(&self) -> bool {
        self.members.iter().any(|member| member.key)
    }

    /// The members of the key: those marked, or all if none is (when this type is itself inside of a key).
    fn keyed(&self) -> Vec<&Member> {
        let any = self.has_key();
        self.members.iter().filter(|member| member.key || !any).collect()
    }

    /// The members of the key in the order of key hashes.
    fn hashed(&self) -> Vec<&Member> {
        let mut members = self.keyed();
        members.sort_by_key(|member| member.id);
        members
    }

    /// The code for each selection and order of members, made by `code`.
    fn by_scope(&self, cdr: &Tokens, coder: &Tokens, code: impl Fn(&[&Member]) -> Tokens) -> Tokens {
        let ids = |members: &[&Member]| members.iter().map(|member| member.id).collect::<Vec<_>>();
        let (all, keyed, hashed) = (self.members.iter().collect::<Vec<_>>(), self.keyed(), self.hashed());
        let (data, key, hash) = (code(&all), code(&keyed), code(&hashed));
        let scope = quote!(#cdr::Scope);
        match (ids(&all) == ids(&keyed), ids(&keyed) == ids(&hashed)) {
            (true, true) => data,
            (true, false) => quote! {
                match #coder.scope() {
                    #scope::Data | #scope::Key => { #data }
                    #scope::KeyHash => { #hash }
                }
            },
            (false, true) => quote! {
                match #coder.scope() {
                    #scope::Data => { #data }
                    #scope::Key | #scope::KeyHash => { #key }
                }
            },
            (false, false) => quote! {
                match #coder.scope() {
                    #scope::Data => { #data }
                    #scope::Key => { #key }
                    #scope::KeyHash => { #hash }
                }
            },
        }
    }

    fn encode(&self, cdr: &Tokens, members: &[&Member]) -> Tokens {
        let each = members.iter().map(|member| {
            let (field, info) = (&member.ident, member.info(cdr));
            if member.optional {
                let check = member.check(cdr, &quote!(value));
                let check = if check.is_empty() {
                    check
                } else {
                    quote!(if let ::core::option::Option::Some(value) = &self.#field { #check })
                };
                quote! {
                    #check
                    encoder.optional(&aggregate, #info, self.#field.as_ref())?;
                }
            } else {
                let check = member.check(cdr, &quote!(&self.#field));
                let encode = if member.hashed {
                    hash_map::encode(cdr, member)
                } else {
                    quote!(encoder.member(&aggregate, #info, &self.#field)?;)
                };
                quote!(#check #encode)
            }
        });
        quote!(#(#each)*)
    }

    /// The method that reads up to the last member of the key, if others follow; nothing where members come in any order.
    fn decode_to_key(&self, cdr: &Tokens, extensibility: Extensibility, expression: &Tokens) -> Tokens {
        let last = self.members.iter().rposition(|member| member.key);
        let needed = last.and_then(|last| self.members.get(..=last)).unwrap_or_default();
        if needed.is_empty() || needed.len() == self.members.len() || extensibility == Extensibility::Mutable
        {
            return Tokens::new();
        }
        let each = needed.iter().map(|member| Self::decode_member(cdr, member));
        quote! {
            fn decode_to_key(
                &mut self,
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<(), #cdr::DecodeError> {
                let part = decoder.begin(#expression)?;
                #(#each)*
                ::core::result::Result::Ok(())
            }
        }
    }

    fn decode_member(cdr: &Tokens, member: &Member) -> Tokens {
        let (field, info) = (&member.ident, member.info(cdr));
        if member.hashed {
            let read = hash_map::decode(member, |target| quote!(decoder.member(&part, #info, #target)?;));
            quote!({ #read })
        } else if member.optional {
            quote!(decoder.optional(&part, #info, &mut self.#field)?;)
        } else {
            quote!(decoder.member(&part, #info, &mut self.#field)?;)
        }
    }

    fn decode(&self, cdr: &Tokens, members: &[&Member]) -> Tokens {
        let each = members.iter().map(|member| Self::decode_member(cdr, member));
        let missing = self.members.iter().filter(|member| members.iter().all(|read| read.id != member.id));
        let missing = missing.map(|member| {
            let (field, initial) = (&member.ident, member.initial(cdr));
            quote!(self.#field = #initial;)
        });
        quote!(#(#each)* #(#missing)*)
    }

    fn decode_mutable(&self, cdr: &Tokens) -> Tokens {
        let plain = self.decode(cdr, &self.hashed());
        let seen = self.members.iter().map(|member| format_ident!("seen_{}", member.id)).collect::<Vec<_>>();
        let cases = self.members.iter().zip(&seen).map(|(member, seen)| {
            let (field, ty, id, info) = (&member.ident, &member.ty, member.id, member.info(cdr));
            if member.hashed {
                let read = hash_map::decode(member, |target| quote!(decoder.value(header, #info, #target)?;));
                return quote!(#id => { #read #seen = true; });
            }
            let target = if member.optional {
                quote!(self.#field.get_or_insert_with(<#ty as #cdr::CdrType>::initial))
            } else {
                quote!(&mut self.#field)
            };
            quote! {
                #id => {
                    decoder.value(header, #info, #target)?;
                    #seen = true;
                }
            }
        });
        let missing = self.members.iter().zip(&seen).map(|(member, seen)| {
            let (field, name, initial) = (&member.ident, &member.name, member.initial(cdr));
            let absent = if member.key {
                quote! {
                    return ::core::result::Result::Err(
                        decoder.error(#cdr::DecodeFault::MissingKey).in_member(#name),
                    );
                }
            } else {
                quote!(self.#field = #initial;)
            };
            quote!(if !#seen { #absent })
        });
        quote! {
            if decoder.scope() == #cdr::Scope::KeyHash {
                #plain
            } else {
                #(let mut #seen = false;)*
                while let ::core::option::Option::Some(header) = decoder.next_member(&part)? {
                    match header.id() {
                        #(#cases)*
                        _ => decoder.skip(header)?,
                    }
                }
                #(#missing)*
            }
        }
    }
}
