//! Managers of several epochs at one switch: it obeys the latest, whatever the order in which they connect.
use std::time::Duration;

use control::session::News;

use crate::cases::one_switch;
use crate::line::{Line, Way};
use crate::world::World;

/// Why a manager of this epoch that connects to the first switch is turned away; `None` if the switch obeys it.
fn refusal(world: &mut World, epoch: u64) -> Option<String> {
    let report = world.report(0);
    let mut line = Line::new(Duration::ZERO, epoch);
    loop {
        let there = line.waiting(Way::ToSwitch);
        for (xid, message) in line.arrive_at_switch(Duration::ZERO, there) {
            let answers = world.switches[0].hear(&message, &report);
            answers.iter().for_each(|answer| line.say(xid, answer));
        }
        let back = line.waiting(Way::ToManager);
        for news in line.arrive_at_manager(Duration::ZERO, back) {
            match news {
                News::Up(_) => return None,
                News::Down(reason) => return Some(reason),
                _ => {}
            }
        }
        assert!(there + back > 0, "it is neither taken nor turned away");
    }
}

#[test]
fn a_switch_turns_a_manager_away_that_is_of_an_earlier_epoch_than_one_before() {
    let mut world = World::up(one_switch());
    let epoch = world.epoch;
    assert_eq!(refusal(&mut world, epoch + 7), None);
    let reason = refusal(&mut world, epoch + 6).unwrap();
    assert!(reason.contains(&format!("a manager of a later epoch than {}", epoch + 6)), "{reason}");
    assert_eq!(refusal(&mut world, epoch + 8), None);
    assert!(refusal(&mut world, epoch + 7).is_some());
}
