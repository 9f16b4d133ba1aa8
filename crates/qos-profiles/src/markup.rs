//! Elements of a file, and problems with them.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use roxmltree::Node;

use crate::dialect;
use crate::literal::{Wrong, quoted};

pub(crate) type Element<'e> = Node<'e, 'e>;

/// Problems that are told of a file.
const MOST_PROBLEMS: usize = 50;

/// A file that is being read, and what is wrong with it.
pub(crate) struct Markup<'s> {
    pub(crate) source: Source<'s>,
    /// What makes the file useless.
    pub(crate) problems: Vec<Problem>,
    /// What has no effect.
    pub(crate) notes: Vec<Problem>,
}

impl<'s> Markup<'s> {
    pub(crate) fn new(source: Source<'s>) -> Self {
        Self { source, problems: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.problems.len() >= MOST_PROBLEMS
    }

    pub(crate) fn problem(&mut self, at: usize, what: impl Into<String>, remedy: impl Into<String>) {
        if !self.is_full() {
            self.problems.push(self.source.problem(at, what, remedy));
        }
    }

    pub(crate) fn note(&mut self, at: usize, what: impl Into<String>, remedy: impl Into<String>) {
        if self.notes.len() < MOST_PROBLEMS {
            self.notes.push(self.source.problem(at, what, remedy));
        }
    }

    pub(crate) fn wrong(&mut self, at: usize, wrong: Wrong) {
        self.problem(at, wrong.what, wrong.remedy);
    }

    /// The elements in one. Text between them is a problem, and so are elements of other namespaces.
    pub(crate) fn elements<'e>(&mut self, element: Element<'e>) -> Vec<Element<'e>> {
        let mut found = Vec::new();
        for child in element.children() {
            let at = child.range().start;
            if child.is_text() {
                if let Some(text) = child.text().map(str::trim).filter(|text| !text.is_empty()) {
                    let what = format!("the text {} in <{}>", quoted(text), element.tag_name().name());
                    self.problem(at, what, "only elements are expected there");
                }
            } else if child.is_element() {
                let uri = child.tag_name().namespace();
                if uri == element.tag_name().namespace() {
                    found.push(child);
                } else {
                    self.foreign_namespace(child, uri.unwrap_or_default());
                }
            }
        }
        found
    }

    pub(crate) fn foreign_namespace(&mut self, element: Element<'_>, uri: &str) {
        if self.is_full() {
            return;
        }
        let name = element.tag_name().name();
        match dialect::of_namespace(uri).or_else(|| dialect::of_name(name)) {
            Some(foreign) => self.problem(
                element.range().start,
                format!("<{name}> is of {}, not of the OMG's DDS-XML", foreign.whose),
                foreign.remedy,
            ),
            None => self.problem(
                element.range().start,
                format!("<{name}> is of the namespace {}", quoted(uri)),
                "use no namespace, or http://www.omg.org/spec/DDS-XML, in the whole file",
            ),
        }
    }

    /// The text of an element that holds nothing else, with the blanks around it; `None` if it holds something else, which is a problem.
    pub(crate) fn text(&mut self, element: Element<'_>) -> Option<String> {
        self.attributes(element, &[]);
        let mut text = String::new();
        for child in element.children() {
            if child.is_element() {
                let (name, outer) = (child.tag_name().name(), element.tag_name().name());
                self.unknown(child, &[], &format!("<{outer}> holds a value, and no <{name}>"));
                return None;
            }
            if child.is_text() {
                text.push_str(child.text().unwrap_or_default());
            }
        }
        Some(text)
    }

    /// The text of an element without the blanks around it. That it is empty is a problem.
    pub(crate) fn word(&mut self, element: Element<'_>) -> Option<String> {
        let text = self.text(element)?;
        let word = text.trim();
        if word.is_empty() {
            let name = element.tag_name().name();
            self.problem(
                element.range().start,
                format!("<{name}> is empty"),
                format!("write a value, or leave <{name}> out"),
            );
            return None;
        }
        Some(word.into())
    }

    /// Attributes other than these are problems. Those of other namespaces, such as the place of a schema, are not looked at.
    pub(crate) fn attributes(&mut self, element: Element<'_>, known: &[&str]) {
        for attribute in element.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let (name, at) = (attribute.name(), attribute.range().start);
            if known.contains(&name) || self.is_full() {
                continue;
            }
            let outer = element.tag_name().name();
            let what = format!("<{outer}> has no attribute {name}");
            match dialect::of_name(name) {
                Some(foreign) => {
                    self.problem(
                        at,
                        format!("the attribute {name} is of {}, not of the OMG's DDS-XML", foreign.whose),
                        foreign.remedy,
                    );
                }
                None if known.is_empty() => self.problem(at, what, "leave it out"),
                None => {
                    let near = diagnostics::nearest(name, known.iter().copied());
                    let remedy = near.map_or_else(
                        || format!("it may have {}", known.join(", ")),
                        |near| format!("write {near}"),
                    );
                    self.problem(at, what, remedy);
                }
            }
        }
    }

    /// An attribute with its place.
    pub(crate) fn attribute<'e>(element: Element<'e>, name: &str) -> Option<(usize, &'e str)> {
        element.attribute_node(name).map(|attribute| (attribute.range().start, attribute.value()))
    }

    /// Tells of an element that does not belong there.
    pub(crate) fn unknown(&mut self, element: Element<'_>, known: &[&str], what: &str) {
        if self.is_full() {
            return;
        }
        let name = element.tag_name().name();
        let at = element.range().start;
        if let Some(near) = known.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            return self.problem(at, what, format!("write <{near}>"));
        }
        if let Some(foreign) = dialect::of_name(name) {
            let what = format!("<{name}> is of {}, not of the OMG's DDS-XML", foreign.whose);
            return self.problem(at, what, foreign.remedy);
        }
        let remedy = match diagnostics::nearest(name, known.iter().copied()) {
            Some(near) => format!("write <{near}>"),
            None if known.is_empty() => "write a value in its place".into(),
            None => format!("there may be <{}>", known.join(">, <")),
        };
        self.problem(at, what, remedy);
    }
}
