//! Virtual time: nanoseconds from the start of a simulation, and a wall clock that a fault may set.
use wire::{Duration, Instant, Now, Timestamp};

/// Where the wall clock of every host stands at the start: 2025-01-01 00:00:00 UTC.
const WALL_AT_START: i64 = 1_735_689_600_000_000_000;

/// The wall clock of one host: the virtual time plus an offset that may jump.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock {
    offset: i64,
}

impl WallClock {
    /// Sets the clock forward, or back if the duration is negative.
    pub fn jump(&mut self, by: Duration) {
        self.offset = self.offset.saturating_add(by.as_nanos());
    }

    /// What the two clocks of the host say at a virtual time.
    pub fn now(&self, virtual_time: Instant) -> Now {
        let elapsed = virtual_time.since(Instant::START).as_nanos();
        let wall = WALL_AT_START.saturating_add(elapsed).saturating_add(self.offset);
        Now { monotonic: virtual_time, wall: Timestamp::from_nanos(wall) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_moves_the_wall_clock_alone() {
        let mut clock = WallClock::default();
        let time = Instant::from_nanos(5_000);
        let before = clock.now(time);
        clock.jump(Duration::from_secs(-10));
        let after = clock.now(time);
        assert_eq!(before.monotonic, after.monotonic);
        assert_eq!(before.wall.as_nanos() - after.wall.as_nanos(), 10_000_000_000);
    }
}
