//! Managers that are wrong, and that random networks find out, for the right reason.
use crate::doing::Mutant;
use crate::seeds::play;

/// How many seeds there are to find a mistake in.
const SEEDS: u64 = 100;

/// What the first seed says that finds a mistake.
fn found(mutant: Mutant) -> String {
    let panics = |seed| std::panic::catch_unwind(|| play(seed, Some(mutant))).err();
    let panic = (0..SEEDS).find_map(panics).expect("a seed finds it");
    panic.downcast::<String>().map_or_else(|_| String::new(), |words| *words)
}

/// A grant before the switch has said that it has the entries.
#[test]
fn a_manager_that_answers_before_it_reads_back_is_found() {
    let words = found(Mutant::AnswersAtOnce);
    assert!(words.contains("not there, or elsewhere") || words.contains("no level"), "{words}");
}

/// Rules without a grant.
#[test]
fn a_manager_that_does_not_undo_is_found() {
    let words = found(Mutant::UndoesNothing);
    assert!(words.contains("rules and grants") || words.contains("contracts and grants"), "{words}");
}

/// Frames above their bounds.
#[test]
fn a_manager_that_books_twice_is_found() {
    let words = found(Mutant::BooksTwice(2));
    assert!(words.contains("a frame is late"), "{words}");
}

/// Two grants for one pair.
#[test]
fn a_manager_that_stores_grants_twice_is_found() {
    let words = found(Mutant::GrantsTwice);
    assert!(words.contains("stored grants and admitted pairs"), "{words}");
}

/// Switches that cannot be put right: a flow comes before its group.
#[test]
fn a_manager_without_barriers_is_found() {
    let words = found(Mutant::SendsNoBarriers);
    assert!(words.contains("away") && words.contains("ready"), "{words}");
}
