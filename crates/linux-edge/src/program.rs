//! What is to be done at routers, as data: commands for `ip` and `tc`, transactions of nftables, settings of the kernel.
use serde_json::{Value, json};

use crate::demotion::{ContractBytes, KeyBytes};
use crate::domain::Family;

/// The table of nftables that holds all rules of a domain at a router.
pub const TABLE: &str = "punctual-domain";

/// One step at one router. Steps are carried out in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The router.
    pub router: usize,
    /// What to do.
    pub step: Step,
}

/// A step.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A line for `ip -batch`, about IPv6 if the first is true: lines cannot say that themselves.
    Ip(bool, String),
    /// A line for `tc -batch`.
    Tc(String),
    /// Commands of nftables that take effect together, as JSON (libnftables-json).
    Nft(Vec<Value>),
    /// A setting of the kernel: its name, its value.
    Setting(String, String),
    /// The program that marks what is beyond contracts comes to an interface, before all else that looks at what comes in there.
    Colouring(String),
    /// It gets a contract there, or has one no more.
    Colour {
        /// The interface.
        interface: String,
        /// What packets have.
        key: KeyBytes,
        /// The contract; none takes it away.
        contract: Option<ContractBytes>,
    },
}

impl Program {
    /// A line for `ip`.
    pub fn ip(router: usize, line: impl Into<String>) -> Self {
        Self { router, step: Step::Ip(false, line.into()) }
    }

    /// A line for `ip` about this version of IP.
    pub fn ip_of(family: Family, router: usize, line: impl Into<String>) -> Self {
        Self { router, step: Step::Ip(family == Family::V6, line.into()) }
    }

    /// A line for `tc`.
    pub fn tc(router: usize, line: impl Into<String>) -> Self {
        Self { router, step: Step::Tc(line.into()) }
    }

    /// What packets with a key at an interface may send before they are marked.
    pub(crate) fn colour(
        router: usize,
        interface: &str,
        key: KeyBytes,
        contract: Option<ContractBytes>,
    ) -> Self {
        Self { router, step: Step::Colour { interface: interface.to_owned(), key, contract } }
    }

    /// A transaction of nftables.
    pub fn nft(router: usize, commands: Vec<Value>) -> Self {
        Self { router, step: Step::Nft(commands) }
    }
}

/// A command of nftables about an object of the table.
pub(crate) fn object(verb: &str, kind: &str, mut fields: Value) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("family".to_owned(), json!("inet"));
        // A table is called by its name alone.
        let name = if kind == "table" { "name" } else { "table" };
        fields.insert(name.to_owned(), json!(TABLE));
    }
    json!({ verb: { kind: fields } })
}

/// The same of the table beside it for one version of IP: packets are duplicated in such a one alone.
pub(crate) fn object_of(family: Family, verb: &str, kind: &str, fields: Value) -> Value {
    let mut command = object(verb, kind, fields);
    if let Some(fields) = command.get_mut(verb).and_then(|command| command.get_mut(kind)) {
        fields["family"] = json!(if family == Family::V4 { "ip" } else { "ip6" });
    }
    command
}

/// Adds a rule.
pub(crate) fn rule(chain: &str, expressions: Vec<Value>, comment: Option<&str>) -> Value {
    let mut fields = json!({ "chain": chain, "expr": expressions });
    if let (Some(comment), Some(fields)) = (comment, fields.as_object_mut()) {
        fields.insert("comment".to_owned(), json!(comment));
    }
    object("add", "rule", fields)
}

/// A field of a header.
pub(crate) fn field(protocol: &str, field: &str) -> Value {
    json!({ "payload": { "protocol": protocol, "field": field } })
}

/// Compares.
pub(crate) fn matches(op: &str, left: Value, right: Value) -> Value {
    json!({ "match": { "op": op, "left": left, "right": right } })
}

/// Sets.
pub(crate) fn set(key: Value, value: Value) -> Value {
    json!({ "mangle": { "key": key, "value": value } })
}

/// What the kernel knows of a packet.
pub(crate) fn meta(key: &str) -> Value {
    json!({ "meta": { "key": key } })
}
