//! The page: one document that loads nothing from elsewhere, with a policy that says so.
use std::fmt::Write as _;

use axum::body::Bytes;

use crate::access::sha256;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const PICTURE: &str = include_str!("picture.js");

/// The page as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) html: Bytes,
    /// Its Content-Security-Policy: its own style and script by their sums, and requests to where it came from.
    pub(crate) policy: String,
}

/// The page.
pub(crate) fn page() -> Page {
    let style = format!("{}{}{STYLE}", pages::COLOURS, pages::STYLE);
    let script = format!("\"use strict\";\n{PICTURE}{SCRIPT}");
    let html = HTML.replace("/*style*/", &style).replace("/*script*/", &script);
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; form-action \
         'none'; frame-ancestors 'none'",
        base64(&sha256(style.as_bytes())),
        base64(&sha256(script.as_bytes()))
    );
    Page { html: Bytes::from(html), policy }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * place) & 63) as usize).filter(|_| place <= chunk.len());
            let _ = text.write_char(digit.map_or('=', |digit| char::from(*digit)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_others() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_page_loads_nothing_and_writes_no_markup() {
        let page = page();
        let html = std::str::from_utf8(&page.html).unwrap();
        assert_eq!((html.matches("<script").count(), html.matches("<style").count()), (1, 1));
        assert!(!page.policy.contains("unsafe"));
        for other in [
            "http://",
            "https://",
            "src=",
            "@import",
            "url(",
            " style=",
            "onclick",
            "innerHTML",
            "eval(",
            "insertAdjacent",
        ] {
            let without = html.replace("http://www.w3.org/2000/svg", "");
            assert!(!without.contains(other), "{other}");
        }
    }
}
