//! A consumer of the slow channel: what its joins have kept is in one table by the place in the tree, and results climb from the leaf to the
//! root.
use std::collections::HashMap;

use channel::{ConsumerSettings, Full, Header, Keep, Order, Tree};

use crate::Body;

/// An event or a timeout, as the channel shows it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Piece {
    Event(u64, Header, Body),
    Timeout(u16, u64, u8),
}

/// The way from the root of a tree to one of its nodes.
pub(crate) type Place = Vec<usize>;

#[derive(Clone, Default)]
pub(crate) struct Kept {
    /// In the order of arrival: for which part, and what.
    pub(super) what: Vec<(usize, Vec<Piece>)>,
    until: Option<u64>,
}

#[derive(Clone)]
pub(crate) struct Waiting {
    pub(super) number: u64,
    since: u64,
    pub(super) pieces: Vec<Piece>,
}

pub(crate) struct Consumer {
    pub(crate) tree: Tree,
    pub(crate) settings: ConsumerSettings,
    pub(super) joins: HashMap<Place, Kept>,
    /// When timers are due; those that have ended are not in it.
    clocks: HashMap<Place, u64>,
    pub(super) waiting: Vec<Waiting>,
    pub(crate) is_suspended: bool,
    pub(crate) busy: u32,
    pub(super) silent_at: Option<u64>,
    pub(crate) queued: u64,
    pub(crate) taken: u64,
    pub(crate) dropped: u64,
    pub(crate) expired: u64,
    pub(crate) late: u64,
}

pub(super) enum Taken {
    No,
    Kept,
    Gives(Vec<Piece>),
}

fn children(tree: &Tree) -> Vec<&Tree> {
    match tree {
        Tree::Any(parts) | Tree::All(parts) | Tree::Join { parts, .. } => parts.iter().collect(),
        Tree::Not(part) | Tree::Silence { of: part, .. } => vec![part],
        _ => vec![],
    }
}

fn at<'a>(tree: &'a Tree, place: &[usize]) -> &'a Tree {
    place.iter().fold(tree, |tree, index| children(tree)[*index])
}

/// All places of a tree, each before what is below it.
fn places(tree: &Tree) -> Vec<Place> {
    let below = children(tree)
        .into_iter()
        .enumerate()
        .flat_map(|(index, child)| places(child).into_iter().map(move |place| [vec![index], place].concat()));
    std::iter::once(vec![]).chain(below).collect()
}

fn timers(tree: &Tree) -> Vec<Place> {
    let is_timer =
        |tree: &Tree| matches!(tree, Tree::Every { .. } | Tree::After { .. } | Tree::Silence { .. });
    places(tree).into_iter().filter(|place| is_timer(at(tree, place))).collect()
}

fn fits(tree: &Tree, header: &Header, body: &Body) -> bool {
    match tree {
        Tree::Everything => true,
        Tree::Header { kind, source } => [(kind, header.kind), (source, header.source)]
            .iter()
            .all(|(wanted, is)| wanted.unwrap_or(*is) == *is),
        Tree::Bits { kind, source } => [(kind, header.kind), (source, header.source)]
            .iter()
            .all(|(mask, is)| **mask == 0 || *mask & is > 0),
        Tree::Masked { kind, source } => [(kind, header.kind), (source, header.source)]
            .iter()
            .all(|((mask, value), is)| mask & is == *value),
        Tree::Content(_) => body.0 > 3,
        Tree::Not(part) => !fits(part, header, body),
        Tree::All(parts) => !parts.iter().any(|part| !fits(part, header, body)),
        Tree::Any(parts) => parts.iter().filter(|part| fits(part, header, body)).count() > 0,
        _ => false,
    }
}

/// Whether the tree is a pattern of one event: those have no place of their own below them.
fn is_pattern(tree: &Tree) -> bool {
    !places(tree).iter().any(|place| {
        matches!(
            at(tree, place),
            Tree::Join { .. } | Tree::Every { .. } | Tree::After { .. } | Tree::Silence { .. }
        )
    })
}

