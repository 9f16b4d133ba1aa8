//! The numbers of a bitset, in the integer that holds them.
use wire::schema::{Bitfield, Primitive};

use crate::value::Value;

/// The number of a field.
pub(crate) fn get(field: &Bitfield, bits: u64) -> Value {
    let number = (bits & field.mask()) >> field.position;
    if field.ty == Primitive::Boolean {
        return Value::Boolean(number != 0);
    }
    if !field.is_signed() {
        return Value::Unsigned(number);
    }
    // The sign is the first of its bits.
    let unused = 64 - u32::from(field.width);
    Value::Signed((number << unused).cast_signed() >> unused)
}

/// The integer with another number of the field; `None` if the number has more bits.
pub(crate) fn set(field: &Bitfield, bits: u64, value: &Value) -> Option<u64> {
    let number = match value {
        Value::Boolean(value) => u64::from(*value),
        Value::Unsigned(value) => *value,
        Value::Signed(value) => value.cast_unsigned(),
        _ => return None,
    };
    let with = (bits & !field.mask()) | ((number << field.position) & field.mask());
    let is_same = match (get(field, with), value) {
        (Value::Boolean(one), Value::Boolean(other)) => one == *other,
        (Value::Unsigned(one), Value::Unsigned(other)) => one == *other,
        (Value::Signed(one), Value::Signed(other)) => one == *other,
        _ => false,
    };
    is_same.then_some(with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_in_their_bits() {
        let field = |position, width, ty| Bitfield { name: "x".into(), position, width, ty };
        let signed = field(3, 4, Primitive::I8);
        assert_eq!(set(&signed, 0x1_0000, &Value::Signed(-8)), Some(0x1_0000 | 8 << 3));
        assert_eq!(get(&signed, 8 << 3), Value::Signed(-8));
        assert_eq!(get(&signed, 7 << 3), Value::Signed(7));
        assert_eq!(set(&signed, 0, &Value::Signed(8)), None);
        let whole = field(0, 64, Primitive::U64);
        assert_eq!(set(&whole, 0, &Value::Unsigned(u64::MAX)), Some(u64::MAX));
        let bit = field(63, 1, Primitive::Boolean);
        assert_eq!(get(&bit, 1 << 63), Value::Boolean(true));
        assert_eq!(set(&field(2, 2, Primitive::U8), 0, &Value::Unsigned(4)), None);
    }
}
