//! What files and command lines have in common: quantities, addresses, names, bytes as text.
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;

use diagnostics::{Problem, Source, picoseconds};
use serde::de::DeserializeOwned;
use wan::Prefix;

/// Most bytes of a file that people write.
const LARGEST: u64 = 64 << 20;

/// The text of a file.
pub(crate) fn load(path: &Path, remedy: &str) -> Result<String, String> {
    let failed = |what: &dyn std::fmt::Display| format!("{}: {what}\n  {remedy}", path.display());
    let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(failed(&format!("it has more than {LARGEST} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| failed(&"it is no text in UTF-8"))
}

/// A document of TOML; what is wrong has its place.
pub(crate) fn read_toml<T: DeserializeOwned>(source: Source<'_>, manual: &str) -> Result<T, Problem> {
    toml::from_str(source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.problem(at, error.message().trim().replace('\n', "; "), manual)
    })
}

/// Whole seconds of a time such as `10 s` or `2 min`; at least one, at most what 32 bits hold.
pub(crate) fn seconds(text: &str) -> Option<u32> {
    const SECOND: u64 = 1_000_000_000_000;
    let time = picoseconds(text)?;
    (time > 0 && time.is_multiple_of(SECOND)).then(|| u32::try_from(time / SECOND).ok()).flatten()
}

/// Nanoseconds of a time such as `500 ms`, above none.
pub(crate) fn nanoseconds(text: &str) -> Option<u64> {
    picoseconds(text).filter(|time| *time > 0 && time.is_multiple_of(1_000)).map(|time| time / 1_000)
}

/// A network such as `203.0.113.0/24`, or one address.
pub(crate) fn prefix(text: &str) -> Option<Prefix> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        Some(length) => length.parse().ok().filter(|length| *length <= all)?,
        None => all,
    };
    Some(Prefix { address, length })
}

/// Whether a text is a name of a user or a certificate.
pub(crate) fn is_plain_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'@');
    (1..=128).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().map_or('0', char::from);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let value = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(value(*high)? << 4 | value(*low)?),
            _ => None,
        })
        .collect()
}
