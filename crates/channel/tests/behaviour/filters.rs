//! Which events a subscription takes, what joins make of them, and trees that are refused.
use channel::{
    Batch, Channel, ConsumerId, ConsumerSettings, Header, Interest, Keep, Limits, PublisherId,
    PublisherSettings, Signal, Tree, TreeError, Worker,
};

use super::{Body, Desk, above, above_three, of};

fn boxed(tree: Tree) -> Box<Tree> {
    Box::new(tree)
}

/// Whether an event of this type and source, with this body, is delivered.
fn delivers(tree: &Tree, kind: u32, source: u32, body: i64) -> bool {
    let mut desk = Desk::new(tree, ConsumerSettings::default());
    let header = Header { kind, source, ..Header::default() };
    desk.channel.push(0, desk.publisher, &header, &Body(body)).unwrap();
    desk.taken() == [[body]]
}

#[test]
fn patterns_of_one_event() {
    let bits = Tree::Bits { kind: 6, source: 0 };
    let masked = Tree::Masked { kind: (0xf0, 0x20), source: (1, 1) };
    let from_two = Tree::Header { kind: None, source: Some(2) };
    let cases = [
        (Tree::Everything, 1, 1, 1, true),
        (of(5), 5, 1, 1, true),
        (of(5), 4, 1, 1, false),
        (from_two.clone(), 5, 2, 1, true),
        (from_two.clone(), 5, 3, 1, false),
        (bits.clone(), 2, 0, 1, true),
        (bits.clone(), 9, 0, 1, false),
        (Tree::Bits { kind: 6, source: 4 }, 2, 3, 1, false),
        (masked.clone(), 0x25, 3, 1, true),
        (masked.clone(), 0x35, 3, 1, false),
        (masked.clone(), 0x25, 2, 1, false),
        (Tree::Content(above_three()), 0, 0, 4, true),
        (Tree::Content(above_three()), 0, 0, 3, false),
        (Tree::Not(boxed(of(5))), 4, 0, 1, true),
        (Tree::Not(boxed(of(5))), 5, 0, 1, false),
        (Tree::All(vec![of(5), from_two.clone()]), 5, 2, 1, true),
        (Tree::All(vec![of(5), from_two.clone()]), 5, 1, 1, false),
        (Tree::Any(vec![of(5), from_two.clone()]), 4, 2, 1, true),
        (Tree::Any(vec![of(5), from_two]), 4, 1, 1, false),
    ];
    for (tree, kind, source, body, expected) in cases {
        assert_eq!(delivers(&tree, kind, source, body), expected, "{tree:?} {kind} {source} {body}");
    }
}

/// The consumers that get an event with this body, in their order.
fn passing(channel: &mut Channel<Body>, publisher: PublisherId, body: i64) -> Vec<ConsumerId> {
    channel.push(0, publisher, &Header::default(), &Body(body)).unwrap();
    let mut batch = Batch::new();
    let taken = std::iter::from_fn(|| {
        let consumer = channel.take(0, Worker::Publisher, &mut batch)?;
        channel.done(0, consumer);
        Some(consumer)
    });
    taken.collect()
}

#[test]
fn filters_that_come_and_go_stay_with_their_consumers() {
    let mut channel = Channel::new(Limits::default());
    let publisher = channel.add_publisher(0, PublisherSettings::default());
    let filtered = |channel: &mut Channel<Body>, least| {
        channel.subscribe(0, &Tree::Content(above(least)), ConsumerSettings::default()).unwrap()
    };
    let (one, other) = (filtered(&mut channel, 3), filtered(&mut channel, 3));
    let higher = filtered(&mut channel, 5);
    assert_eq!(passing(&mut channel, publisher, 4), [one, other]);
    assert_eq!(passing(&mut channel, publisher, 6), [one, other, higher]);
    // The filter is another one's still.
    channel.unsubscribe(one);
    assert_eq!(passing(&mut channel, publisher, 4), [other]);
    // It is that of no consumer, and its number is free.
    channel.change_tree(0, other, &Tree::Content(above(1))).unwrap();
    assert_eq!(passing(&mut channel, publisher, 2), [other]);
    let highest = filtered(&mut channel, 8);
    assert_eq!(passing(&mut channel, publisher, 4), [other]);
    assert_eq!(passing(&mut channel, publisher, 9).len(), 3);
    channel.unsubscribe(higher);
    channel.change_tree(0, highest, &Tree::Content(above(3))).unwrap();
    assert_eq!(passing(&mut channel, publisher, 4), [highest, other]);
    assert_eq!(passing(&mut channel, publisher, 3), [other]);
}

