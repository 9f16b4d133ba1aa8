//! Names that are nearly the same.

/// How two names of topics differ, if they are meant to be one; `None` if they are just two names.
pub(super) fn difference(one: &str, other: &str) -> Option<&'static str> {
    if one == other {
        return None;
    }
    let plain = |name: &str| -> String { name.chars().filter(|letter| letter.is_alphanumeric()).collect() };
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    if one.trim() == other.trim() {
        return Some("by space around them");
    }
    if one.eq_ignore_ascii_case(other) {
        return Some("by case");
    }
    if ["rt/", "rq/", "rr/"]
        .iter()
        .any(|prefix| long.strip_prefix(prefix).is_some_and(|rest| rest == short.trim_start_matches('/')))
    {
        return Some("by the prefix that ROS 2 puts before the names of its topics");
    }
    if long.trim_start_matches('/') == short.trim_start_matches('/') {
        return Some("by a slash at the beginning");
    }
    if plain(one).eq_ignore_ascii_case(&plain(other)) && !plain(one).is_empty() {
        return Some("by case and signs such as _ - / and space");
    }
    if plain(&format!("{short}s")).eq_ignore_ascii_case(&plain(long)) {
        return Some("by an s at the end");
    }
    (short.chars().count() > 4 && is_one_edit(short, long)).then_some("by one letter")
}

/// What may be meant where types have different names, to be put before a full stop.
pub(super) fn type_hint(one: &str, other: &str) -> &'static str {
    let without = |name: &str| name.replace("::dds_::", "::").trim_end_matches('_').to_owned();
    let last = |name: &str| name.rsplit(['.', ':', '/']).next().unwrap_or_default().to_owned();
    if one.eq_ignore_ascii_case(other) {
        "; they differ by case alone"
    } else if without(one) == without(other) {
        "; ROS 2 calls its types package::msg::dds_::Name_"
    } else if last(one) == last(other) {
        "; they differ by their modules alone"
    } else {
        ", or two topics for two types"
    }
}

/// True if one letter more, less or exchanged makes one of the other, or two neighbours changed places.
fn is_one_edit(short: &str, long: &str) -> bool {
    let (short, long): (Vec<char>, Vec<char>) = (short.chars().collect(), long.chars().collect());
    let same = short.iter().zip(&long).take_while(|(one, other)| one == other).count();
    let (short, long) = (short.get(same..).unwrap_or(&[]), long.get(same..).unwrap_or(&[]));
    match (short, long) {
        (short, [_, rest @ ..]) if short == rest => true,
        ([_, rest @ ..], [_, other @ ..]) if rest == other => true,
        ([a, b, rest @ ..], [c, d, other @ ..]) => a == d && b == c && rest == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_meant_to_be_one_are_seen() {
        for (one, other, how) in [
            ("Readings", "readings", "by case"),
            ("Readings", "Reading", "by an s at the end"),
            ("chatter", "rt/chatter", "by the prefix that ROS 2 puts before the names of its topics"),
            ("/chatter", "chatter", "by a slash at the beginning"),
            ("joint_states", "JointStates", "by case and signs such as _ - / and space"),
            ("Readings", "Readings ", "by space around them"),
            ("Readings", "Raedings", "by one letter"),
            ("Readings", "Reedings", "by one letter"),
            ("Telemetry", "Telemtry", "by one letter"),
        ] {
            assert_eq!(
                (difference(one, other), difference(other, one)),
                (Some(how), Some(how)),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn other_names_are_left_alone() {
        for (one, other) in
            [("Readings", "Readings"), ("A", "B"), ("Pose", "Post"), ("left/arm", "right/arm"), ("", "_")]
        {
            assert_eq!(difference(one, other), None, "{one} {other}");
        }
    }

    #[test]
    fn types_get_hints() {
        assert!(type_hint("std_msgs::msg::String", "std_msgs::msg::dds_::String_").contains("ROS 2"));
        assert!(type_hint("a::Reading", "b.Reading").contains("modules"));
        assert!(type_hint("reading", "Reading").contains("case"));
        assert!(type_hint("Reading", "Writing").contains("two topics"));
    }
}
