//! Values as XML has them (DDS-XML 1.0, 7.1.4 and 7.2).
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wire::Duration;

/// Why a text is no such value, and what is one.
pub(crate) struct Wrong {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

pub(crate) fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> Wrong {
    Wrong { what: what.into(), remedy: remedy.into() }
}

/// Nanoseconds of the last instant of a second.
const LAST_NANO: i64 = 999_999_999;
/// Both parts of an infinite duration, as numbers.
const INFINITE: i64 = i32::MAX as i64;

/// A part of a duration: a number, or without end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Number(i64),
    Infinite,
}

/// `<sec>` of a duration.
pub(crate) fn seconds(text: &str) -> Result<Part, Wrong> {
    part(text, "DURATION_INFINITE_SEC", INFINITE)
}

/// `<nanosec>` of a duration.
pub(crate) fn nanoseconds(text: &str) -> Result<Part, Wrong> {
    part(text, "DURATION_INFINITE_NSEC", INFINITE)
}

fn part(text: &str, infinite: &str, most: i64) -> Result<Part, Wrong> {
    if text == "DURATION_INFINITY" || text == infinite {
        return Ok(Part::Infinite);
    }
    let number = digits(text).and_then(|digits| digits.parse::<i64>().ok()).filter(|number| *number <= most);
    let remedy = || format!("write a number of 0 to {most}, DURATION_INFINITY or {infinite}");
    number
        .map(Part::Number)
        .ok_or_else(|| wrong(format!("{} is no part of a duration", quoted(text)), remedy()))
}

/// A duration of its parts.
pub(crate) fn duration(seconds: Option<Part>, nanoseconds: Option<Part>) -> Result<Duration, Wrong> {
    match (seconds, nanoseconds) {
        (None, None) => {
            Err(wrong("a duration without <sec> and <nanosec>", "write <sec>, <nanosec> or both"))
        }
        (Some(Part::Infinite), None | Some(Part::Infinite | Part::Number(INFINITE)))
        | (Some(Part::Number(INFINITE)), Some(Part::Infinite | Part::Number(INFINITE))) => {
            Ok(Duration::INFINITE)
        }
        (Some(Part::Infinite), Some(Part::Number(_))) | (_, Some(Part::Infinite)) => Err(wrong(
            "a duration that is infinite in one part and not in the other",
            "write <sec>DURATION_INFINITE_SEC</sec> and <nanosec>DURATION_INFINITE_NSEC</nanosec>, or a number in both",
        )),
        (seconds, nanoseconds) => {
            let number = |part: Option<Part>| match part {
                Some(Part::Number(number)) => number,
                _ => 0,
            };
            let nanos = number(nanoseconds);
            if nanos > LAST_NANO {
                return Err(wrong(
                    format!("{nanos} nanoseconds are a second or more"),
                    "write at most 999999999 in <nanosec>, and the rest in <sec>",
                ));
            }
            let seconds = number(seconds).saturating_mul(1_000_000_000);
            Ok(Duration::from_nanos(seconds.saturating_add(nanos)))
        }
    }
}

/// The text, if all of it are digits.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// A number of 32 bits with a sign, in decimal or hexadecimal.
pub(crate) fn integer(text: &str) -> Result<i32, Wrong> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // Two's complement, as 0x80000000 to 0x7fffffff.
        Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).ok().map(u32::cast_signed)
        }
        Some(_) => None,
        None => text.parse().ok(),
    };
    number.ok_or_else(|| {
        wrong(format!("{} is no number of 32 bits", quoted(text)), "write -2147483648 to 2147483647")
    })
}

/// A number above zero.
pub(crate) fn depth(text: &str) -> Result<u32, Wrong> {
    let number =
        integer(text).ok().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| wrong(format!("{} is no depth", quoted(text)), "write 1 to 2147483647"))
}

/// A number above zero, or none for LENGTH_UNLIMITED.
pub(crate) fn limit(text: &str) -> Result<Option<u32>, Wrong> {
    if text == "LENGTH_UNLIMITED" {
        return Ok(None);
    }
    depth(text).map(Some).map_err(|_| {
        wrong(format!("{} is no limit", quoted(text)), "write 1 to 2147483647, or LENGTH_UNLIMITED")
    })
}

