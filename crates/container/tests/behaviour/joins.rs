//! Joins: several connections, of any services, call one handler with one queue.
use std::time::Duration;

use container::{
    Branch, ByChannel, Chain, Component, Consumer, Context, Direct, Dispatch, Full, Handle, Hop, Join, Keep,
    Lifecycle, Order, Outcome, Policy, Publisher, Queue, Server, ServerError,
};

use crate::parts::{Log, Number, Tap};

/// Adds up what a delivery has, and publishes the sum with its last event.
#[derive(Component)]
pub(crate) struct Sum {
    input: Consumer<Number>,
    out: Publisher<Number>,
    sum: u64,
    #[setting(default = 666)]
    breaks_at: u32,
    log: Log,
}

impl Lifecycle for Sum {}

impl Handle<sum::Input> for Sum {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        if number.0 == u64::from(self.breaks_at) {
            return Err(at.broken("out of order"));
        }
        self.log.write(format!("{} of part {}", number.0, at.part()));
        self.sum += number.0;
        if at.follows() > 0 {
            return Ok(());
        }
        self.log.write(format!("sum {} at {}", self.sum, at.now()));
        self.out.push(at, &Number(std::mem::take(&mut self.sum)))
    }

    fn timeout(&mut self, _: u16, at: &Context) -> Outcome {
        self.log.write(format!("timeout at {}", at.now()));
        Ok(())
    }
}

/// Three taps and a sum, whose port joins two connections.
pub(crate) fn scene(by: &ByChannel) -> (Server, Log) {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    for name in ["a", "b", "c"] {
        server.install::<Tap>("box", name, &[]).unwrap();
    }
    server.install::<Sum>("box", "sum", &[]).unwrap();
    let log = Log::default();
    server.entry::<Sum>("sum").unwrap().with(|sum, _| sum.log = log.clone()).unwrap();
    server.join("join", "sum.input", 2, by).unwrap();
    (server, log)
}

pub(crate) fn push(server: &Server, tap: &str, number: u64) -> Outcome {
    server.entry::<Tap>(tap).unwrap().with(|tap, at| tap.out.push(at, &Number(number))).unwrap()
}

pub(crate) fn pool(join: Option<Join>) -> ByChannel {
    ByChannel { join, ..ByChannel::new(Dispatch::Pool) }
}

