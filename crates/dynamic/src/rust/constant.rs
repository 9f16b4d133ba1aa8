//! Constants.
use alloc::format;
use alloc::string::ToString;

use super::{Result, Writer};
use crate::idl::{Constant, ConstantValue};
use wire::schema::{Definition, Primitive, Type};

impl Writer<'_> {
    pub(super) fn constant(&mut self, of: &Constant, name: &str, inside: &[&str]) -> Result<()> {
        let is_text = matches!(of.value, ConstantValue::Text(_));
        let ty = if is_text { "&str".to_string() } else { self.ty(&of.ty, inside)? };
        let value = match &of.value {
            ConstantValue::Text(text) => format!("{text:?}"),
            ConstantValue::Integer(value) => self.number(&of.ty, *value, inside)?,
            ConstantValue::Fraction(value) => self.fraction(&of.ty, *value, inside),
        };
        self.line(&format!("pub const {name}: {ty} = {value};"));
        Ok(())
    }

    fn fraction(&self, declared: &Type, value: f64, inside: &[&str]) -> alloc::string::String {
        match declared {
            Type::Primitive(Primitive::F32) => format!("{:?}", value as f32),
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Alias(of)) => {
                    format!("{}({})", self.named(*index, inside), self.fraction(&of.declared, value, inside))
                }
                _ => format!("{value:?}"),
            },
            _ => format!("{value:?}"),
        }
    }
}
