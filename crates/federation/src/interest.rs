//! What a process subscribes to, and the union of it.
use alloc::string::String;
use alloc::vec::Vec;

use wire::cursor::Cursor;

use crate::settings::LimitError;

/// A pattern of events.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Interest {
    /// The type; `None` is any.
    pub kind: Option<String>,
    /// The port that published it; `None` is any.
    pub source: Option<String>,
    /// The filter that it has to pass.
    pub filter: Option<Filter>,
}

/// A filter as text: the gateway of each publisher compiles it for the types that it publishes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Filter {
    /// An expression over the fields of an event.
    pub expression: String,
    /// The values of `%0`, `%1` and so on.
    pub parameters: Vec<String>,
}

const HAS_KIND: u8 = 1;
const HAS_SOURCE: u8 = 2;
const HAS_FILTER: u8 = 4;
const MOST_PARAMETERS: usize = 100;
const LONGEST_NAME: usize = 255;
const LONGEST_EXPRESSION: usize = 4_096;
const LONGEST_PARAMETER: usize = 1_024;

fn write_text(to: &mut Vec<u8>, text: &str) {
    // Checked when it was subscribed.
    to.extend_from_slice(&(text.len() as u16).to_le_bytes());
    to.extend_from_slice(text.as_bytes());
}

fn read_text(cursor: &mut Cursor<'_>, most: usize) -> Option<String> {
    let length = usize::from(cursor.u16()?);
    if length > most {
        return None;
    }
    core::str::from_utf8(cursor.take(length)?).ok().map(String::from)
}

impl Interest {
    /// Whether type and source of an event fit.
    pub fn fits(&self, kind: &str, source: &str) -> bool {
        self.kind.as_deref().is_none_or(|wanted| wanted == kind)
            && self.source.as_deref().is_none_or(|wanted| wanted == source)
    }

    /// Whether all that fits the other pattern fits this one, as far as that is easily seen.
    fn covers(&self, other: &Self) -> bool {
        (self.kind.is_none() || self.kind == other.kind)
            && (self.source.is_none() || self.source == other.source)
            && (self.filter.is_none() || self.filter == other.filter)
    }

    pub(crate) fn check(&self) -> Result<(), LimitError> {
        let is_long = |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() > LONGEST_NAME);
        let is_filter_long = self.filter.as_ref().is_some_and(|filter| {
            filter.expression.len() > LONGEST_EXPRESSION
                || filter.parameters.len() > MOST_PARAMETERS
                || filter.parameters.iter().any(|text| text.len() > LONGEST_PARAMETER)
        });
        let is_too_long = is_long(&self.kind) || is_long(&self.source) || is_filter_long;
        if is_too_long { Err(LimitError::Text) } else { Ok(()) }
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        to.push(
            flag(self.kind.is_some(), HAS_KIND)
                | flag(self.source.is_some(), HAS_SOURCE)
                | flag(self.filter.is_some(), HAS_FILTER),
        );
        for text in [&self.kind, &self.source].into_iter().flatten() {
            write_text(to, text);
        }
        if let Some(filter) = &self.filter {
            write_text(to, &filter.expression);
            to.push(filter.parameters.len() as u8);
            filter.parameters.iter().for_each(|text| write_text(to, text));
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let flags = cursor.u8()?;
        if flags & !(HAS_KIND | HAS_SOURCE | HAS_FILTER) != 0 {
            return None;
        }
        let mut interest = Self::default();
        if flags & HAS_KIND != 0 {
            interest.kind = Some(read_text(cursor, LONGEST_NAME)?);
        }
        if flags & HAS_SOURCE != 0 {
            interest.source = Some(read_text(cursor, LONGEST_NAME)?);
        }
        if flags & HAS_FILTER != 0 {
            let expression = read_text(cursor, LONGEST_EXPRESSION)?;
            let count = usize::from(cursor.u8()?);
            if count > MOST_PARAMETERS {
                return None;
            }
            let mut parameters = Vec::new();
            for _ in 0..count {
                parameters.push(read_text(cursor, LONGEST_PARAMETER)?);
            }
            interest.filter = Some(Filter { expression, parameters });
        }
        Some(interest)
    }
}

/// The union: sorted, each once, and none that another one covers.
pub(crate) fn union<'a>(all: impl Iterator<Item = &'a Interest>) -> Vec<Interest> {
    let mut sorted: Vec<&Interest> = all.collect();
    sorted.sort_unstable();
    sorted.dedup();
    let needed = sorted.iter().filter(|one| !sorted.iter().any(|other| other != *one && other.covers(one)));
    needed.map(|one| (*one).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(kind: &str, source: Option<&str>, filter: Option<&str>) -> Interest {
        let filter = filter.map(|text| Filter { expression: text.into(), parameters: Vec::new() });
        Interest { kind: Some(kind.into()), source: source.map(String::from), filter }
    }

    #[test]
    fn a_union_has_what_nothing_else_covers() {
        let all = [
            pattern("a", Some("x.out"), None),
            pattern("a", None, Some("n > 1")),
            pattern("a", None, Some("n > 1")),
            pattern("b", None, Some("n > 1")),
            pattern("a", Some("x.out"), Some("n > 2")),
        ];
        assert_eq!(union(all.iter()), [all[1].clone(), all[0].clone(), all[3].clone()]);
        let any = [Interest::default()];
        assert_eq!(union(all.iter().chain(&any)), any);
    }
}
