//! The role of a field of a component.
use proc_macro2::{TokenStream as Tokens, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Field, GenericArgument, Ident, PathArguments, Token, Type};

/// A field, and what it is.
pub(crate) struct Part<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) role: Role<'a>,
}

pub(crate) enum Role<'a> {
    Publisher(&'a Type),
    Emitter(&'a Type),
    Consumer(&'a Type),
    Timer,
    Facet(&'a Type),
    Receptacle(&'a Type),
    Setting { default: Option<Tokens>, range: Option<Tokens> },
    State,
}

impl<'a> Part<'a> {
    pub(crate) fn of(field: &'a Field) -> Result<Self, Error> {
        let Some(name) = &field.ident else {
            return Err(Error::new_spanned(field, "the fields of a component have names"));
        };
        let role = match (setting(field)?, port(&field.ty)?) {
            (Some(setting), None) => setting,
            (Some(_), Some(_)) => return Err(Error::new_spanned(&field.ty, "a port is no setting")),
            (None, Some(port)) => port,
            (None, None) => Role::State,
        };
        Ok(Self { name, ty: &field.ty, role })
    }

    /// The kind, as the manifest has it, and what the port is of; `None` if it is no port.
    pub(crate) fn port(&self) -> Option<(&'static str, Option<&'a Type>)> {
        Some(match &self.role {
            Role::Publisher(of) => ("Publisher", Some(of)),
            Role::Emitter(of) => ("Emitter", Some(of)),
            Role::Consumer(of) => ("Consumer", Some(of)),
            Role::Timer => ("Timer", None),
            Role::Facet(of) => ("Facet", Some(of)),
            Role::Receptacle(of) => ("Receptacle", Some(of)),
            Role::Setting { .. } | Role::State => return None,
        })
    }
}

/// The port that a type is.
fn port(ty: &Type) -> Result<Option<Role<'_>>, Error> {
    let Type::Path(path) = ty else { return Ok(None) };
    let Some(last) = path.path.segments.last() else { return Ok(None) };
    let name = last.ident.to_string();
    if name == "Timer" {
        return Ok(matches!(last.arguments, PathArguments::None).then_some(Role::Timer));
    }
    if !["Publisher", "Emitter", "Consumer", "Facet", "Receptacle"].contains(&name.as_str()) {
        return Ok(None);
    }
    let of = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(of)) if arguments.args.len() == 1 => Some(of),
            _ => None,
        },
        _ => None,
    };
    let Some(of) = of else {
        let advice = if name.ends_with('t') || name == "Receptacle" { "dyn Trait" } else { "Event" };
        return Err(Error::new_spanned(ty, format!("say what the port is of: {name}<{advice}>")));
    };
    let is_interface = matches!(of, Type::TraitObject(_));
    if matches!(name.as_str(), "Facet" | "Receptacle") && !is_interface {
        return Err(Error::new_spanned(of, format!("the port is of a trait: {name}<dyn Trait>")));
    }
    Ok(Some(match name.as_str() {
        "Publisher" => Role::Publisher(of),
        "Emitter" => Role::Emitter(of),
        "Consumer" => Role::Consumer(of),
        "Facet" => Role::Facet(of),
        _ => Role::Receptacle(of),
    }))
}

/// `name = value`, where the value is all up to the next comma.
struct Said {
    name: Ident,
    value: Tokens,
}

impl Parse for Said {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        let mut value = Tokens::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend([input.parse::<TokenTree>()?]);
        }
        if value.is_empty() { Err(input.error("a value is missing")) } else { Ok(Self { name, value }) }
    }
}

/// Reads `#[setting]`.
fn setting(field: &Field) -> Result<Option<Role<'static>>, Error> {
    let mut found = None;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("setting")) {
        if found.is_some() {
            return Err(Error::new_spanned(attribute, "one #[setting] is enough"));
        }
        let (mut default, mut range) = (None, None);
        if !matches!(attribute.meta, syn::Meta::Path(_)) {
            let said = attribute.parse_args_with(Punctuated::<Said, Token![,]>::parse_terminated)?;
            for one in said {
                let place = if one.name == "default" {
                    &mut default
                } else if one.name == "range" {
                    &mut range
                } else {
                    return Err(Error::new_spanned(&one.name, "a setting has a default and a range"));
                };
                if place.replace(one.value).is_some() {
                    return Err(Error::new_spanned(&one.name, "said twice"));
                }
            }
        }
        found = Some(Role::Setting { default, range });
    }
    Ok(found)
}
