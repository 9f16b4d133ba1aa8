//! Problems of a file: what is wrong, where, and what to do.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A mistake in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file as it was named.
    pub file: String,
    /// Line and column, both from 1, if the mistake has a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong, with the value.
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

impl core::error::Error for Problem {}

/// A file that is being read: makes problems from offsets into it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// The file as it was named.
    pub file: &'s str,
    /// All of it.
    pub text: &'s str,
}

/// Characters of a line that are shown before and after the caret.
const SHOWN: usize = 80;

impl Source<'_> {
    /// A problem at an offset, in bytes.
    pub fn problem(&self, at: usize, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
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

    /// The problem as text, with the line where it is and a caret below, if it is in this file.
    ///
    /// ```
    /// let source = diagnostics::Source { file: "lab.toml", text: "name = 3\n" };
    /// let problem = source.problem(7, "a name is text", "write it in quotes");
    /// assert_eq!(source.show(&problem), "lab.toml:1:8: a name is text\n  1 | name = 3\n    |        ^\n  write it in quotes");
    /// ```
    pub fn show(&self, problem: &Problem) -> String {
        let here = problem.place.filter(|_| problem.file == self.file);
        let line = here.and_then(|(line, _)| self.text.split('\n').nth(line.saturating_sub(1)));
        let (Some((number, column)), Some(line)) = (here, line) else { return format!("{problem}") };
        // Of a long line only the surroundings: a file of one line is no excerpt.
        let first = column.saturating_sub(1).saturating_sub(SHOWN);
        let line: String = line.chars().skip(first).take(2 * SHOWN).collect();
        let line = line.replace(['\t', '\r'], " ");
        let at = column.saturating_sub(1) - first;
        let carets = "^".repeat(token(&line, at));
        let number = format!("{number}");
        let (margin, indent) = (" ".repeat(number.len()), " ".repeat(at));
        let head = Problem { remedy: String::new(), ..problem.clone() };
        let mut shown =
            format!("{head}\n  {number} | {}\n  {margin} | {indent}{carets}", printable(line.trim_end()));
        if !problem.remedy.is_empty() {
            shown.push_str("\n  ");
            shown.push_str(&printable(&problem.remedy));
        }
        shown
    }
}

/// How many characters belong to what begins at this one: a word, or a text in quotes. At least one.
fn token(line: &str, at: usize) -> usize {
    let mut rest = line.chars().skip(at);
    match rest.next() {
        Some(quote @ ('"' | '\'')) => {
            let inside = rest.clone().position(|c| c == quote);
            inside.map_or(1, |inside| inside + 2)
        }
        Some(first) if is_of_word(first) => 1 + rest.take_while(|c| is_of_word(*c)).count(),
        _ => 1,
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

/// The text without characters that would do something to a terminal.
pub fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn places_count_from_one_in_characters() {
        let source = Source { file: "net.toml", text: "a\nä b" };
        let problem = source.problem(5, "b is not c", "write c");
        assert_eq!(problem.to_string(), "net.toml:2:3: b is not c\n  write c");
        assert_eq!(source.problem(99, "x", "").place, Some((2, 4)));
    }

    #[test]
    fn a_problem_is_shown_with_its_line() {
        let source = Source { file: "a.toml", text: "x = 1\n\tpath = \"a b\" # ä\n" };
        let at = source.text.find('"').unwrap();
        let shown = source.show(&source.problem(at, "no path", "write one"));
        assert_eq!(shown, "a.toml:2:9: no path\n  2 |  path = \"a b\" # ä\n    |         ^^^^^\n  write one");
        let end = source.show(&source.problem(99, "more is expected", ""));
        assert_eq!(end, "a.toml:3:1: more is expected\n  3 | \n    | ^");
        let elsewhere = Problem { file: "b.toml".to_owned(), ..source.problem(0, "w", "r") };
        assert_eq!(source.show(&elsewhere), "b.toml:1:1: w\n  r");
    }

    #[test]
    fn of_a_long_line_the_surroundings_are_shown() {
        let text = "a".repeat(5_000) + "\"b\"" + &"c".repeat(5_000);
        let source = Source { file: "a", text: &text };
        let shown = source.show(&source.problem(5_000, "w", ""));
        let lines: std::vec::Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].chars().count(), 2 * SHOWN + 6);
        assert_eq!(lines[1].find('"'), lines[2].find('^'));
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(printable("a\u{1b}[31m\nb"), "a\u{fffd}[31m\nb");
    }
}