/// What a join of the types 1 and 2 delivers of these types; the priority counts them.
fn joined(keep: Keep, kinds: &[u32]) -> Vec<Vec<i64>> {
    let tree = Tree::Join { parts: vec![of(1), of(2)], keep, within: None };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    for (number, kind) in kinds.iter().enumerate() {
        desk.push(*kind, number as u8, None).unwrap();
    }
    desk.taken()
}

#[test]
fn a_join_delivers_when_all_are_there_in_the_order_of_its_parts() {
    assert_eq!(joined(Keep::First, &[1]), [[0; 0]; 0]);
    assert_eq!(joined(Keep::First, &[2, 3, 1]), [[12, 20]]);
    assert_eq!(joined(Keep::First, &[1, 2, 1, 2, 1]), [[10, 21], [12, 23]]);
}

#[test]
fn a_part_that_gets_more_keeps_the_first_the_last_or_all() {
    assert_eq!(joined(Keep::First, &[1, 1, 1, 2]), [[10, 23]]);
    assert_eq!(joined(Keep::Last, &[1, 1, 1, 2]), [[12, 23]]);
    assert_eq!(joined(Keep::All(5), &[1, 1, 1, 2]), [[10, 11, 12, 23]]);
    assert_eq!(joined(Keep::All(2), &[1, 1, 1, 2]), [[10, 11, 23]]);
}

#[test]
fn an_event_counts_for_the_first_part_that_it_fits_and_that_is_empty() {
    let tree = Tree::Join { parts: vec![of(1), of(1), Tree::Everything], keep: Keep::Last, within: None };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    for priority in 0..2 {
        desk.push(1, priority, None).unwrap();
    }
    assert!(desk.taken().is_empty());
    desk.push(1, 2, None).unwrap();
    assert_eq!(desk.taken(), [[10, 11, 12]]);
}

#[test]
fn joins_lie_in_joins_and_alternatives() {
    let pair = |one, other| Tree::Join { parts: vec![of(one), of(other)], keep: Keep::First, within: None };
    let tree = Tree::Join { parts: vec![pair(1, 2), of(3)], keep: Keep::First, within: None };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    for kind in [2, 3, 1] {
        desk.push(kind, 0, None).unwrap();
    }
    assert_eq!(desk.taken(), [[10, 20, 30]]);

    // Both alternatives see an event that the first one keeps; one that is delivered is not shown to the second.
    let mut desk = Desk::new(&Tree::Any(vec![pair(1, 2), pair(1, 3)]), ConsumerSettings::default());
    for (number, kind) in [1, 3, 1, 2, 3].into_iter().enumerate() {
        desk.push(kind, number as u8, None).unwrap();
    }
    assert_eq!(desk.taken(), [[10, 31], [10, 23], [12, 34]]);
}

#[test]
fn what_a_join_keeps_is_given_up_in_time() {
    let tree = Tree::Join { parts: vec![of(1), of(2)], keep: Keep::Last, within: Some(10) };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    desk.push(1, 0, None).unwrap();
    desk.now = 9;
    desk.push(1, 1, None).unwrap();
    desk.push(2, 2, None).unwrap();
    assert_eq!(desk.taken(), [[11, 22]]);
    desk.now = 20;
    desk.push(1, 3, None).unwrap();
    assert_eq!(desk.channel.next_tick(), Some(30));
    desk.now = 30;
    desk.push(2, 4, None).unwrap();
    assert!(desk.taken().is_empty());
    assert_eq!(desk.channel.counts(desk.consumer).unwrap().expired, 1);
    desk.now = 39;
    desk.push(1, 5, None).unwrap();
    assert_eq!(desk.taken(), [[15, 24]]);
}

