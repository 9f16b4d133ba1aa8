//! Mistakes with lost frames: in the bound, in what a plan makes of it, and in what writers and readers keep for it.
use super::list::Mutant;

const fn mutant(
    name: &'static str,
    of: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
) -> Mutant {
    Mutant { name, of, file, right, wrong }
}

pub(crate) const MUTANTS: &[Mutant] = &[
    mutant(
        "repairs of several lost frames leave at once",
        "latency",
        "repair.rs",
        "self.slot()?.checked_mul(u64::from(frames) + 2)",
        "self.slot()?.checked_mul(u64::from(frames & 0) + 2)",
    ),
    mutant(
        "a question that was lost is asked again once",
        "latency",
        "repair.rs",
        "checked_mul(u64::from(frames - before))?;",
        "checked_mul(u64::from(frames - before).min(1))?;",
    ),
    mutant(
        "no HEARTBEAT gets lost",
        "latency",
        "repair.rs",
        "let beats = wait(conduct.heartbeat)?.checked_mul(u64::from(before))?;",
        "let beats = wait(conduct.heartbeat)?.checked_mul(u64::from(before).min(1))?;",
    ),
    mutant(
        "a host that waits reacts at once",
        "latency",
        "repair.rs",
        "let wait = |time: u64| stretched(time, self.drift)?.checked_add(self.reaction);",
        "let wait = |time: u64| stretched(time, self.drift);",
    ),
    mutant(
        "a reader asks again while the repair is on its way",
        "latency",
        "repair.rs",
        "again: stretched(self.round(frames)?.checked_add(self.reaction)?, self.drift)?,",
        "again: stretched(self.round(frames)?.checked_sub(self.repair)?, self.drift)?,",
    ),
    mutant(
        "evidence of a bound with losses leaves the repair out",
        "latency",
        "check/repairs.rs",
        "    answered += repair;\n",
        "",
    ),
    mutant(
        "a gate sees the first frame of each message",
        "latency",
        "losses.rs",
        "self.jitter.checked_add(self.emitting())?.checked_add(behind)",
        "self.jitter.checked_add(behind & 0)",
    ),
    mutant(
        "what is beside a flow is apart from what the writer keeps apart",
        "latency",
        "losses.rs",
        "separation: shares.ways.spacing,",
        "separation: shares.ways.spacing.saturating_mul(2),",
    ),
    mutant(
        "a reader asks for what has just been announced",
        "rtps",
        "reader/writer_proxy/announced.rs",
        "announced.waiting.push_back((last, now.after(announced.conduct.patience)));",
        "announced.waiting.push_back((last, now));",
    ),
    mutant(
        "questions are not kept apart",
        "rtps",
        "reader/writer_proxy/announced.rs",
        "at => at.max(announced.apart.opens_at()),",
        "at => at,",
    ),
    mutant(
        "the wait for an acknowledgement doubles",
        "rtps",
        "writer/mod.rs",
        "self.waits = shortest.map_or(own, |wait| (wait, wait));",
        "self.waits = shortest.map_or(own, |wait| (wait, own.1));",
    ),
    mutant(
        "an acknowledgement puts off the question for a later sample",
        "rtps",
        "writer/acknowledge.rs",
        "self.heartbeat_at = self.heartbeat_at.min(now.monotonic.after(self.heartbeat_wait));",
        "self.heartbeat_at = now.monotonic.after(self.heartbeat_wait);",
    ),
    mutant(
        "an answer puts off the next question",
        "rtps",
        "reader/answer.rs",
        "if again > now { again } else { now.after(wait) }",
        "if again > now { now.after(wait) } else { now.after(wait) }",
    ),
];
