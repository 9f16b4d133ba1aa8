//! Requests: what is asked, whether that can be, and what is answered.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::Offer;
use latency::units::NANOSECOND;
use openflow::words::MacAddress;
use wire::admission::{Contract, MOST_TEXT, Request, Socket, State, Verdict};

use crate::action::{Action, Facts, Pair};
use crate::displace::Displaces;
use crate::note::Note;
use crate::operations::Timer;
use crate::quota::asker;
use crate::reservations::{Granted, dscp};
use crate::resource_manager::ResourceManager;
use crate::state::{Asked, Progress};

/// What a request comes to, once it is known where its ends are.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) pair: Pair,
    pub(crate) from: usize,
    pub(crate) source: Socket,
    pub(crate) destination: Socket,
    pub(crate) contract: Contract,
    /// One, but for trees.
    pub(crate) goals: Vec<Goal>,
}

/// A place that a flow is to reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Goal {
    pub(crate) host: usize,
    /// Where readers receive.
    pub(crate) to: Socket,
    /// The Ethernet address of the host, for trees.
    pub(crate) address: Option<MacAddress>,
    /// Nanoseconds.
    pub(crate) maximum_latency: u64,
    /// Nanoseconds, 0 if it does not matter.
    pub(crate) maximum_separation: u64,
}

impl Goal {
    /// What somebody else asks for at the same place counts, too. In nanoseconds; a separation of 0 does not matter.
    pub(crate) fn tighten(&mut self, latency: u64, separation: u64) {
        self.maximum_latency = self.maximum_latency.min(latency);
        let separations = [self.maximum_separation, separation];
        self.maximum_separation =
            separations.into_iter().filter(|separation| *separation > 0).min().unwrap_or(0);
    }
}

impl Wish {
    /// The hosts that it is to reach.
    pub(crate) fn hosts(&self) -> Vec<usize> {
        self.goals.iter().map(|goal| goal.host).collect()
    }
}

/// Why a request cannot be taken further.
#[derive(Clone, Debug)]
pub(crate) enum Obstacle {
    /// It is wrong.
    Wrong(String),
    /// Something is not there that may come.
    Missing(String),
}

impl ResourceManager {
    pub(crate) fn take_request(&mut self, now: Duration, request: Request, facts: Facts) {
        let pair = request.pair();
        if !self.asked.contains_key(&pair) && !self.has_place(now, &request, &facts) {
            return;
        }
        let unknown = self.verdict_of(&request);
        let Some(asked) = self.asked.get_mut(&pair) else {
            let (serial, asker) = (request.serial, asker(&request, &facts));
            let asked = Asked {
                age: self.next_age,
                looked: 0,
                request,
                facts,
                verdict: unknown,
                progress: Progress::Queued,
                serial,
                grant: None,
                displaces: Displaces::default(),
                alone_until: Duration::ZERO,
                deadline: None,
                repeat_at: None,
                measured: None,
                asker,
                noted: None,
            };
            self.next_age += 1;
            self.asked.insert(pair, asked);
            self.publish(pair);
            self.enqueue(pair);
            return;
        };
        asked.facts = facts;
        if asked.request == request {
            let retry = matches!(asked.progress, Progress::Answered { retry: true });
            if retry {
                self.enqueue(pair);
            }
            self.publish(pair);
            return;
        }
        if request.serial < asked.request.serial {
            return;
        }
        let known = &asked.request;
        let ends = |request: &Request| (request.source, request.destination);
        let limits = |request: &Request| (request.maximum_latency, request.maximum_separation);
        if (ends(known), limits(known), known.contract)
            != (ends(&request), limits(&request), request.contract)
        {
            asked.displaces = Displaces::default();
        }
        asked.request = request;
        match asked.progress {
            Progress::Answered { .. } | Progress::Waiting | Progress::Queued => {
                asked.deadline = None;
                self.enqueue(pair);
            }
            // It is looked at when what is under way has ended.
            Progress::Parked | Progress::Working => {}
        }
        self.put_off(pair, "");
    }

    /// A verdict that says that nothing has been decided.
    pub(crate) fn verdict_of(&self, request: &Request) -> Verdict {
        Verdict {
            writer: request.writer,
            reader: request.reader,
            serial: request.serial,
            epoch: self.epoch,
            state: State::Pending,
            lease: nanoseconds(self.config.lease),
            source: request.source,
            destination: request.destination,
            ..Verdict::default()
        }
    }

    /// Says the verdict of a pair.
    pub(crate) fn publish(&mut self, pair: Pair) {
        self.note_verdict(pair);
        if let Some(asked) = self.asked.get(&pair) {
            let verdict = Box::new(asked.verdict.clone());
            self.operations.act(Action::Publish { token: None, verdict });
        }
    }

