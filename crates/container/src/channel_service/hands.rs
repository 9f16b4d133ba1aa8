//! What a thread takes of a channel, gives to consumers, and is done with.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use channel::{Batch, ConsumerId, Multicast, Part, Run, Worker};

use super::core::{Core, Inner, Served};
use crate::context::Context;
use crate::event::Body;
use crate::joins::Together;
use crate::turn;

/// How many consumers a thread that serves alone takes for at once. What it takes so is in its order; only what gives way to it is chosen
/// sooner, so it is not many more than one lock and one look at the clock are worth.
pub(super) const AT_ONCE: usize = 8;

/// What a thread has taken, in memory that is used again.
#[derive(Default)]
pub(super) struct Hands {
    taken: Vec<Taken>,
    /// How many of these are in use.
    count: usize,
    /// An event that it has taken for several consumers, or for one, and these.
    multicast: Multicast<Body>,
    shared: Vec<Shared>,
    /// What of it is given back.
    single: Batch<Body>,
}

#[derive(Default)]
struct Taken {
    consumer: Option<ConsumerId>,
    served: Option<Arc<Served>>,
    batch: Batch<Body>,
    /// It was not delivered, because its consumer was suspended meanwhile.
    is_returned: bool,
}

/// A consumer that shares an event with others.
struct Shared {
    served: Option<Arc<Served>>,
    /// As of [`Taken`].
    is_returned: bool,
}

impl Hands {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether what was taken is an event that several share.
    pub(super) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// For how many consumers something was taken.
    pub(super) fn len(&self) -> usize {
        self.count + self.shared.len()
    }
}

impl Core {
    /// Gives consumers what was taken for them.
    pub(super) fn deliver(&self, hands: &mut Hands) {
        if !hands.shared.is_empty() {
            self.deliver_multicast(hands);
        }
        for taken in hands.taken.iter_mut().take(hands.count) {
            let Some(served) = taken.served.take() else { continue };
            taken.is_returned = served.is_held.load(Acquire);
            if !taken.is_returned {
                turn::run(|| self.deliver_batch(&served, &taken.batch));
            }
        }
    }

    fn deliver_batch(&self, served: &Served, batch: &Batch<Body>) {
        let target = &*served.target;
        for delivery in batch.deliveries() {
            let together = Together::new(delivery, self.clock(), &served.sources);
            let at = match delivery {
                [Part::Event { header, .. }] if served.sources.len() < 2 => {
                    Context::of(self.clock(), header, 0, 0)
                }
                _ => together.context(0),
            };
            let delivered = catch_unwind(AssertUnwindSafe(|| match delivery {
                [part] => target.deliver(part, &at),
                _ => target.deliver_together(together, &at),
            }));
            if let Err(panic) = delivered {
                target.port().caught(&*panic);
            }
        }
    }

    /// Gives several consumers the event that they share. Panics are caught once for all of them.
    fn deliver_multicast(&self, hands: &mut Hands) {
        let Hands { multicast, shared, .. } = hands;
        let Some(part @ Part::Event { header, .. }) = multicast.part() else { return };
        let at = Context::of(self.clock(), header, 0, 0);
        // Within a turn nothing is served at the end of each delivery.
        let is_within = turn::is_within();
        let mut next = 0;
        loop {
            let all = AssertUnwindSafe(|| {
                while let Some(one) = shared.get_mut(next) {
                    if let Some(served) = &one.served {
                        one.is_returned = served.is_held.load(Acquire);
                        if !one.is_returned && is_within {
                            self.deliver_shared(served, part, &at);
                        } else if !one.is_returned {
                            turn::run(|| self.deliver_shared(served, part, &at));
                        }
                    }
                    one.served = None;
                    next += 1;
                }
            });
            let Err(panic) = catch_unwind(all) else { return };
            if let Some(one) = shared.get_mut(next) {
                if let Some(served) = &one.served {
                    // What was put off until the end of its turn is done now.
                    turn::run(|| served.target.port().caught(&*panic));
                }
                one.served = None;
            }
            next += 1;
        }
    }

    #[inline]
    fn deliver_shared(&self, served: &Served, part: &Part<Body>, at: &Context) {
        if served.sources.len() < 2 {
            // The reason that another handler said is not that of this one.
            let _ = at.reason();
            served.target.deliver(part, at);
        } else {
            let together = Together::new(slice::from_ref(part), self.clock(), &served.sources);
            served.target.deliver(part, &together.context(0));
        }
    }
}

impl Inner {
    /// Takes for a worker, for so many consumers at most.
    #[inline]
    pub(super) fn take(&mut self, now: u64, worker: Worker, most: usize, hands: &mut Hands) {
        if self.machine.take_multicast(now, worker, most, &mut hands.multicast) {
            let shared = |consumer| Shared { served: self.served(consumer), is_returned: false };
            hands.shared.extend(hands.multicast.consumers().map(shared));
            return;
        }
        let mut run = Run::new();
        while hands.count < most {
            if hands.taken.len() == hands.count {
                hands.taken.push(Taken::default());
            }
            let Some(taken) = hands.taken.get_mut(hands.count) else { return };
            let Some(consumer) = self.machine.take_next(now, worker, &mut run, &mut taken.batch) else {
                return;
            };
            taken.consumer = Some(consumer);
            taken.served = self.served(consumer);
            hands.count += 1;
        }
    }

    /// A worker is done with what it took.
    #[inline]
    pub(super) fn end(&mut self, now: u64, hands: &mut Hands) {
        for taken in hands.taken.iter_mut().take(hands.count) {
            let Some(consumer) = taken.consumer else { continue };
            if taken.is_returned {
                self.machine.give_back(now, consumer, &mut taken.batch);
            } else {
                self.machine.done(now, consumer);
            }
        }
        hands.count = 0;
        if !hands.shared.is_empty() {
            self.end_multicast(now, hands);
        }
    }

    fn end_multicast(&mut self, now: u64, hands: &mut Hands) {
        let Hands { multicast, shared, single, .. } = hands;
        for (place, (consumer, one)) in multicast.consumers().zip(shared.iter()).enumerate() {
            if one.is_returned {
                multicast.single(place, single);
                self.machine.give_back(now, consumer, single);
            } else {
                self.machine.done(now, consumer);
            }
        }
        multicast.clear();
        shared.clear();
    }
}
