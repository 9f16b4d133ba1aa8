//! How values compare: numbers by their exact values, texts by code points, patterns of LIKE.
use core::cmp::Ordering;

use crate::tokens::Relation;

/// Whether a relation holds of an order; `None` is the order of what cannot be ordered, and is unequal.
pub(crate) fn holds(relation: Relation, order: Option<Ordering>) -> bool {
    match relation {
        Relation::Equal => order == Some(Ordering::Equal),
        Relation::NotEqual => order != Some(Ordering::Equal),
        Relation::Less => order == Some(Ordering::Less),
        Relation::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Relation::Greater => order == Some(Ordering::Greater),
        Relation::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Relation::Like => false,
    }
}

/// 2^64: every integer that comes here is less, and not less than its opposite.
const ABOVE_ALL: f64 = 18_446_744_073_709_551_616.0;

/// The order of an integer from -2^63 to 2^64 - 1 and a float, by their exact values; `None` for NaN.
pub(crate) fn integer_and_float(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= ABOVE_ALL {
        return Some(Ordering::Less);
    }
    if float <= -ABOVE_ALL {
        return Some(Ordering::Greater);
    }
    // The conversion cuts off the fraction and is exact otherwise: the float is within 2^64.
    let whole = float as i128;
    let fraction = float - whole as f64;
    Some(integer.cmp(&whole).then(if fraction > 0.0 {
        Ordering::Less
    } else if fraction < 0.0 {
        Ordering::Greater
    } else {
        Ordering::Equal
    }))
}

/// Whether a text is like a pattern: `%` is any characters, `_` is one, everything else is itself.
///
/// The work is at most the product of both lengths: where a part behind a `%` does not fit, only the last `%` takes one character more.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let mut text = text.chars();
    let mut pattern = pattern.chars();
    // Behind the last `%`: the rest of the pattern, and the text that it was tried with.
    let mut retry: Option<(core::str::Chars<'_>, core::str::Chars<'_>)> = None;
    loop {
        let mut rest = pattern.clone();
        match (rest.next(), text.clone().next()) {
            (Some('%'), _) => {
                pattern = rest;
                retry = Some((pattern.clone(), text.clone()));
            }
            (None, None) => return true,
            (Some(expected), Some(found)) if expected == '_' || expected == found => {
                pattern = rest;
                text.next();
            }
            _ => match &mut retry {
                Some((after, from)) => {
                    if from.next().is_none() {
                        return false;
                    }
                    pattern = after.clone();
                    text = from.clone();
                }
                None => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        let most = i128::from(u64::MAX);
        let least = i128::from(i64::MIN);
        let cases = [
            (0, -0.0, Ordering::Equal),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (0, 0.25, Ordering::Less),
            (0, -0.25, Ordering::Greater),
            // Both neighbours of 2^53 + 1 are floats, and it is none.
            ((1 << 53) + 1, 9_007_199_254_740_992.0, Ordering::Greater),
            ((1 << 53) + 1, 9_007_199_254_740_994.0, Ordering::Less),
            (most, ABOVE_ALL, Ordering::Less),
            (most, f64::INFINITY, Ordering::Less),
            (least, f64::NEG_INFINITY, Ordering::Greater),
            (least, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (least, -1e300, Ordering::Greater),
        ];
        for (integer, float, order) in cases {
            assert_eq!(integer_and_float(integer, float), Some(order), "{integer} {float}");
        }
        assert_eq!(integer_and_float(0, f64::NAN), None);
    }

    #[test]
    fn patterns() {
        for (text, pattern) in [
            ("", ""),
            ("", "%"),
            ("", "%%"),
            ("abc", "a%"),
            ("abc", "%c"),
            ("abc", "a_c"),
            ("aab", "%ab"),
            ("mississippi", "%iss%ippi"),
            ("grün", "gr_n"),
        ] {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("", "_"), ("abc", "ab"), ("ab", "abc"), ("abc", "_%_%_%_"), ("grün", "gr__n"), ("ab", "%a")]
        {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
    }
}
