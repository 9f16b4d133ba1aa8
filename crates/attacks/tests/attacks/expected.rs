//! What a sample of the victim must be, computed anew, and what of a list of samples is wrong.
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

/// What is wrong if these are to be the samples 1 to `last`, each once, in order, none forged; the first few of it.
pub(crate) fn faults(got: &[Got], last: u64, size: usize) -> Vec<String> {
    let mut faults = Vec::new();
    let mut next = 1;
    for sample in got {
        if *sample != expected(sample.number, size) {
            faults.push(format!("forged: {sample:?}"));
        } else if sample.number < next {
            faults.push(format!("{} again or out of order after {}", sample.number, next - 1));
        } else {
            if sample.number > next {
                faults.push(format!("{next} to {} lost", sample.number - 1));
            }
            next = sample.number + 1;
        }
    }
    if next <= last {
        faults.push(format!("{next} to {last} lost at the end"));
    }
    let all = faults.len();
    faults.truncate(8);
    if all > 8 {
        faults.push(format!("and {} faults more", all - 8));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_seen() {
        let right: Vec<Got> = (1..=5).map(|number| expected(number, 100)).collect();
        assert!(faults(&right, 5, 100).is_empty());
        assert_eq!(faults(&right[..4], 5, 100), ["5 to 5 lost at the end"]);
        assert_eq!(faults(&right[1..], 5, 100), ["1 to 1 lost"]);
        let twice = [right[0], right[1], right[1], right[2]];
        assert_eq!(faults(&twice, 3, 100), ["2 again or out of order after 2"]);
        let mut forged = right;
        forged[2].sum += 1;
        assert!(faults(&forged, 5, 100)[0].starts_with("forged"));
    }
}
