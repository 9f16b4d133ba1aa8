//! Text of plans in the files of systemd and Kubernetes: whatever it is, a process gets what the plan says, and no line more.
use deployment::{pod_text, unit_value, unit_word};

/// Texts with all that units and pods treat specially.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    [
        "a b",
        "%h 50%",
        "\"q\" 'r'",
        "\\x41\\n\\",
        "line\nExecStart=x",
        "$(A) ${B} $C $$",
        " # ;\t\u{7f}",
        "é\u{2028}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// Text of a plan.
pub fn manager_text(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match unit_word(text) {
        Ok(word) => {
            assert!(!word.contains(|c: char| c.is_ascii_control()), "{word:?} is no part of a line");
            assert_eq!(word_of(&word).as_deref(), Some(text), "{word:?}");
        }
        Err(_) => assert!(text.contains('\0'), "{text:?} is refused"),
    }
    if let Ok(value) = unit_value(text) {
        assert!(
            !value.contains(char::is_control) && value.trim() == value && !value.ends_with('\\'),
            "{value:?}"
        );
        assert_eq!(value.replace("%%", "%"), text, "{value:?}");
        assert!(!value.replace("%%", "").contains('%'), "{value:?} has a specifier");
    }
    assert_eq!(expanded(&pod_text(text)).as_deref(), Some(text));
}

/// What systemd makes of a line that is one quoted word.
fn word_of(line: &str) -> Option<String> {
    let inner = line.strip_prefix('"')?.strip_suffix('"')?;
    let (mut out, mut rest) = (String::new(), inner.chars());
    while let Some(c) = rest.next() {
        match c {
            '"' => return None,
            '%' if rest.next() != Some('%') => return None,
            '\\' => match rest.next()? {
                'n' => out.push('\n'),
                c @ ('"' | '\\') => out.push(c),
                'x' => {
                    let (high, low) = (rest.next()?.to_digit(16)?, rest.next()?.to_digit(16)?);
                    out.push(char::from(u8::try_from(high * 16 + low).ok().filter(|code| *code != 0)?));
                }
                _ => return None,
            },
            c => out.push(c),
        }
    }
    Some(out)
}

/// What Kubernetes makes of a text; nothing if it has a variable.
fn expanded(text: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        out.push(c);
        match (c, rest.clone().next()) {
            ('$', Some('$')) => drop(rest.next()),
            ('$', Some('(')) => return None,
            _ => {}
        }
    }
    Some(out)
}
