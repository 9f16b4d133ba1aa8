//! A slow channel that is meant to be obvious. It keeps lists and looks through all of them each time: for the consumer whose turn it is, what
//! is due, what gives way.
mod consumer;

use std::collections::HashMap;

use channel::{ConsumerSettings, Dispatch, Full, Header, Tree};

pub(crate) use self::consumer::{Consumer, Kept, Piece, Place, Waiting};
use self::consumer::{Taken, deadline};
use crate::Body;

/// What the joins of a consumer have kept, by their places in the tree.
pub(crate) type Aside = HashMap<Place, Kept>;

pub(crate) struct Publisher {
    pub(crate) is_suspended: bool,
    patience: Option<u64>,
    silent_at: Option<u64>,
    /// The consumer for which it was told to wait.
    waits_for: Option<usize>,
}

/// Peers by the order in which they came; peers that are gone are `None`.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) publishers: Vec<Option<Publisher>>,
    pub(crate) consumers: Vec<Option<Consumer>>,
    /// The order in which time reaches consumers: the channel gives the places of consumers that are gone to others.
    pub(crate) places: Vec<Option<usize>>,
    pub(crate) now: u64,
    events: u64,
    deliveries: u64,
    /// Peers found silent since the last question: publishers, consumers.
    pub(crate) silent: (Vec<usize>, Vec<usize>),
    /// Publishers that were told of room since it was asked for.
    pub(crate) room: Vec<usize>,
    /// What was taken last, as it had waited.
    pub(crate) taken: Vec<Waiting>,
}

/// Why the model refuses an event.
#[derive(PartialEq, Debug)]
pub(crate) enum No {
    Unknown,
    Suspended,
    Wait(usize, u64),
    Full(usize),
}

/// Which thread takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum By {
    Publisher,
    Pool,
    Lane(u8),
    Own(usize),
    Deadline,
}

impl Model {
    fn there(&self) -> Vec<usize> {
        self.places.iter().copied().flatten().collect()
    }

    pub(crate) fn consumer(&mut self, name: usize) -> Option<&mut Consumer> {
        self.consumers.get_mut(name)?.as_mut()
    }

    pub(crate) fn pass(&mut self, now: u64) {
        self.now = self.now.max(now);
        for (name, publisher) in self.publishers.iter_mut().enumerate() {
            let Some(publisher) = publisher else { continue };
            if publisher.silent_at.is_some_and(|at| at <= self.now) {
                publisher.silent_at = None;
                self.silent.0.push(name);
            }
        }
        for name in self.there() {
            let now = self.now;
            if self.consumers[name].as_mut().expect("there").lapse(now) {
                self.look_for_room();
            }
            if !self.consumers[name].as_ref().expect("there").is_suspended {
                self.act(name);
            }
            let consumer = self.consumers[name].as_mut().expect("there");
            if consumer.silent_at.is_some_and(|at| at <= now) {
                consumer.silent_at = None;
                self.silent.1.push(name);
            }
        }
    }

    /// What is due of a consumer happens.
    fn act(&mut self, name: usize) {
        let now = self.now;
        while let Some((time, place)) = self.consumers[name].as_ref().and_then(Consumer::due)
            && time <= now
        {
            let given = self.consumers[name].as_mut().and_then(|consumer| consumer.act(time, place, now));
            self.deliver(name, given, false);
        }
    }

    /// A consumer that goes on finds what was due meanwhile.
    pub(crate) fn suspend_consumer(&mut self, name: usize, is_suspended: bool) {
        let Some(consumer) = self.consumer(name) else { return };
        consumer.is_suspended = is_suspended;
        if !is_suspended {
            self.act(name);
        }
    }

    /// When the next thing happens by itself.
    pub(crate) fn next(&self) -> Option<u64> {
        let publishers = self.publishers.iter().flatten().filter_map(|publisher| publisher.silent_at);
        let consumers = self.consumers.iter().flatten().flat_map(|consumer| {
            let works = !consumer.is_suspended;
            let due = consumer.due().map(|(time, _)| time).filter(|_| works);
            let gathers = consumer.gathers_until(self.now).filter(|_| works);
            [due, consumer.silent_at, gathers, consumer.window_changes(self.now)]
        });
        publishers.chain(consumers.flatten()).min()
    }

    fn deliver(&mut self, name: usize, given: Option<Vec<Piece>>, is_owed: bool) {
        let Some(pieces) = given else { return };
        let (number, now) = (self.deliveries, self.now);
        self.deliveries += 1;
        let has_room = self.has_room(name, 0);
        self.consumers[name].as_mut().expect("there").add(number, now, pieces, is_owed, has_room);
    }

