//! The mistakes. Each is a text that stands once in a file of `latency`, and what is wrong in its place.

/// A mistake.
pub(crate) struct Mutant {
    /// What is wrongly believed.
    pub(crate) name: &'static str,
    /// The file in `crates/latency/src`.
    pub(crate) file: &'static str,
    pub(crate) right: &'static str,
    pub(crate) wrong: &'static str,
}

const fn mutant(name: &'static str, file: &'static str, right: &'static str, wrong: &'static str) -> Mutant {
    Mutant { name, file, right, wrong }
}

pub(crate) const MUTANTS: &[Mutant] = &[
    mutant(
        "the largest frame is that of the largest sample",
        "framing.rs",
        "() if some_whole => frame_bits(header + datagram),",
        "() if some_whole => heaviest.largest,",
    ),
    mutant(
        "a last fragment has no HEARTBEAT where samples vary",
        "framing.rs",
        "() if full >= least => frame_bits(header + AROUND_FRAGMENT + piece + HEARTBEAT),",
        "() if full >= least => frame_bits(header + AROUND_FRAGMENT + piece),",
    ),
    mutant(
        "what may be left out of a sample is always there",
        "framing.rs",
        "const LEAST_AROUND_SAMPLE: u64 = 20 + 4 + 24;",
        "const LEAST_AROUND_SAMPLE: u64 = AROUND_SAMPLE;",
    ),
    mutant(
        "what may be left out of a fragment is always there",
        "framing.rs",
        "const LEAST_AROUND_FRAGMENT: u64 = 20 + 4 + 36;",
        "const LEAST_AROUND_FRAGMENT: u64 = AROUND_FRAGMENT;",
    ),
    mutant(
        "the last frame of a message is no smaller than the smallest",
        "framing.rs",
        "let smallest = if most <= datagram { least } else { least.min(1) };",
        "let smallest = least;",
    ),
    mutant(
        "no gap between frames",
        "framing.rs",
        "pub const FRAME_AROUND: u64 = 24;",
        "pub const FRAME_AROUND: u64 = 12;",
    ),
    mutant(
        "no least frame",
        "framing.rs",
        "pub const LEAST_FRAME: u64 = 60;",
        "pub const LEAST_FRAME: u64 = 46;",
    ),
    mutant(
        "a babbler sends the flow's own frames",
        "arrivals.rs",
        "Enforcement::Gate(gate) => gate.lets_through(port.tag),",
        "Enforcement::Gate(_) => Some(frames.bits),",
    ),
    mutant(
        "small frames are padded with their tags",
        "policing.rs",
        "scale_up(bits, least + u64::from(tag) * 8, counted)",
        "scale_up(bits, least + u64::from(tag) * 0, counted)",
    ),
    mutant(
        "small frames of a message are padded with their tags",
        "network.rs",
        "self.framing.padded(self.largest_message, port.tag, port.tag)",
        "self.framing.padded(self.largest_message, port.tag, 0)",
    ),
    mutant(
        "padding takes time of the link before it",
        "arrivals.rs",
        "let padded_rate = scale_up(before.rate, padded, LEAST_BITS).ok_or(number)?;",
        "let padded_rate = before.rate;",
    ),
    mutant(
        "services are concatenated though frames are padded between",
        "path.rs",
        "if grows || hops.iter()",
        "if grows & false || hops.iter()",
    ),
    mutant(
        "what a guard lets through has the flow's largest frame",
        "arrivals.rs",
        "if policed { at_once.min(u64::from(port.largest_frame) * 8) }",
        "if policed { frames.largest + at_once * 0 }",
    ),
    mutant(
        "what a guard lets through has the flow's smallest frame",
        "arrivals.rs",
        "let smallest_frame = if policed { frames.smallest.min(LEAST_BITS) } else { frames.smallest };",
        "let smallest_frame = frames.smallest;",
    ),
    mutant(
        "frames of a babbler are no faster than the flow's",
        "arrivals.rs",
        "let least = if policed && link.hop > 0 { LEAST_BITS } else { frames_before.smallest };",
        "let least = frames_before.smallest;",
    ),
    mutant(
        "the time from reception to queue is constant",
        "arrivals.rs",
        "let spread = arrived.and_then(|arrived| arrived.checked_add(variation)).ok_or(number)?;",
        "let spread = arrived.ok_or(number)?;",
    ),
    mutant(
        "jitter does not grow",
        "arrivals.rs",
        "_ => link.spread.checked_add(later),",
        "_ => Some(link.spread + later * 0),",
    ),
    mutant(
        "the window of a gate is no jitter",
        "arrivals.rs",
        "gate.tolerance.checked_add(gate.window)",
        "Some(gate.tolerance)",
    ),
    mutant(
        "parts of messages weigh the same behind other tags",
        "arrivals.rs",
        "if port.tag != before.tag || self.bundle.is_some() {",
        "if self.bundle.is_some() {",
    ),
    mutant(
        "messages of a bundle are in step",
        "arrivals.rs",
        "if port.tag != before.tag || self.bundle.is_some() {",
        "if port.tag != before.tag {",
    ),
    mutant(
        "a link brings no more behind longer tags",
        "arrivals.rs",
        "(port.tag <= before.tag).then_some",
        "true.then_some",
    ),
    mutant(
        "emission is no spread",
        "arrivals.rs",
        "let spread = self.jitter.checked_add(self.emission).ok_or(FlowError::Number)?;",
        "let spread = self.jitter;",
    ),
    mutant(
        "every message begins with its largest frame",
        "policing.rs",
        "let least_first = frames.first;",
        "let least_first = frames.largest;",
    ),
    mutant(
        "one frame and not two between parts of messages",
        "policing.rs",
        "let frames = stretched(time_of(frame, rate)?.checked_mul(2)?, drift)?;",
        "let frames = stretched(time_of(frame, rate)?, drift)?;",
    ),
    mutant(
        "an early message does not meet the window of the one before",
        "policing.rs",
        "let tolerance = if early >= separation { early } else { tolerance };",
        "let tolerance = tolerance + early * 0;",
    ),
    mutant(
        "what fills a bucket at the beginning of a window is left out",
        "policing.rs",
        "let burst = self.burst.checked_add(self.counts.filling(self.rate)?)?;",
        "let burst = self.burst;",
    ),
    mutant(
        "meters count all of the wire",
        "policing.rs",
        "Self::Frame => LEAST_COUNTED * 8,",
        "Self::Frame => least,",
    ),
    mutant(
        "the frame on the wire is one of a flow",
        "backlog.rs",
        "fold(server.control_frame.max(server.beside_frame), u64::max)",
        "fold(server.control_frame * 0, u64::max)",
    ),
    mutant(
        "the frame on the wire has left its buffer",
        "backlog.rs",
        "bits_in(worst, server.rate)?.checked_add(frame)",
        "bits_in(worst + frame * 0, server.rate)",
    ),
    mutant(
        "running sums forget control's frame",
        "sums.rs",
        "let others = server.control_frame.max(server.beside_frame);",
        "let others = server.beside_frame;",
    ),
    mutant(
        "running sums forget higher levels",
        "sums.rs",
        "burst += level.interference;",
        "burst += level.interference * 0;",
    ),
    mutant(
        "services are concatenated though frames overtake",
        "path.rs",
        "hop.port.tag != first.port.tag || overtakes(hop)",
        "hop.port.tag != first.port.tag || overtakes(hop) & false",
    ),
    mutant(
        "no frame for each further link",
        "path.rs",
        "latency = latency.checked_add(time_of(frame, service.rate)?)?;",
        "latency += frame * 0;",
    ),
    mutant(
        "the least time from reception to queue is the most",
        "path.rs",
        "sum.checked_add(port.propagation)?.checked_add(port.most_multiplexing)",
        "sum.checked_add(port.propagation)?.checked_add(port.least_multiplexing)",
    ),
    mutant(
        "the earliest message has all that may be left out",
        "path.rs",
        "flow.framing.least_bits(flow.smallest_message, port.tag)?",
        "flow.framing.frames(flow.smallest_message, port.tag)?.bits",
    ),
    mutant(
        "no lower frame in the exact test",
        "busy.rs",
        "let lower = time_of(blocking(server, contenders, level), server.rate)?;\n    let higher",
        "let lower = time_of(blocking(server, contenders, level) * 0, server.rate)?;\n    let higher",
    ),
    mutant(
        "a frame of the next level below does not block",
        "port.rs",
        "filter(|other| other.level < level)",
        "filter(|other| other.level + 1 < level)",
    ),
    mutant(
        "a link brings no more at once than its rate",
        "curve.rs",
        "Some(sum.min(link.checked_add(cap.frame)?))",
        "Some(sum.min(link))",
    ),
    mutant(
        "a link's frames are not bunched in the switch",
        "curve.rs",
        "scale_up(x.checked_add(cap.variation)?, cap.rate, port_rate)?",
        "scale_up(x, cap.rate, port_rate)?",
    ),
    mutant(
        "states between steps are not looked at",
        "order.rs",
        "all_keep(server, &then, limits, work)",
        "all_keep(server, &then, limits, work) | true",
    ),
    mutant(
        "steps need not wait for each other",
        "order.rs",
        "return Some(limit);",
        "return Some(limit * 0);",
    ),
    mutant(
        "moves up come first",
        "order.rs",
        "    down.append(&mut up);\n    down",
        "    up.append(&mut down);\n    up",
    ),
    mutant(
        "no frame below a plan's levels",
        "network.rs",
        "let below = if self.queues > 1 {",
        "let below = if self.queues > u8::MAX - 1 {",
    ),
    mutant(
        "the messages of a bundle in one separation are rounded down",
        "bundle.rs",
        "separation.checked_add(own.checked_sub(1)?)?.checked_div(*own)?",
        "separation.checked_div(*own)?",
    ),
    mutant(
        "links are awake",
        "network.rs",
        "ahead: waking.saturating_add(u64::from(ring) * 8),",
        "ahead: u64::from(ring) * 8 + waking * 0,",
    ),
    mutant(
        "a card takes no frame before it sends it",
        "network.rs",
        "ahead: waking.saturating_add(u64::from(ring) * 8),",
        "ahead: waking,",
    ),
    mutant(
        "what a card has taken lies behind a frame of a lower level",
        "network.rs",
        "let on_wire = if ring > 0 {",
        "let on_wire = if ring > u32::MAX - 1 {",
    ),
    mutant(
        "a host sends nothing but its flows, in the exact test",
        "busy.rs",
        "let own = Aggregate::new(server.rate, own, server.beside, true)?;",
        "let own = Aggregate::new(server.rate, own, None, true)?;",
    ),
    mutant(
        "a host sends nothing but its flows, in the linear test",
        "linear.rs",
        "let own = own.checked_add(server.beside_level().0)?;",
        "let own = own + server.beside_level().0 * 0;",
    ),
    mutant(
        "what a host sends besides takes nothing of a service",
        "linear.rs",
        "let burst = burst.checked_add(beside)?.checked_add(burst_of(others.clone())?)?;",
        "let burst = burst.checked_add(burst_of(others.clone())? + beside * 0)?;",
    ),
    mutant(
        "what a host sends besides is in no queue",
        "backlog.rs",
        "let total = Aggregate::new(server.rate, flows(), server.unadmitted()?, true)?;",
        "let total = Aggregate::new(server.rate, flows(), server.control, true)?;",
    ),
    mutant(
        "a gate has the publisher's clock",
        "policing.rs",
        "let separation = shrunk(self.separation, drift)?;\n        let separation = Some(",
        "let separation = self.separation;\n        let separation = Some(",
    ),
    mutant(
        "a gate's clock is perfect",
        "arrivals.rs",
        "Enforcement::Gate(gate) => gate.separation,",
        "Enforcement::Gate(gate) => gate.separation + gate.separation / 1_000_000 * u64::from(drift),",
    ),
    mutant(
        "a publisher's clock is perfect",
        "arrivals.rs",
        "let separation = shrunk(self.separation, self.drift(ports)).filter(|it| *it > 0);",
        "let separation = Some(self.separation);",
    ),
    mutant(
        "tolerances are by a perfect clock",
        "policing.rs",
        "let by_its_clock = |time: u64| stretched(time, drift)?.checked_next_multiple_of(tick);",
        "let by_its_clock = |time: u64| time.checked_next_multiple_of(tick + u64::from(drift & 0));",
    ),
    mutant(
        "a meter's clock is perfect",
        "policing.rs",
        "let rate = stretched(self.rate, drift)?;",
        "let rate = self.rate + u64::from(drift & 0);",
    ),
];