impl Consumer {
    pub(crate) fn new(tree: &Tree, settings: ConsumerSettings, now: u64) -> Self {
        let mut new = Self {
            tree: tree.clone(),
            settings,
            joins: HashMap::new(),
            clocks: HashMap::new(),
            waiting: vec![],
            is_suspended: false,
            busy: 0,
            silent_at: None,
            queued: 0,
            taken: 0,
            dropped: 0,
            expired: 0,
            late: 0,
        };
        new.wind_up(now);
        new
    }

    pub(super) fn wind_up(&mut self, now: u64) {
        self.joins.clear();
        self.clocks = timers(&self.tree)
            .into_iter()
            .map(|place| {
                let (Tree::Every { period: time, .. }
                | Tree::After { delay: time, .. }
                | Tree::Silence { after: time, .. }) = at(&self.tree, &place)
                else {
                    unreachable!("not a timer")
                };
                (place, now + time)
            })
            .collect();
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= usize::from(self.settings.queue.depth)
    }

    pub(super) fn is_strict(&self) -> bool {
        matches!(self.settings.queue.full, Full::Block { .. } | Full::Reject)
    }

    pub(super) fn may_take(&self, header: &Header, body: &Body) -> bool {
        fn below(tree: &Tree, header: &Header, body: &Body) -> bool {
            if is_pattern(tree) {
                fits(tree, header, body)
            } else {
                children(tree).into_iter().any(|child| below(child, header, body))
            }
        }
        below(&self.tree, header, body)
    }

    /// Shows an event to the node at a place.
    pub(super) fn show(&mut self, place: &Place, now: u64, event: &(u64, Header, Body)) -> Taken {
        let tree = at(&self.tree, place).clone();
        if is_pattern(&tree) {
            return if fits(&tree, &event.1, &event.2) {
                Taken::Gives(vec![Piece::Event(event.0, event.1, event.2.clone())])
            } else {
                Taken::No
            };
        }
        let child = |index: usize| [place.clone(), vec![index]].concat();
        match &tree {
            Tree::Any(parts) => {
                let mut kept = false;
                for index in 0..parts.len() {
                    match self.show(&child(index), now, event) {
                        Taken::Gives(pieces) => return Taken::Gives(pieces),
                        Taken::Kept => kept = true,
                        Taken::No => {}
                    }
                }
                if kept { Taken::Kept } else { Taken::No }
            }
            Tree::Join { parts, .. } => {
                let has = |consumer: &Self, index: usize| {
                    consumer
                        .joins
                        .get(place)
                        .is_some_and(|kept| kept.what.iter().any(|(part, _)| *part == index))
                };
                let empty: Vec<usize> = (0..parts.len()).filter(|index| !has(self, *index)).collect();
                let others: Vec<usize> = (0..parts.len()).filter(|index| has(self, *index)).collect();
                for index in empty.into_iter().chain(others) {
                    match self.show(&child(index), now, event) {
                        Taken::Gives(pieces) => return self.keep(place, index, pieces, now),
                        Taken::Kept => return Taken::Kept,
                        Taken::No => {}
                    }
                }
                Taken::No
            }
            Tree::Silence { after, .. } => {
                let taken = self.show(&child(0), now, event);
                if !matches!(taken, Taken::No) {
                    self.clocks.insert(place.clone(), now + after);
                }
                taken
            }
            _ => Taken::No,
        }
    }

