//! `punctual grm reload`: the manager reads its network file again, by its HTTP interface.
use clap::Args;
use serde_json::Value;

use super::interface::{At, bad_news, call};
use crate::exit::{Failure, Outcome};
use crate::output::print;

/// Command line of `punctual grm reload`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm reload --check     which flows the file could not keep as it is now\n  \
    punctual grm reload             goes on with it, if it keeps all\n  \
    punctual grm reload --force     and revokes those that it cannot keep\n\n\
    The manager has to run with --web. Managers that stand by and share its store (etcd) lead with the same file after it; others have to be stopped before,\n\
    and started with the new file.\n\n\
    Exit code: 0 the file is in force, or would be; 1 it is not, or the manager does not answer.")]
pub(super) struct Arguments {
    /// Says what stands in the way, and changes nothing.
    #[arg(long, conflicts_with = "force")]
    check: bool,
    /// Revokes flows that cannot be kept.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    at: At,
}

/// Asks for it, and says what has become of it.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Arguments { check, force, at } = arguments;
    let path = format!("/api/v1/network/reload?check={check}&force={force}");
    let answer = match call(at, "POST", &path)? {
        Ok(answer) => answer,
        Err(why) => return Ok(bad_news(&why)),
    };
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let obstacles = answer.get("obstacles").and_then(Value::as_array).cloned().unwrap_or_default();
    for flow in &obstacles {
        let to = flow.get("to").and_then(Value::as_array).cloned().unwrap_or_default();
        let to: Vec<&str> = to.iter().filter_map(Value::as_str).collect();
        print(format_args!(
            "cannot be kept: {} from {} to {}: {}",
            text(flow, "topic"),
            text(flow, "from"),
            to.join(", "),
            text(flow, "reason")
        ));
    }
    let count = obstacles.len();
    match (answer.get("applied").and_then(Value::as_bool).unwrap_or(false), count) {
        (true, 0) => print(format_args!("the manager goes on with the file, and keeps all flows")),
        (true, _) => print(format_args!("the manager goes on with the file, and revokes {count} flows")),
        (false, 0) => print(format_args!("all flows could be kept; nothing has been changed")),
        (false, _) => print(format_args!(
            "{count} flows could not be kept; nothing has been changed. With --force they are revoked"
        )),
    }
    let is_good = if *check { count == 0 } else { answer.get("applied") == Some(&Value::Bool(true)) };
    Ok(if is_good { Outcome::Done } else { Outcome::BadNews })
}