/// A boolean.
pub(crate) fn flag(text: &str) -> Result<bool, Wrong> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(wrong(
            format!("{} is neither true nor false", quoted(text)),
            "write true or false in small letters",
        )),
    }
}

/// One of some words.
pub(crate) fn one_of(text: &str, words: &[&'static str]) -> Result<&'static str, Wrong> {
    if let Some(word) = words.iter().find(|word| **word == text) {
        return Ok(word);
    }
    // Other vendors leave the end off.
    let shorter = words.iter().find(|word| {
        let rest = word.strip_prefix(text);
        !text.is_empty() && rest.is_some_and(|rest| rest.starts_with('_'))
    });
    let remedy = match shorter.copied().or_else(|| diagnostics::nearest(text, words.iter().copied())) {
        Some(near) => format!("write {near}; there are {}", words.join(", ")),
        None => format!("write one of {}", words.join(", ")),
    };
    Err(wrong(format!("{} is none of the standard's words here", quoted(text)), remedy))
}

/// Bytes as numbers with commas between them.
pub(crate) fn bytes(text: &str, most: usize) -> Result<Vec<u8>, Wrong> {
    let mut bytes = Vec::new();
    if text.trim().is_empty() {
        return Ok(bytes);
    }
    for item in text.split(',') {
        let item = item.trim();
        let number = match item.strip_prefix("0x").or_else(|| item.strip_prefix("0X")) {
            Some(hex) if (1..=2).contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u8::from_str_radix(hex, 16).ok()
            }
            Some(_) => None,
            None => digits(item).and_then(|item| item.parse().ok()),
        };
        let Some(byte) = number else {
            return Err(wrong(
                format!("{} is no byte", quoted(item)),
                "write numbers of 0 to 255 or 0x0 to 0xff with commas between them, or base64 in <valueB64>",
            ));
        };
        if bytes.len() >= most {
            return Err(too_long(most));
        }
        bytes.push(byte);
    }
    Ok(bytes)
}

/// Bytes in base64, with or without blanks in it.
pub(crate) fn base64(text: &str, most: usize) -> Result<Vec<u8>, Wrong> {
    let text: String = text.split_ascii_whitespace().collect();
    if text.len() / 4 * 3 > most.saturating_add(2) {
        return Err(too_long(most));
    }
    let bytes = STANDARD.decode(&text).map_err(|error| {
        wrong(
            format!("no base64: {error}"),
            "write base64 with its padding, or numbers with commas between them in <value>",
        )
    })?;
    if bytes.len() > most { Err(too_long(most)) } else { Ok(bytes) }
}

fn too_long(most: usize) -> Wrong {
    wrong(
        format!("more than {most} bytes"),
        "they travel in every announcement; publish larger data as a topic",
    )
}

/// A text in quotes, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.chars().count() <= SHOWN {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(SHOWN).collect();
    format!("{:?}", start + "…")
}

/// A value as XML has it, on one line.
pub(crate) fn shown(value: &crate::fields::Value) -> String {
    use crate::fields::Value;
    use crate::words::word;
    match value {
        Value::Word(word) => (*word).to_owned(),
        Value::Duration(duration) => duration.to_string(),
        Value::Limit(None) => "LENGTH_UNLIMITED".to_owned(),
        Value::Limit(Some(number)) | Value::Depth(number) => number.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Bytes(bytes) => match bytes.len() {
            0 => "none".to_owned(),
            count => format!("{count} bytes, {}", quoted(&STANDARD.encode(bytes))),
        },
        Value::Names(names) if names.is_empty() => "none".to_owned(),
        Value::Names(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            names.join(", ")
        }
        Value::Representations(all) if all.is_empty() => "none".to_owned(),
        Value::Representations(all) => {
            let all: Vec<&str> = all.iter().map(|one| word(*one)).collect();
            all.join(", ")
        }
    }
}
