//! Patterns of names: `*` for any characters, `?` for one; all else stands for itself.

/// Whether a text fits a pattern as a whole. Steps are at most the product of both lengths; no memory is taken.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut rest, mut left) = (pattern.chars(), text.chars());
    // After the last star: what is left of the pattern, and of the text that the star may still take.
    let mut star: Option<(core::str::Chars<'_>, core::str::Chars<'_>)> = None;
    loop {
        let after = left.clone();
        match (rest.next(), left.next()) {
            (Some('*'), _) => {
                star = Some((rest.clone(), after.clone()));
                left = after;
            }
            (None, None) => return true,
            (Some('?'), Some(_)) => {}
            (Some(one), Some(other)) if one == other => {}
            _ => {
                let Some((of_pattern, of_text)) = &mut star else { return false };
                if of_text.next().is_none() {
                    return false;
                }
                (rest, left) = (of_pattern.clone(), of_text.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn patterns_fit_as_in_shells() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abc"),
            ("a*c", "ac"),
            ("a?c", "abc"),
            ("**a**", "bab"),
            ("*ab", "aab"),
            ("ward-*/*", "ward-1/vitals/x"),
            ("?", "ä"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("?", ""),
            ("a*c", "ab"),
            ("a*c", "abcd"),
            ("A", "a"),
            ("*ab", "aba"),
            ("[a]", "a"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_of_stars_takes_no_time_out_of_proportion() {
        let pattern = "*a".repeat(128);
        let text = "b".repeat(1_024);
        assert!(!matches(&pattern, &text));
        assert!(!matches(&format!("{pattern}c"), &"a".repeat(1_024)));
    }
}