    /// A part of the join at a place has something.
    fn keep(&mut self, place: &Place, part: usize, pieces: Vec<Piece>, now: u64) -> Taken {
        let Tree::Join { parts, keep, within } = at(&self.tree, place).clone() else {
            unreachable!("no join")
        };
        let kept = self.joins.entry(place.clone()).or_default();
        let count = kept.what.iter().filter(|(of, _)| *of == part).count();
        match keep {
            Keep::First if count == 1 => return Taken::Kept,
            Keep::All(most) if count == usize::from(most) => return Taken::Kept,
            Keep::Last => kept.what.retain(|(of, _)| *of != part),
            _ => {}
        }
        kept.what.push((part, pieces));
        kept.until = kept.until.or(within.map(|within| now + within));
        let of_part = |part: usize| kept.what.iter().filter(move |(of, _)| *of == part);
        if (0..parts.len()).any(|part| of_part(part).count() == 0) {
            return Taken::Kept;
        }
        let all = (0..parts.len()).flat_map(of_part).flat_map(|(_, pieces)| pieces.clone()).collect();
        self.joins.remove(place);
        Taken::Gives(all)
    }

    /// What is due first, of timers and of joins that give up, as they are written.
    pub(super) fn due(&self) -> Option<(u64, Place)> {
        let times = places(&self.tree).into_iter().filter_map(|place| {
            let join = self.joins.get(&place).and_then(|kept| kept.until);
            Some((join.or(self.clocks.get(&place).copied())?, place))
        });
        // The first of equal ones.
        times.reduce(|best, other| if other.0 < best.0 { other } else { best })
    }

    /// Lets what is due first act. What climbs to the root is a delivery.
    pub(super) fn act(&mut self, time: u64, place: Place, now: u64) -> Option<Vec<Piece>> {
        let number = timers(&self.tree).iter().position(|other| *other == place);
        let priority = match at(&self.tree, &place).clone() {
            Tree::Join { .. } => {
                self.joins.remove(&place);
                self.expired += 1;
                return None;
            }
            Tree::Every { period, priority } => {
                let mut next = time;
                while next <= now {
                    next += period;
                }
                self.clocks.insert(place.clone(), next);
                priority
            }
            Tree::After { priority, .. } | Tree::Silence { priority, .. } => {
                self.clocks.remove(&place);
                priority
            }
            _ => unreachable!("nothing is due here"),
        };
        let mut taken = Taken::Gives(vec![Piece::Timeout(number.expect("a timer") as u16, time, priority)]);
        let mut place = place;
        while let Some(index) = place.pop() {
            match at(&self.tree, &place).clone() {
                Tree::Join { .. } => {
                    if let Taken::Gives(pieces) = taken {
                        taken = self.keep(&place, index, pieces, time);
                    }
                }
                Tree::Silence { after, .. } => {
                    self.clocks.insert(place.clone(), time + after);
                }
                _ => {}
            }
        }
        match taken {
            Taken::Gives(pieces) => Some(pieces),
            _ => None,
        }
    }

    fn rank(&self, waiting: &Waiting) -> (u64, u64) {
        let rank = match self.settings.queue.order {
            Order::Fifo => 0,
            Order::Priority => u64::MAX - u64::from(priority(waiting)),
            Order::Deadline => deadline(waiting),
        };
        (rank, waiting.number)
    }

    pub(super) fn next(&self, now: u64) -> Option<&Waiting> {
        self.waiting
            .iter()
            .filter(|waiting| self.opens(waiting) <= now)
            .min_by_key(|waiting| self.rank(waiting))
    }

    /// When a delivery may be: from, and until.
    fn opens(&self, waiting: &Waiting) -> u64 {
        stamps(&waiting.pieces).map(|stamp| stamp + self.settings.window.start).max().unwrap_or(0)
    }

    fn closes(&self, pieces: &[Piece]) -> Option<u64> {
        stamps(pieces).filter_map(|stamp| Some(stamp + self.settings.window.stop?)).min()
    }

    /// What is too late goes; says whether there was any.
    pub(super) fn lapse(&mut self, now: u64) -> bool {
        let stays = |waiting: &Waiting| self.closes(&waiting.pieces).is_none_or(|time| time > now);
        let stay: Vec<Waiting> = self.waiting.iter().filter(|waiting| stays(waiting)).cloned().collect();
        let count = self.waiting.len() - stay.len();
        self.late += count as u64;
        self.waiting = stay;
        count > 0
    }

