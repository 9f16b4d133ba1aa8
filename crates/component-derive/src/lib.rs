//! `#[derive(Component)]`: a struct as a component. Its fields are what the container connects and sets:
//!
//! | field | is |
//! |---|---|
//! | `Publisher<T>`, `Emitter<T>` | a port that publishes, to any number of consumers or to one |
//! | `Consumer<T>` | a port that consumes; it needs `impl Handle<component::Port> for Component` |
//! | `Timer` | a port that is called periodically; it needs the same |
//! | `Facet<dyn Trait>` | a port by which others call the component; it needs `impl Trait for Component` |
//! | `Receptacle<dyn Trait>` | a port by which the component calls another one |
//! | with `#[setting]`, or `#[setting(default = 1.0, range = 0.0..=10.0)]` | a setting |
//! | another one | own state, which begins as its `Default` |
//!
//! The markers of ports that consume are in a module that is named after the component: for the port `fix` of `Airframe`, `airframe::Fix`.
//! `Default` is derived as well, with the defaults of the settings. With `#[component(parallel)]` handlers may run at once, on a shared
//! component: they are `HandleParallel`, and there are no facets. With `#[component(swappable)]` one of another build may go on with the state that
//! its hook `freeze` writes and its hook `thaw` reads.
mod component;
mod field;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Derives the glue between a component's ports and its container.
#[proc_macro_derive(Component, attributes(component, setting))]
pub fn derive_component(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    component::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
