//! The search for a run in which something is worse than was promised.
use std::collections::BTreeSet;

use crate::claims::Planned;
use crate::draw::Draw;
use crate::drawn::Drawn;
use crate::guards::Rule;
use crate::run::{Below, Crossing, Message, Node, Seen, Ties, Weather, run};
use crate::schedule::{
    Babble, Choice, Contract, Habit, Intent, Pace, babbling, conforming, control, filling,
};

/// Around which everything is handed over, so that some of it can be earlier.
const ORIGIN: u64 = 1 << 50;
/// About how many frames are handed over in a run.
const FRAMES: u64 = 700;

/// What a search has found.
#[derive(Default)]
pub(crate) struct Found {
    /// The longest latency of the target, in picoseconds.
    pub(crate) worst: u64,
    pub(crate) runs: u64,
    pub(crate) carried: u64,
    /// What was worse than promised, in words.
    pub(crate) wrong: Vec<String>,
}

pub(crate) struct Attacker<'a> {
    drawn: &'a Drawn,
    planned: &'a Planned,
    /// For each stream of a flow, the datagrams of the messages that it may send, the heaviest first.
    messages: Vec<Vec<Vec<u64>>>,
    contracts: Vec<Contract>,
}

/// A subscriber that is attacked, and who keeps no contract meanwhile.
struct Target {
    stream: usize,
    hop: usize,
    babblers: BTreeSet<usize>,
    end: u64,
}

/// All choices of a run.
#[derive(Clone)]
struct Choices {
    intents: Vec<Intent>,
    /// When control comes, at each port that has any.
    control: Vec<u64>,
    weather: Weather,
}

impl<'a> Attacker<'a> {
    pub(crate) fn new(drawn: &'a Drawn, planned: &'a Planned, draw: &mut Draw) -> Self {
        let asked = |claim: &crate::claims::Claim| &drawn.flows[claim.flow];
        let messages = planned.claims.iter().map(|claim| asked(claim).samples.messages(draw)).collect();
        let contract = |claim| {
            let asked = asked(claim);
            Contract { separation: asked.separation, jitter: asked.jitter, emission: asked.emission }
        };
        let contracts = planned.claims.iter().map(contract).collect();
        Self { drawn, planned, messages, contracts }
    }

    /// Attacks a subscriber, with so many runs.
    pub(crate) fn attack(&self, stream: usize, hop: usize, runs: u64, draw: &mut Draw) -> Found {
        let babblers = self.babblers(stream, draw);
        let bound = self.planned.claims[stream].bounds[hop].unwrap_or(0);
        let mut length = bound.saturating_mul(2).max(self.contracts[stream].separation);
        let frames = |length: u64| -> u64 {
            let each = self.contracts.iter().zip(&self.messages);
            each.map(|(contract, messages)| (length / contract.separation + 1) * messages[0].len() as u64)
                .sum()
        };
        while length > 1 && frames(length) > FRAMES {
            length -= length / 4 + 1;
        }
        let target = Target { stream, hop, babblers, end: ORIGIN + length };
        let mut best = self.first(&target, draw);
        let mut found = Found::default();
        let mut seen = self.play(&target, &best, &mut found, draw);
        found.worst = seen.latency[stream][hop].0;
        while found.runs < runs {
            let mut other = best.clone();
            if found.runs + runs / 6 >= runs {
                other = self.first(&target, draw);
                self.scatter(&mut other, draw);
            } else if found.runs < 6 {
                self.meet_all(&target, &mut other, &seen, draw);
            } else {
                (0..draw.range(1, 3)).for_each(|_| self.change(&target, &mut other, &seen, draw));
            }
            let then = self.play(&target, &other, &mut found, draw);
            let latency = then.latency[stream][hop].0;
            if latency >= found.worst {
                (found.worst, best, seen) = (latency, other, then);
            }
        }
        found
    }

