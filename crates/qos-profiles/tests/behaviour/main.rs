//! QoS files: what each policy says, what profiles inherit, what is refused and where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod inheritance;
mod policies;
mod problems;
mod round_trip;

use qos_profiles::QosProvider;

/// The provider of a text that is right.
fn provider(text: &str) -> QosProvider {
    QosProvider::read("q.xml", text).unwrap_or_else(|problems| {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", all.join("\n"))
    })
}

/// What is wrong with a text, each problem as people see it.
fn problems(text: &str) -> Vec<String> {
    let read = QosProvider::read("q.xml", text);
    read.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// A file with a profile `L::P` that holds this.
fn profile(inner: &str) -> String {
    format!("<dds><qos_library name=\"L\"><qos_profile name=\"P\">{inner}</qos_profile></qos_library></dds>")
}
