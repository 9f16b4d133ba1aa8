//! What is wrong with a file, where, and what to do.
use std::fmt;

/// A mistake in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file as it was named.
    pub file: String,
    /// Line and column, both from 1, if the mistake has a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
    /// What is expected, or what to do.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(&self.file))?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", printable(&self.what))?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "\n  {}", printable(&self.remedy)) }
    }
}

impl std::error::Error for Problem {}

/// A file that is being read: makes problems from offsets into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'s> {
    pub(crate) file: &'s str,
    pub(crate) text: &'s str,
}

impl Source<'_> {
    /// A problem at an offset, in bytes.
    pub(crate) fn problem(&self, at: usize, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        let before = self.text.get(..at.min(self.text.len())).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        Problem {
            file: self.file.to_owned(),
            place: Some((line, column)),
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

/// The text without characters that would do something to a terminal.
pub fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_in_characters() {
        let source = Source { file: "net.toml", text: "a\nä b" };
        let problem = source.problem(5, "b is not c", "write c");
        assert_eq!(problem.to_string(), "net.toml:2:3: b is not c\n  write c");
        assert_eq!(source.problem(99, "x", "").place, Some((2, 4)));
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(printable("a\u{1b}[31m\nb"), "a\u{fffd}[31m\nb");
    }
}
