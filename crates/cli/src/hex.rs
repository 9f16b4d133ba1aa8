//! Bytes as hexadecimal text.
use std::fmt::Write as _;

/// The bytes of a text of hexadecimal digits; spaces and colons between them are passed over.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace() && *letter != ':').collect();
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => match (high.to_digit(16), low.to_digit(16)) {
            (Some(high), Some(low)) => Ok(u8::try_from(high * 16 + low).unwrap_or(0)),
            _ => Err(format!("{high}{low} is no byte; give hexadecimal digits, as 00010000efbeadde")),
        },
        _ => Err("the last byte has one digit; give two for each".to_owned()),
    });
    pairs.collect()
}

/// Bytes as digits, two for each.
pub(crate) fn show(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, octet| {
        // A string takes everything.
        let _ = write!(text, "{octet:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_go_there_and_back() {
        assert_eq!(parse("00 01:00 00ef\n"), Ok(vec![0, 1, 0, 0, 0xef]));
        assert_eq!(show(&[0, 0xab, 0xff]), "00abff");
        assert!(parse("0g").unwrap_err().starts_with("0g is no byte"));
        assert!(parse("012").unwrap_err().contains("one digit"));
    }
}
