//! Members of structures and unions: their attributes, ids and sizes.
use std::collections::BTreeMap;

use md5::{Digest, Md5};
use proc_macro2::{Span, TokenStream as Tokens, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, Error, Expr, GenericArgument, Ident, LitInt, PathArguments, Token, Type};

use crate::attribute::{TypeAttributes, each, key, set, text};
use crate::hash_map;

/// The greatest member id (XTypes 1.3, 7.3.1.2.1.1).
const MAX_MEMBER_ID: u32 = 0x0fff_ffff;

/// What a receiver does with a value that does not fit, by its name in `wire::schema::TryConstruct`.
#[derive(Clone, Copy, Default)]
pub(crate) enum TryConstruct {
    #[default]
    Discard,
    UseDefault,
    Trim,
}

/// The attributes of a field or case.
#[derive(Default)]
pub(crate) struct MemberAttributes {
    pub(crate) key: bool,
    pub(crate) id: Option<(u32, Span)>,
    pub(crate) hash_id: Option<Option<String>>,
    pub(crate) name: Option<String>,
    pub(crate) must_understand: bool,
    pub(crate) optional: bool,
    pub(crate) bound: Option<Expr>,
    pub(crate) recursive: bool,
    pub(crate) octets: bool,
    pub(crate) boxed: bool,
    pub(crate) try_construct: TryConstruct,
    pub(crate) labels: Vec<Expr>,
    pub(crate) default: bool,
    pub(crate) no_value: bool,
    pub(crate) default_label: Option<Expr>,
}

impl MemberAttributes {
    /// Parses what is allowed in this place: `allowed` lists the words.
    pub(crate) fn parse(attributes: &[Attribute], allowed: &[&str]) -> Result<Self, Error> {
        let mut found = Self::default();
        each(attributes, |meta| {
            let word = key(&meta);
            if !allowed.contains(&word.as_str()) {
                return Err(meta.error(format!("expected one of {}", allowed.join(", "))));
            }
            match word.as_str() {
                "key" => set(&mut found.key),
                "must_understand" => set(&mut found.must_understand),
                "optional" => set(&mut found.optional),
                "recursive" => set(&mut found.recursive),
                "octet" => set(&mut found.octets),
                "boxed" => set(&mut found.boxed),
                "no_value" => set(&mut found.no_value),
                "id" => {
                    let id: LitInt = meta.value()?.parse()?;
                    found.id = Some((id.base10_parse()?, id.span()));
                    Ok(())
                }
                "hashid" => {
                    let of = if meta.input.peek(Token![=]) { Some(text(&meta)?.value()) } else { None };
                    found.hash_id = Some(of);
                    Ok(())
                }
                "try_construct" => {
                    found.try_construct = match text(&meta)?.value().as_str() {
                        "discard" => TryConstruct::Discard,
                        "use_default" => TryConstruct::UseDefault,
                        "trim" => TryConstruct::Trim,
                        _ => {
                            return Err(
                                meta.error("try_construct is \"discard\", \"use_default\" or \"trim\"")
                            );
                        }
                    };
                    Ok(())
                }
                "name" => text(&meta).map(|name| found.name = Some(name.value())),
                "bound" => meta.value()?.parse().map(|bound| found.bound = Some(bound)),
                "case" => meta.value()?.parse().map(|label| found.labels.push(label)),
                _ => {
                    if meta.input.peek(Token![=]) {
                        found.default_label = Some(meta.value()?.parse()?);
                    }
                    set(&mut found.default)
                }
            }
        })?;
        Ok(found)
    }
}

/// A member with everything that its code needs.
pub(crate) struct Member {
    /// The field, or a stand-in for the value of a case.
    pub(crate) ident: Ident,
    /// The type; of an optional member what is inside of the `Option`.
    pub(crate) ty: Type,
    pub(crate) optional: bool,
    pub(crate) key: bool,
    pub(crate) id: u32,
    pub(crate) name: String,
    must_understand: bool,
    bound: Option<Expr>,
    recursive: bool,
    octets: bool,
    boxed: bool,
    try_construct: TryConstruct,
    /// The field is a `HashMap`; `ty` is the map that it is on the wire.
    pub(crate) hashed: bool,
}

