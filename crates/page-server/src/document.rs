//! A page: one document that loads nothing from elsewhere, with a policy that says so.
use std::fmt::Write as _;

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::access::sha256;
use crate::answers::answer;

/// A page as it is sent.
#[derive(Clone, Debug)]
pub struct Document {
    html: Bytes,
    /// Its Content-Security-Policy: its own style and script by their sums, and requests to where it came from.
    policy: String,
}

impl Document {
    /// Puts style and script where the HTML says `/*style*/` and `/*script*/`. The style goes behind the one that all pages share and
    /// `live.css`, the script behind `live.js`.
    pub fn new(html: &str, style: &str, script: &str) -> Self {
        let style = format!("{}{}{}{style}", pages::COLOURS, pages::STYLE, include_str!("live.css"));
        let script = format!("\"use strict\";\n{}{script}", include_str!("live.js"));
        let html = html.replace("/*style*/", &style).replace("/*script*/", &script);
        debug_assert_eq!(
            weakness(&html),
            None,
            "a page loads nothing, writes no markup, and has one style and one script"
        );
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; form-action \
             'none'; frame-ancestors 'none'",
            base64(&sha256(style.as_bytes())),
            base64(&sha256(script.as_bytes()))
        );
        Self { html: Bytes::from(html), policy }
    }

    /// The page with its policy.
    pub fn response(&self) -> Response {
        let mut response = answer(StatusCode::OK, "text/html; charset=utf-8", self.html.clone());
        if let Ok(policy) = HeaderValue::from_str(&self.policy) {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

/// What in a page would load something from elsewhere, write markup, or run what came with data; none if it does none of that.
fn weakness(html: &str) -> Option<String> {
    const FORBIDDEN: [&str; 10] = [
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
    ];
    // The name of a namespace is no place from where something would be loaded.
    let html = html.replace("http://www.w3.org/2000/svg", "");
    let is_not_once = |tag: &&&str| html.matches(**tag).count() != 1;
    let found = FORBIDDEN.iter().find(|text| html.contains(**text));
    found.or_else(|| ["<script", "<style"].iter().find(is_not_once)).map(|text| (*text).to_owned())
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
    fn a_document_that_loads_or_writes_markup_is_found() {
        let html = "<style>/*style*/</style><p>text<script>/*script*/</script>";
        assert_eq!(weakness(html), None);
        for wrong in [
            "<img src=x><style></style><script></script>",
            "<style></style><script></script><script></script>",
            "<style></style><script>fetch('http://elsewhere.example')</script>",
            "<style></style><script>p.innerHTML = text;</script>",
        ] {
            assert!(weakness(wrong).is_some(), "{wrong}");
        }
        let policy = Document::new(html, "p{margin:0}", "let a = 1;").policy;
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
}