    /// Whether one delivery more has room in what a consumer shares with others, behind so many.
    fn has_room(&self, name: usize, behind: usize) -> bool {
        let share = |consumer: &Consumer| consumer.settings.share;
        let Some(own) = self.consumers[name].as_ref().and_then(share) else { return true };
        let all = self
            .consumers
            .iter()
            .flatten()
            .filter(|other| share(other).is_some_and(|it| it.number == own.number));
        all.map(|other| other.waiting.len()).sum::<usize>() + behind < own.most as usize
    }

    pub(crate) fn add_publisher(&mut self, patience: Option<u64>) {
        let silent_at = patience.map(|patience| self.now + patience);
        self.publishers.push(Some(Publisher { is_suspended: false, patience, silent_at, waits_for: None }));
    }

    pub(crate) fn suspend_publisher(&mut self, name: usize, is_suspended: bool) {
        let now = self.now;
        if let Some(publisher) = self.publishers.get_mut(name).and_then(Option::as_mut) {
            publisher.is_suspended = is_suspended;
            publisher.silent_at =
                if is_suspended { None } else { publisher.patience.map(|patience| now + patience) };
        }
    }

    pub(crate) fn subscribe(&mut self, tree: &Tree, settings: ConsumerSettings) {
        let name = self.consumers.len();
        self.consumers.push(Some(Consumer::new(tree, settings, self.now)));
        match self.places.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(name),
            None => self.places.push(Some(name)),
        }
    }

    pub(crate) fn unsubscribe(&mut self, name: usize) {
        if self.consumers[name].take().is_none() {
            return;
        }
        for place in &mut self.places {
            place.take_if(|there| *there == name);
        }
        self.look_for_room();
    }

    pub(crate) fn change_tree(&mut self, name: usize, tree: &Tree) {
        let now = self.now;
        if self.consumer(name).is_none_or(|consumer| consumer.tree == *tree) {
            return;
        }
        self.act(name);
        let consumer = self.consumer(name).expect("there");
        let kept = std::mem::take(&mut consumer.joins);
        consumer.tree = tree.clone();
        consumer.wind_up(now);
        self.show_again(name, kept);
    }

    /// What the joins of a consumer have kept, which is not theirs any more, and how many events that is.
    pub(crate) fn set_aside(&mut self, name: usize) -> Option<(Aside, usize)> {
        self.act(name);
        let kept = std::mem::take(&mut self.consumer(name)?.joins);
        let pieces = kept.values().flat_map(|kept| kept.what.iter()).flat_map(|(_, pieces)| pieces);
        let count = pieces.filter(|piece| matches!(piece, Piece::Event(..))).count();
        Some((kept, count))
    }

    /// It is theirs again, and what came since comes after it.
    pub(crate) fn put_back(&mut self, name: usize, kept: Aside) {
        let Some((since, _)) = self.set_aside(name) else { return };
        self.consumer(name).expect("there").joins = kept;
        self.act(name);
        self.show_again(name, since);
    }

    fn show_again(&mut self, name: usize, kept: Aside) {
        let now = self.now;
        let kept = kept.into_values().flat_map(|kept| kept.what).flat_map(|(_, pieces)| pieces);
        let mut kept: Vec<_> = kept
            .filter_map(|piece| match piece {
                Piece::Event(number, header, body) => Some((number, header, body)),
                Piece::Timeout(..) => None,
            })
            .collect();
        kept.sort_by_key(|event| event.0);
        for event in kept {
            let given = match self.consumer(name).expect("there").show(&vec![], now, &event) {
                Taken::Gives(pieces) => Some(pieces),
                _ => None,
            };
            self.deliver(name, given, true);
        }
    }

    pub(crate) fn change_settings(&mut self, name: usize, settings: ConsumerSettings) {
        let now = self.now;
        let Some(consumer) = self.consumer(name) else { return };
        consumer.settings = settings;
        let keeps_all = consumer.is_strict() || settings.queue.full == Full::DropNewest;
        while !keeps_all && consumer.waiting.len() > usize::from(settings.queue.depth) {
            consumer.give_way(usize::MAX);
            consumer.dropped += 1;
        }
        consumer.watch(now);
        self.look_for_room();
    }

    pub(crate) fn push(&mut self, name: usize, header: &Header, body: &Body) -> Result<u64, No> {
        let now = self.now;
        let publisher = self.publishers.get_mut(name).and_then(Option::as_mut).ok_or(No::Unknown)?;
        if publisher.is_suspended {
            return Err(No::Suspended);
        }
        publisher.silent_at = publisher.patience.map(|patience| now + patience);
        publisher.waits_for = None;
        for name in self.there() {
            let consumer = self.consumers[name].as_ref().expect("there");
            if consumer.is_suspended && consumer.may_take(header, body) {
                self.act(name);
            }
        }
        let mut before: Vec<Option<u32>> = vec![];
        let stands = self.there().into_iter().find(|name| {
            let consumer = self.consumers[*name].as_ref().expect("there");
            if !consumer.may_take(header, body) {
                return false;
            }
            let share = consumer.settings.share.map(|share| share.number);
            let behind = before.iter().filter(|other| **other == share).count();
            before.push(share);
            consumer.is_strict() && (consumer.is_full() || !self.has_room(*name, behind))
        });
        if let Some(consumer) = stands {
            return Err(match self.consumers[consumer].as_ref().expect("there").settings.queue.full {
                Full::Block { limit } => {
                    self.publishers[name].as_mut().expect("there").waits_for = Some(consumer);
                    No::Wait(consumer, now + limit)
                }
                _ => No::Full(consumer),
            });
        }
        let event = (self.events, *header, body.clone());
        self.events += 1;
        for consumer in self.there() {
            let given = match self.consumers[consumer].as_mut().expect("there").show(&vec![], now, &event) {
                Taken::Gives(pieces) => Some(pieces),
                _ => None,
            };
            self.deliver(consumer, given, false);
        }
        Ok(event.0)
    }

    /// The consumer whose turn it is at a thread.
    pub(crate) fn turn(&self, by: By) -> Option<usize> {
        let served = self.there().into_iter().filter(|name| {
            let consumer = self.consumers[*name].as_ref().expect("there");
            let by_its = match consumer.settings.dispatch {
                Dispatch::Publisher => By::Publisher,
                Dispatch::Pool => By::Pool,
                Dispatch::Lane(lane) => By::Lane(lane),
                Dispatch::Own => By::Own(*name),
                Dispatch::Deadline => By::Deadline,
            };
            by == by_its && consumer.can_be_taken(self.now)
        });
        served.min_by_key(|name| {
            let next = self.consumers[*name].as_ref().and_then(|it| it.next(self.now)).expect("not empty");
            (if by == By::Deadline { deadline(next) } else { 0 }, next.number)
        })
    }

    pub(crate) fn take(&mut self, by: By) -> Option<(usize, Vec<Vec<Piece>>)> {
        let name = self.turn(by)?;
        let now = self.now;
        let consumer = self.consumer(name)?;
        let (mut taken, mut as_it_waited) = (vec![], vec![]);
        for _ in 0..consumer.settings.gather.most {
            let Some(number) = consumer.next(now).map(|next| next.number) else { break };
            let index = consumer.waiting.iter().position(|waiting| waiting.number == number).expect("there");
            let waiting = consumer.waiting.remove(index);
            taken.push(waiting.pieces.clone());
            as_it_waited.push(waiting);
            consumer.taken += 1;
        }
        consumer.busy += 1;
        consumer.watch(now);
        self.look_for_room();
        self.taken = as_it_waited;
        Some((name, taken))
    }

    pub(crate) fn give_back(&mut self, name: usize, what: Vec<Waiting>) {
        if let Some(consumer) = self.consumer(name) {
            consumer.taken -= what.len() as u64;
            consumer.waiting.extend(what);
        }
        self.done(name);
    }

    pub(crate) fn done(&mut self, name: usize) {
        let now = self.now;
        if let Some(consumer) = self.consumer(name) {
            consumer.busy = consumer.busy.saturating_sub(1);
            consumer.watch(now);
        }
    }

    pub(crate) fn waiting(&self, name: usize) -> usize {
        self.consumers[name].as_ref().map_or(0, |consumer| consumer.waiting.len())
    }

    /// Publishers that wait for a consumer that is gone, or has room, or lets publishers wait no more.
    fn look_for_room(&mut self) {
        for name in 0..self.publishers.len() {
            let waits_for = self.publishers[name].as_ref().and_then(|publisher| publisher.waits_for);
            let Some(waits_for) = waits_for else { continue };
            let stands = self.consumers[waits_for].as_ref().is_some_and(|consumer| {
                let is_full = consumer.is_full() || !self.has_room(waits_for, 0);
                is_full && matches!(consumer.settings.queue.full, Full::Block { .. })
            });
            if !stands {
                self.publishers[name].as_mut().expect("there").waits_for = None;
                self.room.push(name);
            }
        }
    }
}
