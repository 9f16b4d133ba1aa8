//! Managers of several epochs at one switch: it obeys the latest, whatever the order in which they connect. One that stands by is a slave of it, and
//! leads on the same connection.
use std::time::Duration;

use control::session::News;
use openflow::Message;
use openflow::port::{PortReason, PortStatus};
use openflow::switch::{ControllerRole, Role};
use openflow::words::Xid;

use crate::cases::one_switch;
use crate::line::{Line, Way};
use crate::world::World;

/// Lets everything arrive that is under way between a manager and the first switch, until all is quiet: what the switch was asked, and what is news to
/// the manager. `between` may act after each answer of the switch.
fn exchange(
    world: &mut World,
    line: &mut Line,
    between: &mut dyn FnMut(&mut World, &Message),
) -> (Vec<Message>, Vec<News>) {
    let report = world.report(0);
    let (mut asked, mut news) = (Vec::new(), Vec::new());
    loop {
        let there = line.waiting(Way::ToSwitch);
        for (xid, message) in line.arrive_at_switch(Duration::ZERO, there) {
            let answers = world.switches[0].hear(&message, &report);
            answers.iter().for_each(|answer| line.say(xid, answer));
            between(world, &message);
            asked.push(message);
        }
        let back = line.waiting(Way::ToManager);
        news.extend(line.arrive_at_manager(Duration::ZERO, back));
        if there + back == 0 {
            return (asked, news);
        }
    }
}

/// Why a manager of this epoch that connects to the first switch is turned away; `None` if the switch obeys it.
fn refusal(world: &mut World, epoch: u64) -> Option<String> {
    let mut line = Line::new(Duration::ZERO, epoch);
    let (_, news) = exchange(world, &mut line, &mut |_, _| {});
    decided(news)
}

/// Whether the switch is there for the manager, or why not.
fn decided(news: Vec<News>) -> Option<String> {
    let decided = news.into_iter().find_map(|news| match news {
        News::Up(_) => Some(None),
        News::Down(reason) => Some(Some(reason)),
        _ => None,
    });
    decided.expect("it is neither taken nor turned away")
}

fn roles(asked: &[Message]) -> Vec<(ControllerRole, u64)> {
    let role = |message: &Message| match message {
        Message::RoleRequest(Role { role, generation }) => Some((*role, *generation)),
        _ => None,
    };
    asked.iter().filter_map(role).collect()
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

#[test]
fn one_that_stands_by_is_a_slave_that_hears_nothing_and_leads_on_the_same_connection() {
    let mut world = World::up(one_switch());
    let epoch = world.epoch;
    let mut line = Line::of_slave(Duration::ZERO);
    let (asked, news) = exchange(&mut world, &mut line, &mut |_, _| {});
    assert_eq!(roles(&asked), [(ControllerRole::NoChange, 0), (ControllerRole::Slave, epoch)]);
    assert!(news.is_empty(), "{news:?}");
    use Message::{BarrierRequest, FeaturesRequest, RoleRequest};
    let is_harmless =
        |message: &Message| matches!(message, FeaturesRequest | RoleRequest(_) | BarrierRequest);
    assert!(asked.iter().all(is_harmless), "{asked:?}");

    let port = world.report(0).ports[0].clone();
    let changed = Message::PortStatus(PortStatus { reason: PortReason::Modify, port });
    line.say(Xid(0), &changed);
    let (asked, news) = exchange(&mut world, &mut line, &mut |_, _| {});
    assert!(asked.is_empty() && news.is_empty(), "{asked:?} {news:?}");

    let mut news = Vec::new();
    line.session.lead(Duration::ZERO, epoch + 1, &mut news);
    assert!(news.is_empty(), "{news:?}");
    let (asked, news) = exchange(&mut world, &mut line, &mut |_, _| {});
    assert_eq!(roles(&asked), [(ControllerRole::Master, epoch + 1)]);
    let first = asked.iter().find(|message| !matches!(message, BarrierRequest));
    assert!(matches!(first, Some(RoleRequest(_))), "asked before the switch obeys it: {asked:?}");
    assert_eq!(decided(news), None);
    // From here on it hears what a manager hears.
    line.say(Xid(0), &changed);
    let (_, news) = exchange(&mut world, &mut line, &mut |_, _| {});
    assert!(matches!(news.as_slice(), [News::Port(_)]), "{news:?}");
    assert!(refusal(&mut world, epoch).is_some());
}

#[test]
fn one_that_leads_too_late_is_turned_away_by_the_switch() {
    let mut world = World::up(one_switch());
    let epoch = world.epoch;
    let mut line = Line::of_slave(Duration::ZERO);
    exchange(&mut world, &mut line, &mut |_, _| {});
    assert_eq!(refusal(&mut world, epoch + 5), None);
    line.session.lead(Duration::ZERO, epoch + 4, &mut Vec::new());
    let (_, news) = exchange(&mut world, &mut line, &mut |_, _| {});
    assert!(decided(news).unwrap().contains("a manager of a later epoch"));
}

#[test]
fn one_that_stands_by_asks_again_if_another_one_has_become_master_meanwhile() {
    let mut world = World::up(one_switch());
    let epoch = world.epoch;
    let mut line = Line::of_slave(Duration::ZERO);
    let mut others = 0;
    let (asked, news) = exchange(&mut world, &mut line, &mut |world, message| {
        let is_question =
            matches!(message, Message::RoleRequest(role) if role.role == ControllerRole::NoChange);
        if is_question && others < 2 {
            others += 1;
            assert_eq!(refusal(world, epoch + others), None);
        }
    });
    assert!(news.is_empty(), "{news:?}");
    assert_eq!(roles(&asked).last(), Some(&(ControllerRole::Slave, epoch + 2)), "{asked:?}");
}

#[test]
fn one_that_stands_by_does_not_ask_for_ever() {
    let mut world = World::up(one_switch());
    let epoch = world.epoch;
    let mut line = Line::of_slave(Duration::ZERO);
    let mut others = 0;
    let (asked, news) = exchange(&mut world, &mut line, &mut |world, message| {
        if matches!(message, Message::RoleRequest(role) if role.role == ControllerRole::NoChange) {
            others += 1;
            assert_eq!(refusal(world, epoch + others), None);
        }
    });
    assert!(news.is_empty(), "{news:?}");
    assert!((4..=16).contains(&roles(&asked).len()), "{asked:?}");
}
