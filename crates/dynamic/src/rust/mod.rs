//! Rust from IDL: types with `#[derive(DdsType)]`, and constants, in the modules of the text.
//!
//! What is written is encoded as the types of the text are, and has their type objects. Names stay as they are; those that Rust cannot
//! have get an `r#` before or a `_` behind them. Paths are relative: the text can stand in any module.
mod aggregate;
mod bits;
mod constant;
mod graph;
mod names;
mod types;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use self::graph::Graph;
use crate::idl::{Declared, IdlError, Item, Parsed};
use wire::schema::{Definition, Schema, TypeIndex};

/// Bytes of the longest text that is written: a few types can be extended by many.
pub const MAX_RUST: usize = 64 << 20;

/// Before each item that is in no module: the names are those of the text, and not all of them are used.
const ALLOW: &str = "#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]\n";

/// Writes what a text declares as Rust. `path` leads to the crate that has `DdsType` and the module `cdr`: `::dds`.
///
/// # Errors
/// What Rust cannot say, with the place of the type.
pub fn write(parsed: &Parsed, path: &str) -> Result<String, IdlError> {
    let mut writer = Writer {
        schema: &parsed.schema,
        graph: Graph::of(&parsed.schema),
        path,
        out: String::new(),
        indent: 0,
    };
    let mut root = Module::default();
    for item in &parsed.items {
        root.put(&parsed.schema, item);
    }
    writer.module(&root, &mut Vec::new())?;
    Ok(writer.out)
}

/// What is in a module, which can be open several times.
#[derive(Default)]
struct Module<'a> {
    items: Vec<&'a Item>,
    modules: Vec<(&'a str, Self)>,
}

impl<'a> Module<'a> {
    fn put(&mut self, schema: &'a Schema, item: &'a Item) {
        let mut module = self;
        for name in names::split(name(schema, item)).0 {
            let at = module.modules.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                module.modules.push((name, Self::default()));
                module.modules.len() - 1
            });
            let Some((_, next)) = module.modules.get_mut(at) else { return };
            module = next;
        }
        module.items.push(item);
    }

    /// The place of something in it.
    fn place(&self) -> Option<&'a IdlError> {
        let own = self.items.first().map(|item| &item.place);
        own.or_else(|| self.modules.iter().find_map(|(_, module)| module.place()))
    }
}

/// The name of an item with its modules.
fn name<'a>(schema: &'a Schema, item: &'a Item) -> &'a str {
    match &item.what {
        Declared::Type(index) => schema.get(*index).map_or("", Definition::name),
        Declared::Constant(constant) => &constant.name,
    }
}

/// Writes items, one after the other.
struct Writer<'a> {
    schema: &'a Schema,
    graph: Graph,
    /// The crate with `DdsType` and `cdr`.
    path: &'a str,
    out: String,
    indent: usize,
}

/// What is wrong with an item.
type Result<T, E = String> = core::result::Result<T, E>;

impl<'a> Writer<'a> {
    fn module(&mut self, module: &Module<'a>, inside: &mut Vec<&'a str>) -> Result<(), IdlError> {
        let mut taken = BTreeMap::new();
        for item in &module.items {
            let wrong = |message| IdlError { message, ..item.place.clone() };
            let own = names::split(name(self.schema, item)).1;
            let spelled = match item.what {
                Declared::Type(_) => names::ty(own),
                Declared::Constant(_) => names::value(own),
            };
            once(&mut taken, &spelled, own).map_err(wrong)?;
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.allow();
            match &item.what {
                Declared::Type(index) => self.definition(*index, &spelled, inside),
                Declared::Constant(constant) => self.constant(constant, &spelled, inside),
            }
            .map_err(wrong)?;
            if self.out.len() > MAX_RUST {
                return Err(wrong(format!("the text in Rust would be longer than {MAX_RUST} bytes")));
            }
        }
        for (own, part) in &module.modules {
            let spelled = names::ty(own);
            once(&mut taken, &spelled, own).map_err(|message| {
                let place = part.place().cloned();
                let nowhere = || IdlError { file: String::new(), line: 1, column: 1, message: String::new() };
                IdlError { message, ..place.unwrap_or_else(nowhere) }
            })?;
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.allow();
            self.line(&format!("pub mod {spelled} {{"));
            self.indent += 1;
            inside.push(own);
            // The first item follows its module's brace without an empty line.
            let begin = self.out.len();
            self.module(part, inside)?;
            if self.out.get(begin..).is_some_and(|text| text.starts_with('\n')) {
                self.out.remove(begin);
            }
            inside.pop();
            self.indent -= 1;
            self.line("}");
        }
        Ok(())
    }

    fn definition(&mut self, index: TypeIndex, name: &str, inside: &[&str]) -> Result<()> {
        let schema = self.schema;
        match schema.get(index) {
            Some(Definition::Struct(of)) => self.structure(index, of, name, inside),
            Some(Definition::Union(of)) => self.union(index, of, name, inside),
            Some(Definition::Enumeration(of)) => self.enumeration(of, name),
            Some(Definition::Bitmask(of)) => self.bitmask(of, name),
            Some(Definition::Bitset(of)) => self.bitset(of, name),
            Some(Definition::Alias(of)) => self.alias(index, of, name, inside),
            None => Err("the type is of another schema".to_string()),
        }
    }

    /// Says what is allowed, unless the module around it does.
    fn allow(&mut self) {
        if self.indent == 0 {
            self.out.push_str(ALLOW);
        }
    }

    fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push_str(&"    ".repeat(self.indent));
            self.out.push_str(text);
        }
        self.out.push('\n');
    }

    /// The lines before a type; `said` are parts of `#[dds(…)]`.
    fn begin(&mut self, traits: &[&str], qualified: &str, name: &str, mut said: Vec<String>) {
        if qualified != name {
            said.push(format!("name = {qualified:?}"));
        }
        if self.path != "::dds" {
            said.push(format!("crate = {:?}", self.path));
        }
        let derived = traits.iter().map(ToString::to_string).chain([format!("{}::DdsType", self.path)]);
        let derived: Vec<String> = derived.collect();
        self.line(&format!("#[derive({})]", derived.join(", ")));
        self.attribute(&said);
    }

    /// `#[dds(…)]`, if something is said.
    fn attribute(&mut self, said: &[String]) {
        if !said.is_empty() {
            self.line(&format!("#[dds({})]", said.join(", ")));
        }
    }

    /// The value that a type has without being told.
    fn default(&mut self, name: &str) {
        let path = self.path;
        self.line("");
        self.line(&format!("impl Default for {name} {{"));
        self.line("    fn default() -> Self {");
        self.line(&format!("        <Self as {path}::cdr::CdrType>::initial()"));
        self.line("    }");
        self.line("}");
    }
}

/// Refuses a second name that is spelled as one before.
fn once<'a>(taken: &mut BTreeMap<String, &'a str>, spelled: &str, name: &'a str) -> Result<()> {
    match taken.insert(spelled.to_string(), name) {
        None => Ok(()),
        Some(other) => {
            Err(format!("{name} and {other} would both be {spelled} in Rust; give one another name"))
        }
    }
}
