//! Which differentiated services codepoint (RFC 2474) stands for which level: the one place where that is said.

/// Everything that is not admitted.
pub const BEST_EFFORT: u8 = 0;

/// Control, above all levels (CS6).
pub const CONTROL: u8 = 48;

/// The codepoints of the levels, the lowest first: AF11, AF21, AF31, AF41, CS5, VOICE-ADMIT, EF.
const LEVELS: [u8; 7] = [10, 18, 26, 34, 40, 44, 46];

/// The codepoint that gates give to frames which the first switch knows by it, whatever their level: so a changed level changes no gate.
pub const MARKED: u8 = LEVELS[0];

/// How many levels have a codepoint.
pub const MOST_LEVELS: u8 = 7;

/// The codepoint of a level, counted from 0, the lowest; `None` from [`MOST_LEVELS`] on.
pub const fn of_level(level: u8) -> Option<u8> {
    if level < MOST_LEVELS { Some(LEVELS[level as usize]) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_levels_have_higher_codepoints_between_best_effort_and_control() {
        let mut last = BEST_EFFORT;
        for level in 0..MOST_LEVELS {
            let codepoint = of_level(level).unwrap();
            assert!(codepoint > last && codepoint < CONTROL);
            last = codepoint;
        }
        assert_eq!(of_level(MOST_LEVELS), None);
    }
}
