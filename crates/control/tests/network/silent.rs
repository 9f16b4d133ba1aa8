//! Cables that lose what they carry while both of their ports are up.
use std::time::Duration;

use control::network::Network;
use control::note::Note;
use testkit::openflow_switch::Packet;
use wire::admission::{Request, State};

use crate::cabling::{trunk, watched};
use crate::cases::{MS, at_once, pair};
use crate::networks::{GATES, network, open_vswitch};
use crate::world::{World, packet_of, request};

/// Within this a cut is found: three rounds, each with two readings, and what was under way.
const FOUND: Duration = Duration::from_secs(6);
/// How long frames have to come again at first.
const HOLD: Duration = Duration::from_secs(10);

impl World {
    /// A cable loses what it carries, in both directions or in one, without a word of its ports; or it does not any more.
    pub(crate) fn cut_silently(&mut self, link: usize, both: bool) {
        self.silent.insert(link);
        if both {
            self.silent.insert(Network::back(link));
        }
    }

    fn mend(&mut self) {
        self.silent.clear();
    }

    /// What operators were told of cables.
    fn told_of_cables(&mut self) -> Vec<String> {
        let told = self.notes().into_iter();
        told.filter(|note| matches!(note, Note::Cabling { .. } | Note::CablingRight(_)))
            .map(|note| note.to_string())
            .collect()
    }
}

fn asked() -> Request {
    request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(8_004, 5 * MS), 5 * MS)
}

/// A flow on the straight one of two ways, the first link of that, and the world.
fn served(mut world: World) -> (World, usize) {
    world.greet();
    world.ask(asked());
    world.pass(Duration::from_secs(3));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    let way = world.send(0, packet_of(&asked(), 0, 2, 10))[0].2.clone();
    let straight = trunk(&world, 0, 1);
    assert_eq!(way.iter().map(|(link, _)| *link).filter(|link| *link == straight).count(), 1);
    let _ = world.notes();
    (world, straight)
}

/// How many of the flow's frames arrive, of one.
fn arrives(world: &mut World) -> usize {
    world.send(0, packet_of(&asked(), 0, 2, 10)).len()
}

#[test]
fn a_flow_leaves_a_silent_cable_and_the_operator_is_told() {
    for both in [true, false] {
        for back in [false, true] {
            let (mut world, straight) = served(watched());
            world.cut_silently(if back { Network::back(straight) } else { straight }, both);
            world.pass(FOUND);
            assert_eq!((world.cable_of(straight), arrives(&mut world)), ("silent", 1), "{both} {back}");
            assert_eq!(world.state(pair(1)), Some(State::Admitted));
            let revoked = world.history.iter().filter(|verdict| verdict.state == State::Revoked).count();
            assert_eq!(revoked, 0, "it takes another way, and no revocation is told");
            let told = world.told_of_cables();
            assert_eq!(told.len(), 1, "{told:?}");
            let (from, to) = if back { ("s1", "s0") } else { ("s0", "s1") };
            let words = format!("nothing comes from {from} to {to} although both ports are up");
            assert!(both || told[0].starts_with(&words), "{told:?}");
            assert!(world.cabling().iter().any(|alarm| *alarm == told[0]), "{:?}", world.cabling());
        }
    }
}

#[test]
fn a_cable_that_carries_again_is_used_again_after_a_while() {
    let (mut world, straight) = served(watched());
    world.cut_silently(straight, true);
    world.pass(FOUND);
    world.mend();
    let _ = world.notes();
    world.pass(HOLD - Duration::from_secs(1));
    assert_eq!(world.cable_of(straight), "silent", "not at the first frame");
    world.pass(Duration::from_secs(4));
    assert_eq!((world.cable_of(straight), world.cabling().len()), ("as planned", 0));
    assert!(world.manager.link_reports()[straight].up);
    assert_eq!(world.told_of_cables().len(), 1);
    assert_eq!(arrives(&mut world), 1);
}

