//! Seeded random values of types that have a CDR encoding.
use std::collections::BTreeMap;

use wire::cdr::{
    Boundable, BoundedMap, BoundedString, BoundedVec, BoundedWString, CdrType, Char8, Char16, WString,
};

/// Random numbers (splitmix64), and how large collections are made.
pub(crate) struct Gen {
    random: testkit::random::Random,
    /// Bounded things are filled to their bound, optional members are there: the largest values of a type.
    pub(crate) full: bool,
    depth: usize,
}

impl Gen {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { random: testkit::random::Random::new(seed), full: false, depth: 0 }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.random.bits()
    }

    /// From 0 to `most`.
    pub(crate) fn up_to(&mut self, most: usize) -> usize {
        (self.next() % (most as u64 + 1)) as usize
    }

    /// A number of elements; a bound is met often.
    fn len(&mut self, bound: usize) -> usize {
        match self.next() % 4 {
            _ if self.full => bound,
            0 => bound.min(12),
            _ => self.up_to(bound.min(4)),
        }
    }

    /// What is inside of a type that contains itself; nothing below some depth.
    pub(crate) fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= 3 {
            return None;
        }
        self.depth += 1;
        let value = inside(self);
        self.depth -= 1;
        Some(value)
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let left = bytes - text.len();
            text.push(match self.next() % 6 {
                0 if left >= 2 => 'é',
                1 if left >= 3 => '€',
                2 if left >= 4 => '🦀',
                _ => 'a',
            });
        }
        text
    }
}

/// A type with random values.
pub(crate) trait Arbitrary: Sized {
    fn arbitrary(g: &mut Gen) -> Self;
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Arbitrary for $type {
            fn arbitrary(g: &mut Gen) -> Self {
                g.next() as Self
            }
        })*
    };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64);

impl Arbitrary for f32 {
    fn arbitrary(g: &mut Gen) -> Self {
        i16::arbitrary(g).into()
    }
}

impl Arbitrary for f64 {
    fn arbitrary(g: &mut Gen) -> Self {
        f64::from(i32::arbitrary(g)) / 8.0
    }
}

impl Arbitrary for bool {
    fn arbitrary(g: &mut Gen) -> Self {
        g.next() & 1 == 0
    }
}

impl Arbitrary for Char8 {
    fn arbitrary(g: &mut Gen) -> Self {
        Self(u8::arbitrary(g))
    }
}

impl Arbitrary for Char16 {
    fn arbitrary(g: &mut Gen) -> Self {
        Self(u16::arbitrary(g))
    }
}

impl Arbitrary for String {
    fn arbitrary(g: &mut Gen) -> Self {
        let len = g.len(20);
        g.text(len)
    }
}

impl Arbitrary for WString {
    fn arbitrary(g: &mut Gen) -> Self {
        Self((0..g.len(9)).map(|_| u16::arbitrary(g) | 1).collect())
    }
}

impl<T: Arbitrary> Arbitrary for Vec<T> {
    fn arbitrary(g: &mut Gen) -> Self {
        (0..g.len(20)).map(|_| T::arbitrary(g)).collect()
    }
}

impl<K: Arbitrary + Ord, V: Arbitrary> Arbitrary for BTreeMap<K, V> {
    fn arbitrary(g: &mut Gen) -> Self {
        (0..g.len(8)).map(|_| (K::arbitrary(g), V::arbitrary(g))).collect()
    }
}

impl<T: Arbitrary, const N: usize> Arbitrary for [T; N] {
    fn arbitrary(g: &mut Gen) -> Self {
        core::array::from_fn(|_| T::arbitrary(g))
    }
}

impl<T: Arbitrary> Arbitrary for Option<T> {
    fn arbitrary(g: &mut Gen) -> Self {
        (g.full || bool::arbitrary(g)).then(|| T::arbitrary(g))
    }
}

impl<T: Arbitrary> Arbitrary for Box<T> {
    fn arbitrary(g: &mut Gen) -> Self {
        Self::new(T::arbitrary(g))
    }
}

impl<const N: usize> Arbitrary for BoundedString<N> {
    fn arbitrary(g: &mut Gen) -> Self {
        let len = g.len(N);
        within(g.text(len))
    }
}

impl<const N: usize> Arbitrary for BoundedWString<N> {
    fn arbitrary(g: &mut Gen) -> Self {
        within(WString((0..g.len(N)).map(|_| u16::arbitrary(g) | 1).collect()))
    }
}

impl<T: Arbitrary + CdrType, const N: usize> Arbitrary for BoundedVec<T, N> {
    fn arbitrary(g: &mut Gen) -> Self {
        within((0..g.len(N)).map(|_| T::arbitrary(g)).collect::<Vec<_>>())
    }
}

impl<K: Arbitrary + CdrType + Ord, V: Arbitrary + CdrType, const N: usize> Arbitrary for BoundedMap<K, V, N> {
    fn arbitrary(g: &mut Gen) -> Self {
        let len = g.len(N);
        let mut map = BTreeMap::new();
        while map.len() < len {
            map.insert(K::arbitrary(g), V::arbitrary(g));
        }
        within(map)
    }
}

fn within<T: Boundable, B: TryFrom<T>>(inner: T) -> B {
    let count = inner.count();
    B::try_from(inner).unwrap_or_else(|_| panic!("{count} elements are over the bound"))
}
