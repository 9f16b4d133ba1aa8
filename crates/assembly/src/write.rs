//! Writes a plan as TOML, so that it is read as the same.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::plan::{
    Artefact, Chain, Component, Connection, Container, End, FullPolicy, Join, KeepPolicy, Lane, Named, Plan,
    Process, Queue, Restart, Service, Timing,
};
use crate::qos::Qos;
use crate::timing::{Costs, Execution, Stall, Throttling, Transfer};
use crate::value::{Value, key};

/// Lines of a file.
#[derive(Default)]
struct Lines {
    out: String,
}

impl Lines {
    /// The header of a table.
    fn table(&mut self, names: &[&str]) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        let names: Vec<String> = names.iter().map(|name| key(name)).collect();
        self.out.push_str(&format!("[{}]\n", names.join(".")));
    }

    fn value(&mut self, name: &str, value: &Value) {
        self.out.push_str(&format!("{} = {}\n", key(name), value.toml()));
    }

    /// Unless there is none.
    fn may(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.value(name, &value);
        }
    }

    /// Unless it is empty.
    fn list(&mut self, name: &str, items: impl IntoIterator<Item = Value>) {
        let items: Vec<Value> = items.into_iter().collect();
        self.may(name, (!items.is_empty()).then_some(Value::List(items)));
    }

    /// Unless it is empty.
    fn inline(&mut self, name: &str, values: Named<Value>) {
        self.may(name, (!values.is_empty()).then_some(Value::Table(values)));
    }
}

fn text(text: impl ToString) -> Value {
    Value::Text(text.to_string())
}

fn time(picoseconds: u64) -> Value {
    Value::Text(diagnostics::written(picoseconds))
}

fn number(number: impl Into<i64>) -> Value {
    Value::Integer(number.into())
}

fn texts<T: core::fmt::Display>(items: &[T]) -> impl Iterator<Item = Value> {
    items.iter().map(text)
}

fn numbers(items: &[u16]) -> impl Iterator<Item = Value> {
    items.iter().map(|item| number(*item))
}