impl Member {
    /// `owner` is the type around it, `ids` gives the member id.
    pub(crate) fn new(
        ident: Ident,
        ty: &Type,
        attributes: &MemberAttributes,
        default_name: &str,
        owner: &Ident,
        ids: &mut MemberIds,
    ) -> Result<Self, Error> {
        let ty = bare(ty);
        let inner = inside_option(ty);
        if attributes.optional && inner.is_none() {
            return Err(Error::new_spanned(ty, "an optional member has the type Option<…>"));
        }
        if attributes.key && inner.is_some() {
            return Err(Error::new_spanned(ty, "a key member cannot be optional"));
        }
        let on_wire = hash_map::on_wire(ty);
        let name = attributes.name.clone().unwrap_or_else(|| default_name.to_owned());
        Ok(Self {
            id: ids.next(attributes, &name, &ident)?,
            name,
            optional: inner.is_some(),
            key: attributes.key,
            // A receiver that does not know a key member cannot tell instances apart (XTypes 1.3, 7.2.2.4.4.4.8).
            must_understand: attributes.must_understand || attributes.key,
            bound: attributes.bound.clone(),
            octets: attributes.octets,
            boxed: attributes.boxed,
            try_construct: attributes.try_construct,
            recursive: attributes.recursive || mentions(ty.to_token_stream(), owner),
            hashed: on_wire.is_some(),
            ty: on_wire.unwrap_or_else(|| inner.unwrap_or(ty).clone()),
            ident,
        })
    }

