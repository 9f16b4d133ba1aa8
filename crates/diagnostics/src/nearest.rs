//! Which known name an unknown one was meant to be.
use alloc::vec::Vec;

/// Names longer than this are not compared: the work is the product of both lengths.
const LONGEST: usize = 64;

/// The known name that an unknown one is nearest to, by letters that are wrong, missing, too many or exchanged (the optimal string
/// alignment distance); `None` if more than a third of the longer one would be so. Of several, the first.
pub fn nearest<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters =
        |name: &str| name.chars().flat_map(char::to_lowercase).take(LONGEST + 1).collect::<Vec<_>>();
    let unknown = letters(unknown);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        let other = letters(name);
        let longer = unknown.len().max(other.len());
        if longer > LONGEST {
            continue;
        }
        let distance = distance(&unknown, &other);
        if distance <= longer.div_ceil(3)
            && distance < longer
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, letter) in left.iter().enumerate() {
        let mut this = Vec::with_capacity(right.len() + 1);
        this.push(row + 1);
        for (column, other) in right.iter().enumerate() {
            let value = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let replaced = value(&last, column) + usize::from(letter != other);
            let mut least = replaced.min(value(&last, column + 1) + 1).min(value(&this, column) + 1);
            let are_exchanged = row > 0
                && column > 0
                && left.get(row - 1) == Some(other)
                && right.get(column - 1) == Some(letter);
            if are_exchanged {
                least = least.min(value(&before, column - 1) + 1);
            }
            this.push(least);
        }
        before = core::mem::replace(&mut last, this);
    }
    last.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn a_slip_is_recognised() {
        let known = ["depth", "full", "service", "filter", "a"];
        for (unknown, meant) in [
            ("detph", Some("depth")),
            ("Depth", Some("depth")),
            ("servise", Some("service")),
            ("filters", Some("filter")),
            ("ful", Some("full")),
            ("colour", None),
            ("b", None),
            ("", None),
        ] {
            assert_eq!(nearest(unknown, known), meant, "{unknown}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn distances_count_single_slips() {
        let of = |left: &str, right: &str| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        assert_eq!((of("abcd", "abcd"), of("abcd", "acbd"), of("abcd", "bcd")), (0, 1, 1));
        assert_eq!((of("", "abc"), of("abc", ""), of("abc", "xyz"), of("ca", "abc")), (3, 3, 3, 3));
    }
}
