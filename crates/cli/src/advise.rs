//! `punctual advise`: what kind of data a topic is, which policies suit it, and what cannot be had together.
use std::path::{Path, PathBuf};

use advice::{Advice, Applied, Rules, Topic};
use clap::Args;
use network::load;
use serde_json::json;

use crate::exit::{Failure, Outcome};
use crate::output::print;

/// Command line of `punctual advise`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual advise topics.toml                          class, policies and reasons for each topic\n  \
    punctual advise topics.toml --group ward             writes ward.xml (QoS) and ward-flows.toml (flow file)\n  \
    punctual advise --rules > rules.toml                 the rules, to be changed\n  \
    punctual advise topics.toml --with rules.toml        by other rules\n\n\
    What a topic may say: docs/advise.md. Exit code 1: something cannot be had together, and nothing is written.")]
pub(crate) struct Arguments {
    /// The file that describes topics.
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    topics: Option<PathBuf>,
    /// Writes NAME.xml with a QoS profile for each class, and NAME-flows.toml for the network.
    #[arg(long, value_name = "NAME")]
    group: Option<PathBuf>,
    /// Applies the rules of this file.
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// Prints the rules that are built in.
    #[arg(long, conflicts_with_all = ["group", "with", "json"])]
    rules: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Advises.
///
/// # Errors
/// What is wrong with a file, with its place, or a file that cannot be read or written.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.rules {
        print(format_args!("{}", Rules::TEXT.trim_end()));
        return Ok(Outcome::Done);
    }
    let path = arguments.topics.as_deref().unwrap_or(Path::new("-"));
    let text = load(path).map_err(Failure::Usage)?;
    let name = path.to_string_lossy();
    let topics = advice::read(&name, &text).map_err(|problem| Failure::Usage(problem.to_string()))?;
    let rules = match &arguments.with {
        None => Rules::built_in().map_err(|problem| Failure::Usage(problem.to_string()))?,
        Some(path) => {
            let text = load(path).map_err(Failure::Usage)?;
            Rules::read(&path.to_string_lossy(), &text)
                .map_err(|problem| Failure::Usage(problem.to_string()))?
        }
    };
    let advised: Vec<(Topic, Advice)> = topics
        .into_iter()
        .map(|topic| {
            let advice = advice::advise(&topic, &rules);
            (topic, advice)
        })
        .collect();
    if arguments.json {
        let all: Vec<_> = advised.iter().map(|(topic, advice)| as_json(topic, advice)).collect();
        print(format_args!("{}", serde_json::Value::Array(all)));
    } else {
        advised.iter().for_each(|(topic, advice)| shown(topic, advice));
    }
    let is_sound = advised.iter().all(|(_, it)| it.contradictions.is_empty() && it.class.is_some());
    if !is_sound {
        return Ok(Outcome::BadNews);
    }
    if let Some(group) = &arguments.group {
        write(group, &advised)?;
    }
    Ok(Outcome::Done)
}

/// Writes the QoS file and the flow file.
fn write(group: &Path, advised: &[(Topic, Advice)]) -> Result<(), Failure> {
    let name = group.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Failure::Usage(
            "--group is a name of letters, digits, - and _: it is the library's, too".to_owned(),
        ));
    }
    let xml = group.with_file_name(format!("{name}.xml"));
    let flows = group.with_file_name(format!("{name}-flows.toml"));
    for (path, text) in [(&xml, advice::profile_file(&name, advised)), (&flows, advice::flow_file(advised))] {
        std::fs::write(path, text)
            .map_err(|error| Failure::System(format!("{}: {error}", path.display())))?;
        print(format_args!("written: {}", path.display()));
    }
    Ok(())
}

/// A policy with its value, as people read it.
fn policy((name, (value, rule)): (&String, &(String, String))) -> String {
    let value = match value.parse::<u64>() {
        Ok(nanoseconds) => diagnostics::written(nanoseconds.saturating_mul(1_000)),
        Err(_) => value.clone(),
    };
    format!("{}: {value} ({rule})", name.to_uppercase())
}

fn shown(topic: &Topic, advice: &Advice) {
    match advice.class {
        Some(class) => print(format_args!(
            "{}: {} (DSCP {}), profile punctual::{}",
            topic.name,
            class.name(),
            class.dscp(),
            class.name()
        )),
        None => print(format_args!("{}: no rule gives it a class", topic.name)),
    }
    for line in advice.policies.iter().map(policy) {
        print(format_args!("  {line}"));
    }
    for Applied { id, text, .. } in &advice.reasons {
        print(format_args!("  {id}: {text}"));
    }
    for Applied { id, text, remedy } in &advice.contradictions {
        print(format_args!("  contradiction {id}: {text}"));
        if let Some(remedy) = remedy {
            print(format_args!("    {remedy}"));
        }
    }
    for Applied { id, text, .. } in &advice.notes {
        print(format_args!("  note {id}: {text}"));
    }
}

fn as_json(topic: &Topic, advice: &Advice) -> serde_json::Value {
    let applied = |all: &[Applied]| -> Vec<_> {
        all.iter().map(|one| json!({ "rule": one.id, "text": one.text, "remedy": one.remedy })).collect()
    };
    let policies: serde_json::Map<String, serde_json::Value> = advice
        .policies
        .iter()
        .map(|(name, (value, rule))| {
            let value = value.parse::<u64>().map_or_else(|_| json!(value), |nanoseconds| json!(nanoseconds));
            (name.clone(), json!({ "value": value, "rule": rule }))
        })
        .collect();
    json!({
        "topic": topic.name,
        "class": advice.class.map(advice::Class::name),
        "dscp": advice.class.map(advice::Class::dscp),
        "policies": policies,
        "reasons": applied(&advice.reasons),
        "contradictions": applied(&advice.contradictions),
        "notes": applied(&advice.notes),
    })
}
