//! Structures, unions, enumerations and bitmasks.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::annotation::Annotations;
use super::{MAX_INHERITED, Parser, Result};
use crate::idl::lexer::Token;
use crate::idl::scope::Meaning;
use crate::idl::{ConstantValue, Declared};
use wire::cdr::Extensibility;
use wire::schema::{
    Bitmask, Case, Definition, Enumeration, Member, Primitive, Struct, Type, TypeIndex, Union,
};

/// The greatest member id (XTypes 1.3, 7.3.1.2.1.1).
const MAX_ID: i64 = 0x0fff_ffff;
/// Most members, cases, literals and flags of a type.
const MAX_MEMBERS: usize = 4096;

/// Gives members their ids.
struct Ids {
    next: u32,
    hash: bool,
    taken: BTreeMap<u32, String>,
}

impl Parser {
    pub(super) fn structure(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&["final", "appendable", "mutable", "extensibility", "autoid"])?;
        let place = self.at;
        let name = self.name("a struct")?;
        let Some(index) = self.begin(&name)? else { return Ok(()) };
        let extensibility = annotations.extensibility()?;
        let mut ids = Ids::new(annotations, 0)?;
        let (mut members, mut extended): (Vec<Member>, _) = (Vec::new(), None);
        if self.take(':') {
            let base = self.type_spec(0)?;
            let (Type::Named(index), Some(Definition::Struct(base))) =
                (self.schema.plain(&base), self.definition_of(&base))
            else {
                return Err(self.error_before("the base of a struct is a struct"));
            };
            members.clone_from(&base.members);
            self.inherited += members.len();
            if self.inherited > MAX_INHERITED {
                return Err(self.error_before(format!(
                    "structures inherit more than {MAX_INHERITED} members, all together"
                )));
            }
            members.iter().for_each(|member| ids.keep(member.id, &member.name));
            extended = Some(index);
        }
        self.sign('{')?;
        while !self.take('}') {
            self.member(&mut members, &mut ids)?;
        }
        let qualified = self.names.qualified(&name);
        let described = Struct::new(&self.schema, qualified, extensibility, extended, members);
        let definition = Definition::Struct(Struct { remarks: annotations.remarks(), ..described });
        self.complete(&name, index, definition, place)
    }

    /// `@key long a, b[3];`
    fn member(&mut self, members: &mut Vec<Member>, ids: &mut Ids) -> Result<()> {
        let mut annotations = self.annotations()?;
        let found = self.maybe_open_type(0)?;
        loop {
            // Some write annotations between the type and the name.
            annotations.extend(self.annotations()?);
            annotations.allow(&["key", "id", "hashid", "optional", "must_understand"])?;
            let optional = annotations.has("optional");
            let ty = match &found {
                Ok(ty) => ty.clone(),
                Err((index, _)) if optional => Type::Named(*index),
                Err((_, name)) => {
                    return Err(self.error_before(format!("{name} is not described yet; only a sequence of it, or an @optional member, can be here")));
                }
            };
            let (name, declared) = self.declarator(&ty)?;
            let ty = self.plain(&declared)?;
            let key = annotations.has("key");
            if key && optional {
                return Err(self.error_before("a key member cannot be @optional"));
            }
            if members.len() >= MAX_MEMBERS || members.iter().any(|member| member.name == name) {
                return Err(self.error_before(format!(
                    "{name} is there already, or there are more than {MAX_MEMBERS} members"
                )));
            }
            let id = self.id(&annotations, &name, ids)?;
            let must_understand = annotations.has("must_understand");
            let (external, try_construct) = (annotations.has("external"), annotations.try_construct());
            members.push(Member {
                name,
                ty,
                declared,
                id,
                external,
                try_construct,
                key,
                optional,
                must_understand,
            });
            if !self.take(',') {
                return self.sign(';');
            }
        }
    }

    pub(super) fn union(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&["final", "appendable", "mutable", "extensibility", "autoid"])?;
        let place = self.at;
        let name = self.name("a union")?;
        let Some(index) = self.begin(&name)? else { return Ok(()) };
        let extensibility = annotations.extensibility()?;
        if self.word("switch")? != "switch" {
            return Err(self.error_before("expected switch"));
        }
        self.sign('(')?;
        let inside = self.annotations()?;
        inside.allow(&["key"])?;
        let key_is_discriminator = inside.has("key");
        let declared = self.type_spec(0)?;
        let discriminator = self.schema.plain(&declared);
        if !self.is_discriminator(&discriminator) {
            return Err(self.error_before(
                "a union is switched by an integer, a character, a boolean or an enumeration",
            ));
        }
        self.sign(')')?;
        self.sign('{')?;
        let mut ids = Ids::new(annotations, 1)?;
        let mut cases: Vec<Case> = Vec::new();
        while !self.take('}') {
            let case = self.case(&discriminator, &mut ids)?;
            let double = cases.iter().any(|other| {
                other.labels.iter().any(|label| case.labels.contains(label)) || other.default && case.default
            });
            if double || cases.len() >= MAX_MEMBERS {
                return Err(self.error_before(format!(
                    "two cases have one label, or there are more than {MAX_MEMBERS}"
                )));
            }
            cases.push(case);
        }
        if cases.is_empty() {
            return Err(self.error_before("a union has a case"));
        }
        let qualified = self.names.qualified(&name);
        let described =
            Union::new(&self.schema, qualified, extensibility, declared, key_is_discriminator, cases);
        let definition = Definition::Union(Union { remarks: annotations.remarks(), ..described });
        self.complete(&name, index, definition, place)
    }

    fn is_discriminator(&self, ty: &Type) -> bool {
        match ty {
            Type::Primitive(kind) => !matches!(kind, Primitive::F32 | Primitive::F64),
            Type::Named(_) => matches!(self.definition_of(ty), Some(Definition::Enumeration(_))),
            _ => false,
        }
    }

    /// `case 1: case 2: default: long value;`
    fn case(&mut self, discriminator: &Type, ids: &mut Ids) -> Result<Case> {
        let (mut labels, mut default) = (Vec::new(), false);
        loop {
            match self.word_after(0) {
                Some("case") => {
                    self.advance();
                    let label = self.label(discriminator)?;
                    if labels.len() >= MAX_MEMBERS {
                        return Err(self.error_before(format!("a case has more than {MAX_MEMBERS} labels")));
                    }
                    labels.push(label);
                    self.sign(':')?;
                }
                Some("default") => {
                    self.advance();
                    default = true;
                    self.sign(':')?;
                }
                _ if labels.is_empty() && !default => return Err(self.expected("case or default")),
                _ => break,
            }
        }
        let annotations = self.annotations()?;
        annotations.allow(&["id", "hashid"])?;
        let ty = self.type_spec(0)?;
        let (name, declared) = self.declarator(&ty)?;
        let ty = self.plain(&declared)?;
        let id = self.id(&annotations, &name, ids)?;
        self.sign(';')?;
        let (external, try_construct) = (annotations.has("external"), annotations.try_construct());
        Ok(Case { labels, default, name, ty, declared, id, external, try_construct })
    }

    fn label(&mut self, discriminator: &Type) -> Result<i64> {
        // A literal of the enumeration is known inside of its union without its modules.
        if let (Some(Definition::Enumeration(of)), Some(word)) =
            (self.definition_of(discriminator), self.word_after(0))
            && let Some((_, value)) = of.literals.iter().find(|(name, _)| name == word)
            && *self.peek_at(2) != Token::Sign(':')
        {
            let value = *value;
            self.advance();
            return Ok(value);
        }
        self.integer(0)
    }

    pub(super) fn enumeration(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&["bit_bound", "final", "appendable", "mutable", "extensibility"])?;
        let place = self.at;
        let name = self.name("an enum")?;
        let bit_bound = annotations.number("bit_bound", 1..=32)?.unwrap_or(32);
        let bits = match bit_bound {
            ..=8 => 8,
            9..=16 => 16,
            _ => 32,
        };
        let bit_bound = u8::try_from(bit_bound).unwrap_or(bits);
        self.sign('{')?;
        let (mut literals, mut default, mut next): (Vec<(String, i64)>, _, _) = (Vec::new(), None, 0_i64);
        let mut values = BTreeSet::new();
        loop {
            let annotations = self.annotations()?;
            annotations.allow(&["default_literal", "value"])?;
            let literal_place = self.at;
            let literal = self.name("a literal")?;
            let annotated = annotations.number("value", i64::from(i32::MIN)..=i64::from(i32::MAX))?;
            next = annotated.unwrap_or(next);
            if self.take('=') {
                let said = self.integer(0)?;
                if annotated.is_some_and(|annotated| annotated != said) {
                    return Err(self.error_before(format!(
                        "{literal} has the value {next} by @value and {said} by =; give one of them"
                    )));
                }
                next = said;
            }
            let most = (1_i64 << (bits - 1)) - 1;
            if !(-most - 1..=most).contains(&next) {
                return Err(self.error_before(format!(
                    "the value {next} of {literal} does not fit into the {bits} bits of {name}"
                )));
            }
            if literals.len() >= MAX_MEMBERS {
                return Err(self.error_before(format!("there are more than {MAX_MEMBERS} literals")));
            }
            if !values.insert(next) {
                let other =
                    literals.iter().find(|(_, value)| *value == next).map_or("", |(name, _)| name.as_str());
                return Err(self.error_before(format!(
                    "{literal} has the value {next} of {other}; give it another one"
                )));
            }
            if annotations.has("default_literal") {
                default = Some(next);
            }
            let value = ConstantValue::Integer(next.into());
            self.define_at(&literal, Meaning::Constant(value), literal_place)?;
            literals.push((literal, next));
            next += 1;
            if !self.take(',') || *self.peek() == Token::Sign('}') {
                break;
            }
        }
        self.sign('}')?;
        let said_default = default;
        let default = default.or(literals.first().map(|(_, value)| *value)).unwrap_or(0);
        let definition = Definition::Enumeration(Enumeration {
            name: self.names.qualified(&name),
            bits,
            bit_bound,
            extensibility: annotations.extensibility_or(Extensibility::Final)?,
            literals,
            said_default,
            default,
        });
        let index = self.schema.add(definition);
        self.define_type(&name, index, place)
    }

    pub(super) fn bitmask(&mut self, annotations: &Annotations) -> Result<()> {
        annotations.allow(&["bit_bound", "final", "appendable", "mutable", "extensibility"])?;
        let place = self.at;
        let name = self.name("a bitmask")?;
        let bound = annotations.number("bit_bound", 1..=64)?.unwrap_or(32);
        let bits = match bound {
            ..=8 => 8,
            9..=16 => 16,
            17..=32 => 32,
            _ => 64,
        };
        self.sign('{')?;
        let (mut flags, mut next): (Vec<(String, u8)>, _) = (Vec::new(), 0_i64);
        loop {
            let annotations = self.annotations()?;
            annotations.allow(&["position"])?;
            let flag = self.name("a flag")?;
            next = annotations.number("position", 0..=63)?.unwrap_or(next);
            let position = u8::try_from(next).ok().filter(|position| i64::from(*position) < bound);
            let position = position.ok_or_else(|| {
                self.error_before(format!("flag {flag} is beyond the {bound} bits of {name}; see @bit_bound"))
            })?;
            if let Some((other, _)) = flags.iter().find(|(_, taken)| *taken == position) {
                return Err(self.error_before(format!(
                    "flag {flag} has the position {position} of {other}; give it another @position"
                )));
            }
            flags.push((flag, position));
            next += 1;
            if !self.take(',') || *self.peek() == Token::Sign('}') {
                break;
            }
        }
        self.sign('}')?;
        let bit_bound = u8::try_from(bound).unwrap_or(bits);
        let name_with_modules = self.names.qualified(&name);
        // Nothing can be added to the integer that it is.
        let extensibility = annotations.extensibility_or(Extensibility::Final)?;
        let definition = Bitmask { name: name_with_modules, bits, bit_bound, extensibility, flags };
        let definition = Definition::Bitmask(definition);
        let index = self.schema.add(definition);
        self.define_type(&name, index, place)
    }

    /// A structure or union is described from here on, or only declared: `None`.
    fn begin(&mut self, name: &str) -> Result<Option<TypeIndex>> {
        let qualified = self.names.qualified(name);
        let index = match self.names.get(&qualified) {
            Some(Meaning::Open(index)) => *index,
            Some(_) => return Err(self.error_before(format!("{qualified} is described twice"))),
            None => {
                let index = self.schema.add(Definition::Struct(Struct::open(qualified.clone())));
                self.names.define(&qualified, Meaning::Open(index));
                index
            }
        };
        let declared_only = matches!(self.peek(), Token::Sign(';'));
        Ok(if declared_only { None } else { Some(index) })
    }

    fn complete(&mut self, name: &str, index: TypeIndex, definition: Definition, place: usize) -> Result<()> {
        self.schema.replace(index, definition);
        self.check_size(&Type::Named(index))?;
        self.define_type(name, index, place)
    }

    /// The type is complete, and its name known from here on.
    pub(super) fn define_type(&mut self, name: &str, index: TypeIndex, place: usize) -> Result<()> {
        self.define_at(name, Meaning::Type(Type::Named(index)), place)?;
        self.declare(Declared::Type(index), place);
        Ok(())
    }

    pub(super) fn definition_of(&self, ty: &Type) -> Option<&Definition> {
        match self.schema.plain(ty) {
            Type::Named(index) => self.schema.get(index),
            _ => None,
        }
    }

    fn id(&mut self, annotations: &Annotations, name: &str, ids: &mut Ids) -> Result<u32> {
        let given = annotations.number("id", 0..=MAX_ID)?;
        let id = match (given.and_then(|id| u32::try_from(id).ok()), annotations.word("hashid")) {
            (Some(id), None) => id,
            (None, Some(of)) => hash_id(of.filter(|of| !of.is_empty()).unwrap_or(name)),
            (None, None) if ids.hash => hash_id(name),
            (None, None) => ids.next,
            (Some(_), Some(_)) => return Err(self.error_before("a member has @id or @hashid, not both")),
        };
        if let Some(other) = ids.taken.get(&id) {
            return Err(self
                .error_before(format!("member {name} has the id {id:#x} of {other}; give it another @id")));
        }
        if i64::from(id) > MAX_ID {
            return Err(self.error_before("a member id is at most 0x0fffffff"));
        }
        ids.keep(id, name);
        Ok(id)
    }
}

impl Ids {
    fn new(annotations: &Annotations, first: u32) -> Result<Self> {
        let hash = match annotations.word("autoid") {
            None | Some(Some("SEQUENTIAL")) => false,
            Some(None | Some("HASH")) => true,
            Some(Some(_)) => return Err(annotations.wrong("autoid", "@autoid takes SEQUENTIAL or HASH")),
        };
        Ok(Self { next: first, hash, taken: BTreeMap::new() })
    }

    fn keep(&mut self, id: u32, name: &str) {
        self.taken.insert(id, name.to_string());
        self.next = id.saturating_add(1);
    }
}

/// The id that a name gives (XTypes 1.3, 7.3.1.2.1.1).
pub(crate) fn hash_id(name: &str) -> u32 {
    let [a, b, c, d, ..] = wire::md5::md5(name.as_bytes());
    u32::from_le_bytes([a, b, c, d]) & 0x0fff_ffff
}
