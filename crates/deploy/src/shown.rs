//! Texts about plans.
use std::fmt::Display;
use std::io::Write;

use assembly::{Change, Difference, Explained, HostPart, ProcessPart, Value};
use diagnostics::nearest;

use crate::command::{Failure, print};
use crate::files::Loaded;

/// How many parts a plan has.
pub(crate) fn summary(loaded: &Loaded, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = &loaded.plan;
    let layout = plan.layout();
    let hosts = plan.split(&loaded.types).iter().filter(|part| part.host.is_some()).count();
    let counted = [
        (plan.components.len(), "component"),
        (layout.processes().len(), "process"),
        (hosts, "host"),
        (plan.connections.len(), "connection"),
        (plan.chains.len(), "chain"),
    ];
    let counted = counted.map(|(count, what)| counted_as(count, what)).join(", ");
    let types = if plan.manifests.is_empty() {
        "; without manifests, types, ports and settings are not checked"
    } else {
        ""
    };
    print(out, format_args!("{}: {counted}; nothing is wrong{types}\n", loaded.source().file))
}

fn counted_as(count: usize, what: &str) -> String {
    let ending = match (count, what) {
        (1, _) => "",
        (_, "process") => "es",
        _ => "s",
    };
    format!("{count} {what}{ending}")
}

/// That there is nothing of a name, and what was perhaps meant.
pub(crate) fn no_such<'n>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'n String> + Clone,
) -> String {
    let names = known.clone().into_iter().map(String::as_str);
    let remedy = match nearest(name, names) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => {
            let first: Vec<&str> = known.into_iter().map(String::as_str).take(20).collect();
            format!("there are {}", first.join(", "))
        }
    };
    format!("the plan has no {what} \"{}\"\n  {remedy}", name.escape_default())
}

/// A connection to one of its ends; of its qualities those of which something is said, or all.
pub(crate) fn explained(explained: &Explained, all: bool, out: &mut dyn Write) -> Result<(), Failure> {
    print(out, format_args!("{explained}\n"))?;
    if all {
        for holding in explained.values.iter().filter(|holding| holding.path.is_none()) {
            print(out, format_args!("  {holding}\n"))?;
        }
    }
    Ok(())
}

/// Writes the part of a host.
pub(crate) fn host(part: &HostPart, out: &mut dyn Write) -> Result<(), Failure> {
    match &part.host {
        Some(name) => print(out, format_args!("host {name}\n"))?,
        None => print(out, format_args!("on no host that the plan says\n"))?,
    }
    part.processes.iter().try_for_each(|process| self::process(process, out))
}

fn process(part: &ProcessPart, out: &mut dyn Write) -> Result<(), Failure> {
    print(out, format_args!("  process {}\n", part.name))?;
    list("artefacts", part.artefacts.keys(), out)?;
    list("services", &part.services, out)?;
    for container in &part.containers {
        match &container.name {
            Some(name) => print(out, format_args!("    container {name}\n"))?,
            None => print(out, format_args!("    container of components without one\n"))?,
        }
        for line in [("services", &container.services), ("installs", &container.components)] {
            let (what, names) = line;
            if !names.is_empty() {
                print(out, format_args!("      {what} {}\n", names.join(", ")))?;
            }
        }
    }
    for (what, ends) in [("provides", &part.provides), ("needs", &part.needs)] {
        let ends = ends.iter().map(|end| format!("{} ({} by {})", end.end, end.connection, end.kind));
        list(what, ends, out)?;
    }
    Ok(())
}

fn list<T: Display>(
    what: &str,
    names: impl IntoIterator<Item = T>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    if names.is_empty() { Ok(()) } else { print(out, format_args!("    {what} {}\n", names.join(", "))) }
}

/// A part of a plan that is different.
pub(crate) fn difference(one: &Difference, out: &mut dyn Write) -> Result<(), Failure> {
    let Difference { kind, name, change } = one;
    let how = match change {
        Change::Added => "is new".to_owned(),
        Change::Removed => "is there no more".to_owned(),
        Change::Changed => "is another one".to_owned(),
        Change::Moved => "is elsewhere".to_owned(),
        Change::Replaced(true) => "is replaced while it runs, with its state".to_owned(),
        Change::Replaced(false) => "is replaced by a new one".to_owned(),
        Change::Settings(settings) => {
            let said = |value: &Option<Value>| value.as_ref().map_or("default".to_owned(), Value::toml);
            let each =
                settings.iter().map(|(name, (was, is))| format!("{name} {} → {}", said(was), said(is)));
            format!("has other settings: {}", each.collect::<Vec<_>>().join(", "))
        }
    };
    print(out, format_args!("{kind} {name} {how}\n"))
}