#[test]
fn a_flow_without_another_way_is_revoked_with_that_reason_and_comes_back() {
    let mut world = World::up(network(&open_vswitch(GATES), 2, &[0, 0, 1, 1], &[(0, 1)]));
    world.watch();
    let (mut world, straight) = served(world);
    world.cut_silently(straight, false);
    world.pass(FOUND);
    let verdict = &world.verdicts[&pair(1)];
    assert_ne!(verdict.state, State::Admitted);
    assert!(verdict.reason.contains("s0 to s1 loses what it carries"), "{}", verdict.reason);
    world.mend();
    world.pass(HOLD + Duration::from_secs(5));
    assert_eq!((world.state(pair(1)), arrives(&mut world)), (Some(State::Admitted), 1));
}

/// Nothing is missed that the switch cannot have sent, or that the manager cannot have heard.
#[test]
fn a_switch_that_is_slow_or_away_makes_no_cable_silent() {
    for stalled in 0..4 {
        let (mut world, straight) = served(watched());
        world.lines[stalled].as_mut().unwrap().is_stalled = true;
        world.pass(Duration::from_secs(9));
        assert!(world.connected[stalled], "the manager has not given it up");
        assert!(world.manager.link_reports().iter().all(|link| link.cable != "silent"), "{stalled}");
        world.lines[stalled].as_mut().unwrap().is_stalled = false;
        world.pass(Duration::from_secs(9));
        world.disconnect(stalled);
        world.pass(Duration::from_secs(30));
        world.connect(stalled);
        world.pass(FOUND);
        assert_eq!(world.told_of_cables(), [""; 0], "{stalled}");
        assert_eq!(world.cable_of(straight), "as planned");
    }
}

/// The port goes down and comes up, at which the cable is still cut.
#[test]
fn a_port_that_comes_up_again_does_not_make_a_silent_cable_good() {
    let (mut world, straight) = served(watched());
    world.cut_silently(straight, false);
    world.pass(FOUND);
    world.cable(straight, false);
    world.pass(Duration::from_secs(2));
    world.cable(straight, true);
    world.pass(Duration::from_secs(2));
    assert_eq!((world.cable_of(straight), arrives(&mut world)), ("silent", 1));
    assert!(!world.manager.link_reports()[straight].up);
}

/// A flood may push the manager's frames out of a queue, or the copies out of what a switch may send the manager: the cable carries all the same.
#[test]
fn a_flood_that_takes_the_place_of_the_managers_frames_makes_no_cable_silent() {
    let (mut world, straight) = served(watched());
    let port = world.network.links[Network::back(straight)].number;
    world.cut_silently(straight, false);
    let flood = Packet { kind: 0x0800, ..packet_of(&asked(), 1, 3, 0) };
    for _ in 0..200 {
        let fate = world.switches[1].forward(port, flood);
        world.switches[1].count(&fate);
        world.pass(Duration::from_millis(300));
        assert_ne!(world.cable_of(straight), "silent");
    }
    let told = world.told_of_cables();
    assert!(told.len() == 1 && told[0].contains("best effort is flooded"), "{told:?}");
    // It is an alarm for as long as it lasts.
    assert_eq!((world.cabling(), world.cable_of(straight)), (told, "undecided"));
    // It ends, and the cable is as silent as before.
    world.pass(FOUND + Duration::from_secs(1));
    assert_eq!(world.cable_of(straight), "silent");
    let told = world.told_of_cables();
    assert!(
        told.iter().any(|told| told.starts_with("LLDP at port") && told.ends_with("is over")),
        "{told:?}"
    );
    assert!(world.cabling().iter().all(|alarm| alarm.contains("nothing comes")), "{:?}", world.cabling());
}

