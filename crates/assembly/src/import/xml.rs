//! XML with limits, and what is asked of its elements.
use alloc::format;
use alloc::string::{String, ToString};

use diagnostics::{Problem, Source};
use roxmltree::{Document, Node};

use crate::tree::LONGEST;

const REMEDY: &str = "docs/deploy-plan.md says which descriptors can be imported";

pub(super) type Element<'e> = Node<'e, 'e>;

/// The document of a text.
pub(super) fn parse<'d>(source: Source<'d>) -> Result<Document<'d>, Problem> {
    diagnostics::parse_xml(source, LONGEST, REMEDY)
}

/// The root element, if it has one of these names.
pub(super) fn root<'e>(
    source: Source<'_>,
    document: &'e Document<'e>,
    names: &[&str],
) -> Result<Element<'e>, Problem> {
    let root = document.root_element();
    let name = root.tag_name().name();
    if names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        Ok(root)
    } else {
        let what = format!("the root is <{name}>, and not <{}>", names.join("> or <"));
        Err(source.problem(at(root), what, REMEDY))
    }
}

/// Where an element begins.
pub(super) fn at(element: Element<'_>) -> usize {
    element.range().start
}

/// The name of an element, without its namespace.
pub(super) fn name(element: Element<'_>) -> &str {
    element.tag_name().name()
}

/// The elements within one.
pub(super) fn elements<'e>(element: Element<'e>) -> impl Iterator<Item = Element<'e>> {
    element.children().filter(Node::is_element)
}

/// The elements of a name within one; the names of CIAO's descriptors differ in case between versions.
pub(super) fn named<'e>(element: Element<'e>, wanted: &'static str) -> impl Iterator<Item = Element<'e>> {
    elements(element).filter(move |inner| name(*inner).eq_ignore_ascii_case(wanted))
}

pub(super) fn first<'e>(element: Element<'e>, wanted: &'static str) -> Option<Element<'e>> {
    named(element, wanted).next()
}

/// The text of an element without blanks around it; `None` if it is empty.
pub(super) fn text(element: Element<'_>) -> Option<String> {
    let text = element.text().unwrap_or_default().trim();
    (!text.is_empty()).then(|| text.to_string())
}

/// The text of an element of a name within one.
pub(super) fn text_of(element: Element<'_>, wanted: &'static str) -> Option<String> {
    first(element, wanted).and_then(text)
}

/// The id of an element, or what it refers to: by an attribute of any namespace, or by its text.
pub(super) fn id(element: Element<'_>) -> Option<String> {
    let attribute = |name: &str| {
        let found = element.attributes().find(|attribute| attribute.name().eq_ignore_ascii_case(name));
        found.map(|attribute| attribute.value().trim().to_string())
    };
    attribute("id")
}

/// The id that an element refers to: by its attribute `idref`, or by its text.
pub(super) fn reference(element: Element<'_>) -> Option<String> {
    let found = element.attributes().find(|attribute| attribute.name().eq_ignore_ascii_case("idref"));
    found.map(|attribute| attribute.value().trim().to_string()).or_else(|| text(element))
}
