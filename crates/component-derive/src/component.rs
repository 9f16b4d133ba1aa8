//! The glue of a component.
use proc_macro2::{Span, TokenStream as Tokens};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Visibility};

use crate::field::{Part, Role};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a component is a struct"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "a component has no generic parameters"));
    }
    let parts: Vec<Part<'_>> = match &data.fields {
        Fields::Named(fields) => fields.named.iter().map(Part::of).collect::<Result<_, _>>()?,
        Fields::Unit => Vec::new(),
        Fields::Unnamed(fields) => {
            return Err(Error::new_spanned(fields, "the fields of a component have names"));
        }
    };
    let Options { is_parallel, is_swappable } = options(input)?;
    if let Some(facet) = parts.iter().find(|part| is_parallel && matches!(part.role, Role::Facet(_))) {
        return Err(Error::new_spanned(
            facet.ty,
            "a parallel component has no facets: a call is alone in the component",
        ));
    }
    let component = &input.ident;
    let module = module(component)?;
    let markers = markers(&parts, component, &module, &input.vis, is_parallel)?;
    let made = default(input, &parts);
    let members = members(&parts, component, &module, Options { is_parallel, is_swappable });
    Ok(quote! { #markers #made #members })
}

/// What `#[component(…)]` says.
#[derive(Clone, Copy, Default)]
struct Options {
    is_parallel: bool,
    is_swappable: bool,
}

fn options(input: &DeriveInput) -> Result<Options, Error> {
    let mut options = Options::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("component")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("parallel") {
                options.is_parallel = true;
                return Ok(());
            }
            if meta.path.is_ident("swappable") {
                options.is_swappable = true;
                return Ok(());
            }
            Err(meta.error("a component may be `parallel` and `swappable`"))
        })?;
    }
    Ok(options)
}