    /// Hosts that keep no contract: each of their flows has a guard, and nothing is promised to them.
    fn babblers(&self, target: usize, draw: &mut Draw) -> BTreeSet<usize> {
        let publisher = |stream: usize| self.drawn.flows[self.planned.claims[stream].flow].publisher;
        let guarded = |host: usize| {
            let mut own = (0..self.planned.claims.len()).filter(|stream| publisher(*stream) == host);
            own.all(|stream| self.planned.network.streams[stream].guard.is_some())
        };
        if draw.one_in(2) {
            return BTreeSet::new();
        }
        let hosts = (0..self.planned.claims.len()).map(publisher).collect::<BTreeSet<usize>>().into_iter();
        hosts.filter(|host| *host != publisher(target) && guarded(*host) && !draw.one_in(3)).collect()
    }

    fn is_babbler(&self, target: &Target, stream: usize) -> bool {
        self.planned
            .claims
            .get(stream)
            .is_some_and(|claim| target.babblers.contains(&self.drawn.flows[claim.flow].publisher))
    }

    fn first(&self, target: &Target, draw: &mut Draw) -> Choices {
        let intent = |_| Intent {
            instant: ORIGIN,
            before: 0,
            habit: Habit::Crowded,
            choice: Choice::Always(0),
            pace: Pace::LATE,
            pauses: Vec::new(),
            swaps: Vec::new(),
            seed: 0,
        };
        let ports = self.planned.network.streams.len() - self.planned.claims.len();
        Choices {
            intents: (0..self.planned.claims.len()).map(intent).collect(),
            control: vec![ORIGIN; ports],
            weather: Weather {
                target: target.stream,
                ties: Ties::Others,
                below: Below::Always,
                crossing: Crossing::Slow,
                pads_early: draw.one_in(2),
                strict: draw.one_in(2),
                seed: draw.bits(),
            },
        }
    }

    /// Everything anyhow.
    fn scatter(&self, choices: &mut Choices, draw: &mut Draw) {
        self.turn(&mut choices.weather, draw);
        for (stream, intent) in choices.intents.iter_mut().enumerate() {
            intent.instant = ORIGIN + draw.below(self.contracts[stream].separation);
            intent.before = draw.below(3);
            self.habit(stream, intent, draw);
        }
    }

    fn habit(&self, stream: usize, intent: &mut Intent, draw: &mut Draw) {
        let count = self.messages[stream].len();
        intent.habit = draw.of(&[Habit::Crowded, Habit::Crowded, Habit::Regular, Habit::Loose]);
        intent.choice = match draw.below(4) {
            0 => Choice::Always(0),
            1 => Choice::Always(draw.place(count)),
            2 => Choice::Then(draw.place(count), draw.place(count)),
            _ => Choice::Any,
        };
        intent.pace = self.pace(stream, draw);
        intent.seed = draw.bits();
    }

    /// The frames of a sample as the contract allows them, or so that the last one meets the next sample of another flow.
    fn pace(&self, stream: usize, draw: &mut Draw) -> Pace {
        let emission = self.contracts[stream].emission;
        let takes = match draw.below(4) {
            0 => emission,
            1 => draw.magnitude(1, emission.max(1)),
            _ => {
                let other = draw.place(self.contracts.len());
                let less = if draw.one_in(2) { self.ahead(other, 0, draw) } else { 0 };
                self.contracts[other].separation.saturating_sub(less) + draw.below(3)
            }
        };
        let count = self.messages[stream][0].len();
        let some = draw.place(count);
        let with_first = draw.of(&[0, 0, count.saturating_sub(2), some]);
        Pace { takes, with_first, even: draw.one_in(3) }
    }

    fn turn(&self, weather: &mut Weather, draw: &mut Draw) {
        weather.ties = draw.of(&[Ties::Others, Ties::Choice, Ties::Any]);
        weather.below = draw.of(&[Below::Always, Below::Always, Below::Never, Below::Sometimes]);
        weather.crossing = draw.of(&[
            Crossing::Slow,
            Crossing::Fast,
            Crossing::Any,
            Crossing::Together,
            Crossing::TargetSlow,
        ]);
        weather.pads_early = draw.one_in(2);
        weather.strict = draw.one_in(2);
        weather.seed = draw.bits();
    }

