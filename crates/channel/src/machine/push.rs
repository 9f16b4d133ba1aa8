//! Publishers push: which consumers are asked whether there is room, and how an event comes to its consumers.
use core::mem;

use filter::Fields;

use super::Channel;
use crate::event::{Header, Part};
use crate::matching::{Node, Offer, Outcome};
use crate::peers::{ConsumerId, PublisherId, Refused};
use crate::queue::Parts;
use crate::verdicts::Test;

impl<E: Clone + Fields> Channel<E> {
    /// An event, for all consumers that want it. Returns its number; numbers grow by one.
    ///
    /// # Errors
    /// Why it was refused; then no consumer has got it, and no subscription has seen it.
    pub fn push(
        &mut self,
        now: u64,
        publisher: PublisherId,
        header: &Header,
        body: &E,
    ) -> Result<u64, Refused> {
        self.tick(now);
        let now = self.now;
        let there = self.publisher(publisher).ok_or(Refused::Unknown)?;
        if there.is_suspended {
            return Err(Refused::Suspended);
        }
        there.silent_at = there.settings.patience.map(|patience| now.saturating_add(patience));
        let silent_at = there.silent_at.unwrap_or(u64::MAX);
        self.due = self.due.min(silent_at);
        if self.waiters > 0 {
            self.wait_for(publisher, None);
        }
        self.index.find(header, &mut self.found);
        if self.suspended > 0 {
            self.catch_up(header, body);
        }
        if self.strict > 0 {
            self.settle();
            if let Some(refused) = self.who_refuses(header, body) {
                if let Refused::Wait { consumer, .. } = refused {
                    self.wait_for(publisher, Some(consumer));
                }
                return Err(refused);
            }
        }
        let number = self.events;
        self.events += 1;
        self.spread(&Offer { now, number, header, body });
        Ok(number)
    }

    /// Lets the timers of suspended consumers that an event may concern act first, as far as they are due: a join that has given up by now does not
    /// take it.
    #[cold]
    fn catch_up(&mut self, header: &Header, body: &E) {
        let found = mem::take(&mut self.found);
        for index in &found {
            let there = self.consumers.get(*index as usize).and_then(|there| there.subscription.as_ref());
            if there.is_some_and(|there| there.is_suspended && there.node.may_take(header, body)) {
                self.fire_timers(*index);
            }
        }
        self.found = found;
    }

    /// Several events, one after the other.
    ///
    /// # Errors
    /// How many were accepted before one was refused, and why it was.
    pub fn push_all(
        &mut self,
        now: u64,
        publisher: PublisherId,
        events: &[(Header, E)],
    ) -> Result<(), (usize, Refused)> {
        for (accepted, (header, body)) in events.iter().enumerate() {
            self.push(now, publisher, header, body).map_err(|refused| (accepted, refused))?;
        }
        Ok(())
    }

    /// Shows an event to the consumers that were found for it. Those that are free and have nothing waiting share it.
    #[inline]
    fn spread(&mut self, offer: &Offer<'_, E>) {
        let found = mem::take(&mut self.found);
        // Whether nothing is left of the event before, which has lower numbers.
        let mut is_settled = self.fan_out.is_empty();
        for index in &found {
            let Some(there) = self.consumers.get_mut(*index as usize) else { continue };
            let Some(subscription) = &mut there.subscription else { continue };
            let fits = match subscription.test {
                Test::Header { kind, source } => offer.header.is_of(kind, source),
                Test::Filter { kind, source, filter } => {
                    offer.header.is_of(kind, source) && self.verdicts.passes(filter, offer.number, offer.body)
                }
                Test::Node => {
                    self.offer(*index, offer, false);
                    continue;
                }
            };
            if !fits {
                continue;
            }
            if is_settled && subscription.is_idle() && self.fan_out.is_of(subscription.place) {
                let consumer = ConsumerId { index: *index, generation: there.generation };
                if self.fan_out.members.is_empty() {
                    self.ready.say_work(self.fan_out.line);
                }
                self.fan_out.members.push((consumer, self.deliveries));
                self.deliveries += 1;
                subscription.counts.queued += 1;
            } else {
                if !is_settled {
                    self.settle();
                    is_settled = true;
                }
                self.offer_fitting(*index, offer, false);
            }
        }
        self.found = found;
        if is_settled && !self.fan_out.members.is_empty() {
            let is_by_deadline = self.ready.is_by_deadline(self.fan_out.line);
            let rank = if is_by_deadline { offer.header.deadline.unwrap_or(u64::MAX) } else { 0 };
            self.fan_out.begin(offer, rank);
        }
    }

    /// Shows an event to a subscription, and queues what it gives; with `is_owed`, also above the depth of a queue that drops nothing.
    pub(super) fn offer(&mut self, index: u32, offer: &Offer<'_, E>, is_owed: bool) {
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        if let Node::Test(tree) = &subscription.node {
            if tree.fits(offer.header, offer.body) {
                self.offer_fitting(index, offer, is_owed);
            }
            return;
        }
        let outcome = subscription.node.offer(offer, &mut self.out);
        if outcome != Outcome::Refused {
            subscription.timer_at = subscription.node.due();
            self.due = self.due.min(subscription.timers_due());
        }
        if outcome != Outcome::Delivered {
            return;
        }
        if subscription.is_late(self.out.iter().filter_map(Part::created).min(), offer.now) {
            return self.out.clear();
        }
        let parts = subscription.queue.gather(&mut self.out);
        self.queue(index, parts, is_owed);
    }

    /// Queues an event for a consumer that gets each by itself, and whose pattern it fits.
    #[inline]
    fn offer_fitting(&mut self, index: u32, offer: &Offer<'_, E>, is_owed: bool) {
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        if !subscription.is_timed || !subscription.is_late(Some(offer.header.created), offer.now) {
            self.queue(index, Parts::One(offer.part()), is_owed);
        }
    }

    /// Puts what a subscription has given into its queue.
    #[inline]
    pub(super) fn queue(&mut self, index: u32, parts: Parts<E>, is_owed: bool) {
        let number = self.deliveries;
        self.deliveries += 1;
        let now = self.now;
        let has_room = self.shares == 0 || self.has_room_at(index);
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        let gave_way = subscription.queue.add(number, now, parts, is_owed, has_room);
        subscription.counts.queued += 1;
        subscription.counts.dropped += u64::from(gave_way);
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(ConsumerId { index, generation: there.generation }, subscription, now);
    }
}
