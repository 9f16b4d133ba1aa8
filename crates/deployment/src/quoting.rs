//! Text of plans in the files of other managers: words and values of systemd's units, and texts of Kubernetes' pods.
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A text that the file of another manager cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unquotable {
    text: String,
    why: &'static str,
}

impl Unquotable {
    fn new(text: &str, why: &'static str) -> Self {
        Self { text: text.chars().take(80).flat_map(char::escape_default).collect(), why }
    }
}

impl fmt::Display for Unquotable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}", self.text, self.why)
    }
}

impl core::error::Error for Unquotable {}

/// A word of a line that systemd splits into words (`ExecStart=`, `Environment=`), after the sections "Quoting" of systemd.syntax(7) and
/// "Specifiers" of systemd.unit(5). `$` is left as it is: a command whose path begins with `:` has no variables.
///
/// # Errors
/// The text has a NUL character, which no argument of a process can have.
pub fn unit_word(text: &str) -> Result<String, Unquotable> {
    let mut word = String::with_capacity(text.len() + 2);
    word.push('"');
    for c in text.chars() {
        match c {
            '\0' => return Err(Unquotable::new(text, "has a NUL character")),
            '"' => word.push_str("\\\""),
            '\\' => word.push_str("\\\\"),
            '%' => word.push_str("%%"),
            '\n' => word.push_str("\\n"),
            c if c.is_ascii_control() => word.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => word.push(c),
        }
    }
    word.push('"');
    Ok(word)
}

/// The value of a line that systemd takes as a whole (`Description=`, `WorkingDirectory=`): it knows no quotes there.
///
/// # Errors
/// The text has control characters, has blanks at an end, or ends with a backslash, which would join the line with the next one.
pub fn unit_value(text: &str) -> Result<String, Unquotable> {
    if text.chars().any(char::is_control) {
        return Err(Unquotable::new(text, "has control characters"));
    }
    if text.trim() != text || text.ends_with('\\') {
        return Err(Unquotable::new(text, "begins or ends with a blank, or ends with a backslash"));
    }
    Ok(text.replace('%', "%%"))
}

/// A text of a container's command, arguments or environment in Kubernetes, which would replace `$(NAME)`.
pub fn pod_text(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn words_of_units_are_quoted() {
        assert_eq!(unit_word("").unwrap(), "\"\"");
        assert_eq!(unit_word("a b;c $HOME").unwrap(), "\"a b;c $HOME\"");
        assert_eq!(unit_word("%h \"x\" \\n").unwrap(), r#""%%h \"x\" \\n""#);
        assert_eq!(unit_word("é\n\u{1b}\u{7f}").unwrap(), r#""é\n\x1b\x7f""#);
        assert_eq!(unit_word("a\0").unwrap_err().to_string(), "\"a\\u{0}\" has a NUL character");
    }

    #[test]
    fn values_of_units_are_one_line() {
        assert_eq!(unit_value("/a b/100%").unwrap(), "/a b/100%%");
        for wrong in ["a\nExecStart=/bin/false", " a", "a ", "a\\", "\t"] {
            assert!(unit_value(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn pods_replace_nothing() {
        assert_eq!(pod_text("$(HOME) $$ $"), "$$(HOME) $$$$ $$");
    }
}
