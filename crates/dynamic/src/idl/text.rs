//! IDL from types: what is read of it has the same bytes, keys and type objects.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use wire::cdr::Extensibility;
use wire::schema::{
    Alias, Bitmask, Bitset, Definition, Enumeration, Member, Primitive, Remarks, Schema, Struct,
    TryConstruct, Type, TypeIndex, Union,
};

/// Words of IDL that are names only with an underscore before them.
const KEYWORDS: [&str; 72] = [
    "abstract",
    "any",
    "attribute",
    "bitfield",
    "bitmask",
    "bitset",
    "boolean",
    "case",
    "char",
    "component",
    "connector",
    "const",
    "consumes",
    "context",
    "custom",
    "default",
    "double",
    "emits",
    "enum",
    "eventtype",
    "exception",
    "factory",
    "false",
    "finder",
    "fixed",
    "float",
    "getraises",
    "home",
    "import",
    "in",
    "inout",
    "int16",
    "int32",
    "int64",
    "int8",
    "interface",
    "local",
    "long",
    "manages",
    "map",
    "mirrorport",
    "module",
    "multiple",
    "native",
    "object",
    "octet",
    "oneway",
    "out",
    "port",
    "porttype",
    "primarykey",
    "private",
    "provides",
    "public",
    "publishes",
    "raises",
    "readonly",
    "sequence",
    "setraises",
    "short",
    "string",
    "struct",
    "supports",
    "switch",
    "true",
    "truncatable",
    "typedef",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "union",
];
const MORE_KEYWORDS: [&str; 7] = ["unsigned", "uses", "valuebase", "valuetype", "void", "wchar", "wstring"];

/// Types of a schema as IDL: the one at `index`, and those that it needs before it. `None` if IDL has no words for a part of it, as for a
/// sequence of arrays, or a name that is none in IDL.
pub fn text(schema: &Schema, index: TypeIndex) -> Option<String> {
    let mut writer = Writer { schema, state: BTreeMap::new(), out: String::new() };
    writer.definition(index)?;
    Some(writer.out)
}

/// How far a definition is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Those that it needs are being written.
    Begun,
    /// It was declared.
    Declared,
    Done,
}

struct Writer<'a> {
    schema: &'a Schema,
    state: BTreeMap<TypeIndex, State>,
    out: String,
}

impl Writer<'_> {
    fn definition(&mut self, index: TypeIndex) -> Option<()> {
        let schema = self.schema;
        let definition = schema.get(index)?;
        match self.state.get(&index) {
            Some(State::Done | State::Declared) => return Some(()),
            Some(State::Begun) => {
                let word = match definition {
                    Definition::Struct(_) => "struct",
                    Definition::Union(_) => "union",
                    // What it stands for is being written, and declared: that is enough for a sequence.
                    Definition::Alias(of) => {
                        self.state.insert(index, State::Done);
                        self.needed(&of.declared)?;
                        return self.in_modules(of.name.as_str(), |name| alias(schema, of, name));
                    }
                    _ => return None,
                };
                self.state.insert(index, State::Declared);
                return self.in_modules(definition.name(), |name| Some(format!("{word} {name};")));
            }
            None => self.state.insert(index, State::Begun),
        };
        match definition {
            Definition::Struct(of) => {
                if let Some(base) = of.base {
                    self.definition(base)?;
                }
                of.own_members(schema).iter().try_for_each(|member| self.needed(&member.declared))?;
            }
            Definition::Union(of) => {
                self.needed(&of.declared)?;
                of.cases.iter().try_for_each(|case| self.needed(&case.declared))?;
            }
            Definition::Alias(of) => self.needed(&of.declared)?,
            Definition::Enumeration(_) | Definition::Bitmask(_) | Definition::Bitset(_) => {}
        }
        if self.state.get(&index) == Some(&State::Done) {
            return Some(());
        }
        self.in_modules(definition.name(), |name| match definition {
            Definition::Struct(of) => structure(schema, of, name),
            Definition::Union(of) => union(schema, of, name),
            Definition::Enumeration(of) => enumeration(of, name),
            Definition::Bitmask(of) => bitmask(of, name),
            Definition::Bitset(of) => bitset(of, name),
            Definition::Alias(of) => alias(schema, of, name),
        })?;
        self.state.insert(index, State::Done);
        Some(())
    }

    /// Writes those types first that are in this one.
    fn needed(&mut self, ty: &Type) -> Option<()> {
        match ty {
            Type::Named(index) => self.definition(*index),
            Type::Sequence(element, _) | Type::Array(element, _) => self.needed(element),
            Type::Map(key, value, _) => {
                self.needed(key)?;
                self.needed(value)
            }
            Type::Primitive(_) | Type::Text(_) | Type::WideText(_) => Some(()),
        }
    }

    /// Writes something that has a name with modules.
    fn in_modules(&mut self, qualified: &str, text: impl FnOnce(&str) -> Option<String>) -> Option<()> {
        let mut parts: Vec<String> = qualified.split("::").map(spelled).collect::<Option<_>>()?;
        let name = parts.pop()?;
        parts.iter().for_each(|module| self.out.push_str(&format!("module {module} {{ ")));
        self.out.push_str(&text(&name)?);
        parts.iter().for_each(|_| self.out.push_str(" };"));
        self.out.push('\n');
        Some(())
    }
}

