//! Enumerations, bitmasks and bitsets.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Result, Writer, names, once};
use wire::cdr::Extensibility;
use wire::schema::{Bitfield, Bitmask, Bitset, Enumeration, Primitive};

/// Traits of what is a number.
const TRAITS: [&str; 8] = ["Clone", "Copy", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash", "Debug"];

impl Writer<'_> {
    pub(super) fn enumeration(&mut self, of: &Enumeration, name: &str) -> Result<()> {
        let mut said = changes(of.extensibility);
        if of.bit_bound != 32 {
            said.push(format!("bit_bound = {}", of.bit_bound));
        }
        self.begin(&TRAITS, &of.name, name, said);
        self.line(&format!("pub enum {name} {{"));
        self.indent += 1;
        let (mut taken, mut next) = (BTreeMap::new(), 0);
        for (literal, value) in &of.literals {
            let spelled = names::value(literal);
            once(&mut taken, &spelled, literal)?;
            let mut said = Vec::new();
            if of.said_default == Some(*value) {
                said.push("default".to_string());
            }
            if spelled.trim_start_matches("r#") != literal {
                said.push(format!("name = {literal:?}"));
            }
            self.attribute(&said);
            if *value == next {
                self.line(&format!("{spelled},"));
            } else {
                self.line(&format!("{spelled} = {value},"));
            }
            next = value + 1;
        }
        self.indent -= 1;
        self.line("}");
        self.default(name);
        Ok(())
    }

    pub(super) fn bitmask(&mut self, of: &Bitmask, name: &str) -> Result<()> {
        let mut said = Vec::from(["bitmask".to_string()]);
        said.extend(changes(of.extensibility));
        if of.bit_bound != of.bits {
            said.push(format!("bit_bound = {}", of.bit_bound));
        }
        said.extend(of.flags.iter().map(|(flag, position)| format!("flag({flag} = {position})")));
        self.begin(&TRAITS, &of.name, name, said);
        self.line(&format!("pub struct {name}(pub u{});", of.bits));
        self.line("");
        self.allow();
        self.line(&format!("impl {name} {{"));
        let mut taken = BTreeMap::new();
        for (flag, position) in &of.flags {
            let spelled = names::value(flag);
            once(&mut taken, &spelled, flag)?;
            self.line(&format!("    pub const {spelled}: Self = Self(1 << {position});"));
        }
        self.line("}");
        self.default(name);
        for (operator, function, sign) in [("BitOr", "bitor", '|'), ("BitAnd", "bitand", '&')] {
            self.line("");
            self.line(&format!("impl ::core::ops::{operator} for {name} {{"));
            self.line("    type Output = Self;");
            self.line("");
            self.line(&format!("    fn {function}(self, other: Self) -> Self {{"));
            self.line(&format!("        Self(self.0 {sign} other.0)"));
            self.line("    }");
            self.line("}");
        }
        Ok(())
    }

    pub(super) fn bitset(&mut self, of: &Bitset, name: &str) -> Result<()> {
        let mut attributes = Vec::from(["bitset".to_string()]);
        for field in &of.fields {
            let ty = match field.ty {
                Primitive::Boolean => "bool".to_string(),
                ty => format!("{}{}", if field.is_signed() { 'i' } else { 'u' }, ty.size() * 8),
            };
            let (begin, end) = (field.position, field.position + field.width);
            attributes.push(format!("field({:?}: {ty} = {begin}..{end})", field.name));
        }
        self.begin(&TRAITS, &of.name, name, attributes);
        self.line(&format!("pub struct {name}(pub u{});", of.bits));
        if !of.fields.is_empty() {
            self.line("");
            self.allow();
            self.line(&format!("impl {name} {{"));
            self.indent += 1;
            let mut taken = BTreeMap::new();
            for field in &of.fields {
                once(&mut taken, &names::value(&field.name), &field.name)?;
                once(&mut taken, &format!("with_{}", field.name), &field.name)?;
                self.bitfield(field, of.bits);
            }
            self.indent -= 1;
            self.line("}");
        }
        self.default(name);
        Ok(())
    }

    /// The functions that read and set a field.
    fn bitfield(&mut self, field: &Bitfield, bits: u8) {
        let Bitfield { name, position, width, ty } = field;
        let (spelled, holder, mask) = (names::value(name), format!("u{bits}"), field.mask() >> position);
        let (ty, get) = match ty {
            Primitive::Boolean => ("bool".to_string(), format!("(self.0 >> {position}) & 1 != 0")),
            of if field.is_signed() => {
                let ty = format!("i{}", of.size() * 8);
                let (left, right) = (64 - position - width, 64 - width);
                let get = format!("((((self.0 as u64) << {left}) as i64) >> {right}) as {ty}");
                (ty, get)
            }
            of => {
                let ty = format!("u{}", of.size() * 8);
                let get = format!("((self.0 >> {position}) & {mask:#x}) as {ty}");
                (ty, get)
            }
        };
        self.line(&format!("/// {width} bits from bit {position} on."));
        self.line(&format!("pub const fn {spelled}(self) -> {ty} {{"));
        self.line(&format!("    {get}"));
        self.line("}");
        self.line("");
        self.line(&format!(
            "/// The same with another `{name}`, of which the lowest {width} bits are taken."
        ));
        self.line("#[must_use]");
        self.line(&format!("pub const fn with_{name}(self, value: {ty}) -> Self {{"));
        let cleared = format!("self.0 & !({mask:#x} << {position})");
        self.line(&format!("    Self(({cleared}) | (((value as {holder}) & {mask:#x}) << {position}))"));
        self.line("}");
    }
}

/// Of numbers: final where nothing is said.
fn changes(of: Extensibility) -> Vec<String> {
    match of {
        Extensibility::Final => Vec::new(),
        Extensibility::Appendable => Vec::from(["appendable".to_string()]),
        Extensibility::Mutable => Vec::from(["mutable".to_string()]),
    }
}
