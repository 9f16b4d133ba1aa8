//! What the joins of a consumer have kept, taken out as a whole and put back.
use alloc::vec::Vec;

use filter::Fields;

use crate::event::Part;
use crate::matching::{Join, Node};

/// What the joins of a consumer have kept: one entry for each join of its tree, as they are written.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept<E> {
    /// The joins.
    pub joins: Vec<KeptByJoin<E>>,
}

/// What a join has kept.
#[derive(Clone, PartialEq, Debug)]
pub struct KeptByJoin<E> {
    /// Its parts, in their order.
    pub parts: Vec<KeptByPart<E>>,
    /// When it is given up, in the time of [`Header`](crate::Header); `None` if it is not.
    pub until: Option<u64>,
}

/// What a part of a join has kept.
#[derive(Clone, PartialEq, Debug)]
pub struct KeptByPart<E> {
    /// Events and timeouts, in the order in which they came.
    pub kept: Vec<Part<E>>,
    /// How many times something was kept.
    pub times: u16,
}

impl<E> Kept<E> {
    /// All events and timeouts.
    pub fn parts(&self) -> impl Iterator<Item = &Part<E>> {
        self.joins.iter().flat_map(|join| &join.parts).flat_map(|part| &part.kept)
    }

    /// The same, to be changed.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part<E>> {
        self.joins.iter_mut().flat_map(|join| &mut join.parts).flat_map(|part| &mut part.kept)
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.parts().filter(|part| matches!(part, Part::Event { .. })).count()
    }
}

impl<E: Clone + Fields> Node<E> {
    /// Its joins, as they are written.
    fn each_join(&mut self, act: &mut dyn FnMut(&mut Join<E>)) {
        match self {
            Self::Any(parts) => parts.iter_mut().for_each(|part| part.each_join(act)),
            Self::Join(join) => {
                act(join);
                join.nodes().for_each(|node| node.each_join(act));
            }
            Self::Silence { of, .. } => of.each_join(act),
            Self::Test(_) | Self::Every { .. } | Self::After { .. } => {}
        }
    }

    /// Takes out all that its joins keep. Timers go on.
    pub(crate) fn take_kept(&mut self) -> Kept<E> {
        let mut joins = Vec::new();
        self.each_join(&mut |join| joins.push(join.take_kept()));
        Kept { joins }
    }

    /// Puts back what was taken out of a tree that is equal; what is kept now is lost. Says whether it was: what does not suit the tree is left alone.
    pub(crate) fn put_kept(&mut self, kept: Kept<E>) -> bool {
        let (mut fits, mut joins) = (true, kept.joins.iter());
        self.each_join(&mut |join| fits &= joins.next().is_some_and(|kept| join.could_keep(kept)));
        if !fits || joins.next().is_some() {
            return false;
        }
        let mut joins = kept.joins.into_iter();
        self.each_join(&mut |join| {
            if let Some(kept) = joins.next() {
                join.put_kept(kept);
            }
        });
        true
    }
}
