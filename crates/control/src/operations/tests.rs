//! Operations by themselves: steps, answers, undoing.
use alloc::vec;

use super::*;
use crate::action::StoreChange;

/// What stores that a grant is gone.
fn store(number: u64, sure: bool) -> Task {
    Task::Store { change: StoreChange::Remove(number), sure }
}

/// What begins next, with its tokens.
fn begin(operations: &mut Operations, number: u64) -> Option<Vec<(Token, Task)>> {
    let Next::Begin(tasks) = operations.next(number, |_| String::new()) else { return None };
    let begun = tasks.into_iter().map(|task| {
        let token = operations.next_token();
        operations.wait(Duration::ZERO, token, number, task.clone());
        (token, task)
    });
    Some(begun.collect())
}

fn tasks(begun: Option<Vec<(Token, Task)>>) -> Vec<Task> {
    begun.into_iter().flatten().map(|(_, task)| task).collect()
}

/// A step that stores something and its undoing.
fn step(number: u64) -> Step {
    Step { tasks: vec![store(number, false)], undo: vec![store(100 + number, true)], keeps: false }
}

/// Confirms all that begins, so many times.
fn confirm(operations: &mut Operations, number: u64, times: usize) {
    for _ in 0..times {
        for (token, _) in begin(operations, number).unwrap() {
            assert!(operations.answer(token, &Done::Confirmed).is_some());
            assert!(operations.answer(token, &Done::Confirmed).is_none(), "it is answered once");
        }
    }
}

#[test]
fn a_step_begins_when_the_one_before_is_answered() {
    let mut operations = Operations::default();
    let number = operations.start(Kind::Tree, vec![step(1), step(2)]);
    let [(token, _)] = begin(&mut operations, number).unwrap().try_into().unwrap();
    assert!(matches!(operations.next(number, |_| String::new()), Next::Wait));
    operations.answer(token, &Done::Confirmed).unwrap();
    assert_eq!(tasks(begin(&mut operations, number)), [store(2, false)]);
}

#[test]
fn what_has_failed_is_undone_from_the_last_step_on_but_for_what_is_kept() {
    let mut operations = Operations::default();
    let keep = Step { keeps: true, ..Step::default() };
    let number = operations.start(Kind::Tree, vec![step(1), keep, step(2), step(3), step(4)]);
    confirm(&mut operations, number, 3);
    let [(token, task)] = begin(&mut operations, number).unwrap().try_into().unwrap();
    operations.answer(token, &Done::Failed(String::new())).unwrap();
    assert!(!operations.failed(number, &task, ("the store", "it is full"), Duration::ZERO));
    for undone in [103, 102] {
        let [(token, task)] = begin(&mut operations, number).unwrap().try_into().unwrap();
        assert_eq!(task, store(undone, true));
        operations.answer(token, &Done::Confirmed).unwrap();
    }
    let Next::Ended(ended) = operations.next(number, |_| String::new()) else { panic!("it goes on") };
    assert_eq!((ended.failed.as_deref(), ended.kept), (Some("the store: it is full"), 1));
    assert_eq!(operations.len(), 0);
}

#[test]
fn what_is_sure_and_could_not_be_stored_is_stored_later_unless_it_is_out_of_date() {
    let mut operations = Operations::default();
    let number = operations.start(Kind::Tree, vec![Step::of(vec![store(1, true), store(2, true)])]);
    let again = Duration::from_secs(10);
    for (token, task) in begin(&mut operations, number).unwrap() {
        operations.answer(token, &Done::Failed(String::new())).unwrap();
        operations.failed(number, &task, ("the store", "it is full"), again);
    }
    assert!(matches!(operations.next(number, |_| String::new()), Next::Ended(Ended { failed: None, .. })));
    operations.forget_unstored(&StoreChange::Remove(1));
    assert_eq!(operations.take_unstored(), [store(2, true)]);
    assert!(operations.due(Duration::ZERO).is_some_and(|(_, timer)| matches!(timer, Timer::Token(_))));
}
