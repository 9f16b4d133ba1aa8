//! Names of topics with wildcards.

/// Whether a name fits a pattern, in which `*` stands for any text and `?` for any character. Takes at most as many steps as both have characters,
/// multiplied.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Behind the last `*`, and what it has not taken yet.
    let mut again: Option<(core::str::Chars<'_>, core::str::Chars<'_>)> = None;
    loop {
        let (rest, left) = (pattern.clone(), name.clone());
        match (pattern.next(), name.next()) {
            (Some('*'), _) => {
                again = Some((pattern.clone(), left.clone()));
                name = left;
                continue;
            }
            (None, None) => return true,
            (Some('?'), Some(_)) => continue,
            (Some(wanted), Some(there)) if wanted == there => continue,
            _ => {}
        }
        drop((rest, left));
        let Some((behind, mut taken)) = again.take() else { return false };
        if taken.next().is_none() {
            return false;
        }
        (pattern, name) = (behind.clone(), taken.clone());
        again = Some((behind, taken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_any_text_and_any_character() {
        for (pattern, name, is) in [
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("*", "", true),
            ("*", "rt/chatter", true),
            ("rt/*", "rt/", true),
            ("rt/*", "rt", false),
            ("rt/*/image", "rt/left/image/image", true),
            ("rt/*/image", "rt/left/image/raw", false),
            ("*a*b*", "xaybz", true),
            ("*a*b*", "xbya", false),
            ("?", "ä", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("Square", "Square", true),
            ("Square", "Squares", false),
            ("*e", "Square", true),
            ("**", "x", true),
        ] {
            assert_eq!(fits(pattern, name), is, "{pattern} {name}");
        }
        let long = alloc::string::String::from("a").repeat(2_000);
        assert!(!fits(&alloc::format!("{}b", "*a".repeat(200)), &long));
    }
}
