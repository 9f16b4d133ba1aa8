//! Domains: nodes with their resources.
use alloc::format;
use alloc::string::String;

use diagnostics::Source;

use super::Import;
use super::names::plain;
use super::values::property;
use super::xml::{Element, at, elements, name, named, text_of};
use crate::plan::Host;
use crate::tree::LONGEST_KEY;
use crate::value::Value;

impl Import {
    pub(super) fn domain(&mut self, source: Source<'_>, root: Element<'_>) {
        for element in elements(root) {
            match name(element) {
                "node" => self.node(source, element),
                "interconnect" | "bridge" => {
                    let what = format!("<{}> is not in a plan", name(element));
                    self.leave(
                        source,
                        at(element),
                        what,
                        "hosts, switches and links are in the network file: docs/plan.md",
                    );
                }
                // The plan has a name of its own.
                "label" | "UUID" => {}
                other => {
                    let what = format!("<{other}> of a domain has no place in a plan");
                    self.leave(source, at(element), what, "add what is meant by hand");
                }
            }
        }
    }

    fn node(&mut self, source: Source<'_>, node: Element<'_>) {
        let host = plain(&text_of(node, "name").unwrap_or_default());
        let mut said = Host::default();
        for element in elements(node) {
            match name(element) {
                "name" | "label" => {}
                "resource" | "sharedResource" => self.resource(source, element, &mut said),
                other => {
                    let what = format!("<{other}> of a node has no place in a plan");
                    self.leave(
                        source,
                        at(element),
                        what,
                        "connections of nodes are in the network file: docs/plan.md",
                    );
                }
            }
        }
        self.plan.hosts.insert(host, said);
    }

    fn resource(&mut self, source: Source<'_>, resource: Element<'_>, host: &mut Host) {
        let kind =
            text_of(resource, "resourceType").or_else(|| text_of(resource, "name")).unwrap_or_default();
        let properties: alloc::vec::Vec<Element<'_>> = named(resource, "property").collect();
        if properties.is_empty() {
            self.has(source, resource, host, kind, Value::Boolean(true));
            return;
        }
        let is_one = properties.len() == 1;
        for element in properties {
            let key = if is_one {
                kind.clone()
            } else {
                format!("{kind}.{}", text_of(element, "name").unwrap_or_default())
            };
            match property(element) {
                Some(value) => self.has(source, element, host, key, value),
                None => {
                    let what = format!(
                        "the property of the resource \"{kind}\" is of a type that has no value here"
                    );
                    self.leave(source, at(element), what, "add it by hand");
                }
            }
        }
    }

    /// A host has a resource, unless its name is longer than keys of a plan are.
    fn has(&mut self, source: Source<'_>, element: Element<'_>, host: &mut Host, key: String, value: Value) {
        if key.len() > LONGEST_KEY {
            let what = format!("a resource whose name is longer than {LONGEST_KEY} bytes");
            self.leave(source, at(element), what, "add it by hand with a shorter name");
        } else {
            host.resources.insert(key, value);
        }
    }
}
