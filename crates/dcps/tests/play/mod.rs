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
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