#[test]
fn a_changed_tree_leaves_no_gap() {
    let pair = Tree::Join { parts: vec![of(1), of(2)], keep: Keep::First, within: None };
    let mut desk = Desk::new(&pair, ConsumerSettings::default());
    desk.push(1, 0, None).unwrap();
    // Equal: what is kept stays.
    desk.channel.change_tree(0, desk.consumer, &pair).unwrap();
    // Another join gets what was kept.
    let other = Tree::Join { parts: vec![of(3), of(1)], keep: Keep::First, within: None };
    desk.channel.change_tree(0, desk.consumer, &other).unwrap();
    desk.push(3, 1, None).unwrap();
    assert_eq!(desk.taken(), [[31, 10]]);
    // A tree that wants single events gets what was kept, in its order.
    desk.push(1, 2, None).unwrap();
    desk.channel.change_tree(0, desk.consumer, &Tree::Everything).unwrap();
    desk.push(5, 3, None).unwrap();
    assert_eq!(desk.taken(), [[12], [53]]);
    // A wrong tree changes nothing.
    assert_eq!(desk.channel.change_tree(0, desk.consumer, &Tree::Any(vec![])), Err(TreeError::Empty));
    desk.push(5, 4, None).unwrap();
    assert_eq!(desk.taken(), [[54]]);
}

#[test]
fn what_is_set_aside_is_delivered_with_nothing_else_until_it_is_put_back() {
    let pair = Tree::Join { parts: vec![of(1), of(2)], keep: Keep::First, within: Some(50) };
    let tree = Tree::Join { parts: vec![pair, of(3)], keep: Keep::Last, within: None };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    let push = |desk: &mut Desk, kind, number| {
        desk.push(kind, number, None).unwrap();
        desk.taken()
    };
    assert_eq!(push(&mut desk, 1, 0), [[0; 0]; 0]);
    assert_eq!(push(&mut desk, 3, 0), [[0; 0]; 0]);
    let kept = desk.channel.set_aside(0, desk.consumer).unwrap();
    assert_eq!(kept.events(), 2);
    // What comes now begins a conjunction of its own.
    assert_eq!(push(&mut desk, 2, 1), [[0; 0]; 0]);
    assert_eq!(push(&mut desk, 3, 1), [[0; 0]; 0]);
    assert!(desk.channel.put_back(10, desk.consumer, kept.clone()));
    desk.now = 10;
    // The later event of kind 3 came last, and completes nothing by itself: the pair was complete with what was put back.
    assert_eq!(desk.taken(), [[10, 21, 30]]);
    let rest = desk.channel.set_aside(10, desk.consumer).unwrap();
    assert_eq!(rest.parts().count(), 1, "the later event of kind 3");
    // What was kept for too long is given up when it comes back.
    assert!(desk.channel.put_back(60, desk.consumer, kept));
    assert_eq!(desk.channel.counts(desk.consumer).unwrap().expired, 1);
    // A tree takes what its joins could have kept, and nothing else.
    let other = desk.channel.subscribe(60, &of(1), ConsumerSettings::default()).unwrap();
    assert!(!desk.channel.put_back(60, other, rest.clone()));
    let mut full = rest;
    full.joins[0].parts.iter_mut().for_each(|part| part.times = 2);
    assert!(!desk.channel.put_back(60, desk.consumer, full));
}

#[test]
fn what_was_kept_is_shown_in_the_order_in_which_it_came() {
    for kinds in [[1, 3], [3, 1]] {
        let join = Tree::Join { parts: vec![of(1), of(2), of(3)], keep: Keep::First, within: None };
        let mut desk = Desk::new(&join, ConsumerSettings::default());
        for kind in kinds {
            desk.push(kind, 0, None).unwrap();
        }
        desk.channel.change_tree(0, desk.consumer, &Tree::Everything).unwrap();
        assert_eq!(desk.taken(), kinds.map(|kind| [i64::from(kind) * 10]));
    }
}

