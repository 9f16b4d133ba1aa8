//! `punctual grm policy check`: whether a policy file is right, and what it says of a request.
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use policy::{Ask, Held, Subject};

use crate::exit::{Failure, Outcome};
use crate::span;

/// Command line of `punctual grm policy`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm policy check policy.toml      whether the file is right")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Reads a policy file, and says who may ask for what by it.
    Check(Check),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm policy check policy.toml                                  whether the file is right\n  \
    punctual grm policy check policy.toml --user alice --topic Vitals/pulse     may alice ask for that?\n  \
    punctual grm policy check policy.toml --host b1 --address 192.0.2.7 --topic T --importance 9 --latency 2ms\n\n\
    Rates and flows are compared if --rate and --link are given. Exit code: 0 the file is right, and it is allowed; 1 it is not; 2 the file\n\
    is wrong.")]
struct Check {
    /// The policy file.
    file: PathBuf,
    /// The user who would ask.
    #[arg(long, value_name = "NAME", requires = "topic", conflicts_with_all = ["host", "addresses"])]
    user: Option<String>,
    /// The host that would ask, where requests are not signed.
    #[arg(long, value_name = "NAME", requires = "topic")]
    host: Option<String>,
    /// Its address; once for each if it has several, of either version of IP.
    #[arg(long = "address", value_name = "ADDRESS", requires = "topic")]
    addresses: Vec<IpAddr>,
    /// The topic.
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Importance of the flow.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    importance: u8,
    /// The maximum latency that would be asked for.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = span::parse_finite)]
    latency: std::time::Duration,
    /// What the flow takes of the wire, as "10 Mb/s".
    #[arg(long, value_name = "RATE", value_parser = network::rate, requires = "link")]
    rate: Option<u64>,
    /// The rate of the slowest link that it could travel on.
    #[arg(long, value_name = "RATE", value_parser = network::rate, requires = "rate")]
    link: Option<u64>,
    /// How many flows the asker has already by the same rule.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "rate")]
    flows: u64,
}

/// Checks, and says what was found.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Command::Check(check) = &arguments.command;
    let policy = network::open_policy(&check.file).map_err(|problem| Failure::Usage(problem.to_string()))?;
    let Some(topic) = &check.topic else {
        let otherwise = match policy.otherwise {
            policy::Effect::Allow => "allowed",
            policy::Effect::Deny => "denied",
        };
        println!("{} rules; what none of them is for is {otherwise}", policy.rules.len());
        return Ok(Outcome::Done);
    };
    let addresses = check.addresses.as_slice();
    let text = addresses.first().map(IpAddr::to_string);
    let subject = match (&check.user, &check.host, &text) {
        (Some(user), ..) => Subject::User(user),
        (None, Some(name), _) | (None, None, Some(name)) => Subject::Host { name, addresses },
        (None, None, None) => {
            return Err(Failure::Usage("say who would ask: --user, or --host and --address".to_owned()));
        }
    };
    let ask = Ask {
        subject,
        topic,
        importance: check.importance,
        maximum_latency: u64::try_from(check.latency.as_nanos()).unwrap_or(u64::MAX),
        rate: check.rate,
        link: check.link,
    };
    let answer = match check.rate {
        Some(_) => policy.check_with(&ask, Held { flows: check.flows, rate: 0 }),
        None => policy.check(&ask),
    };
    match answer {
        Ok(()) => {
            let rule = policy.rule_for(subject, topic).and_then(|number| policy.rules.get(number));
            let by = rule.map_or_else(
                || "what no rule is for is allowed".to_owned(),
                |rule| format!("line {}", rule.line),
            );
            println!("allowed: {subject} may ask for \"{topic}\" ({by})");
            Ok(Outcome::Done)
        }
        Err(refusal) => {
            println!("refused: {refusal}");
            Ok(Outcome::BadNews)
        }
    }
}
