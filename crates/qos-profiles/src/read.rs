//! Libraries and profiles of a file.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use crate::dialect;
use crate::entity::Entity;
use crate::literal::{flag, quoted};
use crate::markup::{Element, Markup};
use crate::profile::{Profile, Section};
use crate::provider::{LIBRARY, QosProvider};
use crate::{LONGEST, LONGEST_NAME, MOST_DEPTH, MOST_PROFILES, MOST_SECTIONS, MOST_SECTIONS_OF_PROFILE};

const REMEDY: &str = "docs/qos.md says what a QoS file holds";

/// Other building blocks of the standard.
const BLOCKS: [&str; 4] = ["types", "domain_library", "domain_participant_library", "application_library"];

/// Name of a library and of a profile.
type Key<'e> = (&'e str, &'e str);

/// Reads a file into a provider, whose files and profiles so far it may inherit from.
pub(crate) fn read(provider: &mut QosProvider, source: Source<'_>) -> Result<(), Vec<Problem>> {
    let document = diagnostics::parse_xml(source, LONGEST, REMEDY).map_err(|problem| Vec::from([problem]))?;
    let mut reading = Reading {
        markup: Markup::new(source),
        file: provider.add_file(source),
        provider,
        outlines: BTreeMap::new(),
        libraries: BTreeMap::new(),
        sections: 0,
        default: None,
    };
    reading.root(document.root_element());
    let Markup { problems, notes, .. } = reading.markup;
    if !problems.is_empty() {
        return Err(problems);
    }
    provider.add_notes(notes);
    Ok(())
}

struct Reading<'s, 'p, 'e> {
    markup: Markup<'s>,
    provider: &'p mut QosProvider,
    file: usize,
    /// All profiles of the file, also those that are read later.
    outlines: BTreeMap<Key<'e>, Element<'e>>,
    /// Where each library begins.
    libraries: BTreeMap<&'e str, usize>,
    sections: usize,
    /// Where the default profile is.
    default: Option<usize>,
}

impl<'e> Reading<'_, '_, 'e> {
    fn root(&mut self, root: Element<'e>) {
        let name = root.tag_name().name();
        let uri = root.tag_name().namespace().unwrap_or_default();
        if !uri.is_empty() && !dialect::is_standard(uri) {
            return self.markup.foreign_namespace(root, uri);
        }
        let libraries = match name {
            "qos_library" => Vec::from([root]),
            "dds" => {
                self.markup.attributes(root, &[]);
                self.blocks(root)
            }
            _ => {
                let what = format!("the root is <{name}>, and not <dds> or <qos_library>");
                return self.markup.unknown(root, &["dds", "qos_library"], &what);
            }
        };
        for library in &libraries {
            for profile in library.children().filter(Element::is_element) {
                if let (Some(library), Some(name)) = (library.attribute("name"), profile.attribute("name")) {
                    self.outlines.entry((library, name)).or_insert(profile);
                }
            }
        }
        libraries.into_iter().for_each(|library| self.library(library));
    }

