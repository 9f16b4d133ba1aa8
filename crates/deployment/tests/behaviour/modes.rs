//! Modes that change: what both have goes on undisturbed, and whatever crashes, it is the mode before or the one after.
use deployment::{Order, Outcome, Request};

use crate::plans::{target, three_nodes};
use crate::simulation::calm;
use crate::world::{Faults, MILLISECOND, World};

/// Three processes; a component in each, and one more in two of them.
const PLAN: &str = concat!(
    r#"
id = "modes"
start-mode = "one"
"#,
    three_nodes!(),
    r#"[component.d]
type = "Node"
process = "q"
port.tick.period = "1 ms"
[connection.ac]
from = "a.out"
to = ["c.in", "d.in"]
[mode.one]
components = ["a", "b", "c"]
[mode.two]
components = ["a", "c", "d"]
[mode.none]
components = []
"#
);

fn active(world: &World) -> Vec<String> {
    world.states().into_keys().collect()
}

#[test]
fn what_both_modes_have_goes_on() {
    let mut world = World::new(1, "modes");
    let one = target(PLAN);
    assert_eq!(world.apply(1, &one), Outcome::Done(Vec::new()));
    world.judge("launched");
    assert_eq!(active(&world), ["a", "b", "c"]);
    let (before, connects) = (world.numbers(), world.model("q").connects);
    world.orders.clear();
    let two = one.in_mode("two").unwrap();
    assert_eq!(world.apply(2, &two), Outcome::Done(Vec::new()));
    world.judge("the other mode");
    assert_eq!(active(&world), ["a", "c", "d"]);
    // What leaves rests first; nothing else is done, and nothing is made anew.
    assert_eq!(world.orders, [Order::Passivate("b".to_owned()), Order::Activate("d".to_owned())]);
    assert_eq!((world.numbers(), world.model("q").connects), (before, connects));
    // What waited for it while it rested is not for it any more.
    assert_eq!(world.model("q").anew, ["d"]);
    assert_eq!(world.apply(3, &one), Outcome::Done(Vec::new()));
    assert_eq!(active(&world), ["a", "b", "c"]);
    assert_eq!(world.apply(4, &one.in_mode("none").unwrap()), Outcome::Done(Vec::new()));
    world.judge("no component");
    assert_eq!(active(&world), [""; 0]);
    world.request(5, Request::Status);
    let Outcome::Status(status) = world.run_until(5) else { panic!() };
    assert_eq!(status.mode.as_deref(), Some("none"));
    assert_eq!(status.modes, ["none", "one", "two"]);
}

/// It would come at once, and faster than proofs count.
#[test]
fn what_waited_for_what_was_to_leave_is_dropped_if_the_change_is_taken_back() {
    let mut world = World::new(1, "modes");
    let one = target(PLAN);
    assert_eq!(world.apply(1, &one), Outcome::Done(Vec::new()));
    // That which begins cannot; what was to leave has come to rest by then.
    world.fail_in("q", true, 0);
    let Outcome::Refused(why) = world.apply(2, &one.in_mode("two").unwrap()) else { panic!() };
    assert!(why.contains("fails on purpose"), "{why}");
    calm(&mut world);
    world.judge("taken back");
    assert_eq!(active(&world), ["a", "b", "c"]);
    assert_eq!(world.model("p").anew, ["b"]);
    assert_eq!(world.model("q").anew, [""; 0]);
}

/// A component that the next plan does not have rests for no mode: if the change is taken back, it misses nothing.
#[test]
fn what_waited_for_what_was_to_be_removed_is_kept_if_the_change_is_taken_back() {
    let mut world = World::new(1, "modes");
    let one = target(PLAN);
    assert_eq!(world.apply(1, &one), Outcome::Done(Vec::new()));
    let b = "[component.b]\ntype = \"Node\"\nprocess = \"p\"\nport.tick.period = \"1 ms\"\n";
    let next = PLAN.replace(b, "").replace("[\"a\", \"b\", \"c\"]", "[\"a\", \"c\", \"d\"]");
    world.fail_in("q", true, 0);
    let outcome = world.apply(2, &target(&next));
    assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    calm(&mut world);
    world.judge("taken back");
    assert_eq!(active(&world), ["a", "b", "c"]);
    assert_eq!(world.model("p").anew, [""; 0]);
}

#[test]
fn a_mode_that_is_not_there_is_refused() {
    let why = target(PLAN).in_mode("tow").unwrap_err();
    assert_eq!(why, "the plan has no mode \"tow\": it has none, one, two");
    let plain = PLAN.split("[mode.one]").next().unwrap().replace("start-mode = \"one\"\n", "");
    assert!(target(&plain).in_mode("one").unwrap_err().contains("no modes"));
}

