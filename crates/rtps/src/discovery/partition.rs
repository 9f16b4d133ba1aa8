//! Names of partitions and their wildcards (DDS 1.4, 2.2.3.13; the patterns are those of POSIX `fnmatch`).
use alloc::string::String;
use core::str::Chars;

/// True if a writer and a reader share a partition. No name at all is the partition with the empty name.
/// A pattern matches names, never another pattern.
pub(super) fn intersect(writer: &[String], reader: &[String]) -> bool {
    names(writer).any(|writer| names(reader).any(|reader| one_pair(writer, reader)))
}

fn names(partition: &[String]) -> impl Iterator<Item = &str> {
    let unnamed = partition.is_empty().then_some("");
    partition.iter().map(String::as_str).chain(unnamed)
}

fn one_pair(a: &str, b: &str) -> bool {
    match (is_pattern(a), is_pattern(b)) {
        (false, false) => a == b,
        (true, false) => matches(a, b),
        (false, true) => matches(b, a),
        (true, true) => false,
    }
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Longest bracket expression in characters; a longer one is read as an ordinary `[`, so that no pattern is read over and over.
const MAX_CLASS: usize = 64;

/// True if a name is one that the pattern means: `*` is any run of characters, `?` one character, `[a-z]` and `[!a-z]` one of or none of a set, `\` takes the next
/// character as it is. Only the last `*` is ever tried again, and no longer than the name lasts, so that the work is at most
/// the length of the pattern plus the square of the length of the name.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut pattern = pattern.chars();
    let mut name = name.chars();
    let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let mut ahead = pattern.clone();
        match (ahead.next(), name.clone().next()) {
            (Some('*'), _) => {
                retry = Some((ahead.clone(), name.clone()));
                pattern = ahead;
                continue;
            }
            (None, None) => return true,
            // The name has ended: a longer run for the last `*` would leave even less of it.
            (Some(_), None) => return false,
            (Some(first), Some(character)) => {
                if matches_one(first, &mut ahead, character) {
                    pattern = ahead;
                    name.next();
                    continue;
                }
            }
            (None, Some(_)) => {}
        }
        let Some((after_star, run)) = &mut retry else { return false };
        run.next();
        pattern = after_star.clone();
        name = run.clone();
    }
}

/// Compares one character with the piece of a pattern that begins with `first`; `rest` is moved past that piece.
fn matches_one(first: char, rest: &mut Chars<'_>, character: char) -> bool {
    match first {
        '?' => true,
        '[' => match class(rest, character) {
            Some((inside, after)) => {
                *rest = after;
                inside
            }
            None => character == '[',
        },
        '\\' => rest.next().unwrap_or('\\') == character,
        _ => first == character,
    }
}

/// Whether a bracket expression holds the character, and what follows it; `None` if it is never closed.
fn class<'a>(rest: &Chars<'a>, character: char) -> Option<(bool, Chars<'a>)> {
    let mut rest = rest.clone();
    let negated = matches!(rest.clone().next(), Some('!' | '^'));
    if negated {
        rest.next();
    }
    let mut inside = false;
    for position in 0..MAX_CLASS {
        let low = match rest.next()? {
            // Right after the opening, a closing bracket is an ordinary member.
            ']' if position > 0 => return Some((inside != negated, rest)),
            '\\' => rest.next()?,
            low => low,
        };
        let mut ahead = rest.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                rest = ahead;
                high
            }
            _ => low,
        };
        inside |= (low..=high).contains(&character);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn share(writer: &[&str], reader: &[&str]) -> bool {
        let own = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect::<Vec<_>>();
        let (writer, reader) = (own(writer), own(reader));
        assert_eq!(intersect(&writer, &reader), intersect(&reader, &writer));
        intersect(&writer, &reader)
    }

    #[test]
    fn plain_names_are_equal_or_not() {
        assert!(share(&[], &[]));
        assert!(share(&[], &[""]));
        assert!(!share(&["a"], &[]));
        assert!(share(&["a", "b"], &["c", "b"]));
        assert!(!share(&["a"], &["A"]));
    }

    #[test]
    fn wildcards_match_names() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "anything"),
            ("a*", "a"),
            ("a*c", "abcbc"),
            ("*b*c", "abxc"),
            ("a?c", "abc"),
            ("?", "ü"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[^a]*", "b"),
            ("[]a]", "]"),
            ("[a-]*", "-z"),
            ("a[", "a["),
            ("\\*?", "*x"),
            ("[\\]]*", "]"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn wildcards_refuse_other_names() {
        for (pattern, name) in [
            ("a*", "ba"),
            ("?", ""),
            ("?", "ab"),
            ("a*c", "abcb"),
            ("[a-c]x", "dx"),
            ("[!a-c]x", "bx"),
            ("\\*?", "ax"),
            ("*b*c", "acb"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn two_patterns_never_match() {
        assert!(!share(&["*"], &["*"]));
        assert!(!share(&["a*"], &["a?"]));
        assert!(share(&["*", "x"], &["*"]));
        assert!(share(&["a*"], &["b", "ab"]));
    }

    #[test]
    fn hostile_patterns_end_soon() {
        // With plain backtracking each of these would take longer than the age of the universe.
        let name = "a".repeat(256);
        assert!(!matches(&("*a".repeat(10_000) + "b"), &name));
        assert!(!matches(&"[".repeat(60_000), &name));
        assert!(!matches(&("*".repeat(60_000) + "b"), &name));
    }
}
