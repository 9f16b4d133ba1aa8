//! How long frames were in a switch.
//!
//! A switch of hardware needs some microseconds for a frame. The process that stands for one needs little more most of the time, and
//! some hundreds now and then: when the kernel or the machine below it does something else on its core. Links know each frame that they
//! hand to a switch again when it comes out, and so what it took too long.

/// What a frame may take in a switch before it counts as held up, in nanoseconds: about what the process needs undisturbed.
const SWITCHING: u64 = 50_000;
/// A frame that was in a switch for longer than this, in nanoseconds, was not held up but kept.
const KEPT: u64 = 100_000_000;
/// Frames that are remembered at most; a power of two.
const FRAMES: usize = 16_384;
/// Bytes that frames are known by: with the headers the beginning of what a datagram says, where its number is.
const KNOWN_BY: usize = 128;
/// Where an IPv4 packet has its type of service and its header checksum, which switches and gates change.
const SERVICE: usize = 15;
const SUM: std::ops::Range<usize> = 24..26;

/// When frames entered switches, in nanoseconds of the links' clock.
#[derive(Debug)]
pub(crate) struct Transits {
    /// What a frame is known by, and when it entered.
    entered: Box<[(u64, u64)]>,
}

impl Default for Transits {
    fn default() -> Self {
        Self { entered: vec![(0, 0); FRAMES].into() }
    }
}

impl Transits {
    /// A frame is handed to a switch; its last bit is there at `at`.
    pub(crate) fn enters(&mut self, frame: &[u8], at: u64) {
        let known = digest(frame);
        if let Some(entry) = self.entered.get_mut(place(known)) {
            *entry = (known, at);
        }
    }

    /// When a frame that comes out of a switch at `came` would have come at the latest, if the switch were hardware.
    pub(crate) fn leaves(&self, frame: &[u8], came: u64) -> u64 {
        let known = digest(frame);
        match self.entered.get(place(known)) {
            Some((entry, at)) if *entry == known && came.saturating_sub(*at) < KEPT => {
                came.min(at.saturating_add(SWITCHING))
            }
            // It comes from the switch itself, or entered so long ago that another one has its place.
            _ => came,
        }
    }
}

fn place(known: u64) -> usize {
    usize::try_from(known >> 32).unwrap_or(0) % FRAMES
}

/// What a frame is known by: its beginning, but for what is changed on the way.
fn digest(frame: &[u8]) -> u64 {
    let mut beginning = [0; KNOWN_BY];
    beginning.iter_mut().zip(frame).for_each(|(to, from)| *to = *from);
    if let Some(kind) = beginning.get(12..14)
        && kind == [0x08, 0x00]
    {
        beginning.get_mut(SERVICE..=SERVICE).into_iter().for_each(|bytes| bytes.fill(0));
        beginning.get_mut(SUM).into_iter().for_each(|bytes| bytes.fill(0));
    }
    if let Some([0x86, 0xdd, version, class]) = beginning.get_mut(12..16) {
        // The class of IPv6 is in the halves of these bytes that meet.
        *version &= 0xf0;
        *class &= 0x0f;
    }
    let (words, _) = beginning.as_chunks::<8>();
    words.iter().fold(frame.len() as u64, |known, word| {
        // Each word is spread over all bits: the multiplier is 2^64 divided by the golden ratio.
        (known.rotate_left(29) ^ u64::from_ne_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000_000_000;

    /// A packet of UDP over IPv4 with a number in its payload.
    fn packet(number: u8) -> Vec<u8> {
        let mut frame = vec![7; 400];
        frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
        frame[60] = number;
        frame
    }

    #[test]
    fn a_frame_that_was_held_up_comes_when_it_would_have_come() {
        let mut transits = Transits::default();
        for number in 0..20 {
            transits.enters(&packet(number), START + u64::from(number));
        }
        for number in 0..20 {
            let entered = START + u64::from(number);
            for (took, counts) in [
                (1, 1),
                (SWITCHING, SWITCHING),
                (SWITCHING + 1, SWITCHING),
                (KEPT - 1, SWITCHING),
                (KEPT, KEPT),
            ] {
                assert_eq!(transits.leaves(&packet(number), entered + took), entered + counts);
            }
        }
    }

    #[test]
    fn what_a_gate_changes_does_not_make_it_another_frame_and_all_else_does() {
        let mut transits = Transits::default();
        transits.enters(&packet(1), START);
        let late = START + 10 * SWITCHING;
        let mut changed = packet(1);
        changed[SERVICE] = 0xb8;
        changed[24] = 1;
        changed[25] = 2;
        assert_eq!(transits.leaves(&changed, late), START + SWITCHING);
        for place in (0..KNOWN_BY).filter(|place| *place != SERVICE && !SUM.contains(place)) {
            let mut other = packet(1);
            other[place] ^= 1;
            assert_eq!(transits.leaves(&other, late), late, "{place}");
        }
        assert_eq!(transits.leaves(&packet(1)[..399], late), late);
        assert_eq!(transits.leaves(&[], late), late);
        // Of IPv6 the class alone is what may change: the halves of two bytes that meet.
        let mut six = packet(1);
        six[12..16].copy_from_slice(&[0x86, 0xdd, 0x60, 0x03]);
        transits.enters(&six, START);
        six[14..16].copy_from_slice(&[0x6b, 0x83]);
        assert_eq!(transits.leaves(&six, late), START + SWITCHING);
        for place in [14, 15] {
            let mut other = six.clone();
            other[place] ^= if place == 14 { 0x10 } else { 1 };
            assert_eq!(transits.leaves(&other, late), late, "{place}");
        }
        // Nothing else has a class of service there.
        let mut other = vec![3; 60];
        transits.enters(&other, START);
        other[SERVICE] = 1;
        assert_eq!(transits.leaves(&other, late), late);
    }

    #[test]
    fn the_last_of_equal_frames_counts_and_none_comes_later_than_it_came() {
        let mut transits = Transits::default();
        transits.enters(&packet(1), START);
        transits.enters(&packet(1), START + 5 * SWITCHING);
        assert_eq!(transits.leaves(&packet(1), START + 3 * SWITCHING), START + 3 * SWITCHING);
    }
}