    /// How long the first frame of a stream needs to come to a hop's queue, if it meets nobody.
    fn travels(&self, stream: usize, hop: usize, weather: &Weather) -> u64 {
        let network = &self.planned.network;
        let hops = &network.streams[stream].hops;
        let bytes = self.messages[stream][0][0] + 66;
        let (mut time, mut at) = (0, hop);
        while let Some(before) = hops[at].after {
            let port = &network.ports[hops[before].port];
            let crossing = match network.nodes[port.to] {
                Node::Switch { least, most, .. } if weather.crossing == Crossing::Slow => most.max(least),
                Node::Switch { least, .. } => least,
                Node::Host => 0,
            };
            time += bytes * port.byte + port.propagation + crossing;
            at = before;
        }
        time
    }

    /// How much earlier than that it might come: by a moment, by a frame, by a message, by what is sent at once.
    fn ahead(&self, stream: usize, hop: usize, draw: &mut Draw) -> u64 {
        let hops = &self.planned.network.streams[stream].hops;
        let port = hops[hop].after.unwrap_or(hop);
        let byte = self.planned.network.ports[hops[port].port].byte;
        let message = &self.messages[stream][0];
        let bytes: u64 = message.iter().map(|datagram| datagram + 66).sum();
        match draw.below(6) {
            0 => 0,
            1 => 1,
            2 => (message[0] + 66) * byte,
            3 => bytes * byte,
            4 => draw.below(bytes * byte),
            _ => {
                let Contract { separation, jitter, emission } = self.contracts[stream];
                bytes * byte * ((jitter + emission) / separation + 1)
            }
        }
    }

    /// Hops of a stream at ports that another one passes before a hop of its own, too, with the latter's hop.
    fn shared(&self, stream: usize, other: usize, until: usize) -> Vec<(usize, usize)> {
        let streams = &self.planned.network.streams;
        let mut way = vec![until];
        while let Some(before) = streams[other].hops[*way.last().unwrap()].after {
            way.push(before);
        }
        let meets = |(hop, port): (usize, usize)| {
            let there = way.iter().find(|there| streams[other].hops[**there].port == port)?;
            Some((hop, *there))
        };
        streams[stream].hops.iter().map(|hop| hop.port).enumerate().filter_map(meets).collect()
    }

    /// Lets a stream come to a port when the target does; false if it never meets the target.
    fn meet(
        &self,
        target: &Target,
        choices: &mut Choices,
        seen: &Seen,
        stream: usize,
        draw: &mut Draw,
    ) -> bool {
        let (_, message) = seen.latency[target.stream][target.hop];
        let shared = self.shared(stream, target.stream, target.hop);
        if shared.is_empty() {
            return false;
        }
        let (hop, there) = match draw.below(3) {
            0 => shared[0],
            1 => shared[shared.len() - 1],
            _ => draw.of(&shared),
        };
        let Some(Some((first, last))) = seen.came[there].get(message).copied() else { return true };
        let at = match draw.below(3) {
            0 => first,
            1 => last,
            _ => draw.range(first, last),
        };
        let earlier = self.travels(stream, hop, &choices.weather) + self.ahead(stream, hop, draw);
        choices.intents[stream].instant = at.saturating_sub(earlier);
        true
    }

    /// Lets everybody meet the target, and those who never do meet somebody.
    fn meet_all(&self, target: &Target, choices: &mut Choices, seen: &Seen, draw: &mut Draw) {
        for stream in (0..self.planned.claims.len()).filter(|stream| *stream != target.stream) {
            if !self.meet(target, choices, seen, stream, draw) {
                self.meet_other(choices, stream, draw);
            }
        }
        self.meet_control(target, choices, seen, draw);
    }