#[test]
fn an_equal_tree_leaves_timers_alone() {
    let tree = Tree::After { delay: 10, priority: 0 };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    desk.channel.change_tree(9, desk.consumer, &tree).unwrap();
    desk.now = 10;
    assert_eq!(desk.taken(), [[-1]]);
}

#[test]
fn trees_that_are_refused() {
    let limits = Limits { depth: 3, nodes: 6, width: 5, kept: 6 };
    let mut channel = Channel::<Body>::new(limits);
    let join = |parts, keep| Tree::Join { parts, keep, within: None };
    let not = |tree| Tree::Not(boxed(tree));
    let tick = Tree::Every { period: 1, priority: 0 };
    let cases = [
        (not(not(of(1))), Ok(())),
        (not(not(not(of(1)))), Err(TreeError::TooDeep(3))),
        (Tree::Any(vec![of(1); 5]), Ok(())),
        (Tree::Any(vec![of(1); 6]), Err(TreeError::TooLarge(6))),
        (join(vec![of(1); 5], Keep::First), Ok(())),
        (join(vec![of(1); 2], Keep::All(2)), Ok(())),
        (join(vec![of(1); 2], Keep::All(3)), Err(TreeError::TooWide(5))),
        // Both alternatives keep; a join that lies in another keeps beside it.
        (Tree::Any(vec![join(vec![of(1)], Keep::All(3)), join(vec![of(1)], Keep::All(3))]), Ok(())),
        (
            Tree::Any(vec![join(vec![of(1)], Keep::All(3)), join(vec![of(1)], Keep::All(4))]),
            Err(TreeError::KeepsTooMuch(6)),
        ),
        (join(vec![join(vec![of(1)], Keep::All(3))], Keep::First), Ok(())),
        (join(vec![join(vec![of(1)], Keep::All(4))], Keep::First), Err(TreeError::KeepsTooMuch(6))),
        (join(vec![], Keep::First), Err(TreeError::Empty)),
        (Tree::All(vec![]), Err(TreeError::Empty)),
        (join(vec![of(1)], Keep::All(0)), Err(TreeError::Empty)),
        (not(tick.clone()), Err(TreeError::NotOfOneEvent)),
        (Tree::All(vec![of(1), tick.clone()]), Err(TreeError::NotOfOneEvent)),
        (not(Tree::Any(vec![tick])), Err(TreeError::NotOfOneEvent)),
        (Tree::Every { period: 0, priority: 0 }, Err(TreeError::ZeroTime)),
        (Tree::After { delay: 0, priority: 0 }, Err(TreeError::ZeroTime)),
        (Tree::Silence { of: boxed(of(1)), after: 0, priority: 0 }, Err(TreeError::ZeroTime)),
        (Tree::Join { parts: vec![of(1)], keep: Keep::First, within: Some(0) }, Err(TreeError::ZeroTime)),
    ];
    for (tree, expected) in cases {
        let told = channel.subscribe(0, &tree, ConsumerSettings::default()).map(drop);
        assert_eq!(told, expected, "{tree:?}");
    }
}

#[test]
fn observers_see_the_union_of_subscriptions() {
    let mut channel = Channel::<Body>::new(Limits::default());
    channel.add_publisher(0, PublisherSettings::default());
    assert!(channel.interest().is_empty());
    assert_eq!(channel.poll_signal(), None);
    let header = |kind, source| Interest::Header { kind, source };
    let exact = Tree::Header { kind: Some(1), source: Some(7) };
    let join = Tree::Join { parts: vec![of(2), exact.clone()], keep: Keep::First, within: None };
    let first = channel.subscribe(0, &join, ConsumerSettings::default()).unwrap();
    assert_eq!(channel.interest(), [header(Some(1), Some(7)), header(Some(2), None)]);
    assert_eq!(channel.poll_signal(), Some(Signal::Interest));
    // Covered already: nothing to say.
    let second = channel.subscribe(
        0,
        &Tree::All(vec![Tree::Content(above_three()), of(2)]),
        ConsumerSettings::default(),
    );
    assert_eq!(channel.poll_signal(), None);
    channel.change_tree(0, second.unwrap(), &of(1)).unwrap();
    assert_eq!(channel.interest(), [header(Some(1), None), header(Some(2), None)]);
    channel.unsubscribe(first);
    assert_eq!(channel.interest(), [header(Some(1), None)]);
    let silent = Tree::Any(vec![Tree::After { delay: 1, priority: 0 }, Tree::Bits { kind: 1, source: 0 }]);
    channel.subscribe(0, &silent, ConsumerSettings::default()).unwrap();
    assert_eq!(channel.interest(), [header(Some(1), None), Interest::Bits { kind: 1, source: 0 }]);
    channel.subscribe(0, &Tree::Not(boxed(of(3))), ConsumerSettings::default()).unwrap();
    assert_eq!(channel.interest(), [Interest::Everything]);
}

