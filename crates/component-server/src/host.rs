//! What scores of chains and connections need of the host: probes that see its stalls, and how its clock is compared with others.
use std::collections::BTreeSet;
use std::time::Duration;

use container::Server;
use deployment::Part;

use crate::topics::Participants;

/// Above all lanes of this process and of others: a plan with probes has no lane of this priority.
const PRIORITY: u8 = 99;

/// Looks for stalls, and compares clocks, as far as something is measured that needs it.
///
/// # Errors
/// There is no participant for a domain, or no topic of it.
pub(crate) fn watch(part: &Part, server: &mut Server, participants: &mut Participants) -> Result<(), String> {
    if part.chains.is_empty() {
        return Ok(());
    }
    if part.has_probes {
        let lanes = part.containers.values().flat_map(|container| &container.lanes);
        let cores: BTreeSet<usize> = lanes.flat_map(|lane| &lane.cores).map(|core| (*core).into()).collect();
        let cores: Vec<usize> = cores.into_iter().collect();
        server.watch_stalls(&cores, PRIORITY, Duration::from_nanos(assembly::PROBE_PERIOD / 1_000));
    }
    if let Some(clocks) = &part.clocks {
        for domain in &clocks.domains {
            let participant = participants.of(*domain)?;
            let compared = server.compare_clocks(&participant, &clocks.topic, clocks.drift);
            compared.map_err(|error| format!("topic {}: {error}", clocks.topic))?;
        }
    }
    Ok(())
}
