//! What a server has: records and sessions, for people and as JSON.
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use diagnostics::printable;

use super::operate::asked;
use super::{BAD_NEWS, DONE, FAILED, Failure, open, print};
use crate::decision::Flow;
use crate::entry::Record;
use crate::run::control::{Answer, Question};
use crate::run::serve;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual aaa records aaa.toml\n  \
    punctual aaa records aaa.toml --json | jq .output_bytes\n\n\
    The server need not run. Each record has what was reserved, in bits per second from and to the user, and what was\n\
    delivered since the session began, in bytes of IP.")]
pub(super) struct RecordsArguments {
    /// The file of the server.
    file: PathBuf,
    /// Only those of this session.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// One record a line, as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual aaa sessions aaa.toml\n  \
    punctual aaa sessions aaa.toml --json")]
pub(super) struct SessionsArguments {
    /// The file of the server.
    file: PathBuf,
    /// One session a line, as JSON.
    #[arg(long)]
    json: bool,
}

fn json<T: serde::Serialize>(out: &mut dyn Write, what: &T) -> Result<(), Failure> {
    let text = serde_json::to_string(what).map_err(|error| (FAILED, error.to_string()))?;
    print(out, format_args!("{text}"))
}

pub(super) fn records(arguments: &RecordsArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let node = open(&arguments.file)?;
    let records = serve::records(&node.store).map_err(|error| (FAILED, error.to_string()))?;
    let wanted =
        |record: &&Record| arguments.session.as_ref().is_none_or(|session| *session == record.session);
    let records: Vec<&Record> = records.iter().filter(wanted).collect();
    if arguments.json {
        records.iter().try_for_each(|record| json(out, record))?;
        return Ok(DONE);
    }
    print(
        out,
        format_args!(
            "{:<32} {:>4} {:<8} {:<12} {:>14} {:>14} {:>8}  end",
            "session", "no", "kind", "user", "reserved b/s", "sent bytes", "seconds"
        ),
    )?;
    for record in records {
        let reserved = record.reserved.iter().filter(|flow| flow.forward);
        let reserved = reserved.fold(0_u64, |sum, flow| sum.saturating_add(flow.rate));
        print(
            out,
            format_args!(
                "{:<32} {:>4} {:<8} {:<12} {:>14} {:>14} {:>8}  {}",
                printable(&record.session),
                record.number,
                record.kind.name(),
                printable(record.user.as_deref().unwrap_or("-")),
                reserved,
                record.output_bytes,
                record.lasted.unwrap_or(0),
                match (&record.cause, record.granted) {
                    (Some(cause), _) => cause,
                    (None, true) => "",
                    (None, false) => "no grant is known",
                }
            ),
        )?;
    }
    Ok(DONE)
}

pub(super) fn sessions(arguments: &SessionsArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (sessions, peers) = match asked(&arguments.file, &Question::Sessions)? {
        Answer::Sessions { sessions, peers } => (sessions, peers),
        Answer::Done { text } | Answer::Failed { text } => return Err((BAD_NEWS, text)),
    };
    if arguments.json {
        sessions.iter().try_for_each(|session| json(out, session))?;
        return Ok(DONE);
    }
    for (peer, open) in peers {
        print(out, format_args!("peer {peer} is {}", if open { "connected" } else { "not connected" }))?;
    }
    print(out, format_args!("{:<32} {:<12} {:>14}  flows", "session", "user", "granted b/s"))?;
    for session in sessions {
        let flows: Vec<String> = session.flows.iter().map(flow).collect();
        let ends = if session.aborting { ", being ended" } else { "" };
        print(
            out,
            format_args!(
                "{:<32} {:<12} {:>14}  {}{ends}",
                printable(&session.session),
                printable(&session.user),
                session.rate,
                flows.join(", ")
            ),
        )?;
    }
    Ok(DONE)
}

fn flow(flow: &Flow) -> String {
    let ends: Vec<String> = flow.destinations.iter().map(ToString::to_string).collect();
    let way = if flow.forward { "to" } else { "from" };
    format!("{} b/s {way} {} with codepoint {}", flow.rate, ends.join(" and "), flow.dscp)
}