/// Something at the cable keeps LLDP for itself from the beginning, in one direction: flows use the link, and where it leads cannot be known.
#[test]
fn a_link_of_which_lldp_never_comes_is_used_and_an_alarm_until_it_comes() {
    let mut world = watched();
    let straight = trunk(&world, 0, 1);
    world.disconnect(0);
    world.disconnect(1);
    world.restart();
    world.silent.insert(straight);
    world.connect_all();
    world.pass(Duration::from_secs(10));
    assert_eq!((world.cabling().len(), world.cable_of(straight)), (0, "unknown"), "it is too early to say");
    world.pass(Duration::from_secs(40));
    let told = world.told_of_cables();
    assert!(told.len() == 1 && told[0].contains("none of the manager's ever came from s0 to s1"), "{told:?}");
    assert!(told[0].starts_with("LLDP at port "), "{told:?}");
    assert_eq!((world.cabling(), world.cable_of(straight)), (told, "undecided"));
    assert_eq!(world.cable_of(Network::back(straight)), "undecided", "both directions are one cable");
    assert!(world.manager.link_reports()[straight].up, "it is used");
    // A port that goes down is another matter.
    world.cable(straight, false);
    world.pass(Duration::from_secs(3));
    assert_eq!(world.cabling().len(), 0, "{:?}", world.cabling());
    world.cable(straight, true);
    world.pass(Duration::from_secs(50));
    assert_eq!(world.cabling().len(), 1);
    let _ = world.notes();
    world.mend();
    world.pass(Duration::from_secs(3));
    let told = world.told_of_cables();
    assert!(told.len() == 1 && told[0].ends_with("is over"), "{told:?}");
    assert_eq!((world.cabling().len(), world.cable_of(straight)), (0, "as planned"));
}

/// Hosts say what they like of the cable.
#[test]
fn no_host_keeps_a_dead_cable_in_use_or_makes_a_live_one_silent() {
    let (mut world, straight) = served(watched());
    let heard: Vec<(usize, Vec<u8>)> = std::mem::take(&mut world.heard_by_hosts);
    let mut forged = heard[0].1.clone();
    let digest = forged.len() - 3;
    forged[digest] ^= 1;
    let told = |world: &mut World| {
        for (host, frame) in [(0, &forged), (2, &forged), (1, &heard[0].1), (3, &heard[1].1)] {
            world.say_lldp(host, frame.clone());
        }
    };
    for _ in 0..60 {
        told(&mut world);
        world.pass(Duration::from_millis(500));
        assert_eq!((world.cable_of(straight), arrives(&mut world)), ("as planned", 1));
    }
    world.cut_silently(straight, true);
    for _ in 0..12 {
        told(&mut world);
        world.pass(Duration::from_millis(500));
    }
    assert_eq!((world.cable_of(straight), arrives(&mut world)), ("silent", 1));
    for _ in 0..60 {
        told(&mut world);
        world.pass(Duration::from_millis(500));
        assert_eq!(world.cable_of(straight), "silent");
    }
}

/// What was heard once proves nothing when it comes again: the cable is not right, and one that was found silent is not used.
#[test]
fn a_frame_that_is_sent_again_at_the_far_end_does_not_bring_a_cable_back() {
    let (mut world, straight) = served(watched());
    let (switch, port) = (1, world.network.links[Network::back(straight)].number);
    world.recorded = Some((straight, Vec::new()));
    world.pass(Duration::from_secs(2));
    let (_, recorded) = world.recorded.take().unwrap();
    assert!(!recorded.is_empty());
    world.cut_silently(straight, true);
    // Its copy is there before what the port has counted: a dead cable is not kept alive by it.
    for _ in 0..12 {
        world.copy(switch, port, (0, 0), recorded.clone());
        world.pass(Duration::from_millis(500));
    }
    assert_eq!(world.cable_of(straight), "silent");
    for _ in 0..60 {
        world.enter(switch, port, recorded.clone());
        world.pass(Duration::from_millis(500));
        assert_eq!((world.cable_of(straight), arrives(&mut world)), ("silent", 1));
    }
}

#[test]
fn a_cable_that_comes_and_goes_moves_no_flow_each_time() {
    let (mut world, straight) = served(watched());
    let mut times = 0;
    for _ in 0..40 {
        world.cut_silently(straight, true);
        world.pass(Duration::from_secs(8));
        world.mend();
        world.pass(Duration::from_secs(15));
        times += world.told_of_cables().iter().filter(|told| told.contains("nothing comes")).count();
        assert_eq!(arrives(&mut world), 1);
    }
    assert!((1..=2).contains(&times), "{times} times in a quarter of an hour");
    // When it has been good for long enough it is used, and for how long it was bad is forgotten.
    world.pass(Duration::from_secs(700));
    assert_eq!(world.cable_of(straight), "as planned");
    let _ = world.notes();
    world.cut_silently(straight, true);
    world.pass(FOUND);
    let told = world.told_of_cables();
    assert!(told.len() == 1 && told[0].contains("come again for 10 s"), "{told:?}");
}
