//! Names of IDL as names of Rust.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Words of Rust, also those that it may use one day.
const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    "union",
];

/// Words that cannot be a name in any spelling.
const NEVER: [&str; 5] = ["crate", "self", "super", "Self", "_"];

/// Types of Rust that what is written uses by their names.
const TYPES: [&str; 18] = [
    "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "str", "usize", "char",
    "String", "Vec", "Option", "Box",
];

/// The name of a member, a literal or a constant.
pub(super) fn value(name: &str) -> String {
    if KEYWORDS.contains(&name) && name != "union" {
        return format!("r#{name}");
    }
    if NEVER.contains(&name) {
        return format!("{name}_");
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("_{name}");
    }
    name.to_string()
}

/// The name of a type or module.
pub(super) fn ty(name: &str) -> String {
    if TYPES.contains(&name) { format!("{name}_") } else { value(name) }
}

/// Modules, and the name in them.
pub(super) fn split(qualified: &str) -> (Vec<&str>, &str) {
    let mut parts: Vec<&str> = qualified.split("::").collect();
    let name = parts.pop().unwrap_or_default();
    (parts, name)
}

/// The path from inside of a module to what has this name; `last` spells the name itself.
pub(super) fn path(from: &[&str], qualified: &str, last: fn(&str) -> String) -> String {
    let (modules, name) = split(qualified);
    let common = from.iter().zip(&modules).take_while(|(one, other)| one == other).count();
    let mut path = "super::".repeat(from.len() - common);
    for module in modules.get(common..).unwrap_or_default() {
        path.push_str(&ty(module));
        path.push_str("::");
    }
    path.push_str(&last(name));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_module_to_module() {
        assert_eq!(path(&["a", "b"], "a::b::C", ty), "C");
        assert_eq!(path(&["a", "b"], "a::c::type", ty), "super::c::r#type");
        assert_eq!(path(&["a", "b"], "C", ty), "super::super::C");
        assert_eq!(path(&[], "a::u8::C", ty), "a::u8_::C");
        assert_eq!(value("Self"), "Self_");
        assert_eq!(ty("String"), "String_");
        assert_eq!(value("String"), "String");
    }
}
