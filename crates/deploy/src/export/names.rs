//! Names of a plan as Kubernetes takes them: labels after RFC 1123, which have lower-case letters, digits and `-` only.
use super::hexadecimal;

/// Characters of a name at most: a StatefulSet needs 11 of the 63 of a label for the revisions of its pods.
const LONGEST: usize = 52;
/// Hexadecimal digits of a hash in a name.
const DIGITS: usize = 10;
/// Characters of the longest value of a label.
const LONGEST_VALUE: usize = 63;

/// The name of what belongs to a deployment, or to a part of it. Parts of lower-case letters and digits are joined by `-`. Where a part has
/// other characters, or the whole is too long, a hash of the parts follows, so no two lists of parts have one name: a name with a hash has
/// a `-` more than one without.
pub(super) fn label(parts: &[&str]) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joined = parts.join("-");
    if parts.iter().all(|part| part.chars().all(is_plain)) && joined.len() <= LONGEST {
        return joined;
    }
    let lower = joined.to_ascii_lowercase();
    let plain: String = lower.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let most = LONGEST - DIGITS - 1;
    let short: String = plain.trim_matches('-').chars().take(most).collect();
    // A blank is in no name: parts that are joined differently have different hashes.
    let hash = hexadecimal(&parts.join(" "), DIGITS);
    format!("{}-{hash}", if short.is_empty() { "x" } else { short.trim_end_matches('-') })
}

/// The value of a label that stands for a name of the plan: the name itself where it may be one.
pub(super) fn value(name: &str) -> String {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    if name.len() <= LONGEST_VALUE && is_end(name.chars().next()) && is_end(name.chars().last()) {
        return name.to_owned();
    }
    label(&[name])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(label(&["tracker", "sense"]), "tracker-sense");
        assert_eq!(value("N-1_a"), "N-1_a");
    }

    #[test]
    fn names_are_labels_and_differ() {
        let long = "x".repeat(64);
        let lists: &[&[&str]] = &[
            &["a-b", "c"],
            &["a", "b-c"],
            &["a_b", "c"],
            &["A", "b"],
            &["a", "b"],
            &["a", "B"],
            &["-", "-"],
            &["_", "-"],
            &["--", ""],
            &[&long, "a"],
            &[&long, "b"],
            &["a"],
            &["A"],
        ];
        let names: BTreeSet<String> = lists.iter().map(|parts| label(parts)).collect();
        assert_eq!(names.len(), lists.len(), "{names:?}");
        for name in &names {
            let may = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.len() <= 52 && name.chars().all(may), "{name}");
            assert!(!name.starts_with('-') && !name.ends_with('-'), "{name}");
        }
    }

    #[test]
    fn values_of_labels_begin_and_end_well() {
        for name in ["_a", "a-", &"y".repeat(64)] {
            let value = value(name);
            assert!(value != *name && value.starts_with(|c: char| c.is_ascii_alphanumeric()), "{value}");
            assert!(value.len() <= 63 && value.ends_with(|c: char| c.is_ascii_alphanumeric()), "{value}");
        }
    }
}