#[test]
fn parts_come_together_in_their_order_whatever_brings_them() {
    let within = Some(Duration::from_millis(5));
    let (mut server, log) = scene(&pool(Some(Join { keep: Keep::Last, within })));
    // One comes by a queue of its own, filtered; the other one directly. Two connections may lead to one part.
    let some = ByChannel { filter: Some("number > 10".to_owned()), ..pool(None) };
    server.connect("first", &["a.out"], &["sum.input#1"], &some).unwrap();
    server.connect("second", &["b.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.connect("third", &["c.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.launch().unwrap();
    for number in [1, 11, 12] {
        push(&server, "a", number).unwrap();
    }
    server.advance(Duration::from_millis(1));
    assert!(log.take().is_empty());
    push(&server, "c", 200).unwrap();
    server.advance(Duration::ZERO);
    assert_eq!(log.take(), ["200 of part 0", "12 of part 1", "sum 212 at 1000000"]);
    // What waits too long is given up.
    push(&server, "b", 1).unwrap();
    server.advance(Duration::from_millis(6));
    push(&server, "a", 13).unwrap();
    server.advance(Duration::from_millis(1));
    push(&server, "c", 2).unwrap();
    server.advance(Duration::ZERO);
    assert_eq!(log.take(), ["2 of part 0", "13 of part 1", "sum 15 at 8000000"]);
    assert_eq!(server.deliveries("sum").expired, 1);
    // What is disconnected leads nowhere.
    server.disconnect("second").unwrap();
    push(&server, "b", 1).unwrap();
    server.advance(Duration::ZERO);
    assert!(log.take().is_empty());
}

#[test]
fn a_disjunction_is_called_for_each_and_knows_its_part() {
    let queue = Queue { depth: 2, full: Full::DropOldest, order: Order::Fifo };
    let (mut server, log) = scene(&ByChannel { queue, ..pool(None) });
    server.connect("first", &["a.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.connect("second", &["b.out"], &["sum.input#1"], &Direct::default()).unwrap();
    server.launch().unwrap();
    for (tap, number) in [("a", 1), ("b", 2), ("a", 3)] {
        push(&server, tap, number).unwrap();
    }
    server.advance(Duration::ZERO);
    // They share one queue of two.
    assert_eq!(log.take(), ["2 of part 1", "sum 2 at 0", "3 of part 0", "sum 3 at 0"]);
}

#[test]
fn all_of_a_part_are_kept_up_to_a_number_and_one_that_breaks_ends_the_delivery() {
    let (mut server, log) = scene(&pool(Some(Join { keep: Keep::All(2), within: None })));
    server.connect("first", &["a.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.connect("second", &["b.out"], &["sum.input#1"], &Direct::default()).unwrap();
    server.launch().unwrap();
    for (tap, number) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("a", 5), ("a", 666), ("b", 7)] {
        push(&server, tap, number).unwrap();
    }
    server.advance(Duration::ZERO);
    let lines = ["1 of part 0", "2 of part 0", "4 of part 1", "sum 7 at 0", "5 of part 0"];
    assert_eq!(log.take(), lines);
    let report = server.next_report(Duration::ZERO).unwrap().to_string();
    assert_eq!(report, "sum: out of order; it is in the error state");
}

#[test]
fn what_cannot_be_joined_says_why() {
    let (mut server, _) = scene(&pool(None));
    let unknown = |name: &str| Err(ServerError::Unknown(name.to_owned()));
    for port in ["sum.input#2", "sum.input#x", "sum.other#0", "a.input#0"] {
        assert_eq!(server.connect("x", &["a.out"], &[port], &Direct::default()), unknown(port), "{port}");
    }
    assert_eq!(server.join("j", "sum.none", 2, &pool(None)), unknown("sum.none"));
    assert_eq!(server.join("join", "sum.input", 2, &pool(None)), Err(ServerError::Twice("join".to_owned())));
    let none = server.join("j", "sum.input", 0, &pool(None)).unwrap_err().to_string();
    assert_eq!(none, "a join at sum.input would have 0 parts: it has 1 to 256");
    server.disconnect("join").unwrap();
    let gone = server.connect("x", &["a.out"], &["sum.input#0"], &Direct::default());
    assert_eq!(gone, unknown("sum.input#0"));
    server.join("join", "sum.input", 1, &pool(None)).unwrap();
    // No handler runs on the thread that pushes, so a circle is none of calls.
    server.connect("x", &["sum.out"], &["sum.input#0"], &Direct::default()).unwrap();
}

#[test]
fn a_chain_through_a_join_knows_its_newest_and_its_oldest_event() {
    let keep = Keep::All(3);
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    let hop = |port: &str, connection: &str| Hop {
        port: port.to_owned(),
        connections: vec![connection.to_owned()],
        samples: false,
    };
    server
        .follow(Chain {
            name: "chain".to_owned(),
            reaction: Some(Duration::from_millis(4)),
            age: Some(Duration::from_millis(4)),
            period: None,
            hops: vec![hop("relay.input", "in"), hop("sum.input", "join")],
            connection: None,
        })
        .unwrap();
    for name in ["a", "b"] {
        server.install::<Tap>("box", name, &[]).unwrap();
    }
    server.install::<crate::parts::Relay>("box", "relay", &[]).unwrap();
    server.install::<Sum>("box", "sum", &[]).unwrap();
    server.join("join", "sum.input", 2, &pool(Some(Join { keep, within: None }))).unwrap();
    server.connect("in", &["a.out"], &["relay.input"], &pool(None)).unwrap();
    server.connect("first", &["relay.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.connect("second", &["b.out"], &["sum.input#1"], &Direct::default()).unwrap();
    server.launch().unwrap();
    for tap in ["a", "b"] {
        push(&server, tap, 0).unwrap();
        server.advance(Duration::ZERO);
    }
    // Two events of the chain, 3 ms apart; the other part comes 2 ms later.
    push(&server, "a", 1).unwrap();
    server.advance(Duration::from_millis(3));
    push(&server, "a", 2).unwrap();
    server.advance(Duration::from_millis(2));
    push(&server, "b", 3).unwrap();
    server.advance(Duration::ZERO);
    let score = &server.chains()[0];
    assert_eq!((score.completions, score.reaction.count, score.age.count), (2, 3, 2), "{score:?}");
    assert_eq!((score.age.worst, score.reaction.worst), (Duration::from_millis(5), Duration::from_millis(5)));
    assert_eq!((score.age.exceeded, score.reaction.exceeded), (1, 1));
}

/// A timeout is one more part: what was kept comes as it is due; without a conjunction it is a delivery of its own.
#[test]
fn a_join_has_a_timer() {
    let every = Some(Duration::from_millis(10));
    let conjunction = Some(Join { keep: Keep::Last, within: None });
    let ahead = [
        "1 of part 0",
        "sum 1 at 1000000",
        "2 of part 1",
        "sum 2 at 1000000",
        "3 of part 1",
        "sum 3 at 1000000",
    ];
    let together = ["1 of part 0", "3 of part 1", "timeout at 10000000"];
    for (join, before, then) in
        [(conjunction, &[][..], &together[..]), (None, &ahead, &["timeout at 10000000"])]
    {
        let (mut server, log) = scene(&ByChannel { every, ..pool(join) });
        server.connect("first", &["a.out"], &["sum.input#0"], &Direct::default()).unwrap();
        server.connect("second", &["b.out"], &["sum.input#1"], &Direct::default()).unwrap();
        server.launch().unwrap();
        server.advance(Duration::from_millis(1));
        for (tap, number) in [("a", 1), ("b", 2), ("b", 3)] {
            push(&server, tap, number).unwrap();
        }
        server.advance(Duration::from_millis(8));
        assert_eq!(log.take(), before, "{join:?}");
        server.advance(Duration::from_millis(3));
        assert_eq!(log.take(), then, "{join:?}");
        // Nothing came, so that a conjunction waits; the timeout that came meanwhile is kept.
        server.advance(Duration::from_millis(10));
        let later: &[&str] = if join.is_some() { &[] } else { &["timeout at 20000000"] };
        assert_eq!(log.take(), later, "{join:?}");
    }
}

/// What is near waits for far events of either part, or for a timeout of these; filters and timers are as deep as one likes.
#[test]
fn a_join_has_joins_in_it() {
    let events = |source: usize, filter: &str, parameters: &[&str]| {
        let parameters = parameters.iter().map(|it| (*it).to_owned()).collect();
        Branch::Events { source, filters: vec![(filter.to_owned(), parameters)] }
    };
    let near = Branch::Any(vec![events(0, "number < %0", &["10"])]);
    let far = Branch::Any(vec![
        events(0, "number >= 10", &[]),
        Branch::Events { source: 1, filters: Vec::new() },
        Branch::Every(Duration::from_millis(50)),
    ]);
    let far = Branch::Silence(Box::new(far), Duration::from_millis(20));
    let tree = Branch::All(vec![near, far], Join { keep: Keep::Last, within: None });
    let (mut server, log) = scene(&ByChannel { tree: Some(tree), ..pool(None) });
    server.connect("first", &["a.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.connect("second", &["b.out"], &["sum.input#1"], &Direct::default()).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_millis(1));
    push(&server, "a", 1).unwrap();
    push(&server, "a", 2).unwrap();
    server.advance(Duration::from_millis(1));
    assert_eq!(log.take(), [""; 0]);
    push(&server, "a", 30).unwrap();
    server.advance(Duration::from_millis(1));
    assert_eq!(log.take(), ["2 of part 0", "30 of part 0", "sum 32 at 2000000"]);
    push(&server, "b", 4).unwrap();
    push(&server, "b", 5).unwrap();
    push(&server, "a", 6).unwrap();
    server.advance(Duration::from_millis(1));
    assert_eq!(log.take(), ["6 of part 0", "5 of part 1", "sum 11 at 3000000"]);
    // Nothing far has come for 20 ms; the timeout is the far part.
    push(&server, "a", 7).unwrap();
    server.advance(Duration::from_millis(30));
    assert_eq!(log.take(), ["7 of part 0", "timeout at 23000000"]);
    // The next one is the period's.
    push(&server, "a", 8).unwrap();
    server.advance(Duration::from_millis(20));
    assert_eq!(log.take(), ["8 of part 0", "timeout at 50000000"]);
}

#[test]
fn a_tree_that_names_what_is_not_there_is_refused() {
    let mut server = scene(&pool(None)).0;
    server.disconnect("join").unwrap();
    let refused = |server: &mut Server, tree: Branch| {
        let by = ByChannel { tree: Some(tree), ..pool(None) };
        server.join("again", "sum.input", 2, &by).unwrap_err().to_string()
    };
    let events =
        |source, filter: &str| Branch::Events { source, filters: vec![(filter.to_owned(), Vec::new())] };
    assert!(refused(&mut server, events(2, "number = 1")).contains("a join of 2 parts has no part 2"));
    assert!(refused(&mut server, events(1, "speed = 1")).contains("speed"));
    assert!(refused(&mut server, Branch::Any(Vec::new())).contains("empty"));
    assert!(refused(&mut server, Branch::Every(Duration::ZERO)).contains("no time"));
}
