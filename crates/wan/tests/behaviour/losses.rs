//! What is lost inside domains, on worlds without other faults.
use wan::{Asn, Class, Input, LinkId, Reason, Refusal};

use crate::scenarios::{Alike, line, of, request};
use crate::topologies::SECOND;
use crate::world::World;

/// What a domain loses inside; the judge is told too.
fn lose(world: &mut World, at: usize, loss: u32) {
    world.domains[at].backend.loss.insert(Class::Ef, loss);
    let budget = world.topology.inside.get_mut(&(at as u32 + 1, Class::Ef.dscp())).unwrap();
    budget.2 = loss;
}

/// What domains lose inside counts as what their links lose: on the way, at the end, where nothing leaves the domain, and in answers to questions.
#[test]
fn what_is_lost_inside_domains_is_part_of_the_sum() {
    let numbers = Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1 << 40, slower: 0, links: 0, loss: 70 };
    let mut world = of(4, &[(1, 2), (2, 3), (3, 4)], numbers);
    // 3 loses 1,000 of what has come, 4 does 20,000: 70 + 70 + 1,000 + 70 + 20,000.
    lose(&mut world, 2, 1_000);
    lose(&mut world, 3, 20_000);
    let mut asked = request(1, &[4], 1_000_000);
    // Where the inside alone is too much no link is named, and what the way to the next domain has is offered all the same.
    for (most_loss, at, link, offer) in [
        (21_209, 4, None, 21_210),
        (1_209, 3, Some(3), 1_210),
        (1_139, 3, None, 1_210),
        (139, 2, Some(2), 140),
    ] {
        asked.flows[0].most_loss = most_loss;
        let reason = Reason::Loss { missing: offer - most_loss, offer };
        assert_eq!(world.refused(asked.clone()), Refusal { asn: Asn(at), link: link.map(LinkId), reason });
    }
    asked.flows[0].most_loss = 21_210;
    let session = world.admitted(0, asked);
    assert_eq!(world.domains[0].manager.as_ref().unwrap().legs(session)[0].loss, 21_210);
    for (ticket, destination, loss) in [(7, 4, 21_210), (8, 3, 1_140)] {
        world.input(0, Input::Query { ticket, destination: Asn(destination), class: Class::Ef });
        world.run(SECOND);
        let answer = world.answers.last();
        assert!(
            matches!(answer, Some((of, Ok(available))) if *of == ticket && available.loss == loss),
            "{answer:?}"
        );
    }
    assert_eq!(world.at_rest(), 1);
    // A manager that starts again still knows, and refreshes the same.
    for at in 0..4 {
        world.domains[at].manager = None;
        world.mend();
        world.run(5 * SECOND);
    }
    assert!(world.ended.is_empty(), "{:?}", world.ended);
    assert_eq!(world.at_rest(), 1);
}

/// An inside that loses more than it did is a promise that is not kept: the session ends, and its caller hears why.
#[test]
fn an_inside_that_loses_more_after_a_start_ends_the_session() {
    let mut world = line(3, 1 << 40);
    lose(&mut world, 1, 100);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    // Less is no reason.
    world.domains[1].backend.loss.insert(Class::Ef, 99);
    world.domains[1].manager = None;
    world.mend();
    world.run(5 * SECOND);
    assert!(world.ended.is_empty(), "{:?}", world.ended);
    world.domains[1].backend.loss.insert(Class::Ef, 101);
    world.domains[1].manager = None;
    world.mend();
    world.run(5 * SECOND);
    let refusal = world.ended.get(&session).expect("it has ended");
    assert_eq!(refusal.reason, Reason::Loss { missing: 1, offer: 101 }, "{refusal:?}");
    assert_eq!(refusal.asn, Asn(2), "{refusal:?}");
}