    fn meet_other(&self, choices: &mut Choices, stream: usize, draw: &mut Draw) {
        let other = draw.place(self.planned.claims.len());
        let last = self.planned.network.streams[other].hops.len() - 1;
        if other == stream {
            return;
        }
        let shared = self.shared(stream, other, last);
        if shared.is_empty() {
            return;
        }
        let (hop, there) = draw.of(&shared);
        let comes = choices.intents[other].instant + self.travels(other, there, &choices.weather);
        let earlier = self.travels(stream, hop, &choices.weather) + self.ahead(stream, hop, draw);
        choices.intents[stream].instant = comes.saturating_sub(earlier);
    }

    fn meet_control(&self, target: &Target, choices: &mut Choices, seen: &Seen, draw: &mut Draw) {
        let (_, message) = seen.latency[target.stream][target.hop];
        let hops = &self.planned.network.streams[target.stream].hops;
        let ports = &self.planned.network.streams[self.planned.claims.len()..];
        for (instant, control) in choices.control.iter_mut().zip(ports) {
            let there = hops.iter().position(|hop| hop.port == control.hops[0].port);
            let came = there.and_then(|hop| seen.came[hop].get(message).copied().flatten());
            if let Some((first, last)) = came {
                *instant = if draw.one_in(2) { first } else { draw.range(first, last) };
            }
        }
    }

    fn change(&self, target: &Target, choices: &mut Choices, seen: &Seen, draw: &mut Draw) {
        let stream = draw.place(self.planned.claims.len());
        let count = self.messages[stream].len();
        match draw.below(13) {
            12 => choices.intents[stream].pace = self.pace(stream, draw),
            0 | 1 => {
                if stream != target.stream {
                    self.meet(target, choices, seen, stream, draw);
                }
            }
            2 => self.meet_other(choices, stream, draw),
            3 => self.habit(stream, &mut choices.intents[stream], draw),
            4 => choices.intents[stream].before = draw.below(4),
            5 => {
                let by = draw.magnitude(1, self.contracts[stream].separation);
                choices.intents[stream].pauses.push((draw.place(6), by));
            }
            6 => choices.intents[stream].swaps.push((draw.place(6), draw.place(count))),
            7 => self.turn(&mut choices.weather, draw),
            8 => self.meet_control(target, choices, seen, draw),
            9 => choices.weather.seed = draw.bits(),
            _ => {
                let by = match draw.below(3) {
                    0 => draw.range(1, 2),
                    1 => self.ahead(stream, 0, draw),
                    _ => draw.magnitude(1, self.contracts[stream].separation),
                };
                let instant = &mut choices.intents[stream].instant;
                *instant = if draw.one_in(2) { *instant + by } else { instant.saturating_sub(by) };
            }
        }
    }

    fn play(&self, target: &Target, choices: &Choices, found: &mut Found, draw: &mut Draw) -> Seen {
        let network = &self.planned.network;
        let count = self.planned.claims.len();
        let mut schedule: Vec<Vec<Message>> = Vec::with_capacity(network.streams.len());
        for (stream, intent) in choices.intents.iter().enumerate() {
            let way = &network.streams[stream];
            let tag = network.ports[way.hops[0].port].tag + way.tag;
            if self.is_babbler(target, stream) {
                let end = target.end;
                schedule.push(self.babble(stream, intent.instant, &choices.weather, end, draw));
            } else {
                let six = self.drawn.flows[self.planned.claims[stream].flow].samples.six;
                let sent = conforming(
                    &self.contracts[stream],
                    &self.messages[stream],
                    (tag, six),
                    intent,
                    target.end,
                );
                debug_assert!(self.contracts[stream].allows(&sent));
                schedule.push(sent);
            }
        }
        for (stream, instant) in network.streams[count..].iter().zip(&choices.control) {
            let port = stream.hops[0].port;
            let bucket = self.drawn.control.unwrap();
            schedule.push(control(bucket, network.ports[port].largest, *instant, target.end, draw));
        }
        let conforms: Vec<bool> =
            (0..network.streams.len()).map(|stream| !self.is_babbler(target, stream)).collect();
        let seen = run(network, &schedule, &conforms, choices.weather);
        found.runs += 1;
        found.carried += seen.carried;
        let wrong = self.wrong(target, &seen);
        if !wrong.is_empty() && found.wrong.is_empty() {
            found.wrong = wrong;
            found.wrong.push(format!("{:?}", choices.weather));
        }
        seen
    }