    /// Says a verdict, if it says something new.
    fn say(&mut self, pair: Pair, verdict: Verdict) {
        if let Some(asked) = self.asked.get_mut(&pair)
            && asked.verdict != verdict
        {
            asked.verdict = verdict;
            self.publish(pair);
        }
    }

    /// Nothing is decided yet; why, in words. A pair that has a grant keeps it until then.
    pub(crate) fn put_off(&mut self, pair: Pair, reason: &str) {
        if let Some(asked) = self.asked.get(&pair).filter(|asked| asked.grant.is_none()) {
            let verdict = Verdict { reason: cut(reason), ..self.verdict_of(&asked.request) };
            self.say(pair, verdict);
        }
    }

    /// The request is refused; if nobody asks any more, nothing is left to say. With `retry` it is looked at again when something has changed.
    pub(crate) fn refuse(&mut self, now: Duration, pair: Pair, reason: &str, offer: Offer, retry: bool) {
        self.displaced_in_vain(now, pair);
        self.refuse_meanwhile(now, pair, reason, offer, retry);
    }

    /// The same for a request that others make room for.
    pub(crate) fn refuse_meanwhile(
        &mut self,
        now: Duration,
        pair: Pair,
        reason: &str,
        offer: Offer,
        retry: bool,
    ) {
        let Some(asked) = self.asked.get_mut(&pair) else {
            self.operations.act(Action::Dispose(pair));
            return;
        };
        let was_revoked = asked.verdict.state == State::Revoked && asked.verdict.serial == asked.serial;
        let held = asked.grant.take();
        let (serial, request) = (asked.serial, asked.request.clone());
        let time = |time: Option<u64>| time.map_or(0, |time| time.div_ceil(NANOSECOND));
        let verdict = Verdict {
            // What was revoked stays so until it is admitted again.
            state: if was_revoked { State::Revoked } else { State::Refused },
            serial,
            reason: cut(reason),
            offered_latency: time(offer.latency),
            offered_separation: time(offer.separation),
            ..self.verdict_of(&request)
        };
        self.say(pair, verdict);
        self.settle(pair, retry);
        if let Some(number) = held {
            self.leave(now, number, pair, "it asked for something else");
        }
    }

    /// What was planned did not come about: the request is refused, and tried again after a while.
    pub(crate) fn refuse_for_now(&mut self, now: Duration, pair: Pair, reason: &str) {
        self.refuse(now, pair, reason, Offer::default(), false);
        self.operations.wake(now.saturating_add(self.config.grace), Timer::Retry(pair));
    }

    /// A request that failed a while ago is tried again.
    pub(crate) fn retry(&mut self, pair: Pair) {
        let Some(asked) = self.asked.get_mut(&pair) else { return };
        let failed = matches!(asked.verdict.state, State::Refused | State::Revoked);
        if failed && matches!(asked.progress, Progress::Answered { .. }) {
            self.enqueue(pair);
        }
    }

