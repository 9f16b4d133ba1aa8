//! What random plays of two machines that are to do the same have in common: types with and without key, and chance.
#![allow(unreachable_pub, reason = "a module of tests")]
use derive::DdsType;

#[derive(DdsType, Debug, PartialEq, Clone)]
pub struct Keyed {
    #[dds(key)]
    pub id: u32,
    pub data: Vec<u8>,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
pub struct Plain {
    pub id: u32,
    pub data: Vec<u8>,
}

/// A small generator of random numbers: splitmix64.
pub struct Random(testkit::random::Random);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(testkit::random::Random::new(seed))
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.below_u64(limit)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
