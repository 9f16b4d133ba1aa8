//! Structures and unions.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::types::Field;
use super::{Result, Writer, names, once};
use crate::idl::hash_id;
use wire::cdr::Extensibility;
use wire::schema::{Case, Definition, Primitive, Remarks, Struct, TryConstruct, Type, TypeIndex, Union};

impl Writer<'_> {
    pub(super) fn structure(
        &mut self,
        index: TypeIndex,
        of: &Struct,
        name: &str,
        inside: &[&str],
    ) -> Result<()> {
        let mut said = changes(of.extensibility, of.remarks);
        said.extend(of.base.map(|base| format!("base = {:?}", self.named(base, inside))));
        let mut traits = Vec::from(["Clone", "PartialEq", "Debug"]);
        self.comparable(index, &Type::Named(index), &mut traits);
        self.begin(&traits, &of.name, name, said);
        self.line(&format!("pub struct {name} {{"));
        self.indent += 1;
        let (mut taken, mut ids) = (BTreeMap::new(), Ids { next: 0, hash: of.remarks.hash_ids });
        for member in &of.members {
            let spelled = names::value(&member.name);
            once(&mut taken, &spelled, &member.name)?;
            // A value in itself needs an end, and a size.
            let boxed = member.optional && self.graph.is_recursive(index, &member.declared);
            let of_member = |wrong: String| format!("member {}: {wrong}", member.name);
            let field =
                self.field(index, &member.declared, member.external || boxed, inside).map_err(of_member)?;
            let mut said = Vec::new();
            if member.key {
                said.push("key".to_string());
            } else if member.must_understand {
                said.push("must_understand".to_string());
            }
            said.extend(ids.said(member.id, &member.name));
            said.extend(renamed(&spelled, &member.name));
            said.extend(fitting(member.try_construct));
            said.extend(field.said);
            if boxed && !member.external {
                said.push("boxed".to_string());
            }
            self.attribute(&said);
            let ty = if member.optional { format!("Option<{}>", field.ty) } else { field.ty };
            self.line(&format!("pub {spelled}: {ty},"));
        }
        self.indent -= 1;
        self.line("}");
        self.default(name);
        Ok(())
    }

    pub(super) fn union(&mut self, index: TypeIndex, of: &Union, name: &str, inside: &[&str]) -> Result<()> {
        let discriminator = self.ty(&of.declared, inside)?;
        let mut said = changes(of.extensibility, of.remarks);
        said.push(format!("discriminator = {discriminator:?}"));
        if of.key_is_discriminator {
            said.push("key".to_string());
        }
        if of.declared == Type::Primitive(Primitive::Octet) {
            said.push("octet".to_string());
        }
        let mut traits = Vec::from(["Clone", "PartialEq", "Debug"]);
        self.comparable(index, &Type::Named(index), &mut traits);
        self.begin(&traits, &of.name, name, said);
        self.line(&format!("pub enum {name} {{"));
        self.indent += 1;
        let others = self.others(of);
        let label = |writer: &Self, value: i128| writer.number(&of.declared, value, inside);
        let (mut taken, mut ids) = (BTreeMap::new(), Ids { next: 1, hash: of.remarks.hash_ids });
        for case in &of.cases {
            let spelled = names::value(&case.name);
            once(&mut taken, &spelled, &case.name)?;
            let of_case = |wrong: String| format!("case {}: {wrong}", case.name);
            let field = self.field(index, &case.declared, case.external, inside).map_err(of_case)?;
            let labels = case
                .labels
                .iter()
                .map(|value| Ok(format!("case = {}", label(self, self.label(of, *value))?)));
            let mut said = labels.collect::<Result<Vec<String>>>().map_err(of_case)?;
            if case.default && said.is_empty() {
                let value = others
                    .first
                    .ok_or_else(|| of_case("no value of the discriminator is left for it".to_string()))?;
                said.push(format!("default = {}", label(self, value)?));
            } else if case.default {
                said.push("default".to_string());
            }
            self.case(case, &spelled, said, field, &mut ids, &others, &discriminator);
        }
        if let (Some(value), false) = (others.first, of.cases.iter().any(|case| case.default)) {
            // The union has no member then.
            let mut none = "Unknown".to_string();
            while taken.contains_key(&none) {
                none.push('_');
            }
            let value = label(self, value)?;
            if others.is_one {
                self.line(&format!("#[dds(default = {value})]"));
                self.line(&format!("{none},"));
            } else {
                self.line(&format!("#[dds(default = {value}, no_value)]"));
                self.line(&format!("{none}({discriminator}),"));
            }
        }
        self.indent -= 1;
        self.line("}");
        self.default(name);
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "a case is made of these")]
    fn case(
        &mut self,
        case: &Case,
        spelled: &str,
        mut said: Vec<String>,
        field: Field,
        ids: &mut Ids,
        others: &Others,
        discriminator: &str,
    ) {
        said.extend(ids.said(case.id, &case.name));
        said.extend(renamed(spelled, &case.name));
        said.extend(fitting(case.try_construct));
        said.extend(field.said);
        self.attribute(&said);
        // Where several values mean the case, the one that was sent is kept.
        let is_one = match case.default {
            false => case.labels.len() == 1,
            true => case.labels.is_empty() && others.is_one,
        };
        if is_one {
            self.line(&format!("{spelled}({}),", field.ty));
        } else {
            self.line(&format!("{spelled}({discriminator}, {}),", field.ty));
        }
    }

    /// A label as a number of the discriminator's type.
    fn label(&self, of: &Union, label: i64) -> i128 {
        match of.discriminator {
            Type::Primitive(Primitive::U64) => label.cast_unsigned().into(),
            _ => label.into(),
        }
    }

    /// The values of the discriminator that no label says.
    fn others(&self, of: &Union) -> Others {
        let labels: BTreeSet<i64> = of.cases.iter().flat_map(|case| case.labels.iter().copied()).collect();
        let few: Option<Vec<i64>> = match &of.discriminator {
            Type::Primitive(Primitive::Boolean) => Some(Vec::from([0, 1])),
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Enumeration(of)) => {
                    Some(of.literals.iter().map(|(_, value)| *value).collect())
                }
                _ => None,
            },
            _ => None,
        };
        let Some(few) = few else {
            // There is always one more: a union has fewer cases than a byte has values, or its type is larger.
            let most = match of.discriminator {
                Type::Primitive(Primitive::I8) => i8::MAX.into(),
                Type::Primitive(Primitive::U8 | Primitive::Char) => u8::MAX.into(),
                _ => i64::from(i16::MAX),
            };
            let first = (0..=most).find(|value| !labels.contains(value)).map(i128::from);
            return Others { first, is_one: false };
        };
        let mut left = few.into_iter().filter(|value| !labels.contains(value));
        let first = left.next().map(i128::from);
        Others { first, is_one: left.next().is_none() }
    }
}

