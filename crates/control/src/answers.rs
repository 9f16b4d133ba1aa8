//! Answers: what is asked, whether that can be, and what is said of it when.
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use core::time::Duration;

use latency::ledger::Offer;
use wire::admission::{Request, Socket, Verdict};

use crate::action::{Action, Asker, Facts, Pair};
use crate::losses::Part;
use crate::note::Note;
use crate::operations::Timer;
use crate::requests::{Goal, Obstacle, Refused, Renewed, Waits, Wish, dotted};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    pub(crate) fn take_request(&mut self, now: Duration, request: Request, facts: Facts) {
        let pair = request.pair();
        if !self.requests.contains(pair) {
            if let Err(reason) = self.may_ask(&request, &facts) {
                self.turn_away(now, &request, &reason);
                return;
            }
            if self.has_place(now, &request, &facts) {
                self.requests.insert(request, facts);
                self.publish(pair);
            }
            return;
        }
        // A request without a signature changes nothing of one that has one.
        if matches!(facts.asker, Asker::Unknown(_)) {
            return;
        }
        match self.requests.renew(request, facts) {
            Some(Renewed::Same) => self.publish(pair),
            Some(Renewed::Other) => self.put_off(pair, ""),
            Some(Renewed::Older) | None => {}
        }
    }

    /// Says the verdict of a pair.
    pub(crate) fn publish(&mut self, pair: Pair) {
        self.note_verdict(pair);
        if let Some(asked) = self.requests.get(pair) {
            let verdict = Box::new(asked.verdict.clone());
            self.operations.act(Action::Publish { token: None, verdict });
        }
    }

    /// Nothing is decided yet; why, in words. A pair that has a grant keeps it until then.
    pub(crate) fn put_off(&mut self, pair: Pair, reason: &str) {
        if self.requests.put_off(pair, reason) {
            self.publish(pair);
        }
    }

    /// The request is refused; if no reader asks any more, nothing is left to say. With `retry` it is looked at again when something has changed.
    pub(crate) fn refuse(&mut self, now: Duration, pair: Pair, reason: &str, offer: Offer, retry: bool) {
        if let Some(until) = self.requests.displaced_in_vain(now, pair, self.config.grace) {
            self.operations.wake(until, Timer::Retry(pair));
        }
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
        let Some(Refused { is_new, held }) = self.requests.refuse(pair, reason, offer, retry) else {
            self.say_last(pair);
            return;
        };
        if is_new {
            self.publish(pair);
        }
        if let Some(number) = held {
            self.leave(now, number, pair, "it asked for something else");
        }
    }

    /// What was planned did not come about: the request is refused, and tried again after a while.
    pub(crate) fn refuse_for_now(&mut self, now: Duration, pair: Pair, reason: &str) {
        self.refuse(now, pair, reason, Offer::default(), false);
        self.operations.wake(now.saturating_add(self.config.grace), Timer::Retry(pair));
    }

    /// The pair is served by a grant that is in force.
    pub(crate) fn admitted(&mut self, now: Duration, pair: Pair, number: u64) {
        let (Some(asked), Some(grant)) = (self.requests.get(pair), self.reservations.get(number)) else {
            return;
        };
        let verdict = Verdict { serial: asked.serial, ..self.admission(grant, &asked.request) };
        let repeat_at = now.saturating_add(self.config.lease / 3);
        self.reservations.set_serial(number, pair, verdict.serial);
        self.requests.admit(pair, number, verdict, repeat_at);
        self.publish(pair);
        self.operations.wake(repeat_at, Timer::Repeat(pair));
        // It may have got its room with another pair's flow.
        self.requests.settle_room(pair);
    }

    /// The lease of a verdict is extended.
    pub(crate) fn repeat(&mut self, now: Duration, time: Duration, pair: Pair) {
        let again = now.saturating_add(self.config.lease / 3);
        if self.requests.repeat(time, pair, again) {
            self.operations.wake(again, Timer::Repeat(pair));
            self.publish(pair);
        }
    }

    /// Something is missing that may come: the request waits for it, and is refused after a while.
    pub(crate) fn wait(&mut self, now: Duration, pair: Pair, reason: &str) {
        let until = now.saturating_add(self.config.grace);
        match self.requests.wait(now, pair, until) {
            None => {}
            Some(Waits::Refused) => self.refuse(now, pair, reason, Offer::default(), true),
            Some(waits) => {
                if waits == Waits::Since {
                    self.operations.wake(until, Timer::Wait(pair));
                }
                self.put_off(pair, reason);
            }
        }
    }

    pub(crate) fn wait_is_over(&mut self, now: Duration, pair: Pair) {
        if let Some(reason) = self.requests.has_waited(now, pair) {
            self.refuse(now, pair, &reason, Offer::default(), true);
        }
    }

    /// What a request comes to.
    pub(crate) fn examine(&self, pair: Pair) -> Result<Wish, Obstacle> {
        self.examine_with(pair, &BTreeSet::new())
    }

    /// The same if these pairs were served, too.
    pub(crate) fn examine_with(&self, pair: Pair, others: &BTreeSet<Pair>) -> Result<Wish, Obstacle> {
        let wrong = |reason: &str| Err(Obstacle::Wrong(reason.into()));
        let Some(asked) = self.requests.get(pair) else { return wrong("nobody asks") };
        let request = &asked.request;
        asked.check()?;
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
            let reason = "writer and reader are on the same host: there is no network between them";
            // Where it was learned, one of them may have moved, and the other one may follow.
            let fixed = |socket: Socket| self.fabric.is_fixed(socket.address);
            return match fixed(request.source) && fixed(request.destination) {
                true => wrong(reason),
                false => Err(Obstacle::Missing(reason.into())),
            };
        }
        self.fabric
            .network()
            .check_vlans(request, asked.facts.aggregate.is_some())
            .map_err(Obstacle::Wrong)?;
        let address = self.fabric.ethernet_of(request.destination.address);
        let address = if asked.facts.tunnel.is_some() {
            // The first switch knows its packets by it.
            let known = self.fabric.network().hosts.get(to).and_then(|host| host.mac);
            let there = self.reservations.at(request.source, request.destination);
            let granted = there.and_then(|number| self.reservations.get(number)?.ends.first()?.address);
            let Some(address) = address.or(known).or(granted) else {
                let address = dotted(request.destination.address);
                return Err(Obstacle::Missing(format!(
                    "the Ethernet address of {address} is not known yet: its host has to send ARP, or the network file has its `mac`"
                )));
            };
            Some(address)
        } else {
            address
        };
        let goal = Goal {
            host: to,
            to: request.destination,
            address,
            maximum_latency: request.maximum_latency,
            maximum_separation: request.maximum_separation,
        };
        let wish = Wish {
            pair,
            from,
            source: request.source,
            destination: request.destination,
            contract: request.contract,
            aggregate: asked.aggregate(),
            tunnel: asked.facts.tunnel,
            losses: self.losses_asked(pair)?,
            part: Part::Whole,
            goals: alloc::vec![goal],
        };
        self.within_policy(asked, &wish, others).map_err(Obstacle::Wrong)?;
        Ok(wish)
    }

    /// The pair is not asked for any more.
    pub(crate) fn forget(&mut self, now: Duration, pair: Pair) {
        if let Some(asked) = self.requests.remove(pair) {
            let note = Note::Withdrawn(self.ends(&asked.request));
            self.note(note);
        }
        self.requests.settle_room(pair);
        let serving = self.reservations.serving(pair);
        if serving.is_empty() {
            // Also one that was turned away has a verdict.
            self.operations.act(Action::Dispose(pair));
        }
        for number in serving {
            self.leave(now, number, pair, "no reader asks for it any more");
        }
    }
}