    fn blocks(&mut self, root: Element<'e>) -> Vec<Element<'e>> {
        let mut libraries = Vec::new();
        for block in self.markup.elements(root) {
            let name = block.tag_name().name();
            if name == "qos_library" {
                libraries.push(block);
            } else if BLOCKS.contains(&name) {
                let what = format!("<{name}> is not read, nor QoS that is written in it");
                self.markup.note(block.range().start, what, "profiles are read from <qos_library>");
            } else {
                self.markup.unknown(
                    block,
                    &["qos_library"],
                    &format!("the standard has no <{name}> in <dds>"),
                );
            }
        }
        libraries
    }

    fn library(&mut self, library: Element<'e>) {
        self.markup.attributes(library, &["name"]);
        let at = library.range().start;
        let Some(name) = self.name(library, true) else { return };
        // The file of the built-in library is the first.
        if name == LIBRARY && self.file > 0 {
            let what = format!("the library {LIBRARY} is built in");
            return self.markup.problem(at, what, "give yours another name; it may inherit from that one");
        }
        if let Some(first) = self.libraries.insert(name, at) {
            let line = self.line(first);
            let what = format!("the library {} is there twice; the first is in line {line}", quoted(name));
            return self.markup.problem(at, what, "put all profiles into one, or give it another name");
        }
        for element in self.markup.elements(library) {
            if self.markup.is_full() {
                return;
            }
            let tag = element.tag_name().name();
            if tag == "qos_profile" || Entity::of(tag).is_some() {
                self.profile(name, element);
            } else {
                let mut known = Vec::from(["qos_profile"]);
                known.extend(Entity::ALL.iter().map(|entity| entity.element()));
                self.markup.unknown(
                    element,
                    &known,
                    &format!("the standard has no <{tag}> in <qos_library>"),
                );
            }
        }
    }

    /// A profile, or a set of policies with a name, which is a profile with nothing else in it.
    fn profile(&mut self, library: &'e str, element: Element<'e>) {
        let at = element.range().start;
        let Some(name) = self.name(element, true) else { return };
        if let Some(first) = self.provider.position(library, name) {
            let line = self.provider.line(first);
            let what = format!("the profile {} is there twice; the first is in line {line}", quoted(name));
            return self.markup.problem(
                at,
                what,
                "put all its policies into one <qos_profile>, or give it another name",
            );
        }
        if self.provider.profiles_of(self.file) >= MOST_PROFILES {
            return self.markup.problem(at, format!("more than {MOST_PROFILES} profiles"), "divide the file");
        }
        let mut profile = Profile {
            library: library.into(),
            name: name.into(),
            file: self.file,
            at,
            base: None,
            depth: 1,
            sections: Vec::new(),
        };
        if let Some(entity) = Entity::of(element.tag_name().name()) {
            self.section(&mut profile, element, entity);
        } else {
            self.markup.attributes(element, &["name", "base_name", "is_default_qos"]);
            profile.base = self.base(element, &mut profile.depth, (library, name));
            self.default_profile(element);
            for inner in self.markup.elements(element) {
                let tag = inner.tag_name().name();
                if let Some(entity) = Entity::of(tag) {
                    self.section(&mut profile, inner, entity);
                } else {
                    let known = Entity::ALL.map(Entity::element);
                    let what = format!("the standard has no <{tag}> in <qos_profile>");
                    self.markup.unknown(inner, &known, &what);
                }
            }
        }
        let is_default = self.default == Some(at);
        self.provider.add_profile(profile, is_default);
        if self.markup.problems.is_empty() {
            let wrong = self.provider.check_last();
            wrong.into_iter().for_each(|(at, what, remedy)| self.markup.problem(at, what, remedy));
        }
    }

    fn default_profile(&mut self, element: Element<'e>) {
        let Some((at, text)) = Markup::attribute(element, "is_default_qos") else { return };
        match flag(text) {
            Err(wrong) => self.markup.wrong(at, wrong),
            Ok(false) => {}
            Ok(true) => match self.default {
                Some(first) => {
                    let line = self.line(first);
                    let what = format!("a second default profile; the first is in line {line}");
                    self.markup.problem(at, what, "leave is_default_qos out of one of both");
                }
                None => self.default = Some(element.range().start),
            },
        }
    }

    fn section(&mut self, profile: &mut Profile, element: Element<'e>, entity: Entity) {
        let at = element.range().start;
        self.sections += 1;
        let is_many = profile.sections.len() >= MOST_SECTIONS_OF_PROFILE;
        if is_many || self.sections > MOST_SECTIONS {
            let most = if is_many { MOST_SECTIONS_OF_PROFILE } else { MOST_SECTIONS };
            let of = if is_many { "profile" } else { "file" };
            let what = format!("more than {most} sets of policies of a {of}");
            return self.markup.problem(at, what, "divide it");
        }
        let known: &[&str] =
            if entity.has_topic() { &["name", "base_name", "topic_filter"] } else { &["name", "base_name"] };
        self.markup.attributes(element, known);
        self.name(element, false);
        let filter = match Markup::attribute(element, "topic_filter") {
            Some((at, filter)) if filter.is_empty() || filter.len() > LONGEST_NAME => {
                let remedy = format!(
                    "write 1 to {LONGEST_NAME} bytes, as \"arm/*\"; without it the policies are for all topics"
                );
                return self.markup.problem(at, "no topic filter", remedy);
            }
            filter => filter.map(|(_, filter)| String::from(filter)),
        };
        let same = |other: &&Section| other.entity == entity && other.filter == filter;
        if let Some(first) = profile.sections.iter().find(same) {
            let line = self.line(first.at);
            let what = format!("<{}> for the same topics is in line {line}", entity.element());
            return self.markup.problem(
                at,
                what,
                "put all policies into one, or give it another topic_filter",
            );
        }
        let own = (profile.library.clone(), profile.name.clone());
        let base = self.base(element, &mut profile.depth, (&own.0, &own.1));
        let said = self.markup.policies(element, entity);
        profile.sections.push(Section { entity, at, filter, base, said });
    }

    /// The name of an element, if it may be one.
    fn name(&mut self, element: Element<'e>, is_needed: bool) -> Option<&'e str> {
        let tag = element.tag_name().name();
        let Some((at, name)) = Markup::attribute(element, "name") else {
            if is_needed {
                let what = format!("a <{tag}> without a name");
                self.markup.problem(element.range().start, what, "give it one, as name=\"Positions\"");
            }
            return None;
        };
        let is_name = !name.trim().is_empty() && name.trim() == name && name.len() <= LONGEST_NAME;
        if !is_name || name.contains("::") {
            let remedy = format!("write 1 to {LONGEST_NAME} bytes without :: and without blanks around them");
            self.markup.problem(at, format!("{} is no name", quoted(name)), remedy);
            return None;
        }
        Some(name)
    }

    /// The number of the profile that an element of the profile `own` inherits from; `depth` becomes at least one more than that one's.
    fn base(&mut self, element: Element<'e>, depth: &mut usize, own: (&str, &str)) -> Option<usize> {
        let (at, text) = Markup::attribute(element, "base_name")?;
        let (library, name) = text.split_once("::").unwrap_or((own.0, text));
        if let Some(found) = self.provider.position(library, name) {
            *depth = (*depth).max(self.provider.depth(found) + 1);
            if *depth > MOST_DEPTH {
                let what = format!("more than {MOST_DEPTH} profiles inherit from each other");
                self.markup.problem(at, what, "inherit from a profile further up");
                return None;
            }
            return Some(found);
        }
        if self.markup.is_full() {
            return None;
        }
        match self.outlines.get_key_value(&(library, name)) {
            Some(_) if (library, name) == own => {
                self.markup.problem(at, "a profile inherits from itself", "name another one, or none");
            }
            Some((key, later)) if self.leads_to(*key, own) => {
                let line = self.line(later.range().start);
                let what = format!("{} in line {line} inherits from this profile: a circle", quoted(text));
                self.markup.problem(at, what, "leave one base_name of the circle out");
            }
            Some((_, later)) => {
                let line = self.line(later.range().start);
                let what = format!("the profile {} comes later, in line {line}", quoted(text));
                self.markup.problem(
                    at,
                    what,
                    "put it before those that inherit from it, as the standard asks for",
                );
            }
            None => {
                let names: Vec<String> = self.provider.names().map(|name| name.to_string()).collect();
                let wanted = format!("{library}::{name}");
                let near = diagnostics::nearest(&wanted, names.iter().map(String::as_str));
                let remedy = near.map_or_else(
                    || "name a profile of this file, as \"Library::Profile\", or one that is built in, as \"punctual::state\"".into(),
                    |near| format!("write {near}"),
                );
                self.markup.problem(at, format!("there is no profile {}", quoted(text)), remedy);
            }
        }
        None
    }

    /// True if a profile inherits, over others, from the profile `goal`.
    fn leads_to(&self, from: Key<'e>, goal: (&str, &str)) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = Vec::from([from]);
        while let Some(key) = open.pop() {
            if key == goal {
                return true;
            }
            let Some(element) = self.outlines.get(&key).filter(|_| seen.insert(key)) else { continue };
            let all = core::iter::once(*element).chain(element.children().filter(Element::is_element));
            open.extend(all.filter_map(|element| {
                let text = element.attribute("base_name")?;
                Some(text.split_once("::").unwrap_or((key.0, text)))
            }));
        }
        false
    }

    fn line(&self, at: usize) -> usize {
        self.provider.line_of(self.file, at)
    }
}
