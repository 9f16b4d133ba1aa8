//! Mistakes of `response`: in the reasoning about cores, locks, budgets, arrivals, windows and chains.
use super::list::Mutant;

const fn mutant(name: &'static str, file: &'static str, right: &'static str, wrong: &'static str) -> Mutant {
    Mutant { name, of: "response", file, right, wrong }
}

pub(crate) const MUTANTS: &[Mutant] = &[
    mutant(
        "a wait for a lock has no holder of less priority",
        "locks.rs",
        "        let mut fixed = holder;\n",
        "        let mut fixed = holder & 0;\n",
    ),
    mutant(
        "threads of the same priority do not wait in front of a lock",
        "locks.rs",
        "            fixed = add(fixed, *hold)?;\n",
        "            fixed = add(fixed, *hold & 0)?;\n",
    ),
    mutant(
        "who holds a lock runs alone on its core",
        "locks.rs",
        "most = most.max(self.close(&window, |_| Ok(ahead), cost)?.0);",
        "most = most.max(self.close(&window, |_| Ok(ahead), cost)?.0.min(cost));",
    ),
    mutant(
        "a ceiling has no inherited priorities",
        "locks.rs",
        "if inherited > locks[index].ceiling {",
        "if inherited > locks[index].ceiling.saturating_add(100) {",
    ),
    mutant(
        "what waits for a lock with more priority has come since the wait began",
        "locks.rs",
        "let runs = self.arrivals(*port, add(wait, finish)?)?.most;",
        "let runs = self.arrivals(*port, add(wait, finish & 0)?)?.most;",
    ),
    mutant(
        "a holder of a lock never wakes",
        "locks.rs",
        "let cost = add(self.section_cost(port, section, priority)?, wake)?;",
        "let cost = add(self.section_cost(port, section, priority)?, wake & 0)?;",
    ),
    mutant(
        "a lock of one core is got without waking",
        "locks.rs",
        "let mut each = add(wake, mul(CHANGES_OF_LOCK, self.switch_of(port))?)?;",
        "let mut each = add(wake & 0, mul(CHANGES_OF_LOCK, self.switch_of(port))?)?;",
    ),
    mutant(
        "a lock costs no changes of threads",
        "locks.rs",
        "const CHANGES_OF_LOCK: u64 = 6;",
        "const CHANGES_OF_LOCK: u64 = 0;",
    ),
    mutant(
        "a lock of several cores is not waited for",
        "locks.rs",
        "            if lock.global {\n",
        "            if lock.global && false {\n",
    ),
    mutant(
        "a delivery has one change of threads",
        "locks.rs",
        "const CHANGES: u64 = 2;",
        "const CHANGES: u64 = 1;",
    ),
    mutant(
        "a thread of several never wakes for nothing",
        "locks.rs",
        "const CHANGES_OF_SEVERAL: u64 = 6;",
        "const CHANGES_OF_SEVERAL: u64 = 2;",
    ),
    mutant(
        "lower threads that hold locks do not block",
        "cores.rs",
        "parts.blocking = add(parts.blocking, mul(lower, rounds)?)?;",
        "parts.blocking = add(parts.blocking, mul(lower, rounds & 0)?)?;",
    ),
    mutant(
        "lower threads block once, whatever waits of others allow",
        "cores.rs",
        "parts.blocking = add(parts.blocking, mul(lower, rounds)?)?;",
        "parts.blocking = add(parts.blocking, mul(lower, rounds.min(1))?)?;",
    ),
    mutant(
        "higher lanes that wait for other cores bring nothing in",
        "cores.rs",
        "(self.finish.get(*port).copied().unwrap_or(Ok(0))?, cost)\n",
        "(self.finish.get(*port).copied().unwrap_or(Ok(0))? & 0, cost)\n",
    ),
    mutant(
        "lanes of the same priority do not delay",
        "cores.rs",
        "            } else if priority >= window.priority {\n",
        "            } else if priority > window.priority {\n",
    ),
    mutant(
        "a budget is there when it is wanted first",
        "cores.rs",
        "let times = wanted.div_ceil(useful);",
        "let times = wanted.div_ceil(useful).saturating_sub(1);",
    ),
    mutant(
        "a budget that is used up comes back at its deadline",
        "cores.rs",
        "add(mul(times, period.saturating_sub(useful))?, u64::from(deadline < period))",
        "add(mul(times, deadline.saturating_sub(useful))?, u64::from(deadline < period))",
    ),
    mutant(
        "a stall uses no budget",
        "cores.rs",
        "let used = add(ahead.fixed, add(parts.stalls, parts.deadline)?)?;",
        "let used = add(ahead.fixed, add(parts.stalls & 0, parts.deadline)?)?;",
    ),
    mutant(
        "a deadline thread has its runtime once in a window, and its share",
        "cores.rs",
        "let server = add(mul(2, runtime)?, scale(length, runtime, period)?)?;",
        "let server = scale(length, runtime, period)?;",
    ),
    mutant(
        "each stall comes once",
        "cores.rs",
        "parts.stalls = add(parts.stalls, mul(stall.length, fit(length, held, stall.distance)?)?)?;",
        "parts.stalls = add(parts.stalls, mul(stall.length, fit(length, held, stall.distance)?.min(1))?)?;",
    ),
    mutant(
        "throttling hits a window once",
        "cores.rs",
        "let times = fit(length, 0, throttling.period)?;",
        "let times = fit(length, 0, throttling.period)?.min(1);",
    ),
    mutant(
        "time of deadline threads is not that of fifo threads",
        "cores.rs",
        "                time = add(time, self.deadline_time(*lane, length)?)?;\n",
        "                time = add(time, self.deadline_time(*lane, length)? & 0)?;\n",
    ),
    mutant(
        "a stall holds interrupts up for one of its kinds",
        "model.rs",
        "next = add(next, mul(stall.length, fit(time, 0, stall.distance)?)?)?;",
        "next = mul(stall.length, fit(time, 0, stall.distance)?)?;",
    ),
    mutant(
        "a thread that wakes after a stall was called for after it",
        "model.rs",
        "if interrupts && (wake > 0 || !single_core(it)) {",
        "if interrupts && wake > 0 && false {",
    ),
    mutant(
        "no stall holds a publication up",
        "model.rs",
        "add(add(interval, skew)?, add(host.slack, self.stall_of(port)?)?)",
        "add(add(interval, skew)?, host.slack)",
    ),
    mutant(
        "what a port pushes comes as its events do",
        "curve.rs",
        "let varies = finish.saturating_sub(push.before);",
        "let varies = finish.saturating_sub(push.before) & 0;",
    ),
    mutant(
        "a join has no more deliveries than its rarest part",
        "curve.rs",
        "greatest.min(least.saturating_add(1))",
        "greatest.min(least)",
    ),
    mutant(
        "the first delivery of a busy window is the latest",
        "windows.rs",
        "        after = next;\n",
        "        return Ok((add(worst, late)?, worst_parts));\n",
    ),
    mutant(
        "no delivery with a later deadline is under way",
        "windows.rs",
        "let blocker = self.owns.iter().filter(|it| it.deadline > own.deadline);",
        "let blocker = self.owns.iter().filter(|it| it.deadline > own.deadline && false);",
    ),
    mutant(
        "nothing of its lane enters before a timer that a stall holds up",
        "windows.rs",
        "let held = if model.interrupted(port) { model.stall_of(port)? } else { 0 };",
        "let held = if model.interrupted(port) { model.stall_of(port)? & 0 } else { 0 };",
    ),
    mutant(
        "threads of a lane that wait for a lock stay in order",
        "windows.rs",
        "if self.mixes() {",
        "if self.mixes() && false {",
    ),
    mutant(
        "a first push comes as soon after the beginning as later ones",
        "gaps.rs",
        "let before = if since == Since::First { self.least_before(*root, push)? } else { 0 };",
        "let before = self.least_before(*root, push)?;",
    ),
    mutant(
        "a join with a full queue takes parts",
        "gaps.rs",
        "it.policy == Full::Reject && most >= it.depth;",
        "it.policy == Full::Reject && most > it.depth;",
    ),
    mutant(
        "a part of a join waits for the last of the others alone",
        "gaps.rs",
        "longest = longest.max(self.connection_gap(*part, since, gaps)?);",
        "longest = self.connection_gap(*part, since, gaps)?;",
    ),
    mutant(
        "a join never gives up",
        "gaps.rs",
        "is_some_and(|within| within <= whole);",
        "is_some_and(|within| within <= whole && false);",
    ),
    mutant(
        "a join gives nothing of a chain up",
        "chains.rs",
        "&& within <= model.longest_of_parts(port, None, Since::Begin, self.gaps)?",
        "&& within < others.min(model.longest_of_parts(port, None, Since::Begin, self.gaps)?)",
    ),
    mutant(
        "what is pushed in an interval comes when the handler ends",
        "model.rs",
        "let (Some(interval), Some(host)) = (it.interval, self.host_of(port)) else { return Ok(finish) };",
        "let (Some(interval), Some(host)) = (it.interval.filter(|it| *it < 8), self.host_of(port)) else { return Ok(finish) };",
    ),
    mutant(
        "a handler may end after its interval",
        "model.rs",
        "if finish > interval.saturating_sub(skew) {",
        "if finish > add(interval, interval)? {",
    ),
    mutant(
        "publications are as far apart as their timer is due",
        "curve.rs",
        "let varies = add(host.slack, mul(2, skew(interval, host.drift)?)?)?;\n        let varies = add(varies, self.stall_of(port)?)?;",
        "let varies = 0;",
    ),
    mutant(
        "a join that keeps the first keeps that of the chain",
        "chains.rs",
        "add(mul(2, others)?, model.connection_gap(index, Since::First, self.gaps)?)",
        "Ok(others)",
    ),
];