    /// The pair is served by a grant that is in force.
    pub(crate) fn admitted(&mut self, now: Duration, pair: Pair, number: u64) {
        let (Some(asked), Some(grant)) = (self.asked.get(&pair), self.reservations.get(number)) else {
            return;
        };
        let verdict = Verdict { serial: asked.serial, ..self.admission(grant, &asked.request) };
        let repeat_at = now.saturating_add(self.config.lease / 3);
        self.reservations.has_answered(number, pair, verdict.serial);
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.grant = Some(number);
            asked.displaces = Displaces::default();
            asked.verdict = verdict;
            asked.repeat_at = Some(repeat_at);
        }
        self.publish(pair);
        self.operations.wake(repeat_at, Timer::Repeat(pair));
        self.settle(pair, false);
        // It may have got its room with another pair's flow.
        self.settle_room(pair);
    }

    /// A request is answered; if it has changed meanwhile, it is looked at again.
    fn settle(&mut self, pair: Pair, retry: bool) {
        let Some(asked) = self.asked.get_mut(&pair) else { return };
        asked.deadline = None;
        if asked.serial == asked.request.serial {
            asked.progress = Progress::Answered { retry };
        } else {
            self.enqueue(pair);
        }
    }

    /// The verdict of a pair that a grant serves.
    pub(crate) fn admission(&self, grant: &Granted, request: &Request) -> Verdict {
        let level = grant.hops.first().map_or(0, |hop| hop.level);
        let pair = request.pair();
        Verdict {
            state: State::Admitted,
            bound: grant.end_of(pair).map_or(0, |end| end.promised),
            source: grant.source,
            destination: grant.destination,
            dscp: dscp(level),
            octets: grant.octets,
            separation: grant.contract.minimum_separation,
            ..self.verdict_of(request)
        }
    }

    /// The lease of a verdict is extended.
    pub(crate) fn repeat(&mut self, now: Duration, time: Duration, pair: Pair) {
        let Some(asked) = self.asked.get_mut(&pair).filter(|asked| asked.repeat_at == Some(time)) else {
            return;
        };
        asked.repeat_at = None;
        if asked.verdict.state == State::Admitted {
            let again = now.saturating_add(self.config.lease / 3);
            asked.repeat_at = Some(again);
            self.operations.wake(again, Timer::Repeat(pair));
            self.publish(pair);
        }
    }

    /// Something is missing that may come: the request waits for it, and is refused after a while.
    pub(crate) fn wait(&mut self, now: Duration, pair: Pair, reason: &str) {
        let Some(asked) = self.asked.get_mut(&pair) else { return };
        if asked.is_refused() || asked.deadline.is_some_and(|deadline| deadline <= now) {
            self.refuse(now, pair, reason, Offer::default(), true);
            return;
        }
        asked.progress = Progress::Waiting;
        if asked.deadline.is_none() {
            let until = now.saturating_add(self.config.grace);
            asked.deadline = Some(until);
            self.operations.wake(until, Timer::Wait(pair));
        }
        self.put_off(pair, reason);
    }

    pub(crate) fn wait_is_over(&mut self, now: Duration, pair: Pair) {
        let Some(asked) = self.asked.get(&pair) else { return };
        if asked.progress == Progress::Waiting && asked.deadline.is_some_and(|deadline| deadline <= now) {
            let reason = asked.verdict.reason.clone();
            self.refuse(now, pair, &reason, Offer::default(), true);
        }
    }

    /// What a request comes to.
    pub(crate) fn examine(&self, pair: Pair) -> Result<Wish, Obstacle> {
        let wrong = |reason: &str| Err(Obstacle::Wrong(reason.into()));
        let Some(asked) = self.asked.get(&pair) else { return wrong("nobody asks") };
        let (request, facts) = (&asked.request, &asked.facts);
        let contract = request.contract;
        if facts.contract.is_some_and(|announced| announced != contract) {
            return wrong("the request is not about what the writer has announced: ask again");
        }
        // It may ask for less: what the writer holds back for batching is taken off.
        if facts.maximum_latency.is_some_and(|announced| announced < request.maximum_latency) {
            return wrong("the request is not about the latency that the reader has announced: ask again");
        }
        if request.maximum_latency == 0 || contract.minimum_separation == 0 {
            return wrong("a maximum latency and a minimum separation are needed");
        }
        if contract.smallest_message > contract.largest_message {
            return wrong("the smallest message of the contract is larger than the largest");
        }
        for (what, socket, known) in [
            ("writer", request.source, &facts.writer_addresses),
            ("reader", request.destination, &facts.reader_addresses),
        ] {
            if socket.port == 0 || socket.address == [0; 4] {
                return Err(Obstacle::Wrong(format!("the request has no address and port of the {what}")));
            }
            if !known.is_empty() && !known.contains(&socket.address) {
                let address = dotted(socket.address);
                return Err(Obstacle::Wrong(format!("{address} is no address of the {what}'s participant")));
            }
        }
        let host = |socket: Socket| {
            self.fabric.host_of(socket.address).ok_or_else(|| {
                Obstacle::Missing(format!(
                    "no host of the network has the address {}",
                    dotted(socket.address)
                ))
            })
        };
        let (from, to) = (host(request.source)?, host(request.destination)?);
        if from == to {
            return wrong("writer and reader are on the same host: there is no network between them");
        }
        let goal = Goal {
            host: to,
            to: request.destination,
            address: self.fabric.ethernet_of(request.destination.address),
            maximum_latency: request.maximum_latency,
            maximum_separation: request.maximum_separation,
        };
        Ok(Wish {
            pair,
            from,
            source: request.source,
            destination: request.destination,
            contract,
            goals: alloc::vec![goal],
        })
    }

    /// The pair is not asked for any more.
    pub(crate) fn forget(&mut self, now: Duration, pair: Pair) {
        if let Some(asked) = self.asked.remove(&pair) {
            let note = Note::Withdrawn(self.ends(&asked.request));
            self.note(note);
        }
        self.settle_room(pair);
        let serving = self.reservations.serving(pair);
        if serving.is_empty() {
            // Also one that was turned away has a verdict.
            self.operations.act(Action::Dispose(pair));
        }
        for number in serving {
            self.leave(now, number, pair, "nobody asks for it any more");
        }
    }

    /// The pair needs no room any more.
    pub(crate) fn settle_room(&mut self, pair: Pair) {
        if self.room_for.remove(&pair) {
            self.room_is_settled();
        }
    }
}

/// As nanoseconds; at most what 64 bits hold.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A reason of bearable length.
pub(crate) fn cut(reason: &str) -> String {
    let mut end = reason.len().min(MOST_TEXT);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.get(..end).unwrap_or_default().into()
}

/// An address in its usual form.
pub(crate) fn dotted([a, b, c, d]: [u8; 4]) -> String {
    format!("{a}.{b}.{c}.{d}")
}
