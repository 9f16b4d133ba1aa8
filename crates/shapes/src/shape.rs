//! A shape, and how it moves.
use std::hash::{BuildHasher, Hasher, RandomState};

use dds::DdsType;

/// What is published. The name and the members are those of every vendor.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
#[dds(appendable)]
pub(crate) struct ShapeType {
    /// The instance.
    #[dds(key, bound = 128)]
    pub(crate) color: String,
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) shapesize: i32,
    pub(crate) additional_payload_size: Vec<u8>,
}

/// Extent of the field, as all vendors have it.
const FIELD: [i32; 2] = [240, 270];
const FASTEST: u64 = 5;

/// A position with a velocity; it bounces off the borders of the field.
#[derive(Debug)]
pub(crate) struct Motion {
    place: [i32; 2],
    velocity: [i32; 2],
}

impl Motion {
    /// Somewhere, in some direction, 1 to 5 units in each step and axis.
    pub(crate) fn random() -> Self {
        // The keys of a hash map differ from process to process and from map to map.
        let random = || RandomState::new().build_hasher().finish();
        Self::with(random)
    }

    fn with(mut random: impl FnMut() -> u64) -> Self {
        let mut up_to = |limit: u64| i32::try_from(random() % limit).unwrap_or(0);
        let place = FIELD.map(|extent| up_to(u64::from(extent.unsigned_abs()) + 1));
        let velocity = place.map(|_| {
            let speed = 1 + up_to(FASTEST);
            if up_to(2) == 0 { speed } else { -speed }
        });
        Self { place, velocity }
    }

    /// Where it is now.
    pub(crate) const fn place(&self) -> [i32; 2] {
        self.place
    }

    /// One step.
    pub(crate) fn advance(&mut self) {
        for ((place, velocity), extent) in self.place.iter_mut().zip(&mut self.velocity).zip(FIELD) {
            let next = *place + *velocity;
            if !(0..=extent).contains(&next) {
                *velocity = -*velocity;
            }
            *place = next.clamp(0, extent);
        }
    }
}

/// The size of the shapes of each iteration.
#[derive(Debug)]
pub(crate) struct Size {
    size: i32,
    grows: bool,
    modulo: i32,
}

impl Size {
    /// `shapesize` always; or, if that is 0, from 1 on one more in each iteration, within `modulo` if that is above 0.
    pub(crate) fn new(shapesize: i32, modulo: i32) -> Self {
        Self { size: shapesize.max(1), grows: shapesize == 0, modulo }
    }

    /// The size now.
    pub(crate) const fn now(&self) -> i32 {
        self.size
    }

    /// The next iteration begins.
    pub(crate) fn advance(&mut self) {
        if self.grows {
            let before = if self.modulo > 0 { self.size % self.modulo } else { self.size };
            self.size = before.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_stay_in_the_field_and_always_move() {
        let mut seed = 7_u64;
        let mut motion = Motion::with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        });
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let before = motion.place();
            motion.advance();
            let place = motion.place();
            assert!((0..=240).contains(&place[0]) && (0..=270).contains(&place[1]), "{place:?}");
            for (now, before) in place.iter().zip(before) {
                assert!((now - before).abs() <= 5);
            }
            seen.insert(place);
        }
        assert!(seen.len() > 100);
    }

    #[test]
    fn sizes_stay_or_grow_or_come_round() {
        let list = |shapesize, modulo| {
            let mut size = Size::new(shapesize, modulo);
            (0..5)
                .map(|_| {
                    let now = size.now();
                    size.advance();
                    now
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(list(20, 0), [20; 5]);
        assert_eq!(list(20, 3), [20; 5]);
        assert_eq!(list(0, 0), [1, 2, 3, 4, 5]);
        assert_eq!(list(0, 3), [1, 2, 3, 1, 2]);
    }
}
