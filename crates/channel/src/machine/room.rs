//! Room in queues: which consumers refuse an event for lack of it, and which publishers are told once there is some.
use filter::Fields;

use super::Channel;
use crate::event::Header;
use crate::peers::{ConsumerId, PublisherId, Refused, Signal};
use crate::queue::Full;
use crate::subscription::Subscription;

impl<E: Clone + Fields> Channel<E> {
    /// The first consumer whose full queue stands against an event, of those that it may concern.
    pub(super) fn who_refuses(&self, header: &Header, body: &E) -> Option<Refused> {
        self.found.iter().enumerate().find_map(|(place, index)| {
            let there = self.consumers.get(*index as usize)?;
            let subscription = there.subscription.as_ref()?;
            if !subscription.is_strict() || !subscription.node.may_take(header, body) {
                return None;
            }
            // Those before it may take of the room that it has in common with them.
            let before = || {
                let earlier = self
                    .found
                    .iter()
                    .take(place)
                    .filter_map(|index| self.consumers.get(*index as usize)?.subscription.as_ref());
                let shares = |other: &&Subscription<E>| is_shared(other, subscription);
                earlier.filter(shares).filter(|other| other.node.may_take(header, body)).count()
            };
            let has_room = subscription.settings.share.is_none() || self.has_room(subscription, before());
            if !subscription.queue.is_full() && has_room {
                return None;
            }
            let consumer = ConsumerId { index: *index, generation: there.generation };
            Some(match subscription.settings.queue.full {
                Full::Block { limit } => Refused::Wait { consumer, until: self.now.saturating_add(limit) },
                _ => Refused::Full(consumer),
            })
        })
    }

    /// Notes that a publisher waits for a consumer, or for none.
    pub(super) fn wait_for(&mut self, publisher: PublisherId, consumer: Option<ConsumerId>) {
        let Some(there) = self.publisher(publisher) else { return };
        let before = core::mem::replace(&mut there.waits_for, consumer);
        self.waiters -= usize::from(before.is_some());
        self.waiters += usize::from(consumer.is_some());
    }

    /// Whether the consumer at a place has room in common with others for one delivery more.
    #[cold]
    pub(super) fn has_room_at(&self, index: u32) -> bool {
        let there = self.consumers.get(index as usize).and_then(|there| there.subscription.as_ref());
        there.is_none_or(|subscription| self.has_room(subscription, 0))
    }

    /// Whether there is room for one delivery more in what a consumer has in common with others, after so many that are about to come.
    pub(super) fn has_room(&self, subscription: &Subscription<E>, coming: usize) -> bool {
        let Some(share) = subscription.settings.share else { return true };
        let all = self.consumers.iter().filter_map(|there| there.subscription.as_ref());
        let of_share = all.filter(|other| is_shared(other, subscription));
        let waiting: usize = of_share.map(|other| other.queue.len()).sum();
        waiting.saturating_add(coming) < share.most as usize
    }

    /// Tells publishers that wait for a consumer that is gone, or has room. They try again, and may have to wait for another one.
    #[inline]
    pub(super) fn tell_of_room(&mut self) {
        if self.waiters > 0 {
            self.look_for_room();
        }
    }

    #[cold]
    fn look_for_room(&mut self) {
        for index in 0..self.publishers.len() {
            let Some(publisher) = self.publishers.get(index) else { continue };
            let Some(consumer) = publisher.waits_for else { continue };
            let id = PublisherId { index: index as u32, generation: publisher.generation };
            let there = self.consumers.get(consumer.index as usize);
            let there = there.filter(|there| there.generation == consumer.generation);
            let is_in_the_way = there.and_then(|there| there.subscription.as_ref()).is_some_and(|there| {
                let is_full = there.queue.is_full() || !self.has_room(there, 0);
                is_full && matches!(there.settings.queue.full, Full::Block { .. })
            });
            if !is_in_the_way {
                self.wait_for(id, None);
                self.ready.say(Signal::Room(id));
            }
        }
    }
}

/// Whether two consumers have room in common.
fn is_shared<E>(one: &Subscription<E>, other: &Subscription<E>) -> bool {
    let number = |of: &Subscription<E>| of.settings.share.map(|share| share.number);
    number(one).is_some() && number(one) == number(other)
}