    fn babble(
        &self,
        stream: usize,
        instant: u64,
        weather: &Weather,
        end: u64,
        draw: &mut Draw,
    ) -> Vec<Message> {
        let network = &self.planned.network;
        let way = &network.streams[stream];
        let rule = network.rules[way.guard.unwrap()];
        // Of several that are guarded together one is enough.
        if network.streams[..stream].iter().any(|other| other.guard == way.guard) {
            return Vec::new();
        }
        let index = way.hops[0].port;
        let port = &network.ports[index];
        let most = match rule {
            Rule::Gate(gate) => gate.bytes,
            Rule::Meter(meter) => meter.burst / 8,
        };
        let mut sizes = filling(most, port.largest, draw);
        let mut held = None;
        if let Rule::Gate(gate) = rule
            && draw.one_in(2)
        {
            // The rest comes when the window ends, and the next message as soon as it may.
            let first = sizes[0];
            let opening = if draw.one_in(2) { 84 + port.tag } else { first };
            let rest = (most.saturating_sub(opening)) * port.byte;
            held = Some(gate.window.saturating_sub(rest) + opening * port.byte);
            sizes.insert(0, opening);
        }
        let phase = Draw::new(weather.seed).bits();
        let babble = Babble { instant, sizes, held, noise: draw.one_in(4), strict: weather.strict, phase };
        babbling(rule, port, &babble, end, draw)
    }

    /// What is worse than promised.
    fn wrong(&self, target: &Target, seen: &Seen) -> Vec<String> {
        let network = &self.planned.network;
        let mut wrong = Vec::new();
        for (stream, claim) in self.planned.claims.iter().enumerate() {
            let babbles = self.is_babbler(target, stream);
            // What its own host does to it is promised to nobody; what its guard lets through is.
            for hop in usize::from(babbles)..claim.delays.len() {
                let (delay, most) = (seen.delay[stream][hop], claim.delays[hop]);
                if delay > most {
                    wrong.push(format!("f{} hop {hop}: a delay of {delay}, at most {most}", claim.flow));
                }
                let latency = seen.latency[stream][hop].0;
                if let Some(bound) = claim.bounds[hop].filter(|bound| !babbles && latency > *bound) {
                    wrong.push(format!(
                        "f{} hop {hop}: {latency} from end to end, at most {bound}",
                        claim.flow
                    ));
                }
            }
            if !babbles && seen.dropped[stream] > 0 {
                let rule = network.streams[stream].guard.map(|guard| network.rules[guard]);
                wrong.push(format!("f{}: {} frames dropped by {rule:?}", claim.flow, seen.dropped[stream]));
            }
        }
        for (port, (held, of_level)) in seen.held.iter().enumerate() {
            let Some((backlog, room, per_queue)) = self.planned.backlogs[port] else { continue };
            if target.babblers.contains(&network.ports[port].from) {
                continue;
            }
            let in_room = if per_queue { of_level } else { held };
            if *held > backlog || room.is_some_and(|room| *in_room > room) {
                let name = &network.ports[port];
                wrong.push(format!(
                    "{} to {}: {held} bytes, {of_level} of a level, at most {backlog}, room for {room:?}",
                    self.drawn.node_name(name.from),
                    self.drawn.node_name(name.to)
                ));
            }
        }
        wrong
    }
}