    /// When what may be delivered changes because of time.
    pub(super) fn window_changes(&self, now: u64) -> Option<u64> {
        let times =
            self.waiting.iter().flat_map(|waiting| [Some(self.opens(waiting)), self.closes(&waiting.pieces)]);
        times.flatten().filter(|time| *time > now).min()
    }

    /// Adds a delivery; then, if there are too many, one gives way.
    pub(super) fn add(&mut self, number: u64, since: u64, pieces: Vec<Piece>, is_owed: bool, has_room: bool) {
        if self.closes(&pieces).is_some_and(|time| time <= since) {
            self.late += 1;
            return;
        }
        self.queued += 1;
        let had = self.waiting.len();
        let was_full = self.is_full() || !has_room;
        self.waiting.push(Waiting { number, since, pieces });
        if was_full && !(is_owed && self.is_strict()) {
            self.dropped += 1;
            self.give_way(had);
        }
    }

    /// One gives way; the one at `new` is new.
    pub(super) fn give_way(&mut self, new: usize) {
        let key = |waiting: &Waiting| match waiting.pieces[0] {
            Piece::Event(_, header, _) => Some((header.kind, header.source)),
            Piece::Timeout(..) => None,
        };
        let all = &self.waiting;
        // The worst one goes: compared by how bad it is, then by age.
        let worst = |badness: &dyn Fn(&Waiting) -> u64| {
            (0..all.len()).max_by_key(|index| (badness(&all[*index]), u64::MAX - all[*index].number))
        };
        let goes = match self.settings.queue.full {
            Full::Block { .. } | Full::Reject | Full::DropNewest => Some(new),
            Full::DropOldest => worst(&|_| 0),
            Full::DropLowestPriority => worst(&|waiting| u64::from(u8::MAX - priority(waiting))),
            Full::DropLatestDeadline => worst(&deadline),
            Full::Coalesce => {
                let new = all.get(new);
                let is_same = |waiting: &Waiting| {
                    new.is_some_and(|new| {
                        key(new).is_some() && key(new) == key(waiting) && new.number != waiting.number
                    })
                };
                worst(&|waiting| u64::from(is_same(waiting)))
            }
        };
        self.waiting.remove(goes.expect("at least one"));
    }

    pub(super) fn gathers_until(&self, now: u64) -> Option<u64> {
        let open: Vec<&Waiting> = self.waiting.iter().filter(|waiting| self.opens(waiting) <= now).collect();
        let first = open.iter().map(|waiting| waiting.since.max(self.opens(waiting))).min()?;
        let gather = self.settings.gather;
        let until = first + gather.wait;
        (open.len() < usize::from(gather.most) && until > now).then_some(until)
    }

    pub(super) fn can_be_taken(&self, now: u64) -> bool {
        !self.is_suspended
            && self.next(now).is_some()
            && (self.busy == 0 || self.settings.is_parallel)
            && self.gathers_until(now).is_none()
    }

    pub(super) fn watch(&mut self, now: u64) {
        self.silent_at =
            if self.busy > 0 { self.settings.patience.map(|patience| now + patience) } else { None };
    }
}

/// When the events among these were made.
fn stamps(pieces: &[Piece]) -> impl Iterator<Item = u64> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Event(_, header, _) => Some(header.created),
        Piece::Timeout(..) => None,
    })
}

fn priority(waiting: &Waiting) -> u8 {
    let priorities = waiting.pieces.iter().map(|piece| match piece {
        Piece::Event(_, header, _) => header.priority,
        Piece::Timeout(_, _, priority) => *priority,
    });
    priorities.max().expect("not empty")
}

pub(super) fn deadline(waiting: &Waiting) -> u64 {
    let deadlines = waiting.pieces.iter().filter_map(|piece| match piece {
        Piece::Event(_, header, _) => header.deadline,
        Piece::Timeout(..) => None,
    });
    deadlines.min().unwrap_or(u64::MAX)
}