/// The consumers, by their places, that get an event of this type and source.
fn reached(channel: &mut Channel<Body>, publisher: PublisherId, kind: u32, source: u32) -> Vec<usize> {
    channel.push(0, publisher, &Header { kind, source, ..Header::default() }, &Body(0)).unwrap();
    let (mut batch, mut all) = (Batch::new(), vec![]);
    while let Some(consumer) = channel.take(0, Worker::Publisher, &mut batch) {
        assert_eq!(batch.deliveries().count(), 1);
        all.push(consumer.place());
        channel.done(0, consumer);
    }
    all
}

#[test]
fn an_event_reaches_all_whose_patterns_fit_in_the_order_in_which_they_subscribed() {
    let header = |kind, source| Tree::Header { kind, source };
    let both_ways = Tree::Any(vec![header(Some(1), None), header(None, Some(7)), header(Some(1), Some(7))]);
    let joined = Tree::Join { parts: vec![of(1), header(None, Some(8))], keep: Keep::Last, within: None };
    let trees = [
        header(None, Some(7)),
        of(1),
        Tree::Everything,
        header(Some(1), Some(7)),
        both_ways,
        Tree::Not(boxed(of(1))),
        header(Some(2), Some(8)),
        Tree::Silence { of: boxed(of(2)), after: 1_000, priority: 0 },
        Tree::All(vec![Tree::Everything, Tree::Bits { kind: 2, source: 0 }]),
        joined,
    ];
    let mut channel = Channel::new(Limits::default());
    let publisher = channel.add_publisher(0, PublisherSettings::default());
    let subscribe =
        |channel: &mut Channel<Body>, tree| channel.subscribe(0, tree, ConsumerSettings::default()).unwrap();
    let all: Vec<_> = trees.iter().map(|tree| subscribe(&mut channel, tree)).collect();
    assert_eq!(reached(&mut channel, publisher, 1, 7), [0, 1, 2, 3, 4]);
    assert_eq!(reached(&mut channel, publisher, 1, 9), [1, 2, 4]);
    assert_eq!(reached(&mut channel, publisher, 2, 8), [2, 5, 6, 7, 8, 9]);
    assert_eq!(reached(&mut channel, publisher, 3, 7), [0, 2, 4, 5, 8]);
    assert_eq!(reached(&mut channel, publisher, 4, 9), [2, 5]);
    // Another tree, an end, and a place that is taken again.
    channel.change_tree(0, all[0], &header(None, Some(9))).unwrap();
    channel.unsubscribe(all[1]);
    channel.unsubscribe(all[4]);
    assert_eq!(reached(&mut channel, publisher, 1, 7), [2, 3]);
    assert_eq!(reached(&mut channel, publisher, 1, 9), [0, 2]);
    let again = subscribe(&mut channel, &header(None, Some(8)));
    assert_eq!(again.place(), 1);
    assert_eq!(reached(&mut channel, publisher, 1, 8), [1, 2, 9]);
    // What joins of the old tree have kept goes to the new one, and so does what comes then.
    channel.change_tree(0, all[9], &of(4)).unwrap();
    assert_eq!(reached(&mut channel, publisher, 4, 1), [2, 5, 9]);
    assert_eq!(reached(&mut channel, publisher, 1, 8), [1, 2]);
}
