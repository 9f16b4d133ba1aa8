//! What a sample of the victim must be, computed anew.
use crate::program::Got;

/// The sample with this number, of so many bytes: xorshift that begins with the number, and FNV-1a over it.
pub(crate) fn expected(number: u64, size: usize) -> Got {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for at in 0..size {
        if at % 8 == 0 {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
        }
        let byte = word >> (8 * (at % 8)) & 0xff;
        sum = (sum ^ byte).wrapping_mul(0x0100_0000_01b3);
    }
    Got { number, size, sum }
}
