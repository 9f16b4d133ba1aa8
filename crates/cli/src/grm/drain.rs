//! `punctual grm drain` and `undrain`: flows leave a switch, by the manager's HTTP interface.
use clap::Args;
use serde_json::Value;

use super::interface::{At, bad_news, call, encoded};
use crate::exit::{Failure, Outcome};
use crate::output::print;

/// Command line of `punctual grm drain`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm drain s2 --reason firmware            what can leaves, and what cannot is listed\n  \
    punctual grm drain s2 --reason firmware --force    and cut\n  \
    punctual grm undrain s2\n\n\
    Say it again to see how far it is. It is stored: a manager that starts again, or takes over, goes on with it. The manager has to run with --web.\n\n\
    Exit code: 0 nothing is over the switch any more, or will be in a moment; 1 flows stay, or the manager does not answer.")]
pub(super) struct Arguments {
    /// The switch, by its name in the network file.
    switch: String,
    /// Why: participants of flows that are cut are told.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Cuts what cannot leave.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    at: At,
}

/// Command line of `punctual grm undrain`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm undrain s2      new flows may go over it again, and those that are refused get another turn\n\n\
    Exit code: 0 done; 1 there is no such switch, or the manager does not answer.")]
pub(super) struct Back {
    /// The switch, by its name in the network file.
    switch: String,
    #[command(flatten)]
    at: At,
}

/// Drains a switch, and says what leaves and what cannot.
pub(super) fn drain(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Arguments { switch, reason, force, at } = arguments;
    let path = format!("/api/v1/switches/{}/drain?force={force}&reason={}", encoded(switch), encoded(reason));
    let answer = match call(at, "PUT", &path)? {
        Ok(answer) => answer,
        Err(why) => return Ok(bad_news(&why)),
    };
    let list = |key: &str| answer.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let words = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let (leaving, staying) = (list("leaving"), list("staying"));
    for flow in &leaving {
        print(format_args!("leaves: {}", flow.as_str().unwrap_or("?")));
    }
    for flow in &staying {
        print(format_args!("cannot leave: {}: {}", words(flow, "flow"), words(flow, "why")));
    }
    match (leaving.len(), staying.len()) {
        (0, 0) => print(format_args!(
            "no flow is over {switch}, and none is admitted over it until `punctual grm undrain {switch}`"
        )),
        (_, 0) => print(format_args!(
            "nothing new is admitted over {switch}; say it again to see whether all have left"
        )),
        (_, stay) => print(format_args!(
            "nothing new is admitted over {switch}; {stay} stay, and are cut with --force"
        )),
    }
    say_whether_stored(&answer, "does not know that it is drained");
    Ok(if staying.is_empty() { Outcome::Done } else { Outcome::BadNews })
}

/// Lets flows come back.
pub(super) fn undrain(arguments: &Back) -> Result<Outcome, Failure> {
    let Back { switch, at } = arguments;
    match call(at, "DELETE", &format!("/api/v1/switches/{}/drain", encoded(switch)))? {
        Ok(answer) => {
            print(format_args!("flows may come back to {switch}"));
            say_whether_stored(&answer, "drains it again");
            Ok(Outcome::Done)
        }
        Err(why) => Ok(bad_news(&why)),
    }
}

/// Warns if the store does not have it yet: a manager that starts meanwhile would not know it.
fn say_whether_stored(answer: &Value, what: &str) {
    if answer.get("stored").and_then(Value::as_bool) == Some(false) {
        print(format_args!(
            "it could not be stored yet: a manager that starts, or takes over, before it is {what}; `punctual grm status` and the log say what is wrong with the store"
        ));
    }
}