fn alias(schema: &Schema, of: &Alias, name: &str) -> Option<String> {
    let (ty, dimensions) = declared(schema, &of.declared)?;
    Some(format!("typedef {ty} {name}{dimensions};"))
}

fn structure(schema: &Schema, of: &Struct, name: &str) -> Option<String> {
    let mut text = format!("{}struct {name}", changes(of.extensibility, of.remarks));
    if let Some(base) = of.base {
        text.push_str(&format!(" : {}", path(schema.get(base)?.name())?));
    }
    text.push_str(" {\n");
    for member in of.own_members(schema) {
        text.push_str(&self::member(schema, member)?);
    }
    Some(text + "};")
}

fn member(schema: &Schema, of: &Member) -> Option<String> {
    let mut said = String::new();
    for (is_said, word) in [
        (of.key, "@key "),
        (of.optional, "@optional "),
        (of.must_understand, "@must_understand "),
        (of.external, "@external "),
    ] {
        said.push_str(if is_said { word } else { "" });
    }
    said.push_str(fitting(of.try_construct));
    // The last one has parentheses: a path that begins with :: would be a part of its name.
    said.push_str(&format!("@id({}) ", of.id));
    let ((ty, dimensions), name) = (declared(schema, &of.declared)?, spelled(&of.name)?);
    Some(format!("    {said}{ty} {name}{dimensions};\n"))
}

fn union(schema: &Schema, of: &Union, name: &str) -> Option<String> {
    let key = if of.key_is_discriminator { "@key(TRUE) " } else { "" };
    let (discriminator, _) = declared(schema, &of.declared)?;
    let mut text =
        format!("{}union {name} switch ({key}{discriminator}) {{\n", changes(of.extensibility, of.remarks));
    for case in &of.cases {
        text.push_str("    ");
        for value in &case.labels {
            text.push_str(&format!("case {}: ", label(schema, &of.discriminator, *value)?));
        }
        text.push_str(if case.default { "default: " } else { "" });
        let external = if case.external { "@external " } else { "" };
        let (ty, dimensions) = declared(schema, &case.declared)?;
        text.push_str(&format!(
            "{external}{}@id({}) {ty} {}{dimensions};\n",
            fitting(case.try_construct),
            case.id,
            spelled(&case.name)?
        ));
    }
    Some(text + "};")
}

fn label(schema: &Schema, ty: &Type, value: i64) -> Option<String> {
    Some(match ty {
        Type::Primitive(Primitive::Boolean) => if value == 0 { "FALSE" } else { "TRUE" }.to_string(),
        Type::Primitive(Primitive::Char) => format!("'\\x{:02x}'", u8::try_from(value).ok()?),
        Type::Primitive(Primitive::WideChar) => format!("L'\\u{:04x}'", u16::try_from(value).ok()?),
        Type::Primitive(Primitive::U64) => value.cast_unsigned().to_string(),
        Type::Named(index) => {
            let Definition::Enumeration(of) = schema.get(*index)? else { return None };
            let (literal, _) = of.literals.iter().find(|(_, known)| *known == value)?;
            match of.name.rsplit_once("::") {
                Some((modules, _)) => path(&format!("{modules}::{literal}"))?,
                None => path(literal)?,
            }
        }
        _ => value.to_string(),
    })
}

