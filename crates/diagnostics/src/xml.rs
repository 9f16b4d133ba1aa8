//! XML within limits.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::ToString;

use roxmltree::{Document, ParsingOptions};

use crate::markup::check_markup;
use crate::problem::{Problem, Source};

/// Elements, attributes and texts of a file.
const MOST_NODES: u32 = 200_000;

/// The document of a text of at most `longest` bytes. Document types are refused, so that no entity grows, and so is what would make the parser
/// work or call itself out of proportion. Of what is wrong, `remedy` says what to do.
///
/// # Errors
/// What is wrong, with its place.
pub fn parse_xml<'d>(source: Source<'d>, longest: usize, remedy: &str) -> Result<Document<'d>, Problem> {
    if source.text.len() > longest {
        return Err(source.problem(0, format!("the file is longer than {longest} bytes"), remedy));
    }
    check_markup(source, remedy)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES };
    Document::parse_with_options(source.text, options).map_err(|error| {
        let place = error.pos();
        Problem {
            file: source.file.to_owned(),
            place: Some((place.row as usize, place.col as usize)),
            what: error.to_string(),
            remedy: remedy.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_xml_is_told_with_its_place() {
        let told = |text: &str| {
            let read = parse_xml(Source { file: "m.xml", text }, 40, "see the manual");
            read.err().map(|problem| problem.to_string())
        };
        assert_eq!(told("<a><b/></a>"), None);
        let unclosed = told("<a>\n  <b>\n</a>").unwrap();
        assert!(unclosed.starts_with("m.xml:3:1: ") && unclosed.ends_with("see the manual"), "{unclosed}");
        assert!(told("<!DOCTYPE a [<!ENTITY b 'b'>]><a/>").unwrap().contains("DTD"));
        assert!(told(&"<a/>".repeat(11)).unwrap().contains("longer than 40 bytes"));
    }
}
