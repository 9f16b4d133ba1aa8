//! The fields of expressions: by name when an expression is compiled, by value when a sample is judged.
/// Which fields samples have. It is asked while an expression is compiled.
pub trait Schema {
    /// The field at a path; `None` if there is none, or it is not of a type that can be compared (a structure, a whole sequence).
    fn field(&self, path: Path<'_>) -> Option<Field>;
    /// The value of a label of an enumeration, by the number that [`Kind::Enumeration`] has for it; `None` if it has no such label.
    fn label(&self, enumeration: u32, name: &str) -> Option<i64>;
}

/// The values of the fields of a sample. It is asked while a sample is judged.
pub trait Fields {
    /// The value of the field that [`Schema::field`] gave this number; `None` if this sample does not have it.
    ///
    /// A value of a kind that does not compare, other than the schema said, is taken as missing.
    fn value(&self, slot: u32) -> Option<Value<'_>>;
}

/// A field, as its schema knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The number by which [`Fields::value`] is asked for it.
    pub slot: u32,
    /// The kind of its values.
    pub kind: Kind,
}

/// The kinds of values: the types of DDS 1.4, Annex B, that comparisons are allowed between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// BOOLEAN: boolean.
    Boolean,
    /// INTEGERVALUE: all integers, and bytes.
    Integer,
    /// FLOATVALUE: all floating-point types.
    Float,
    /// CHARVALUE: char and wchar.
    Char,
    /// STRING: string and wstring.
    String,
    /// ENUMERATEDVALUE, with a number that the schema gives the enumeration.
    Enumeration(u32),
}

/// A value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// Of [`Kind::Boolean`].
    Boolean(bool),
    /// Of [`Kind::Integer`], with a sign.
    Signed(i64),
    /// Of [`Kind::Integer`], without a sign.
    Unsigned(u64),
    /// Of [`Kind::Float`]. A 32-bit float becomes the 64-bit float of the same value.
    Float(f64),
    /// Of [`Kind::Char`].
    Char(char),
    /// Of [`Kind::String`].
    String(&'a str),
    /// Of [`Kind::Enumeration`].
    Enumeration(i64),
}

/// The path of a field: members and elements, such as `position.track[2].x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path<'a> {
    /// Without blanks, and correct: the parser has seen to that.
    text: &'a str,
}

impl<'a> Path<'a> {
    pub(crate) const fn of_parsed(text: &'a str) -> Self {
        Self { text }
    }

    /// The path as it is written.
    pub const fn text(self) -> &'a str {
        self.text
    }

    /// From the outermost member to the innermost.
    pub const fn steps(self) -> Steps<'a> {
        Steps { rest: self.text }
    }
}

/// A step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// To the member of this name.
    Member(&'a str),
    /// To the element with this index, from 0.
    Element(u32),
}

/// The steps of a path.
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        if let Some(inside) = self.rest.strip_prefix('[') {
            let (digits, rest) = inside.split_once(']')?;
            self.rest = rest;
            return index(digits).map(Step::Element);
        }
        let names = self.rest.strip_prefix('.').unwrap_or(self.rest);
        if names.is_empty() {
            return None;
        }
        let end = names.find(['.', '[']).unwrap_or(names.len());
        let (name, rest) = names.split_at_checked(end)?;
        self.rest = rest;
        Some(Step::Member(name))
    }
}

/// The number that an index says, in decimal or, after `0x`, in hexadecimal digits.
pub(crate) fn index(digits: &str) -> Option<u32> {
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_path_has_members_and_elements() {
        let steps: Vec<_> = Path::of_parsed("a.b[3][0x10].c").steps().collect();
        let expected =
            [Step::Member("a"), Step::Member("b"), Step::Element(3), Step::Element(16), Step::Member("c")];
        assert_eq!(steps, expected);
    }
}
