//! Changes while a channel works: subscription trees, settings, suspended peers.
use alloc::vec::Vec;

use filter::Fields;

use super::{Channel, subscription_of};
use crate::event::{Header, Part};
use crate::kept::Kept;
use crate::matching::{Node, Offer};
use crate::peers::{ConsumerId, ConsumerSettings, PublisherId};
use crate::tree::{Tree, TreeError};

impl<E: Clone + Fields> Channel<E> {
    /// Takes out what the joins of a consumer have kept: none of it is delivered any more unless it is put back. What waits in its queue stays, and
    /// timers go on. `None` if there is no such consumer.
    pub fn set_aside(&mut self, now: u64, consumer: ConsumerId) -> Option<Kept<E>> {
        self.tick(now);
        // The place of one that is gone may be another one's.
        self.subscription(consumer)?;
        self.fire_timers(consumer.index);
        let subscription = self.subscription(consumer)?;
        let kept = subscription.node.take_kept();
        subscription.timer_at = subscription.node.due();
        Some(kept)
    }

    /// Gives the joins of a consumer back what was taken out of them, or out of those of another consumer with an equal tree. What they have kept since
    /// comes after it. Says whether it was: what does not suit the tree, and what no join could have kept, changes nothing.
    pub fn put_back(&mut self, now: u64, consumer: ConsumerId, kept: Kept<E>) -> bool {
        self.tick(now);
        if self.subscription(consumer).is_none() {
            return false;
        }
        self.settle();
        self.fire_timers(consumer.index);
        let Some(subscription) = self.subscription(consumer) else { return false };
        let since = subscription.node.take_kept();
        if !subscription.node.put_kept(kept) {
            subscription.node.put_kept(since);
            return false;
        }
        subscription.timer_at = subscription.node.due();
        // What has waited for too long meanwhile is given up as it would have been.
        self.fire_timers(consumer.index);
        self.offer_again(consumer, since.joins.into_iter().flat_map(|it| it.parts).flat_map(|it| it.kept));
        if let Some(subscription) = self.subscription(consumer) {
            subscription.timer_at = subscription.node.due();
            let due = subscription.timers_due();
            self.due = self.due.min(due);
        }
        true
    }

    /// Shows a consumer events that its joins have kept, in the order in which they came.
    fn offer_again(&mut self, consumer: ConsumerId, kept: impl IntoIterator<Item = Part<E>>) {
        let event = |part| match part {
            Part::Event { number, header, body } => Some((number, header, body)),
            Part::Timeout { .. } => None,
        };
        let mut kept: Vec<(u64, Header, E)> = kept.into_iter().filter_map(event).collect();
        kept.sort_by_key(|(number, ..)| *number);
        for (number, header, body) in &kept {
            self.offer(consumer.index, &Offer { now: self.now, number: *number, header, body }, true);
        }
    }

    /// Gives a consumer another tree, between two events: each event is seen by the old one or by the new one. What joins of the old one have
    /// kept is shown to the new one, in the order in which it came. Timers begin anew. If the trees are equal, nothing changes.
    ///
    /// # Errors
    /// The new tree is not valid; the old one stays. Nothing happens if there is no such consumer.
    pub fn change_tree(&mut self, now: u64, consumer: ConsumerId, tree: &Tree) -> Result<(), TreeError> {
        tree.check(&self.limits)?;
        self.tick(now);
        let now = self.now;
        let Some(subscription) = self.subscription(consumer) else { return Ok(()) };
        if subscription.tree == *tree {
            return Ok(());
        }
        self.settle();
        self.fire_timers(consumer.index);
        let test = self.verdicts.enter(tree);
        let Some(subscription) = self.subscription(consumer) else { return Ok(()) };
        let old_test = core::mem::replace(&mut subscription.test, test);
        subscription.tree = tree.clone();
        let old = core::mem::replace(&mut subscription.node, Node::new(tree, now, &mut 0));
        subscription.look_at_time();
        self.verdicts.leave(old_test);
        let mut kept = Vec::new();
        old.give_up(&mut kept);
        self.index.leave(consumer.index);
        self.index_tree(consumer.index, tree);
        self.offer_again(consumer, kept);
        if let Some(subscription) = self.subscription(consumer) {
            subscription.timer_at = subscription.node.due();
            let due = subscription.timers_due();
            self.due = self.due.min(due);
        }
        self.compare_interest();
        Ok(())
    }

    /// Serves a consumer otherwise from now on. What waits for it goes on waiting, in the new order; if that is too much for the new depth, some
    /// gives way by the new policy, unless that drops only what is new. What waits above what a new share has room for stays.
    pub fn change_settings(&mut self, now: u64, consumer: ConsumerId, settings: ConsumerSettings) {
        self.tick(now);
        self.settle();
        let now = self.now;
        let Some(subscription) = subscription_of(&mut self.consumers, consumer) else { return };
        self.ready.leave(consumer, subscription);
        self.strict -= usize::from(subscription.is_strict());
        self.shares -= usize::from(subscription.settings.share.is_some());
        self.shares += usize::from(settings.share.is_some());
        subscription.place = self.ready.place(settings.dispatch);
        subscription.settings = settings;
        // Whatever was watched before is not any more.
        subscription.silent_at = None;
        subscription.look_at_time();
        self.strict += usize::from(subscription.is_strict());
        let dropped = subscription.queue.change(settings.queue, settings.window);
        subscription.counts.dropped = subscription.counts.dropped.saturating_add(dropped);
        subscription.watch_silence(now);
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(consumer, subscription, now);
        self.tell_of_room();
    }

    /// Suspends a publisher, whose events are refused, or lets it go on.
    pub fn suspend_publisher(&mut self, now: u64, publisher: PublisherId, is_suspended: bool) {
        self.tick(now);
        let now = self.now;
        if let Some(publisher) = self.publisher(publisher) {
            publisher.is_suspended = is_suspended;
            // A publisher that may not push is not silent.
            let patience = publisher.settings.patience.filter(|_| !is_suspended);
            let silent_at = patience.map(|patience| now.saturating_add(patience));
            publisher.silent_at = silent_at;
            self.due = self.due.min(silent_at.unwrap_or(u64::MAX));
        }
    }

    /// Suspends a consumer, or lets it go on. Meanwhile its deliveries wait, and no worker takes them. Its timers wake nothing: what was due acts
    /// once the consumer goes on, or before the next event that it may take; periods that passed by then are not made up for.
    pub fn suspend_consumer(&mut self, now: u64, consumer: ConsumerId, is_suspended: bool) {
        self.tick(now);
        self.settle();
        let now = self.now;
        let Some(subscription) = subscription_of(&mut self.consumers, consumer) else { return };
        self.suspended -= usize::from(subscription.is_suspended);
        self.suspended += usize::from(is_suspended);
        subscription.is_suspended = is_suspended;
        let due = self.tick_consumer(consumer.index, now);
        self.due = self.due.min(due);
    }

    /// Drops what waits for a consumer, and what its joins have kept; its timers begin anew.
    pub fn discard(&mut self, now: u64, consumer: ConsumerId) {
        self.tick(now);
        self.settle();
        let now = self.now;
        let Some(subscription) = subscription_of(&mut self.consumers, consumer) else { return };
        self.ready.leave(consumer, subscription);
        let dropped = subscription.queue.clear();
        subscription.counts.dropped = subscription.counts.dropped.saturating_add(dropped);
        subscription.node = Node::new(&subscription.tree, now, &mut 0);
        subscription.timer_at = subscription.node.due();
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(consumer, subscription, now);
        self.tell_of_room();
    }
}
