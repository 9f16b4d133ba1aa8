//! `punctual ls`: who is in a domain, and what is written and read.
use clap::Args;
use dds::Duration;

use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::stop::Stop;

/// Command line of `punctual ls`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    domain: DomainOptions,
}

/// Listens for a while, and prints what was found.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual ls")?;
    stop.wait(Duration::from_secs(2))?;
    for endpoint in participant.get_discovered_endpoints() {
        print(format_args!("{}  {}", endpoint.topic_name, endpoint.type_name));
    }
    Ok(Outcome::Done)
}