/// The values of a discriminator that no label says.
struct Others {
    first: Option<i128>,
    /// There is no more than one.
    is_one: bool,
}

/// The ids that members have where nothing is said.
struct Ids {
    next: u32,
    hash: bool,
}

impl Ids {
    /// What has to be said of the id of the next member.
    fn said(&mut self, id: u32, name: &str) -> Option<String> {
        let expected = if self.hash { hash_id(name) } else { self.next };
        self.next = id.saturating_add(1);
        (id != expected).then(|| format!("id = {id}"))
    }
}

fn changes(of: Extensibility, remarks: Remarks) -> Vec<String> {
    let mut said = Vec::new();
    match of {
        Extensibility::Final => said.push("final".to_string()),
        Extensibility::Appendable => {}
        Extensibility::Mutable => said.push("mutable".to_string()),
    }
    if remarks.nested {
        said.push("nested".to_string());
    }
    if remarks.hash_ids {
        said.push("autoid = \"hash\"".to_string());
    }
    said
}

fn renamed(spelled: &str, name: &str) -> Option<String> {
    (spelled.trim_start_matches("r#") != name).then(|| format!("name = {name:?}"))
}

fn fitting(of: TryConstruct) -> Option<String> {
    match of {
        TryConstruct::Discard => None,
        TryConstruct::UseDefault => Some("try_construct = \"use_default\"".to_string()),
        TryConstruct::Trim => Some("try_construct = \"trim\"".to_string()),
    }
}