/// The markers of ports that consume, and what gives them events.
fn markers(
    parts: &[Part<'_>],
    component: &Ident,
    module: &Ident,
    visibility: &Visibility,
    is_parallel: bool,
) -> Result<Tokens, Error> {
    let inside = one_deeper(visibility);
    let mut names: Vec<Ident> = Vec::new();
    let (mut structs, mut impls) = (Tokens::new(), Tokens::new());
    for part in parts {
        let is_timer = matches!(part.role, Role::Timer);
        let event = match &part.role {
            Role::Consumer(event) => quote!(#event),
            Role::Timer => quote!(::container::Tick),
            _ => continue,
        };
        let marker = marker(part.name);
        if names.contains(&marker) {
            return Err(Error::new(part.name.span(), format!("another port has the marker {marker}")));
        }
        let text = format!("The port `{}` of [`{component}`](super::{component}).", part.name.unraw());
        structs.extend(quote!(#[doc = #text] #[derive(Clone, Copy, Debug)] #inside struct #marker;));
        let name = part.name.unraw().to_string();
        // A missing handler is shown where the port is.
        let span = Span::call_site().located_at(part.name.span());
        let act = match (is_timer, is_parallel) {
            (false, false) => "give",
            (false, true) => "give_parallel",
            (true, false) => "tick",
            (true, true) => "tick_parallel",
        };
        let [act, here] = [act, &component.to_string()].map(|name| Ident::new(name, span));
        // By the same function in both cases, so that a missing handler is one error.
        let call = |given: Tokens| quote_spanned!(span=> ::container::glue::#act::<#here, #module::#marker>(component, #given, at));
        let (hand, give) = (call(quote!(::container::glue::Given::Event(event))), call(quote!(given)));
        impls.extend(quote! {
            impl ::container::In for #module::#marker {
                type Component = #component;
                type Event = #event;
                const NAME: &'static str = #name;
                #[inline(always)]
                fn hand(
                    body: &::container::glue::BodyOf<Self>,
                    gate: &::container::glue::Gate,
                    event: &Self::Event,
                    at: &::container::Context,
                ) -> ::core::result::Result<::container::Outcome, ::container::glue::Shut> {
                    body.enter(gate, at.thread(), |component| #hand)
                }
                fn give(
                    body: &::container::glue::BodyOf<Self>,
                    gate: &::container::glue::Gate,
                    given: ::container::glue::Given<'_, Self::Event>,
                    at: &::container::Context,
                ) -> ::core::result::Result<::container::Outcome, ::container::glue::Shut> {
                    body.enter(gate, at.thread(), |component| #give)
                }
            }
        });
        names.push(marker);
    }
    if names.is_empty() {
        return Ok(Tokens::new());
    }
    let text = format!("Ports of [`{component}`](super::{component}) that consume.");
    Ok(quote! {
        #[doc = #text]
        #visibility mod #module { #structs }
        #impls
    })
}

fn default(input: &DeriveInput, parts: &[Part<'_>]) -> Tokens {
    let component = &input.ident;
    let fields = parts.iter().map(|part| {
        let name = part.name;
        match &part.role {
            Role::Setting { default: Some(text), .. } if syn::parse2::<LitStr>(text.clone()).is_ok() => {
                quote!(#name: ::std::string::String::from(#text))
            }
            Role::Setting { default: Some(default), .. } => quote!(#name: #default),
            _ => quote!(#name: ::core::default::Default::default()),
        }
    });
    quote! {
        impl ::core::default::Default for #component {
            fn default() -> Self {
                Self { #(#fields),* }
            }
        }
    }
}

fn members(parts: &[Part<'_>], component: &Ident, module: &Ident, options: Options) -> Tokens {
    let Options { is_parallel, is_swappable } = options;
    let body = if is_parallel { quote!(Parallel) } else { quote!(Serialised) };
    let (mut ports, mut settings, mut set, mut values) =
        (Tokens::new(), Tokens::new(), Tokens::new(), Tokens::new());
    let (mut outlets, mut receptacles) = (Tokens::new(), Tokens::new());
    let (mut inlets, mut facets, mut used) = (Tokens::new(), Tokens::new(), Tokens::new());
    for part in parts {
        let (field, name) = (part.name, part.name.unraw().to_string());
        if let Some((kind, of)) = part.port() {
            let kind = format_ident!("{kind}");
            let of = of.map_or_else(
                || "Tick".to_owned(),
                |of| quote!(#of).to_string().replace(" ", "").replace("dyn", "dyn "),
            );
            let fields = match &part.role {
                Role::Publisher(event) | Role::Emitter(event) | Role::Consumer(event) => {
                    quote!(::core::option::Option::Some(::container::EventFields::event::<#event>()))
                }
                _ => quote!(::core::option::Option::None),
            };
            ports.extend(quote!(::container::Port {
                name: #name,
                kind: ::container::PortKind::#kind,
                of: #of,
                fields: #fields,
            },));
            // Marks fields as used that only the container uses.
            used.extend(quote!(let _ = &self.#field;));
        }
        match &part.role {
            Role::Publisher(_) | Role::Emitter(_) => {
                outlets.extend(quote!(#name => ::core::option::Option::Some(&mut self.#field),));
            }
            Role::Receptacle(_) => {
                receptacles.extend(quote!(#name => ::core::option::Option::Some(&mut self.#field),));
            }
            Role::Consumer(_) | Role::Timer => {
                let marker = marker(field);
                inlets.extend(quote!(#name => ::core::option::Option::Some(::container::glue::inlet::<#module::#marker>(cell)),));
            }
            Role::Facet(interface) => {
                // A trait that is not implemented is shown where the facet is.
                let span = Span::call_site().located_at(field.span());
                let view = quote_spanned!(span=> |component| component);
                facets.extend(quote! {
                    #name => ::core::option::Option::Some(
                        ::container::glue::provide::<#component, #interface>(cell, #view),
                    ),
                });
            }
            Role::Setting { range, .. } => {
                let ty = part.ty;
                let text = range.as_ref().map(|range| quote!(#range).to_string().replace(' ', ""));
                let (shown, limits) = match (&text, range) {
                    (Some(text), Some(range)) => (
                        quote!(::core::option::Option::Some(#text)),
                        quote!(::core::option::Option::Some((#text, &(#range)))),
                    ),
                    _ => (quote!(::core::option::Option::None), quote!(::core::option::Option::None)),
                };
                settings.extend(quote! {
                    ::container::SettingInfo {
                        name: #name,
                        kind: <#ty as ::container::Setting>::KIND,
                        default: ::container::Setting::value(&defaults.#field),
                        range: #shown,
                    },
                });
                set.extend(
                    quote!(#name => ::container::glue::assign(#name, &mut self.#field, value, #limits),),
                );
                values.extend(quote!((#name, ::container::Setting::value(&self.#field)),));
            }
            Role::State => {}
        }
    }
    let name = component.to_string();
    quote! {
        impl ::container::Component for #component {
            type Body = ::container::glue::#body<Self>;

            fn manifest() -> ::container::Manifest {
                #[allow(unused_variables)]
                let defaults = <Self as ::core::default::Default>::default();
                ::container::Manifest {
                    component: #name,
                    is_parallel: #is_parallel,
                    is_swappable: #is_swappable,
                    ports: ::std::vec![#ports],
                    settings: ::std::vec![#settings],
                }
            }

            fn set(
                &mut self,
                setting: &str,
                value: &::container::Value,
            ) -> ::core::result::Result<(), ::container::SettingError> {
                let _ = value;
                match setting {
                    #set
                    _ => ::core::result::Result::Err(::container::SettingError::Unknown {
                        name: ::std::string::String::from(setting),
                    }),
                }
            }

            fn settings(&self) -> ::std::vec::Vec<(&'static str, ::container::Value)> {
                #used
                ::std::vec![#values]
            }

            fn outlet(&mut self, port: &str) -> ::core::option::Option<&mut dyn ::container::glue::Outlet> {
                match port {
                    #outlets
                    _ => ::core::option::Option::None,
                }
            }

            fn receptacle(
                &mut self,
                port: &str,
            ) -> ::core::option::Option<&mut dyn ::container::glue::AnyReceptacle> {
                match port {
                    #receptacles
                    _ => ::core::option::Option::None,
                }
            }

            fn inlet(
                cell: &::std::sync::Arc<::container::glue::Cell<Self>>,
                port: &str,
            ) -> ::core::option::Option<::container::glue::AnyInlet> {
                let _ = cell;
                match port {
                    #inlets
                    _ => ::core::option::Option::None,
                }
            }

            fn facet(
                cell: &::std::sync::Arc<::container::glue::Cell<Self>>,
                port: &str,
            ) -> ::core::option::Option<::container::glue::AnyFacet> {
                let _ = cell;
                match port {
                    #facets
                    _ => ::core::option::Option::None,
                }
            }
        }
    }
}

/// The same visibility, as it is written in a module below.
fn one_deeper(visibility: &Visibility) -> Tokens {
    match visibility {
        Visibility::Inherited => quote!(pub(super)),
        Visibility::Restricted(restricted) if restricted.path.is_ident("self") => quote!(pub(super)),
        Visibility::Restricted(restricted) if !restricted.path.is_ident("crate") => {
            let path = &restricted.path;
            let is_above = path.segments.first().is_some_and(|first| first.ident == "super");
            if is_above { quote!(pub(in super::#path)) } else { quote!(pub(in #path)) }
        }
        _ => quote!(#visibility),
    }
}

/// `fix_in` as `FixIn`.
fn marker(field: &Ident) -> Ident {
    let name = field.unraw().to_string();
    let words = name.split('_').filter(|word| !word.is_empty());
    let camel: String = words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect();
    Ident::new(&camel, field.span())
}

/// The module of the markers: that of `Loop` is `r#loop`.
fn module(component: &Ident) -> Result<Ident, Error> {
    let name = snake(&component.unraw().to_string());
    if matches!(name.as_str(), "crate" | "self" | "super") {
        let what = format!("no module for its ports can be called {name}: name the component otherwise");
        return Err(Error::new_spanned(component, what));
    }
    let is_plain = syn::parse_str::<Ident>(&name).is_ok();
    Ok(if is_plain { Ident::new(&name, component.span()) } else { Ident::new_raw(&name, component.span()) })
}

/// `AirFrame` as `air_frame`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_lower {
            snake.push('_');
        }
        was_lower = !letter.is_ascii_uppercase();
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
