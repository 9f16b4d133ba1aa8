//! Transfers that were computed, in words, and as the flows that the manager of a network is asked for.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use super::{Flow, NANOSECOND, Shares};
use crate::admit;
use crate::command::{FAILED, Failure, print};
use crate::files::Loaded;

/// Says what the network gives each connection, and which transfers are no more than declared.
///
/// # Errors
/// Nothing can be written.
pub(crate) fn tell(loaded: &[Loaded], shares: &[Shares], out: &mut dyn Write) -> Result<(), Failure> {
    for (flow, file) in shares.iter().flat_map(|shares| shares.flows.iter().map(|flow| (flow, &shares.file)))
    {
        let Flow { connection, from, to, send, receive, .. } = flow;
        let Ok(bound) = flow.bound else { continue };
        let [bound, send, receive] =
            [bound, *send, *receive].map(|time| admit::time(time.div_ceil(NANOSECOND)));
        let (separation, jitter) =
            (diagnostics::written(flow.separation.1), diagnostics::written(flow.jitter.1));
        let kind = if flow.is_declared { "declared" } else { "of the analysis" };
        print(
            out,
            format_args!(
                "transfer of {connection} from {from} to {to}: at most {bound} in the network by {file}, {send} to send, {receive} to receive\n  \
                 for an event every {separation}, at most {jitter} late, {kind}\n"
            ),
        )?;
    }
    for loaded in loaded.iter().filter(|loaded| loaded.plan.network.is_some()) {
        for (name, transfer) in
            loaded.plan.connections.iter().filter_map(|(name, it)| Some((name, it.transfer?)))
        {
            let most = admit::time(transfer.most.div_ceil(NANOSECOND));
            let how = if transfer.is_measured { "measured" } else { "declared" };
            print(out, format_args!("transfer of {name}: at most {most}, {how}, not computed\n"))?;
        }
    }
    Ok(())
}

/// Writes the flows that were admitted as a flow file of `punctual grm`, which asks the network for what the proof counts with.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn export(shares: &[Shares], file: &Path) -> Result<usize, Failure> {
    let mut text = "# Flows of deployment plans, for: punctual grm --flows; see docs/grm.md\n".to_owned();
    let (mut known, mut count) = (BTreeSet::new(), 0);
    for flow in shares.iter().flat_map(|shares| &shares.flows) {
        let Ok(bound) = flow.bound else { continue };
        if !known.insert((&flow.topics, &flow.from, &flow.to)) {
            continue;
        }
        count += 1;
        let nanoseconds = |time: u64| time.div_ceil(NANOSECOND);
        for topic in &flow.topics {
            let _ = write!(
                text,
                "\n[[topic]]\nname = \"{topic}\"\nfrom = [\"{}\"]\nto = [\"{}\"]\nsize = {}\nseparation = \"{} ns\"\njitter = \"{} ns\"\n\
                 emission = \"{} ns\"\nlatency = \"{} ns\"\n",
                flow.from,
                flow.to,
                flow.size,
                flow.separation.1 / NANOSECOND,
                nanoseconds(flow.jitter.1.saturating_add(flow.send)),
                nanoseconds(flow.send),
                nanoseconds(bound),
            );
        }
    }
    std::fs::write(file, text).map_err(|error| (FAILED, format!("{}: {error}", file.display())))?;
    Ok(count)
}