fn enumeration(of: &Enumeration, name: &str) -> Option<String> {
    let changes = changes(of.extensibility, Remarks::default());
    let mut literals = Vec::new();
    for (literal, value) in &of.literals {
        let default = if of.said_default == Some(*value) { "@default_literal " } else { "" };
        literals.push(format!("{default}@value({value}) {}", spelled(literal)?));
    }
    Some(format!("{changes}@bit_bound({}) enum {name} {{ {} }};", of.bit_bound, literals.join(", ")))
}

fn bitmask(of: &Bitmask, name: &str) -> Option<String> {
    let changes = changes(of.extensibility, Remarks::default());
    let mut flags = Vec::new();
    for (flag, position) in &of.flags {
        flags.push(format!("@position({position}) {}", spelled(flag)?));
    }
    // IDL has no bitmask without flags.
    if flags.is_empty() {
        return None;
    }
    Some(format!("{changes}@bit_bound({}) bitmask {name} {{ {} }};", of.bit_bound, flags.join(", ")))
}

fn bitset(of: &Bitset, name: &str) -> Option<String> {
    let (mut text, mut next) = (format!("bitset {name} {{ "), 0_u8);
    for field in &of.fields {
        if let Some(gap @ 1..) = field.position.checked_sub(next) {
            text.push_str(&format!("bitfield<{gap}>; "));
        }
        let (ty, name) = (field.ty.name(), spelled(&field.name)?);
        text.push_str(&format!("bitfield<{}, {ty}> {name}; ", field.width));
        next = field.position + field.width;
    }
    // The last bits may be in no field.
    let least = match of.bits {
        8 => 1,
        bits => bits / 2 + 1,
    };
    if let Some(gap @ 1..) = least.checked_sub(next) {
        text.push_str(&format!("bitfield<{gap}>; "));
    }
    Some(text + "};")
}

/// A type, and the dimensions that follow the name.
fn declared(schema: &Schema, ty: &Type) -> Option<(String, String)> {
    match ty {
        Type::Array(element, sizes) => {
            let dimensions: Vec<String> = sizes.iter().map(|size| format!("[{size}]")).collect();
            Some((inner(schema, element)?, dimensions.concat()))
        }
        other => Some((inner(schema, other)?, String::new())),
    }
}

/// A type that has no dimensions.
fn inner(schema: &Schema, ty: &Type) -> Option<String> {
    let bounded = |bound: &Option<u32>, sign: &str| match bound {
        Some(bound) => format!("{sign}{bound}"),
        None => String::new(),
    };
    Some(match ty {
        Type::Primitive(of) => of.name().to_string(),
        Type::Text(None) => "string".to_string(),
        Type::Text(Some(bound)) => format!("string<{bound}>"),
        Type::WideText(None) => "wstring".to_string(),
        Type::WideText(Some(bound)) => format!("wstring<{bound}>"),
        Type::Sequence(element, bound) => {
            format!("sequence<{}{}>", inner(schema, element)?, bounded(bound, ", "))
        }
        Type::Map(key, value, bound) => {
            format!("map<{}, {}{}>", inner(schema, key)?, inner(schema, value)?, bounded(bound, ", "))
        }
        Type::Named(index) => path(schema.get(*index)?.name())?,
        Type::Array(..) => return None,
    })
}

fn changes(of: Extensibility, remarks: Remarks) -> String {
    let mut text = match of {
        Extensibility::Final => "@final ",
        Extensibility::Appendable => "@appendable ",
        Extensibility::Mutable => "@mutable ",
    }
    .to_string();
    text.push_str(if remarks.nested { "@nested " } else { "" });
    text.push_str(if remarks.hash_ids { "@autoid(HASH) " } else { "" });
    text
}

const fn fitting(of: TryConstruct) -> &'static str {
    match of {
        TryConstruct::Discard => "",
        TryConstruct::UseDefault => "@try_construct(USE_DEFAULT) ",
        TryConstruct::Trim => "@try_construct(TRIM) ",
    }
}

/// The name from outside of all modules.
fn path(qualified: &str) -> Option<String> {
    let parts: Option<Vec<String>> = qualified.split("::").map(spelled).collect();
    Some(format!("::{}", parts?.join("::")))
}

/// A name as IDL spells it.
fn spelled(name: &str) -> Option<String> {
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    if !name.starts_with(is_first) || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let is_word = KEYWORDS.contains(&lower.as_str()) || MORE_KEYWORDS.contains(&lower.as_str());
    // The underscore at the beginning of a name is none of the name.
    Some(if is_word || name.starts_with('_') { format!("_{name}") } else { name.to_string() })
}