fn of_texts(values: &Named<String>) -> Named<Value> {
    values.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn qos(qos: &Qos) -> Named<Value> {
    qos.iter().map(|(quality, said)| (quality.to_string(), said.value())).collect()
}

/// A table of what there is.
fn table(entries: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let there = entries.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
    Value::Table(there.collect::<BTreeMap<_, _>>())
}

fn queue(queue: &Queue) -> Value {
    let full = (queue.full != FullPolicy::DropOldest).then(|| text(queue.full));
    table([("depth", Some(number(queue.depth))), ("full", full), ("wait", queue.wait.map(time))])
}

fn join(join: &Join) -> Value {
    table([
        ("kind", Some(text(join.kind))),
        ("parts", Some(Value::List(texts(&join.parts).collect()))),
        ("keep", (join.keep != KeepPolicy::First).then(|| text(join.keep))),
        ("most", join.most.map(number)),
        ("within", join.within.map(time)),
        ("every", join.every.map(time)),
        ("after", join.after.map(time)),
        ("silence", join.silence.map(time)),
        ("filter", join.filter.as_ref().map(text)),
        ("parameters", (!join.parameters.is_empty()).then(|| Value::List(texts(&join.parameters).collect()))),
    ])
}

fn restart(restart: &Restart) -> Value {
    table([
        ("policy", Some(text(restart.policy))),
        ("limit", restart.limit.map(number)),
        ("within", restart.within.map(time)),
        ("delay", restart.delay.map(time)),
    ])
}

pub(crate) fn execution(execution: &Execution) -> Value {
    let steps: Vec<Value> = texts(&execution.steps).collect();
    table([
        ("worst", Some(time(execution.worst))),
        ("typical", execution.typical.map(time)),
        ("steps", (!steps.is_empty()).then_some(Value::List(steps))),
        ("measured", execution.is_measured.then_some(Value::Boolean(true))),
    ])
}

fn costs(costs: &Costs) -> Value {
    let stall = |stall: &Stall| {
        table([("length", Some(time(stall.length))), ("distance", Some(time(stall.distance)))])
    };
    let throttling =
        |it: Throttling| table([("runtime", Some(time(it.runtime))), ("period", Some(time(it.period)))]);
    let stalls: Vec<Value> = costs.stalls.iter().map(stall).collect();
    table([
        ("wake", Some(time(costs.wake))),
        ("switch", Some(time(costs.switch))),
        ("dispatch", Some(time(costs.dispatch))),
        ("slack", Some(time(costs.slack))),
        ("clock-drift", costs.drift.map(number)),
        ("clock-error", (costs.clock_error > 0).then(|| time(costs.clock_error))),
        ("send", costs.send.map(time)),
        ("receive", costs.receive.map(time)),
        ("probe", costs.probe.map(time)),
        ("stalls", (!stalls.is_empty()).then_some(Value::List(stalls))),
        ("throttling", costs.throttling.map(throttling)),
        ("measured", costs.is_measured.then_some(Value::Boolean(true))),
    ])
}

fn transfer(transfer: Transfer) -> Value {
    table([
        ("least", (transfer.least > 0).then(|| time(transfer.least))),
        ("most", Some(time(transfer.most))),
        ("measured", transfer.is_measured.then_some(Value::Boolean(true))),
    ])
}

impl Plan {
    /// The plan as TOML. [`Plan::read`] makes the same plan of it.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::default();
        for (name, value) in [
            ("name", &self.name),
            ("id", &self.id),
            ("realizes", &self.realizes),
            ("network", &self.network),
            ("start-mode", &self.start_mode),
        ] {
            lines.may(name, value.as_ref().map(text));
        }
        lines.may("quiesce", self.quiesce.map(time));
        lines.list("depends-on", texts(&self.depends_on));
        lines.list("manifests", texts(&self.manifests));
        lines.list("policies", texts(&self.policies));
        self.places(&mut lines);
        self.parts(&mut lines);
        self.conditions(&mut lines);
        lines.out
    }

    /// Where things are.
    fn places(&self, lines: &mut Lines) {
        for (name, Artefact { location, digest, kind }) in &self.artefacts {
            lines.table(&["artefact", name]);
            // One without a location is written, too.
            lines.value("location", &Value::List(texts(location).collect()));
            lines.may("digest", digest.as_ref().map(text));
            lines.may("kind", (*kind != Default::default()).then(|| text(kind)));
        }
        for (name, host) in &self.hosts {
            lines.table(&["host", name]);
            lines.may("cores", host.cores.map(number));
            lines.may("costs", host.costs.as_ref().map(costs));
            lines.inline("resources", host.resources.clone());
        }
        for (name, process) in &self.processes {
            write_process(lines, name, process);
        }
        for (name, container) in &self.containers {
            write_container(lines, name, container);
        }
        for (name, service) in &self.services {
            write_service(lines, name, service);
        }
    }

    /// Writes components, topics and connections.
    fn parts(&self, lines: &mut Lines) {
        for (name, component) in &self.components {
            write_component(lines, name, component);
        }
        for (name, topic) in &self.topics {
            lines.table(&["topic", name]);
            lines.may("topic", topic.topic.as_ref().map(text));
            lines.value("type", &text(&topic.topic_type));
            lines.may("domain", topic.domain.map(number));
        }
        for (name, connection) in &self.connections {
            write_connection(lines, name, connection);
        }
    }

    /// Writes QoS of events, chains, localities and modes.
    fn conditions(&self, lines: &mut Lines) {
        for (name, said) in &self.events {
            lines.table(&["event", name]);
            lines.value("qos", &Value::Table(qos(said)));
        }
        for (name, Chain { path, reaction, age }) in &self.chains {
            lines.table(&["chain", name]);
            lines.value("path", &Value::List(texts(path).collect()));
            lines.may("reaction", reaction.map(time));
            lines.may("age", age.map(time));
        }
        for (name, locality) in &self.localities {
            lines.table(&["locality", name]);
            lines.value("kind", &text(locality.kind));
            lines.value("members", &Value::List(texts(&locality.members).collect()));
        }
        for (name, mode) in &self.modes {
            lines.table(&["mode", name]);
            lines.value("components", &Value::List(texts(&mode.components).collect()));
        }
        if !self.extensions.is_empty() {
            lines.table(&["extensions"]);
            for (name, value) in &self.extensions {
                lines.value(name, value);
            }
        }
    }
}

fn write_process(lines: &mut Lines, name: &str, process: &Process) {
    lines.table(&["process", name]);
    lines.may("host", process.host.as_ref().map(text));
    lines.may("artefact", process.artefact.as_ref().map(text));
    lines.list("arguments", texts(&process.arguments));
    lines.inline("environment", of_texts(&process.environment));
    lines.list("cores", numbers(&process.cores));
    lines.may("lock-memory", process.locks_memory.then_some(Value::Boolean(true)));
    lines.may("cgroup", process.cgroup.as_ref().map(text));
    lines.inline("requires", process.requires.clone());
    lines.may("restart", process.restart.as_ref().map(restart));
    lines.list("depends-on", texts(&process.depends_on));
}

