//! Writes a manifest as JSON, so that it is read as the same.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use crate::manifest::{ComponentType, EventType, Manifest, PortType, Setting};
use crate::plan::Named;
use crate::value::Value;
use crate::write::execution;

type Table = BTreeMap<String, Value>;

fn put(table: &mut Table, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        table.insert(key.to_string(), value);
    }
}

fn text(text: impl ToString) -> Value {
    Value::Text(text.to_string())
}

fn flag(is_so: bool) -> Option<Value> {
    is_so.then_some(Value::Boolean(true))
}

fn texts(items: &[String]) -> Option<Value> {
    (!items.is_empty()).then(|| Value::List(items.iter().map(text).collect()))
}

/// Entries by name; `None` if there are none.
fn entries<T>(of: &Named<T>, value: impl Fn(&T) -> Value) -> Option<Value> {
    let table = of.iter().map(|(name, entry)| (name.clone(), value(entry)));
    (!of.is_empty()).then(|| Value::Table(table.collect()))
}

impl Manifest {
    /// The manifest as JSON. [`Manifest::read`] makes the same manifest of it.
    pub fn json(&self) -> String {
        let mut root = Table::new();
        put(&mut root, "build", self.build.as_ref().map(text));
        let components = entries(&self.components, component);
        put(&mut root, "component", Some(components.unwrap_or(Value::Table(Table::new()))));
        let topics =
            self.topics.as_ref().map(|topics| texts(topics).unwrap_or_else(|| Value::List([].into())));
        put(&mut root, "topics", topics);
        put(&mut root, "event", entries(&self.events, event));
        Value::Table(root).json()
    }
}

fn component(of: &ComponentType) -> Value {
    let mut table = Table::new();
    put(&mut table, "port", entries(&of.ports, port));
    put(&mut table, "setting", entries(&of.settings, setting));
    put(&mut table, "lanes", texts(&of.lanes));
    put(&mut table, "swappable", flag(of.is_swappable));
    put(&mut table, "parallel", flag(of.is_parallel));
    Value::Table(table)
}

fn port(of: &PortType) -> Value {
    let mut table = Table::from([
        ("kind".to_string(), text(of.kind)),
        ("required".to_string(), Value::Boolean(of.is_required)),
    ]);
    put(&mut table, "type", of.port_type.as_ref().map(text));
    put(&mut table, "most", of.most.map(|most| Value::Integer(most.into())));
    let triggers =
        of.triggers.as_ref().map(|triggers| texts(triggers).unwrap_or_else(|| Value::List([].into())));
    put(&mut table, "triggers", triggers);
    put(&mut table, "execution", of.execution.as_ref().map(execution));
    Value::Table(table)
}

fn setting(of: &Setting) -> Value {
    let mut table = Table::from([("type".to_string(), text(of.kind))]);
    put(&mut table, "default", of.default.clone());
    let range = of.range.map(|(low, high)| Value::List([Value::Float(low), Value::Float(high)].into()));
    put(&mut table, "range", range);
    put(&mut table, "values", texts(&of.values));
    Value::Table(table)
}

fn event(of: &EventType) -> Value {
    let mut table = Table::new();
    let none = || of.is_known.then(|| Value::Table(Table::new()));
    put(&mut table, "fields", entries(&of.fields, |kind| text(kind)).or_else(none));
    let labels = entries(&of.labels, |labels| {
        Value::Table(labels.iter().map(|(label, number)| (label.clone(), Value::Integer(*number))).collect())
    });
    put(&mut table, "labels", labels);
    Value::Table(table)
}

#[cfg(test)]
mod tests {
    use diagnostics::Source;

    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let text = r#"{ "build": "7", "topics": ["Fix"], "component": {
            "Gps": { "swappable": true, "lanes": ["a"], "port": {
                "t": { "kind": "timer", "triggers": [], "execution": { "worst": "30 us", "typical": "2 us", "steps": ["10 us to 20 us", "fix?"], "measured": true } },
                "m": { "kind": "multiplex-receptacle", "type": "dyn Tuning", "most": 3, "required": true },
                "fix": { "kind": "emitter", "type": "Fix", "required": false } },
              "setting": { "gain": { "type": "float", "default": 1.5, "range": [0, 10] }, "id": { "type": "text", "values": ["a", "b"] } } },
            "None": { "parallel": true } },
            "event": { "Fix": { "fields": { "q": "integer", "s": "enumeration" }, "labels": { "s": { "ON": 1 } } }, "Plain": { "fields": {} }, "Unknown": {} } }"#;
        let read = Manifest::read(Source { file: "a.json", text }).unwrap();
        let again = read.json();
        assert_eq!(Manifest::read(Source { file: "b.json", text: &again }).unwrap(), read, "{again}");
        let none = Manifest::default();
        assert_eq!(Manifest::read(Source { file: "c.json", text: &none.json() }).unwrap(), none);
    }
}
