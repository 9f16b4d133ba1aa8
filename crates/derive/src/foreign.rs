//! Types of Rust that IDL has nothing for: one error for each, with what to use instead.
use syn::{Data, DeriveInput, Error, Fields, GenericArgument, PathArguments, Type};

use crate::hash_map;
use crate::member::bare;

/// Of a tuple.
const MOST_ELEMENTS: usize = 8;

/// Refuses fields with such types, all of them at once.
pub(crate) fn check(input: &DeriveInput) -> Result<(), Error> {
    let fields: Vec<&Fields> = match &input.data {
        Data::Struct(data) => vec![&data.fields],
        Data::Enum(data) => data.variants.iter().map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let allows_hash_map =
        matches!(&input.data, Data::Struct(data) if matches!(data.fields, Fields::Named(_)));
    let mut errors: Option<Error> = None;
    for field in fields.into_iter().flatten() {
        let Some((ty, advice)) = foreign_field(&field.ty, allows_hash_map) else { continue };
        let error = Error::new_spanned(ty, advice);
        match &mut errors {
            Some(errors) => errors.combine(error),
            None => errors = Some(error),
        }
    }
    errors.map_or(Ok(()), Err)
}

/// As [`foreign`], of a field that may be a `HashMap` itself.
fn foreign_field(ty: &Type, allows_hash_map: bool) -> Option<(&Type, String)> {
    match hash_map::parts(ty).filter(|_| allows_hash_map) {
        Some((key, value)) => foreign(key).or_else(|| foreign(value)),
        None => foreign(ty),
    }
}

/// The first part of a type that no sample can have, and what to use instead.
fn foreign(ty: &Type) -> Option<(&Type, String)> {
    let ty = bare(ty);
    let advice = match ty {
        Type::Array(array) => return foreign(&array.elem),
        Type::Reference(reference) => match bare(&reference.elem) {
            Type::Slice(_) => "a sample owns its data: use Vec<…> in place of a slice".to_owned(),
            Type::Path(path) if path.path.is_ident("str") => {
                "a sample owns its data: use String in place of &str".to_owned()
            }
            _ => "a sample owns its data: use the type itself in place of a reference".to_owned(),
        },
        Type::Slice(_) => "a sample owns its data: use Vec<…> in place of a slice".to_owned(),
        Type::Tuple(tuple) if tuple.elems.is_empty() => "() says nothing: leave it out".to_owned(),
        Type::Tuple(tuple) if tuple.elems.len() > MOST_ELEMENTS => {
            "a tuple has eight elements at most: write a struct with named fields, and derive DdsType for it"
                .to_owned()
        }
        Type::Tuple(tuple) => return tuple.elems.iter().find_map(foreign),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            if let PathArguments::AngleBracketed(arguments) = &last.arguments {
                if let Some(instead) = collection(&last.ident.to_string()) {
                    return Some((ty, instead.to_owned()));
                }
                return arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(inner) => foreign(inner),
                    _ => None,
                });
            }
            plain(&path.path)?.to_owned()
        }
        _ => return None,
    };
    Some((ty, advice))
}

/// What to use in the place of a generic type of the standard library.
fn collection(name: &str) -> Option<&'static str> {
    Some(match name {
        "HashMap" => {
            "a HashMap can be the type of a field of a struct, and nothing inside of another: use BTreeMap<…> here"
        }
        "HashSet" | "BTreeSet" | "BinaryHeap" => "IDL has no sets: use Vec<…>",
        "VecDeque" | "LinkedList" => "IDL has sequences alone: use Vec<…>",
        "Rc" | "Arc" | "Cow" | "Cell" | "RefCell" | "Mutex" | "RwLock" => {
            "a sample owns its data: use the type inside, or Box<…> of it"
        }
        "Result" => "IDL has no results: use Option<…>, or an enum with #[dds(discriminator = \"…\")]",
        _ => return None,
    })
}

/// What to use in the place of a type without parameters.
fn plain(path: &syn::Path) -> Option<&'static str> {
    let is_std = path.segments.first().is_some_and(|first| first.ident == "std" || first.ident == "core");
    let name = path.segments.last()?.ident.to_string();
    Some(match name.as_str() {
        "usize" => "usize has another size on another machine: use u64 or u32",
        "isize" => "isize has another size on another machine: use i64 or i32",
        "u128" | "i128" => "IDL has integers of up to 64 bits: use [u64; 2]",
        "str" => "a sample owns its data: use String",
        "SystemTime" => {
            "IDL has no times: use i64 for nanoseconds since 1970, or a struct of i32 seconds and u32 nanoseconds"
        }
        "Instant" if is_std => {
            "an Instant means nothing to another machine: use i64 for nanoseconds since 1970"
        }
        "Duration" if is_std => "IDL has no durations: use i64 for nanoseconds",
        "PathBuf" | "OsString" | "CString" => "IDL has strings alone: use String",
        _ => return None,
    })
}
