//! Many seeds: whatever crashes, is lost or comes twice, it is the old plan or the new one, and no process is left behind.
use deployment::{Incarnation, Outcome, Request};

use crate::plans;
use crate::world::{Faults, MILLISECOND, World};

/// The end of all faults: what fell is started again, and what is left is what the plan says.
pub(crate) fn calm(world: &mut World) {
    world.mend();
    // Longer than processes may take to answer, and than the longest time before a start.
    world.run(200_000 * MILLISECOND);
}

/// Some plans one after the other, with faults.
fn play(seed: u64) -> [u64; 4] {
    let mut handed_over = 0;
    let mut world = World::new(seed, "random");
    let kinds = [
        Faults { crash: 4, ..Faults::default() },
        Faults { lost: 3, ..Faults::default() },
        Faults { double: 60, ..Faults::default() },
        Faults { unstartable: 30, fail: 50, ..Faults::default() },
        Faults { hang: 30, crash: 2, ..Faults::default() },
        Faults { crash: 2, lost: 2, double: 30, unstartable: 10, fail: 20, hang: 5, ..Faults::default() },
    ];
    let mut plan = world.random.clone();
    for request in 1..=plan.range(2, 6) {
        let context = format!("seed {seed}, request {request}");
        world.faults = if plan.chance(80) { *plan.pick(&kinds).unwrap() } else { Faults::default() };
        let before = world.supervisor.current().clone();
        let target = plans::next(&before, &mut plan);
        let was = world.numbers();
        let is_quiet = world.faults.crash + world.faults.lost + world.faults.hang == 0;
        let is_up = world.supervisor.processes().all(|(_, of)| of.is_some());
        match world.apply(request, &target) {
            Outcome::Done(_) => assert_eq!(*world.supervisor.current(), target, "{context}"),
            Outcome::Refused(_) => {
                assert_eq!(*world.supervisor.current(), before, "{context}");
                if is_quiet && is_up && world.faults.fail == 0 && world.faults.unstartable == 0 {
                    panic!("{context}: refused without a reason: {:?}", world.outcomes[&request]);
                }
            }
            Outcome::Status(_) => panic!("{context}"),
        }
        handed_over += world.handed_over();
        calm(&mut world);
        world.judge(&context);
        let refused = matches!(world.outcomes[&request], Outcome::Refused(_));
        if refused && is_quiet {
            // What was there is there still, with its state, unless its process had to be started anew.
            let is = world.numbers();
            let alive = world.incarnations();
            for ((of, name), number) in was.iter().filter(|((of, _), _)| alive.contains(of)) {
                assert_eq!(is.get(&(*of, name.clone())), Some(number), "{context}: {name}");
            }
        }
    }
    let stop_faults = plan.pick(&kinds).copied().unwrap();
    world.faults = stop_faults;
    if plan.chance(40) {
        // In the middle of something.
        let target = plans::random(&mut plan);
        world.request(90, Request::Apply(target.into()));
        world.run(plan.below_u64(30 * MILLISECOND));
    }
    world.request(100, Request::Stop);
    let _ = world.run_until(100);
    calm(&mut world);
    assert_eq!(world.incarnations(), Vec::<Incarnation>::new(), "seed {seed}: processes are left behind");
    assert!(world.supervisor.is_over(), "seed {seed}");
    assert_eq!(world.supervisor.processes().count(), 0, "seed {seed}: records are left behind");
    let [begin, end, activate] = world.order.waits;
    [begin, end, activate, handed_over]
}

#[test]
fn it_is_the_old_plan_or_the_new_one() {
    let mut waits = [0; 4];
    for seed in tiers::current().seeds("deployment.seeds") {
        let played = std::panic::catch_unwind(|| play(seed));
        let played = played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
        waits = [0, 1, 2, 3].map(|kind| waits[kind] + played[kind]);
    }
    // A single seed that is repeated may have none.
    assert!(waits.iter().all(|count| *count > 0) || std::env::var_os("PUNCTUAL_SEED").is_some(), "{waits:?}");
}

/// One process crashes at each line of a change in turn.
#[test]
fn a_crash_at_every_line_of_a_change() {
    let first = include_str!("plans/first.toml");
    let second = include_str!("plans/second.toml");
    let (first, second) = (plans::target(first), plans::target(second));
    let (mut done, mut refused) = (0, 0);
    for crash in 1.. {
        let mut world = World::new(crash, "both");
        assert_eq!(world.apply(1, &first), Outcome::Done(Vec::new()));
        let lines = world.lines;
        world.crash_at = Some(lines + crash);
        let outcome = world.apply(2, &second);
        let came = world.lines >= lines + crash;
        match &outcome {
            Outcome::Done(_) => {
                assert_eq!(*world.supervisor.current(), second);
                done += 1;
            }
            Outcome::Refused(why) => {
                assert!(why.contains("killed by signal 9"), "{why}");
                assert_eq!(*world.supervisor.current(), first);
                refused += 1;
            }
            Outcome::Status(_) => unreachable!(),
        }
        calm(&mut world);
        world.judge(&format!("line {crash}"));
        if !came {
            break;
        }
    }
    assert!(refused > 10 && done > 2, "{refused} refused, {done} done");
}
