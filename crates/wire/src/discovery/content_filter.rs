//! The content filter that a reader announces (RTPS 2.5, 9.6.2.2, ContentFilterProperty_t).
use alloc::string::String;
use alloc::vec::Vec;

use super::MAX_NAME;
use crate::cursor::Cursor;
use crate::parameter::value;

/// The filter that a reader of a content-filtered topic announces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContentFilterProperty {
    /// Name of the content-filtered topic.
    pub filtered_topic: String,
    /// Name of the topic that it filters.
    pub related_topic: String,
    /// Which language the expression is in.
    pub class: String,
    /// The expression; empty for none.
    pub expression: String,
    /// The texts of the parameters `%0`, `%1` and so on.
    pub parameters: Vec<String>,
}

impl ContentFilterProperty {
    /// The class of the expressions of DDS (DDS 1.4, Annex B).
    pub const DDSSQL: &str = "DDSSQL";
    /// Most parameters; a property with more is not read.
    pub const MOST_PARAMETERS: usize = 100;

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for text in [&self.filtered_topic, &self.related_topic, &self.class, &self.expression] {
            align(out, start);
            value::put_text(out, text);
        }
        align(out, start);
        value::put_len(out, self.parameters.len());
        for parameter in &self.parameters {
            align(out, start);
            value::put_text(out, parameter);
        }
    }

    /// `None` if it is no such property: a writer then sends everything, and the reader filters by itself.
    pub(super) fn decode(fields: &mut Cursor<'_>) -> Option<Self> {
        let mut next = |most: usize| {
            fields.align(4)?;
            value::text(fields, most).ok()
        };
        let (filtered_topic, related_topic) = (next(MAX_NAME)?, next(MAX_NAME)?);
        let (class, expression) = (next(MAX_NAME)?, next(usize::MAX - 1)?);
        fields.align(4)?;
        let count = usize::try_from(fields.u32()?).ok()?;
        if count > Self::MOST_PARAMETERS {
            return None;
        }
        let mut parameters = Vec::new();
        for _ in 0..count {
            fields.align(4)?;
            parameters.push(value::text(fields, usize::MAX - 1).ok()?);
        }
        Some(Self { filtered_topic, related_topic, class, expression, parameters })
    }
}

fn align(out: &mut Vec<u8>, start: usize) {
    let missing = (out.len() - start).wrapping_neg() % 4;
    out.resize(out.len() + missing, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Endianness;

    fn property(parameters: usize) -> ContentFilterProperty {
        ContentFilterProperty {
            filtered_topic: "Near".into(),
            related_topic: "Square".into(),
            class: ContentFilterProperty::DDSSQL.into(),
            expression: "x < %0".into(),
            parameters: (0..parameters).map(|number| alloc::format!("{number}")).collect(),
        }
    }

    fn read(bytes: &[u8]) -> Option<ContentFilterProperty> {
        ContentFilterProperty::decode(&mut Cursor::new(bytes, Endianness::Little))
    }

    #[test]
    fn it_is_read_as_it_was_written_or_not_at_all() {
        for count in [0, 1, 100] {
            let mut bytes = Vec::new();
            property(count).encode(&mut bytes);
            assert_eq!(read(&bytes), Some(property(count)));
            for len in 0..bytes.len() {
                assert_eq!(read(&bytes[..len]), None, "{len}");
            }
        }
        let mut bytes = Vec::new();
        property(101).encode(&mut bytes);
        assert_eq!(read(&bytes), None);
        let mut bytes = Vec::new();
        property(0).encode(&mut bytes);
        let place = bytes.iter().position(|byte| *byte == b'<').unwrap();
        bytes[place] = 0xff;
        assert_eq!(read(&bytes), None, "no UTF-8");
    }
}
