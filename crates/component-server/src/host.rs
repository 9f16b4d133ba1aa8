//! What scores of chains and connections need of the host: probes that see its stalls, and how its clock is compared with others.
use std::time::Duration;

use container::Server;
use deployment::HostWatch;

use crate::topics::Participants;

/// Above all lanes of this process and of others: a plan with probes has no lane of this priority.
const PRIORITY: u8 = 99;

/// Looks for stalls and compares clocks as `next` says, instead of as before.
///
/// # Errors
/// There is no participant for a domain, or no topic of it. Then all is as before.
pub(crate) fn watch(
    before: &HostWatch,
    next: &HostWatch,
    server: &mut Server,
    participants: &mut Participants,
) -> Result<(), String> {
    let compared = compare(next, server, participants);
    let holds = if compared.is_ok() { next } else { before };
    server.keep_comparisons(|domain, topic| {
        let mut clocks = holds.clocks.iter();
        clocks.any(|clocks| clocks.topic == topic && clocks.domains.iter().any(|of| u32::from(*of) == domain))
    });
    if compared.is_err() {
        // Nothing is made anew: it has the drift of before again.
        compare(before, server, participants)?;
    }
    compared?;
    match &next.probes {
        Some(cores) => {
            let cores: Vec<usize> = cores.iter().map(|core| (*core).into()).collect();
            server.watch_stalls(&cores, PRIORITY, Duration::from_nanos(assembly::PROBE_PERIOD / 1_000));
        }
        None => server.end_probes(),
    }
    Ok(())
}

/// Compares clocks in all domains of this, besides those in which they are compared.
fn compare(watch: &HostWatch, server: &mut Server, participants: &mut Participants) -> Result<(), String> {
    let Some(clocks) = &watch.clocks else { return Ok(()) };
    for domain in &clocks.domains {
        let participant = participants.of(*domain)?;
        let compared = server.compare_clocks(&participant, &clocks.topic, clocks.drift);
        compared.map_err(|error| format!("topic {}: {error}", clocks.topic))?;
    }
    Ok(())
}