    /// What the encoder and the decoder are told about it.
    pub(crate) fn info(&self, cdr: &Tokens) -> Tokens {
        let Self { name, id, must_understand, .. } = self;
        let bound = match &self.bound {
            Some(bound) => quote!(::core::option::Option::Some(#bound)),
            None => quote!(::core::option::Option::None),
        };
        quote!(&#cdr::Member { name: #name, id: #id, must_understand: #must_understand, bound: #bound })
    }

    /// Name, id and type, as descriptions have them.
    fn described_value(&self, cdr: &Tokens) -> Tokens {
        let Self { name, id, ty, octets, boxed, .. } = self;
        let try_construct = match self.try_construct {
            TryConstruct::Discard => quote!(Discard),
            TryConstruct::UseDefault => quote!(UseDefault),
            TryConstruct::Trim => quote!(Trim),
        };
        let bound = match &self.bound {
            Some(bound) => quote!(::core::option::Option::Some((#bound) as u32)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            #cdr::description::Value {
                name: #name,
                id: #id,
                ty: #cdr::description::describe::<#ty>,
                bound: #bound,
                octets: #octets,
                boxed: #boxed,
                try_construct: #cdr::description::TryConstruct::#try_construct,
            }
        }
    }

    /// The member of a structure as it is described.
    pub(crate) fn described(&self, cdr: &Tokens) -> Tokens {
        let (value, Self { key, optional, must_understand, .. }) = (self.described_value(cdr), self);
        quote! {
            #cdr::description::Member {
                value: #value,
                key: #key,
                optional: #optional,
                must_understand: #must_understand,
            }
        }
    }

    /// The case of a union as it is described; `labels` are integers.
    pub(crate) fn described_case(&self, cdr: &Tokens, labels: &[Tokens], default: bool) -> Tokens {
        let value = self.described_value(cdr);
        quote!(#cdr::description::Case { value: #value, labels: &[#(#labels),*], default: #default })
    }

    /// Refuses a value beyond its bound; `value` is a reference to it.
    pub(crate) fn check(&self, cdr: &Tokens, value: &Tokens) -> Tokens {
        let name = &self.name;
        let count = if self.hashed { quote!((#value).len()) } else { quote!(#cdr::Boundable::count(#value)) };
        self.bound.as_ref().map_or_else(Tokens::new, |bound| {
            quote! {
                encoder
                    .check_bound(#bound, #count)
                    .map_err(|error| error.in_member(#name))?;
            }
        })
    }

    /// A size constant of the type.
    pub(crate) fn size(&self, cdr: &Tokens, constant: &str) -> Tokens {
        let constant = Ident::new(constant, Span::call_site());
        let ty = &self.ty;
        match &self.bound {
            _ if self.recursive && is_collection(ty) => quote!(#cdr::SizeBound::UNBOUNDED.with_min(4)),
            _ if self.recursive => quote!(#cdr::SizeBound::UNBOUNDED),
            Some(bound) => {
                quote!(<<#ty as #cdr::Boundable>::Bounded<{ #bound }> as #cdr::CdrType>::#constant)
            }
            None => quote!(<#ty as #cdr::CdrType>::#constant),
        }
    }

    /// The size as a member in XCDR version 1.
    pub(crate) fn size_xcdr1(&self, cdr: &Tokens, extensibility: &Tokens) -> Tokens {
        let (size, id, optional) = (self.size(cdr, "SIZE_XCDR1"), self.id, self.optional);
        quote!(#size.member_xcdr1(#extensibility, #id, #optional))
    }

    /// The size as a member in XCDR version 2.
    pub(crate) fn size_xcdr2(&self, cdr: &Tokens, extensibility: &Tokens) -> Tokens {
        let (size, ty, optional) = (self.size(cdr, "SIZE_XCDR2"), &self.ty, self.optional);
        quote!(#size.member_xcdr2(#extensibility, <#ty as #cdr::CdrType>::LENGTH_CODE, #optional))
    }

    /// The size in a key hash.
    pub(crate) fn key_size(&self, cdr: &Tokens, version: u8) -> Tokens {
        let (ty, id, optional) = (&self.ty, self.id, self.optional);
        let size = self.size(cdr, &format!("KEY_SIZE_XCDR{version}"));
        let plain = quote!(#cdr::Extensibility::Final);
        match (optional, version) {
            (false, _) => size,
            (true, 1) => quote!(#size.member_xcdr1(#plain, #id, true)),
            (true, _) => quote!(#size.member_xcdr2(#plain, <#ty as #cdr::CdrType>::LENGTH_CODE, true)),
        }
    }

    /// The value of a member that was not sent.
    pub(crate) fn initial(&self, cdr: &Tokens) -> Tokens {
        let ty = &self.ty;
        if self.optional {
            quote!(::core::option::Option::None)
        } else if self.hashed {
            quote!(::core::default::Default::default())
        } else {
            quote!(<#ty as #cdr::CdrType>::initial())
        }
    }
}

/// Gives out member ids and refuses duplicates.
pub(crate) struct MemberIds {
    next: u32,
    hash: bool,
    taken: BTreeMap<u32, String>,
}

impl MemberIds {
    /// Ids begin with `first`.
    pub(crate) fn new(attributes: &TypeAttributes, first: u32) -> Self {
        Self { next: first, hash: attributes.hash_ids, taken: BTreeMap::new() }
    }

    fn next(&mut self, attributes: &MemberAttributes, name: &str, at: &Ident) -> Result<u32, Error> {
        let (id, span) = match (attributes.id, &attributes.hash_id) {
            (Some((_, span)), Some(_)) => return Err(Error::new(span, "a member has either id or hashid")),
            (Some(given), None) => given,
            (None, Some(of)) => (hash_id(of.as_deref().unwrap_or(name)), at.span()),
            (None, None) if self.hash => (hash_id(name), at.span()),
            (None, None) => (self.next, at.span()),
        };
        if id > MAX_MEMBER_ID {
            return Err(Error::new(span, "a member id is at most 0x0fffffff"));
        }
        if let Some(other) = self.taken.insert(id, name.to_owned()) {
            return Err(Error::new(span, format!("member id {id:#x} is already that of {other:?}")));
        }
        self.next = id + 1;
        Ok(id)
    }
}

/// The id that a name gives (XTypes 1.3, 7.3.1.2.1.1).
fn hash_id(name: &str) -> u32 {
    let digest: [u8; 16] = Md5::digest(name).into();
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]) & MAX_MEMBER_ID
}

/// The type without parentheses and without the invisible ones that macros put around it.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        other => other,
    }
}

/// The type inside of an `Option`.
fn inside_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (last.ident == "Option", arguments.args.first()) {
        (true, Some(GenericArgument::Type(inner))) => Some(inner),
        _ => None,
    }
}

/// True for collections that begin with a count.
fn is_collection(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Vec" || last.ident == "BTreeMap")
}

/// True if the tokens of a type name the type `owner`; one of the same name in another module is another one.
fn mentions(tokens: Tokens, owner: &Ident) -> bool {
    let mut is_in_path = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => {
            let is_other = core::mem::replace(&mut is_in_path, ident != "self");
            (ident == *owner && !is_other) || ident == "Self"
        }
        TokenTree::Group(group) => {
            is_in_path = false;
            mentions(group.stream(), owner)
        }
        TokenTree::Punct(punct) => {
            is_in_path &= punct.as_char() == ':';
            false
        }
        TokenTree::Literal(_) => {
            is_in_path = false;
            false
        }
    })
}
