//! What a file of XML may have before it is parsed: the parser compares each attribute of an element with all others of it,
//! hands each declaration of a namespace on to all elements within, copies the text of an element with each section of it,
//! and calls itself for each element in an element.
use alloc::format;
use alloc::string::String;

use crate::problem::{Problem, Source};

/// Attributes of an element, and elements in each other. Models have five, and three.
const MOST_ATTRIBUTES: usize = 32;
const MOST_DEPTH: usize = 32;
/// Declarations of namespaces, and sections of character data, in a file.
const MOST_NAMESPACES: usize = 16;
const MOST_SECTIONS: usize = 16;

/// What has been counted.
#[derive(Default)]
struct Counts {
    attributes: usize,
    depth: usize,
    namespaces: usize,
    sections: usize,
}

impl Counts {
    fn excess(&self) -> Option<String> {
        [
            (self.attributes, MOST_ATTRIBUTES, "attributes of an element"),
            (self.depth, MOST_DEPTH, "elements in each other"),
            (self.namespaces, MOST_NAMESPACES, "namespaces"),
            (self.sections, MOST_SECTIONS, "sections of character data"),
        ]
        .into_iter()
        .find(|(count, most, _)| count > most)
        .map(|(_, most, what)| format!("more than {most} {what}"))
    }
}

/// Refuses files with more than 32 attributes of an element, elements in each other, 16 namespaces or sections of character data; looks at each byte a few times. What is not well-formed is left to the parser, which
/// stops where that begins.
pub(crate) fn check_markup(source: Source<'_>, remedy: &str) -> Result<(), Problem> {
    let text = source.text;
    let mut counts = Counts::default();
    let mut at = 0;
    while let Some(start) = find(text, at, "<") {
        let rest = text.get(start..).unwrap_or("");
        let skipped = [("<!--", "-->"), (SECTION, "]]>"), ("<?", "?>")]
            .into_iter()
            .find(|(opening, _)| rest.starts_with(opening));
        counts.attributes = 0;
        if let Some((opening, closing)) = skipped {
            counts.sections += usize::from(opening == SECTION);
            let Some(end) = find(text, start + opening.len(), closing) else { return Ok(()) };
            at = end + closing.len();
        } else {
            // To the end of the tag, from quote to quote.
            at = start + 1;
            loop {
                let mark = text.get(at..).and_then(|rest| rest.find(['>', '"', '\'']));
                let Some(mark) = mark.map(|mark| at + mark) else { return Ok(()) };
                let name = text.get(at..mark).unwrap_or("");
                let quote = text.get(mark..=mark).unwrap_or("");
                at = mark + 1;
                if quote == ">" {
                    if rest.starts_with("</") {
                        counts.depth = counts.depth.saturating_sub(1);
                    } else if !name.ends_with('/') {
                        counts.depth += 1;
                    }
                    break;
                }
                counts.attributes += 1;
                counts.namespaces += usize::from(name.contains("xmlns"));
                if counts.excess().is_some() {
                    break;
                }
                let Some(end) = find(text, at, quote) else { return Ok(()) };
                at = end + 1;
            }
        }
        if let Some(what) = counts.excess() {
            return Err(source.problem(start, what, remedy));
        }
    }
    Ok(())
}

/// How a section of character data begins.
const SECTION: &str = "<![CDATA[";

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::borrow::ToOwned;
    use std::string::ToString;

    fn told(text: &str) -> Option<String> {
        check_markup(Source { file: "m.xml", text }, "").err().map(|problem| problem.to_string())
    }

    #[test]
    fn many_attributes_and_namespaces_are_refused_with_their_place() {
        let many = |count: usize| (0..count).map(|number| format!(" a{number}='>'")).collect::<String>();
        assert_eq!(told(&format!("<a{}/>", many(32)).repeat(99)), None);
        assert!(told(&format!("<b>\n<a{}/></b>", many(33))).unwrap().starts_with("m.xml:2:"));
        let spaces = |count: usize| (0..count).map(|n| format!("<a\txmlns:b{n}=\"u\">")).collect::<String>();
        assert_eq!(told(&spaces(15)), None);
        assert!(told(&spaces(17)).is_some());
        assert_eq!(told(&"<a xmlns:b='u'/>".repeat(16)), None);
        assert!(told(&"<a xmlns:b='u'/>".repeat(17)).unwrap().contains("16 namespaces"));
    }

    #[test]
    fn what_would_use_up_the_stack_or_copy_text_is_refused() {
        assert_eq!(told(&("<a>".repeat(32) + "<b/>" + &"</a>".repeat(32)).repeat(9)), None);
        assert!(told(&"<a>".repeat(33)).unwrap().contains("32 elements in each other"));
        assert_eq!(told(&"<![CDATA[<a>]]>".repeat(16)), None);
        assert!(told(&"<![CDATA[]]>".repeat(17)).unwrap().contains("16 sections"));
    }

    #[test]
    fn what_is_no_element_is_passed_over() {
        let quotes = "'' ".repeat(40);
        for text in [
            format!("<!-- <a {quotes}> --><a/>"),
            format!("<![CDATA[<a {quotes}>]]><a/>"),
            format!("<a b='<'>{quotes}"),
            format!("<?xml {quotes}?><a/>"),
            format!("<a>{quotes}</a>"),
            format!("<!-- {quotes}"),
            "<a b='".to_owned(),
            "<".to_owned(),
            "<ä".to_owned(),
        ] {
            assert_eq!(told(&text), None, "{text}");
        }
    }
}
