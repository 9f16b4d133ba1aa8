//! From values to text for people: a member a line.
use core::fmt;

use wire::schema::{Definition, Schema, Type, TypeIndex};

use crate::encode::from_label;
use crate::print;
use crate::value::Value;

/// Writes a sample without a line break at its end. What has no parts of its own is in one line, as JSON has it.
pub(crate) fn sample(
    f: &mut fmt::Formatter<'_>,
    schema: &Schema,
    index: TypeIndex,
    value: &Value,
) -> fmt::Result {
    let ty = Type::Named(index);
    let mut writer = Writer { f, schema, depth: 0 };
    match (schema.get(index), value) {
        // The braces around the whole are left out, unless nothing is in them.
        (Some(Definition::Struct(_)), Value::Members(members))
            if members.iter().any(|member| *member != Value::Absent) =>
        {
            let mut is_first = true;
            writer.members(&ty, value, |writer| {
                if !core::mem::take(&mut is_first) {
                    writer.f.write_str("\n")?;
                }
                Ok(())
            })
        }
        _ => writer.value(&ty, value),
    }
}

struct Writer<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    schema: &'a Schema,
    /// How many brackets are open.
    depth: usize,
}

impl Writer<'_, '_> {
    fn value(&mut self, ty: &Type, value: &Value) -> fmt::Result {
        if is_short(self.schema, ty, value) {
            return print::value(self.f, self.schema, ty, value);
        }
        match (ty, value) {
            (Type::Sequence(element, _), Value::List(items)) => self.block('[', ']', |writer| {
                for item in items {
                    writer.line()?;
                    writer.value(element, item)?;
                }
                Ok(())
            }),
            (Type::Array(element, dimensions), Value::List(items)) => self.array(element, dimensions, items),
            (Type::Map(key, of, _), Value::Map(entries)) => self.block('{', '}', |writer| {
                for (one, other) in entries {
                    writer.line()?;
                    print::key(writer.f, writer.schema, key, one)?;
                    writer.f.write_str(": ")?;
                    writer.value(of, other)?;
                }
                Ok(())
            }),
            _ => self.block('{', '}', |writer| writer.members(ty, value, Self::line)),
        }
    }

    /// What a structure or union has, after `before` each.
    fn members(
        &mut self,
        ty: &Type,
        value: &Value,
        mut before: impl FnMut(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        let Type::Named(index) = ty else { return Ok(()) };
        match (self.schema.get(*index), value) {
            (Some(Definition::Struct(of)), Value::Members(members)) => {
                for (member, value) in of.members.iter().zip(members) {
                    if *value != Value::Absent {
                        before(self)?;
                        self.member(&member.name, &member.ty, value)?;
                    }
                }
            }
            (Some(Definition::Union(of)), Value::Union(discriminator, inner)) => {
                before(self)?;
                let label = from_label(&of.discriminator, *discriminator);
                self.member("_d", &of.discriminator, &label)?;
                let case = of.case(*discriminator).and_then(|case| of.cases.get(case));
                if let (Some(case), Some(inner)) = (case, inner) {
                    before(self)?;
                    self.member(&case.name, &case.ty, inner)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn member(&mut self, name: &str, ty: &Type, value: &Value) -> fmt::Result {
        print::name(self.f, name)?;
        self.f.write_str(": ")?;
        self.value(ty, value)
    }

    fn array(&mut self, element: &Type, dimensions: &[u32], items: &[Value]) -> fmt::Result {
        let Some((first, rest)) = dimensions.split_first() else {
            return items.first().map_or(Ok(()), |item| self.value(element, item));
        };
        let each = items.len().checked_div(*first as usize).unwrap_or(0).max(1);
        self.block('[', ']', |writer| {
            for part in items.chunks(each) {
                writer.line()?;
                writer.array(element, rest, part)?;
            }
            Ok(())
        })
    }

    fn block(
        &mut self,
        open: char,
        close: char,
        inside: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        write!(self.f, "{open}")?;
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        self.line()?;
        write!(self.f, "{close}")
    }

    fn line(&mut self) -> fmt::Result {
        write!(self.f, "\n{:1$}", "", 2 * self.depth)
    }
}

/// True for values that stay in one line: without members, cases or entries in them.
fn is_short(schema: &Schema, ty: &Type, value: &Value) -> bool {
    match value {
        Value::List(items) if !items.is_empty() => {}
        Value::Map(entries) => return entries.is_empty(),
        Value::Members(members) => return members.iter().all(|member| *member == Value::Absent),
        Value::Union(..) => return false,
        _ => return true,
    }
    match ty {
        Type::Sequence(element, _) | Type::Array(element, _) => is_plain(schema, element),
        _ => true,
    }
}

fn is_plain(schema: &Schema, ty: &Type) -> bool {
    match ty {
        Type::Primitive(_) | Type::Text(_) | Type::WideText(_) => true,
        Type::Sequence(element, _) | Type::Array(element, _) => is_plain(schema, element),
        Type::Map(..) => false,
        Type::Named(index) => match schema.get(*index) {
            Some(Definition::Struct(_) | Definition::Union(_)) => false,
            Some(Definition::Alias(alias)) => is_plain(schema, &alias.plain),
            _ => true,
        },
    }
}
