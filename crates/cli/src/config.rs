//! `punctual config`: what programs that read their settings are told, and by whom.
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use settings::{Explained, Origin, Settings};

use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::values::{Row, ValueOptions, print_columns};

/// Command line of `punctual config`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual config explain --config robot.toml    what participants get, and why\n  \
    punctual config schema > punctual.json         for editors that complete TOML\n\n\
    See docs/config.md.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// Shows each value, and where it comes from.
    Explain(Explain),
    /// Prints what files can say, as JSON schema, for editors and programs.
    #[command(
        after_help = "Examples:\n  punctual config schema > punctual.json    for editors that complete TOML"
    )]
    Schema,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual config explain --config robot.toml                 what participants get\n  \
    punctual config explain --config robot.toml --topic arm/x   what writers and readers of a topic get\n  \
    PUNCTUAL_DOMAIN=7 punctual config explain --changed         what is not the default\n\n\
    What can be said: docs/config-reference.md. A wrong file or variable is told with its place; exit code 2.")]
struct Explain {
    /// The file; by default the one that PUNCTUAL_CONFIG names.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    values: ValueOptions,
}

/// Shows it.
///
/// # Errors
/// What is wrong with the file or a variable, with its place.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let explain = match &arguments.command {
        Command::Schema => {
            print(format_args!("{:#}", settings::schema()));
            return Ok(Outcome::Done);
        }
        Command::Explain(explain) => explain,
    };
    let settings = match &explain.config {
        Some(path) => Settings::load_file(Some(path)),
        None => Settings::load(),
    };
    let settings = settings.map_err(|problem| Failure::Usage(problem.to_string()))?;
    let mut explained = match &explain.values.topic {
        Some(topic) => settings.explain_topic(topic),
        None => settings.explain(),
    };
    explained.retain(|of| !explain.values.changed || of.origin != Origin::Default);
    if explain.values.json {
        let all: Vec<_> = explained.iter().map(as_json).collect();
        print(format_args!("{}", serde_json::Value::Array(all)));
        return Ok(Outcome::Done);
    }
    let row = |Explained { key, value, origin }| Row { key, value, origin: origin.to_string() };
    print_columns("", &explained.into_iter().map(row).collect::<Vec<_>>());
    Ok(Outcome::Done)
}

fn as_json(of: &Explained) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_str(&of.value).unwrap_or_default();
    json!({ "key": of.key, "value": value, "origin": of.origin.to_string() })
}
