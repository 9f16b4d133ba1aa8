//! Texts in pictures: about how wide they are, what is left of one that is too wide, and lines of a paragraph.

/// The text without characters that XML has no place for, and without those that show others in another order.
pub(super) fn clean(text: &str) -> String {
    let plain = |c: char| match c {
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
            char::REPLACEMENT_CHARACTER
        }
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(plain).collect()
}

/// Hundredths of the size of its font that a character is wide; in wide fonts, so that texts mostly are narrower.
const fn hundredths(c: char) -> i64 {
    match c {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | 'I' => 42,
        ' ' | '.' | ',' | ';' | ':' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' | '-' => 42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 100,
        'A'..='Z' => 78,
        ' '..='~' => 66,
        _ => 105,
    }
}

/// About how many pixels a text is wide in a font of so many pixels.
pub(super) fn width(text: &str, size: i64) -> i64 {
    text.chars().map(hundredths).sum::<i64>() * size / 100
}

/// As much of a text as fits into so many pixels; what is left out is told by an ellipsis.
pub(super) fn fit(text: &str, size: i64, most: i64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut left = most * 100 / size.max(1) - hundredths('…');
    let fits = |c: &char| {
        left -= hundredths(*c);
        left >= 0
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The text in lines of at most so many pixels, broken at spaces; a word that is wider is cut.
pub(super) fn lines(text: &str, size: i64, most: i64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let word = fit(word, size, most);
        if let Some(last) = lines.last_mut() {
            let longer = if last.is_empty() { word.clone() } else { format!("{last} {word}") };
            if width(&longer, size) <= most {
                *last = longer;
                continue;
            }
        }
        lines.push(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_wide_ends_with_an_ellipsis_and_fits() {
        assert_eq!(fit("gps", 12, 100), "gps");
        for text in ["a-very-long-name-of-a-component", "WWWWWWWWWWWWWWWWW", "ääääääääääääää"] {
            let cut = fit(text, 12, 60);
            assert!(cut.ends_with('…') && width(&cut, 12) <= 60 && cut.chars().count() > 2, "{cut}");
        }
    }

    #[test]
    fn a_paragraph_has_all_words_in_lines_that_fit() {
        let text = "it is not said how long an event is on its way by dds";
        let lines = lines(text, 12, 120);
        assert_eq!(lines.join(" "), text);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 12) <= 120), "{lines:?}");
    }

    #[test]
    fn what_xml_has_no_place_for_is_replaced() {
        assert_eq!(clean("a\u{1}b\n\u{202e}c\u{fffe}ä"), "a\u{fffd}b\u{fffd}\u{fffd}c\u{fffd}ä");
    }
}
