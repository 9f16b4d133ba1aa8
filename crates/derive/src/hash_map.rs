//! `HashMap` as the type of a field: on the wire it is a map in the order of its keys. It is no `CdrType`, because the crate that has that trait
//! knows no hashes; so it is put together here.
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{GenericArgument, PathArguments, Type, parse_quote};

use crate::member::{Member, bare};

/// What a `HashMap` is on the wire; `None` for other types.
pub(crate) fn on_wire(ty: &Type) -> Option<Type> {
    let (key, value) = parts(ty)?;
    Some(parse_quote!(::std::collections::BTreeMap<#key, #value>))
}

/// The types of the keys and values of a `HashMap`.
pub(crate) fn parts(ty: &Type) -> Option<(&Type, &Type)> {
    let Type::Path(path) = bare(ty) else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    match (last.ident == "HashMap", types.next(), types.next()) {
        (true, Some(key), Some(value)) => Some((key, value)),
        _ => None,
    }
}

/// Writes the member.
pub(crate) fn encode(cdr: &Tokens, member: &Member) -> Tokens {
    let (field, info) = (&member.ident, member.info(cdr));
    quote!(encoder.member(&aggregate, #info, &#cdr::SortedEntries::of(&self.#field))?;)
}

/// Reads the member by `read`, which is given where to.
pub(crate) fn decode(member: &Member, read: impl FnOnce(Tokens) -> Tokens) -> Tokens {
    let (field, ty, read) = (&member.ident, &member.ty, read(quote!(&mut entries)));
    quote! {
        let mut entries = <#ty>::new();
        #read
        self.#field = entries.into_iter().collect();
    }
}
