//! Connections that are suspended and resumed while a plan runs.
use deployment::{Order, Outcome, Request};

use crate::plans::{target, three_nodes};
use crate::simulation::calm;
use crate::world::{MILLISECOND, World};

const PLAN: &str = concat!(
    r#"
id = "held"
"#,
    three_nodes!(),
    r#"[connection.ab]
from = "a.out"
to = ["b.in"]
[connection.ac]
from = "a.out"
to = ["c.in"]
"#
);

fn suspended(world: &mut World, number: u64) -> Vec<String> {
    world.request(number, Request::Status);
    let Outcome::Status(status) = world.run_until(number) else { panic!() };
    status.suspended
}

fn suspend(world: &mut World, number: u64, connection: &str, is_suspended: bool) -> Outcome {
    world.request(number, Request::Suspend(connection.to_owned(), is_suspended));
    world.run_until(number)
}

/// Nothing but the ends of the connection is touched, in both processes or in one.
#[test]
fn a_connection_is_suspended_and_resumed() {
    let mut world = World::new(1, "held");
    assert_eq!(world.apply(1, &target(PLAN)), Outcome::Done(Vec::new()));
    let before = world.numbers();
    for (number, connection) in [(10, "ac"), (20, "ab")] {
        world.orders.clear();
        assert_eq!(suspend(&mut world, number, connection, true), Outcome::Done(Vec::new()));
        world.judge("suspended");
        assert_eq!(suspended(&mut world, number + 1), [connection]);
        let expected = Order::Disconnect(connection.to_owned());
        assert!(
            !world.orders.is_empty() && world.orders.iter().all(|order| *order == expected),
            "{:?}",
            world.orders
        );
        world.orders.clear();
        assert_eq!(suspend(&mut world, number + 2, connection, false), Outcome::Done(Vec::new()));
        world.judge("resumed");
        assert_eq!(suspended(&mut world, number + 3), [""; 0]);
        let expected = Order::Connect(connection.to_owned());
        assert!(
            !world.orders.is_empty() && world.orders.iter().all(|order| *order == expected),
            "{:?}",
            world.orders
        );
    }
    assert_eq!(world.numbers(), before);
}

/// A process that falls comes back with what is suspended; so does one that is applied anew, as its plan says.
#[test]
fn what_is_suspended_stays_so_until_it_is_resumed_or_another_plan_says_otherwise() {
    let mut world = World::new(1, "held");
    let plan = PLAN.replace("to = [\"b.in\"]", "to = [\"b.in\"]\nsuspended = true");
    assert_eq!(world.apply(1, &target(&plan)), Outcome::Done(Vec::new()));
    world.judge("launched");
    assert_eq!(suspended(&mut world, 2), ["ab"]);
    assert_eq!(suspend(&mut world, 3, "ac", true), Outcome::Done(Vec::new()));
    for name in ["p", "q"] {
        let of = world.supervisor.processes().find(|(process, _)| *process == name).unwrap().1.unwrap();
        world.end(of, "killed by signal 11");
    }
    world.run(5_000 * MILLISECOND);
    world.judge("after both");
    assert_eq!(suspended(&mut world, 4), ["ab", "ac"]);
    assert_eq!(world.apply(5, &target(&plan)), Outcome::Done(Vec::new()));
    world.judge("applied");
    assert_eq!(suspended(&mut world, 6), ["ab"]);
}

#[test]
fn what_cannot_be_suspended_is_refused_and_nothing_changes() {
    let mut world = World::new(1, "held");
    let chain = format!("{PLAN}[chain.c]\npath = [\"a.tick\", \"b.in\"]\nage = \"1 s\"\n");
    let target = target(&chain);
    assert_eq!(world.apply(1, &target), Outcome::Done(Vec::new()));
    for (number, connection, is_suspended, expected) in [
        (2, "ba", true, "the plan has no connection \"ba\": it has ab, ac"),
        (3, "ac", false, "the connection ac is not suspended"),
        (4, "ab", true, "the chain \"c\" has limits that count with its events; take the chain out"),
    ] {
        let outcome = suspend(&mut world, number, connection, is_suspended);
        assert!(matches!(&outcome, Outcome::Refused(why) if why.contains(expected)), "{outcome:?}");
    }
    assert_eq!(suspend(&mut world, 5, "ac", true), Outcome::Done(Vec::new()));
    let outcome = suspend(&mut world, 6, "ac", true);
    assert_eq!(outcome, Outcome::Refused("the connection ac is suspended already".to_owned()));
    assert_eq!(suspend(&mut world, 7, "ac", false), Outcome::Done(Vec::new()));
    assert_eq!(*world.supervisor.current(), target);
    // If one of both processes cannot, both go on as before.
    assert_eq!(suspend(&mut world, 8, "ac", true), Outcome::Done(Vec::new()));
    world.fail_in("q", true, 0);
    let outcome = suspend(&mut world, 9, "ac", false);
    assert!(matches!(&outcome, Outcome::Refused(_)), "{outcome:?}");
    calm(&mut world);
    world.judge("taken back");
    assert_eq!(suspended(&mut world, 10), ["ac"]);
}
