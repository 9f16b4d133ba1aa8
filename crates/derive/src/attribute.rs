//! What `#[dds(…)]` says about a type.
use proc_macro2::{Span, TokenStream as Tokens};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, DeriveInput, Error, Ident, LitInt, LitStr, Path, Token, Type};

/// How far a type may change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extensibility {
    Final,
    Appendable,
    Mutable,
}

/// The attributes of a type.
pub(crate) struct TypeAttributes {
    pub(crate) extensibility: Extensibility,
    /// It was said, and is not the default.
    extensibility_is_said: bool,
    pub(crate) name: String,
    pub(crate) bit_bound: Option<(u32, Span)>,
    /// It is an integer whose bits have meanings: a bitmask or a bitset.
    pub(crate) bitmask: bool,
    /// It is a bitset.
    pub(crate) bitset: bool,
    /// Fields of a bitset.
    pub(crate) fields: Vec<FieldAttribute>,
    pub(crate) discriminator: Option<Type>,
    pub(crate) discriminator_key: bool,
    /// The discriminator is an octet, not a number.
    pub(crate) octets: bool,
    pub(crate) hash_ids: bool,
    /// It is no type of topics.
    nested: bool,
    /// The structure that it extends.
    pub(crate) base: Option<Type>,
    /// Flags of a bitmask that have names, with their positions.
    pub(crate) flags: Vec<(String, LitInt)>,
    /// The path of the module `cdr`.
    pub(crate) cdr: Tokens,
}

/// A field of a bitset: `"low": u8 = 0..3`.
pub(crate) struct FieldAttribute {
    pub(crate) name: LitStr,
    pub(crate) ty: Ident,
    pub(crate) begin: LitInt,
    pub(crate) end: LitInt,
}

impl Parse for FieldAttribute {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        input.parse::<Token![=]>()?;
        let begin = input.parse()?;
        input.parse::<Token![..]>()?;
        Ok(Self { name, ty, begin, end: input.parse()? })
    }
}

impl TypeAttributes {
    pub(crate) fn parse(input: &DeriveInput, cdr: Tokens) -> Result<Self, Error> {
        let mut found = Self {
            extensibility: Extensibility::Appendable,
            extensibility_is_said: false,
            name: plain_name(&input.ident),
            bit_bound: None,
            bitmask: false,
            bitset: false,
            fields: Vec::new(),
            discriminator: None,
            discriminator_key: false,
            octets: false,
            hash_ids: false,
            nested: false,
            base: None,
            flags: Vec::new(),
            cdr,
        };
        let mut extensibility = None;
        each(&input.attrs, |meta| {
            let mut set_extensibility = |value| match extensibility.replace(value) {
                None => Ok(()),
                Some(_) => Err(meta.error("a type has one extensibility")),
            };
            match key(&meta).as_str() {
                "final" => set_extensibility(Extensibility::Final),
                "appendable" => set_extensibility(Extensibility::Appendable),
                "mutable" => set_extensibility(Extensibility::Mutable),
                "bitmask" => set(&mut found.bitmask),
                "bitset" => {
                    found.bitmask = true;
                    set(&mut found.bitset)
                }
                "key" => set(&mut found.discriminator_key),
                "octet" => set(&mut found.octets),
                "name" => text(&meta).map(|name| found.name = name.value()),
                "bit_bound" => {
                    let bound: LitInt = meta.value()?.parse()?;
                    found.bit_bound = Some((bound.base10_parse()?, bound.span()));
                    Ok(())
                }
                "discriminator" => {
                    found.discriminator = Some(text(&meta)?.parse()?);
                    Ok(())
                }
                "autoid" => match text(&meta)?.value().as_str() {
                    "hash" => set(&mut found.hash_ids),
                    "sequential" => Ok(()),
                    _ => Err(meta.error("autoid is \"hash\" or \"sequential\"")),
                },
                "nested" => set(&mut found.nested),
                "base" => {
                    found.base = Some(text(&meta)?.parse()?);
                    Ok(())
                }
                "flag" => meta.parse_nested_meta(|flag| {
                    found.flags.push((key(&flag), flag.value()?.parse()?));
                    Ok(())
                }),
                "field" => {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    found.fields.push(content.parse()?);
                    Ok(())
                }
                "crate" => {
                    let path: Path = text(&meta)?.parse()?;
                    found.cdr = quote!(#path::cdr);
                    Ok(())
                }
                _ => Err(meta.error(
                    "expected final, appendable, mutable, name, autoid, nested, base, bit_bound, bitmask, bitset, flag, field, discriminator, octet, key or crate",
                )),
            }
        })?;
        found.extensibility_is_said = extensibility.is_some();
        found.extensibility = extensibility.unwrap_or(found.extensibility);
        if (found.discriminator_key || found.octets) && found.discriminator.is_none() {
            let wrong = "key and octet are attributes of fields and of unions";
            return Err(Error::new_spanned(&input.ident, wrong));
        }
        Ok(found)
    }

    /// The extensibility as an expression.
    pub(crate) fn extensibility(&self) -> Tokens {
        self.expression(self.extensibility)
    }

    /// The constant that describes the type: of an enumeration or bitmask, which is final unless something else is said, `is_number`.
    pub(crate) fn description(&self, ident: &Ident, is_number: bool, body: &Tokens) -> Tokens {
        let (cdr, name, hash_ids, nested) = (&self.cdr, &self.name, self.hash_ids, self.nested);
        let extensibility = if is_number && !self.extensibility_is_said {
            self.expression(Extensibility::Final)
        } else {
            self.extensibility()
        };
        let place = quote! {
            ::core::concat!(
                ::core::module_path!(), "::", ::core::stringify!(#ident), ":", ::core::line!(), ":", ::core::column!()
            )
        };
        quote! {
            const DESCRIPTION: #cdr::Description = #cdr::Description::Named(&#cdr::description::Named {
                place: #place,
                name: #name,
                extensibility: #extensibility,
                hash_ids: #hash_ids,
                nested: #nested,
                body: #cdr::description::Body::#body,
            });
        }
    }

    fn expression(&self, of: Extensibility) -> Tokens {
        let cdr = &self.cdr;
        match of {
            Extensibility::Final => quote!(#cdr::Extensibility::Final),
            Extensibility::Appendable => quote!(#cdr::Extensibility::Appendable),
            Extensibility::Mutable => quote!(#cdr::Extensibility::Mutable),
        }
    }
}

/// A name as IDL would have it.
pub(crate) fn plain_name(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(ToOwned::to_owned).unwrap_or(name)
}

/// Calls `parse` for each item in the `dds` attributes.
pub(crate) fn each(
    attributes: &[Attribute],
    mut parse: impl FnMut(ParseNestedMeta<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("dds"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut parse))
}

/// The word before `=`.
pub(crate) fn key(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

/// The string after `=`.
pub(crate) fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr, Error> {
    meta.value()?.parse()
}

/// Sets a flag.
pub(crate) fn set(flag: &mut bool) -> Result<(), Error> {
    *flag = true;
    Ok(())
}
