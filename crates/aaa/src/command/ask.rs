//! `punctual aaa ask`: a session by hand, as a resource manager asks for it.
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use diameter::accounting::recorder::Usage;
use diameter::command::TerminationCause;
use diameter::session::client::EndReason;
use wan::Class;

use super::{BAD_NEWS, DONE, FAILED, Failure, USAGE, open, print};
use crate::client::{Ask, Permit, Refusal};
use crate::resources::{Wish, resources};
use crate::run::handle::{Event, Handle};
use crate::text::nanoseconds;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual aaa ask rm.toml --user user-alice --to 203.0.113.9 --class ef --rate '1 Mb/s'\n  \
    punctual aaa ask rm.toml --user bob --secret-file bob.secret --to 203.0.113.9 --class af4 --rate '200 kb/s' --hold '30 s' --bytes 750000\n\n\
    The file is that of a client; see docs/aaa.md. A session that is granted is held, with a first and a last record, and ended.\n\
    Exit code 1: it was refused, or ended before its time.")]
pub(super) struct AskArguments {
    /// The file of the client.
    file: PathBuf,
    /// The name in the user's certificate, which the one who asks has verified; with a secret, the name of the user.
    #[arg(long, value_name = "NAME")]
    user: String,
    /// A file with the user's secret.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Where packets go.
    #[arg(long, value_name = "ADDRESS", required = true)]
    to: Vec<IpAddr>,
    /// Where packets come from.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<IpAddr>,
    /// ef, af4 or af1.
    #[arg(long, value_name = "CLASS", value_parser = class)]
    class: Class,
    /// Such as '1 Mb/s'.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: u64,
    /// The largest packet, in bytes of IP.
    #[arg(long, value_name = "BYTES", default_value_t = 1_500)]
    largest_packet: u32,
    /// How long the session is held once it is granted.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1 ms")]
    hold: Duration,
    /// Bytes of IP that the last record tells as sent.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    bytes: u64,
    /// How long a server and its confirmations are waited for.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5 s")]
    timeout: Duration,
}

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(5);

fn class(text: &str) -> Result<Class, String> {
    match text {
        "ef" => Ok(Class::Ef),
        "af4" => Ok(Class::Af4),
        "af1" => Ok(Class::Af1),
        _ => Err("write ef, af4 or af1".to_owned()),
    }
}

fn rate(text: &str) -> Result<u64, String> {
    let rate = diagnostics::bits_per_second(text).filter(|rate| *rate > 0);
    rate.ok_or_else(|| "write a rate such as '1 Mb/s'".to_owned())
}

fn time(text: &str) -> Result<Duration, String> {
    let time = nanoseconds(text).map(Duration::from_nanos);
    time.ok_or_else(|| "write a time such as '2 s'".to_owned())
}

pub(super) fn run(arguments: &AskArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let node = open(&arguments.file)?;
    let secret = arguments.secret_file.as_ref().map(|file| {
        let read = std::fs::read_to_string(file);
        read.map(|text| text.trim().as_bytes().to_vec())
            .map_err(|error| (USAGE, format!("{}: {error}", file.display())))
    });
    let wish = Wish {
        from: arguments.from,
        to: arguments.to.clone(),
        class: arguments.class,
        rate: arguments.rate,
        bucket: u64::from(arguments.largest_packet),
        largest_packet: arguments.largest_packet,
        forward: true,
    };
    let resources = resources(&[wish]);
    let ask = Ask { user: arguments.user.clone(), secret: secret.transpose()?, resources };
    let mut handle = Handle::start(node).map_err(|error| (FAILED, error.to_string()))?;
    let ended = || (FAILED, "the client has ended".to_owned());
    wait(&mut handle, arguments.timeout, |_, available| available)?;
    let permit = match handle.authorize(ask).wait().ok_or_else(ended)? {
        Ok(permit) => permit,
        Err(refusal) => {
            let code = if matches!(refusal, Refusal::Denied { .. }) { BAD_NEWS } else { FAILED };
            return Err((code, refusal.to_string()));
        }
    };
    print(out, format_args!("granted {}", permit.session))?;
    handle.start_accounting(&permit.session).wait().ok_or_else(ended)?.map_err(|text| (FAILED, text))?;
    print(out, format_args!("started"))?;
    let reason = hold(&mut handle, &permit, arguments);
    let usage = Usage { output_bytes: arguments.bytes, ..Usage::default() };
    let cause = if reason.is_some() { TerminationCause::Administrative } else { TerminationCause::Logout };
    handle.stop(&permit.session, usage, cause).wait().ok_or_else(ended)?.map_err(|text| (FAILED, text))?;
    print(out, format_args!("stopped"))?;
    let delivered = wait(&mut handle, arguments.timeout, |open, _| open == 0)?;
    let told =
        if delivered { "the server has all records" } else { "records wait in the spool for the server" };
    print(out, format_args!("{told}"))?;
    match reason {
        None => Ok(DONE),
        Some(reason) => Err((BAD_NEWS, format!("the session ended before its time: {reason:?}"))),
    }
}

/// Holds the session; why it ended if it did.
fn hold(handle: &mut Handle, permit: &Permit, arguments: &AskArguments) -> Option<EndReason> {
    let end = Instant::now() + arguments.hold;
    let usage = Usage { output_bytes: arguments.bytes, ..Usage::default() };
    while Instant::now() < end {
        match handle.wait_event_for(end - Instant::now().min(end)) {
            Some(Event::Ended { session, reason }) if session == permit.session => return Some(reason),
            Some(Event::InterimDue(session)) => drop(handle.interim(&session, usage)),
            _ => {}
        }
    }
    None
}

/// Waits until something is so; whether it came to be.
fn wait(handle: &mut Handle, time: Duration, is_so: impl Fn(usize, bool) -> bool) -> Result<bool, Failure> {
    let end = Instant::now() + time;
    loop {
        let known = handle.undelivered().wait();
        let (open, available) = known.ok_or_else(|| (FAILED, "the client has ended".to_owned()))?;
        if is_so(open, available) {
            return Ok(true);
        }
        if Instant::now() >= end {
            return Ok(false);
        }
        // Nothing that an event tells matters here.
        let _ = handle.wait_event_for(LOOK);
    }
}