/// A change of mode that waits for a plan does not take that plan back.
#[test]
fn a_mode_that_is_asked_for_while_a_plan_is_applied_is_one_of_that_plan() {
    let mut world = World::new(1, "modes");
    assert_eq!(world.apply(1, &target(PLAN)), Outcome::Done(Vec::new()));
    let next = PLAN.replace("[component.b]\n", "[component.b]\nsettings.a = 2\n");
    let next = next.replace("[\"a\", \"c\", \"d\"]", "[\"b\", \"d\"]");
    let next = target(&next.replace("[mode.none]", "[mode.nothing]"));
    world.request(2, Request::Apply(next.clone().into()));
    world.request(3, Request::Mode("two".to_owned()));
    world.request(4, Request::Mode("none".to_owned()));
    assert!(!world.outcomes.contains_key(&2), "the plan is to be under way by now");
    assert_eq!(world.run_until(2), Outcome::Done(Vec::new()));
    assert_eq!(world.run_until(3), Outcome::Done(Vec::new()));
    let refused = "the plan has no mode \"none\": it has nothing, one, two".to_owned();
    assert_eq!(world.run_until(4), Outcome::Refused(refused));
    world.judge("the other mode of the other plan");
    assert_eq!(*world.supervisor.current(), next.in_mode("two").unwrap());
    assert_eq!(active(&world), ["b", "d"]);
    world.request(5, Request::Stop);
    world.request(6, Request::Mode("one".to_owned()));
    assert_eq!(world.run_until(6), Outcome::Refused("everything ends".to_owned()));
}

/// A process that falls comes back in the mode that holds.
#[test]
fn a_process_comes_back_in_the_mode_that_holds() {
    let mut world = World::new(1, "modes");
    let one = target(PLAN);
    assert_eq!(world.apply(1, &one), Outcome::Done(Vec::new()));
    assert_eq!(world.apply(2, &one.in_mode("two").unwrap()), Outcome::Done(Vec::new()));
    for name in ["p", "q"] {
        let of = world.supervisor.processes().find(|(process, _)| *process == name).unwrap().1.unwrap();
        world.end(of, "killed by signal 11");
    }
    world.run(5_000 * MILLISECOND);
    world.judge("after both");
    assert_eq!(active(&world), ["a", "c", "d"]);
}

/// Another plan in which a component is in another mode than before.
#[test]
fn a_mode_may_have_other_components_in_the_next_plan() {
    let mut world = World::new(1, "modes");
    assert_eq!(world.apply(1, &target(PLAN)), Outcome::Done(Vec::new()));
    let before = world.numbers();
    let next = PLAN.replace("[\"a\", \"b\", \"c\"]", "[\"a\", \"d\"]");
    assert_eq!(world.apply(2, &target(&next)), Outcome::Done(Vec::new()));
    world.judge("applied");
    assert_eq!(active(&world), ["a", "d"]);
    assert_eq!(world.numbers(), before);
}

/// At each line of a change of mode a process crashes, and with outliving processes at each action the supervisor.
#[test]
fn a_crash_at_every_point_of_a_change() {
    let one = target(PLAN);
    let two = one.in_mode("two").unwrap();
    let (mut done, mut refused) = (0, 0);
    for crash in 1..200 {
        let mut world = World::new(crash, "modes");
        assert_eq!(world.apply(1, &one), Outcome::Done(Vec::new()));
        let lines = world.lines;
        world.crash_at = Some(lines + crash);
        let outcome = world.apply(2, &two);
        let came = world.lines >= lines + crash;
        let holds = matches!(outcome, Outcome::Done(_));
        calm(&mut world);
        world.judge(&format!("line {crash}"));
        let expected = if holds { ["a", "c", "d"] } else { ["a", "b", "c"] };
        assert_eq!(active(&world), expected, "line {crash}");
        if holds {
            done += 1
        } else {
            refused += 1
        }
        if !came {
            break;
        }
    }
    assert!(refused > 5 && done > 2, "{refused} refused, {done} done");
    let mut crashes = 0;
    for crash in 1..200 {
        let mut world = World::outliving(crash, "modes");
        assert_eq!(world.apply(1, &one), Outcome::Done(Vec::new()));
        let actions = world.actions;
        world.supervisor_crash_at = Some(actions + crash);
        // What has crashed may have told nobody how it ended.
        world.request(2, Request::Apply(two.clone().into()));
        calm(&mut world);
        let came = world.supervisor_crashes > 0;
        crashes += world.supervisor_crashes;
        let holds = *world.supervisor.current() == two;
        world.judge(&format!("action {crash}"));
        let expected = if holds { ["a", "c", "d"] } else { ["a", "b", "c"] };
        assert_eq!(active(&world), expected, "action {crash}");
        if !came {
            break;
        }
    }
    assert!(crashes > 3, "{crashes}");
}

/// Many changes of mode one after the other, with everything that may go wrong.
#[test]
fn it_is_the_old_mode_or_the_new_one() {
    let (mut done, mut refused) = (0, 0);
    for seed in tiers::current().seeds("deployment.seeds").step_by(5) {
        let mut world = World::new(seed, "modes");
        let mut current = target(PLAN);
        assert_eq!(world.apply(1, &current), Outcome::Done(Vec::new()));
        for request in 2..6 {
            world.faults = Faults { crash: 2, lost: 2, double: 40, fail: 10, hang: 3, ..Faults::default() };
            let mode = ["one", "two", "none"][world.random.below(3)];
            let next = current.in_mode(mode).unwrap();
            match world.apply(request, &next) {
                Outcome::Done(_) => {
                    current = next;
                    done += 1;
                }
                _ => refused += 1,
            }
            calm(&mut world);
            assert_eq!(*world.supervisor.current(), current, "seed {seed}");
            world.judge(&format!("seed {seed}, request {request}"));
        }
    }
    assert!(done > 20 && refused > 5, "{done} done, {refused} refused");
}