fn write_container(lines: &mut Lines, name: &str, container: &Container) {
    lines.table(&["container", name]);
    lines.value("process", &text(&container.process));
    lines.may("lane", container.lane.as_ref().map(text));
    for (lane_name, lane) in &container.lanes {
        lines.table(&["container", name, "lanes", lane_name]);
        let default = Lane::default();
        lines.may("class", (lane.class != default.class).then(|| text(lane.class)));
        lines.may("priority", lane.priority.map(number));
        lines.list("cores", numbers(&lane.cores));
        lines.may("threads", (lane.threads != default.threads).then(|| number(lane.threads)));
        lines.may("runtime", lane.runtime.map(time));
        lines.may("period", lane.period.map(time));
        lines.may("dispatch", (lane.dispatch != default.dispatch).then(|| text(lane.dispatch)));
        lines.may("spin", lane.spin.map(time));
    }
}

fn write_service(lines: &mut Lines, name: &str, service: &Service) {
    lines.table(&["service", name]);
    lines.value("kind", &text(service.kind));
    lines.may("placement", (service.placement != Default::default()).then(|| text(service.placement)));
    lines.may("at", service.at.as_ref().map(text));
    lines.inline("qos", qos(&service.qos));
    lines.list("peers", texts(&service.peers));
    lines.may("transport", service.transport.map(text));
    lines.may("address", service.address.as_ref().map(text));
    lines.may("ttl", service.ttl.map(number));
    lines.may("lease", service.lease.map(time));
    lines.inline("groups", of_texts(&service.groups));
    lines.may("interface", service.interface.as_ref().map(text));
    lines.may("loopback", service.loopback.map(Value::Boolean));
    lines.may("domain", service.domain.map(number));
    lines.inline("resources", service.resources.clone());
}

fn write_component(lines: &mut Lines, name: &str, component: &Component) {
    lines.table(&["component", name]);
    lines.value("type", &text(&component.component_type));
    lines.may("host", component.host.as_ref().map(text));
    lines.value("process", &text(&component.process));
    lines.may("container", component.container.as_ref().map(text));
    lines.may("artefact", component.artefact.as_ref().map(text));
    lines.may("lane", component.lane.as_ref().map(text));
    lines.inline("settings", component.settings.clone());
    lines.inline("requires", component.requires.clone());
    lines.may("restart", component.restart.as_ref().map(restart));
    for (port_name, port) in &component.ports {
        lines.table(&["component", name, "port", port_name]);
        lines.may("lane", port.lane.as_ref().map(text));
        lines.inline("qos", qos(&port.qos));
        lines.may("queue", port.queue.as_ref().map(queue));
        lines.may("join", port.join.as_ref().map(join));
        lines.inline("group", port.groups.iter().map(|(name, group)| (name.clone(), join(group))).collect());
        lines.may("period", port.period.map(time));
        lines.may("timing", (port.timing != Timing::Immediate).then(|| text(port.timing)));
        lines.may("interval", port.interval.map(time));
        lines.list("samples", texts(&port.samples));
        lines.may("execution", port.execution.as_ref().map(execution));
    }
}

fn write_connection(lines: &mut Lines, name: &str, connection: &Connection) {
    lines.table(&["connection", name]);
    lines.value("from", &text(&connection.from));
    lines.value("to", &Value::List(texts::<End>(&connection.to).collect()));
    lines.may("service", connection.service.as_ref().map(text));
    lines.may("filter", connection.filter.as_ref().map(text));
    lines.list("parameters", texts(&connection.parameters));
    lines.may("queue", connection.queue.as_ref().map(queue));
    lines.inline("qos", qos(&connection.qos));
    lines.inline("requires", connection.requires.clone());
    lines.may("latency", connection.latency.map(time));
    lines.may("separation", connection.separation.map(time));
    lines.may("jitter", connection.jitter.map(time));
    lines.may("silence", connection.silence.map(time));
    lines.may("publisher-silence", connection.publisher_silence.map(time));
    lines.may("size", connection.size.map(number));
    lines.may("transfer", connection.transfer.map(transfer));
    lines.may("suspended", connection.is_suspended.then_some(Value::Boolean(true)));
}
