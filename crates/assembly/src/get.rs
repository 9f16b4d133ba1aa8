//! Takes values out of a tree whose shape was checked: what is not there or of another shape is left out.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::plan::Named;
use crate::tree::{Data, Node};
use crate::value::Value;

pub(crate) fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(ToString::to_string)
}

pub(crate) fn texts(node: &Node, key: &str) -> Vec<String> {
    let items = node.get(key).map(Node::items).unwrap_or_default();
    items.iter().filter_map(Node::text).map(ToString::to_string).collect()
}

pub(crate) fn number<T: TryFrom<i64>>(node: &Node, key: &str) -> Option<T> {
    node.get(key).and_then(Node::integer).and_then(|value| T::try_from(value).ok())
}

pub(crate) fn numbers(node: &Node, key: &str) -> Vec<u16> {
    let items = node.get(key).map(Node::items).unwrap_or_default();
    items.iter().filter_map(Node::integer).filter_map(|value| u16::try_from(value).ok()).collect()
}

pub(crate) fn flag(node: &Node, key: &str) -> Option<bool> {
    node.get(key).and_then(Node::boolean)
}

/// Picoseconds.
pub(crate) fn time(node: &Node, key: &str) -> Option<u64> {
    node.get(key).and_then(Node::text).and_then(diagnostics::picoseconds)
}

/// A value that has a name.
pub(crate) fn choice<T>(node: &Node, key: &str, named: fn(&str) -> Option<T>) -> Option<T> {
    node.get(key).and_then(Node::text).and_then(named)
}

pub(crate) fn values(node: &Node, key: &str) -> Named<Value> {
    match node.get(key).map(|node| &node.data) {
        Some(Data::Table(entries)) => Node::values(entries),
        _ => Named::new(),
    }
}

/// Entries of a table of names.
pub(crate) fn named<T>(node: &Node, key: &str, of: impl Fn(&Node) -> T) -> Named<T> {
    let entries = node.get(key).map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.clone(), of(&entry.node))).collect()
}
