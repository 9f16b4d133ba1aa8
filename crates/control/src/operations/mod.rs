//! Operations: what is under way in switches, gates and the store, what waits for a time, and what is to be done.
//!
//! [`Operations`] keeps them. It is told what begins, what has been answered and which time it is, and says what comes next ([`Next`]); what that
//! means for the network and for grants is decided elsewhere.
mod task;
#[cfg(test)]
mod tests;
mod under_way;
mod unstored;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::action::{Action, Done, Pair, Token};
use crate::fabric::Site;

pub(crate) use task::{Chore, Kind, Purpose, Step, Task, Timer, installs};
use under_way::Operation;
pub(crate) use under_way::{Ended, Found, Next};
use unstored::Unstored;

/// What is under way and what is to be done.
#[derive(Default, Debug)]
pub(crate) struct Operations {
    under_way: BTreeMap<u64, Operation>,
    /// The operations whose tasks have been asked for.
    tokens: BTreeMap<Token, u64>,
    timers: BTreeSet<(Duration, Timer)>,
    actions: VecDeque<Action>,
    /// What is to be begun before requests.
    chores: VecDeque<Chore>,
    unstored: Unstored,
    next_operation: u64,
    next_token: u64,
}

/// A task that has been answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its operation.
    pub(crate) number: u64,
    pub(crate) task: Task,
    pub(crate) purpose: Purpose,
}

/// What the time of a token means that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expired {
    /// Nothing but time had to pass.
    Passed,
    /// There is no answer, of this site if it is one that was asked.
    Unanswered(Option<Site>),
}

impl Operations {
    /// An operation begins: its number. What is to be done first [`Self::next`] says.
    pub(crate) fn start(&mut self, kind: Kind, steps: Vec<Step>) -> u64 {
        let number = self.next_operation;
        self.next_operation += 1;
        self.under_way.insert(number, Operation::new(kind, steps));
        number
    }

    /// What comes next of an operation. `name` says what a site is called.
    pub(crate) fn next(&mut self, number: u64, name: impl Fn(Site) -> String) -> Next {
        let Some(operation) = self.under_way.get_mut(&number) else { return Next::Wait };
        if let Some(next) = operation.next(name) {
            return next;
        }
        self.under_way.remove(&number).map_or(Next::Wait, |operation| Next::Ended(operation.ended()))
    }

    /// Steps of an operation that could not be known before.
    pub(crate) fn go_on(&mut self, number: u64, steps: Vec<Step>) {
        if let Some(operation) = self.under_way.get_mut(&number) {
            operation.go_on(steps);
        }
    }

    /// What an operation is for.
    pub(crate) fn purpose(&self, number: u64) -> Purpose {
        self.under_way.get(&number).map_or(Purpose::Change, Operation::purpose)
    }

    /// Whether a site has missed something sure of an operation.
    pub(crate) fn has_missed(&self, number: u64, site: Site) -> bool {
        self.under_way.get(&number).is_some_and(|operation| operation.has_missed(site))
    }

    /// A token for what is asked next.
    pub(crate) const fn next_token(&mut self) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        token
    }

    /// A task of an operation is under way until its token is answered, or until then.
    pub(crate) fn wait(&mut self, until: Duration, token: Token, number: u64, task: Task) {
        self.timers.insert((until, Timer::Token(token)));
        self.tokens.insert(token, number);
        if let Some(operation) = self.under_way.get_mut(&number) {
            operation.wait(token, task);
        }
    }

    /// What was asked for has been answered in this way: the task. `None` if no operation waits for that.
    pub(crate) fn answer(&mut self, token: Token, done: &Done) -> Option<Answer> {
        let number = self.tokens.remove(&token)?;
        let operation = self.under_way.get_mut(&number)?;
        let task = operation.answer(token, done)?;
        Some(Answer { number, task, purpose: operation.purpose() })
    }

    /// What was found at a site that was read, for the operation that waits for that.
    pub(crate) fn found(&mut self, token: Token, found: Found) {
        let number = self.tokens.get(&token);
        if let Some(operation) = number.and_then(|number| self.under_way.get_mut(number)) {
            operation.found(found);
        }
    }

    /// A task has failed; why, with the name of its site. True if it is not known what the site has, had the task begun. What is
    /// sure to be stored is stored later.
    pub(crate) fn failed(&mut self, number: u64, task: &Task, why: (&str, &str), again: Duration) -> bool {
        let Some(operation) = self.under_way.get_mut(&number) else { return false };
        let (name, reason) = why;
        let is_unknown = operation.failed(task, || format!("{name}: {reason}"));
        if let Task::Store { change, sure: true } = task {
            self.timers.insert((again, Timer::Store));
            self.unstored.keep(change.clone());
        }
        is_unknown
    }

    /// The installation of a grant fails, unless it has ended: what it has done is undone.
    pub(crate) fn give_up(&mut self, grant: u64, reason: &str) -> bool {
        let operation = self.under_way.values_mut().find(|operation| operation.admits(grant));
        operation.map(|operation| operation.give_up(reason)).is_some()
    }

    /// What was asked of a site and is not answered yet.
    pub(crate) fn asked_of(&self, site: Site) -> Vec<Token> {
        let at_site = |operation: &Operation| {
            let tasks = operation.waiting().filter(|(_, task)| task.site() == Some(site));
            tasks.map(|(token, _)| token).collect::<Vec<_>>()
        };
        self.under_way.values().flat_map(at_site).collect()
    }

    /// What is under way at a site.
    pub(crate) fn tasks_at(&self, site: Site) -> impl Iterator<Item = &Task> {
        let waiting = self.under_way.values().flat_map(|operation| operation.waiting().map(|(_, task)| task));
        waiting.filter(move |task| task.site() == Some(site))
    }

    /// What it means that the time of a token has come; `None` if it was answered before.
    pub(crate) fn expired(&self, token: Token) -> Option<Expired> {
        let operation = self.under_way.get(self.tokens.get(&token)?)?;
        operation.task(token).map(|task| match task {
            Task::Announce(_) | Task::Hold(_) => Expired::Passed,
            task => Expired::Unanswered(task.site()),
        })
    }

    /// How many operations there are.
    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// How much is under way that changes grants or the tree.
    pub(crate) fn changing(&self) -> usize {
        self.changes().count()
    }

    /// The same without what only lets time pass: that keeps nothing from beginning.
    pub(crate) fn busy(&self) -> usize {
        self.changes().filter(|operation| !operation.only_holds()).count()
    }

    /// Whether something is under way that changes grants.
    pub(crate) fn changes_grants(&self) -> bool {
        self.changes().any(|operation| *operation.kind() != Kind::Tree)
    }

    fn changes(&self) -> impl Iterator<Item = &Operation> {
        self.under_way.values().filter(|operation| operation.kind().is_change())
    }

    fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.under_way.values().map(Operation::kind)
    }

    /// Whether a grant changes its levels or shares, which counts when the operation has ended.
    pub(crate) fn is_moving(&self, number: u64) -> bool {
        self.kinds().any(|kind| match kind {
            Kind::Admit { plan, .. } => {
                let shares = plan.shares().any(|change| change.flow == number);
                shares || plan.moves().any(|change| change.flow == number)
            }
            _ => false,
        })
    }

    /// Whether a pair is about to be served by another grant than this one.
    pub(crate) fn joins_other(&self, pair: Pair, than: u64) -> bool {
        self.kinds().any(|kind| {
            matches!(kind, Kind::Join { number, pair: of, serial } if *number != than && *of == pair && *serial > 0)
        })
    }

    /// Whether a pair hears that a grant goes that has served it.
    pub(crate) fn says_farewell_to(&self, pair: Pair) -> bool {
        self.kinds().any(|kind| matches!(kind, Kind::Farewell { pairs, .. } if pairs.contains(&pair)))
    }

    /// Whether other flows move, or the tree changes: nothing else may begin.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.kinds().any(|kind| match kind {
            Kind::Admit { plan, .. } => !plan.phases.is_empty(),
            Kind::Tree => true,
            _ => false,
        })
    }

    /// Something is to be done outside.
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Something is to happen at this time.
    pub(crate) fn wake(&mut self, at: Duration, timer: Timer) {
        self.timers.insert((at, timer));
    }

    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// The next thing whose time has come, and that time.
    pub(crate) fn due(&mut self, now: Duration) -> Option<(Duration, Timer)> {
        let due = self.timers.first().copied().filter(|(time, _)| *time <= now)?;
        self.timers.pop_first();
        Some(due)
    }

    /// A chore is to be begun after the others.
    pub(crate) fn add_chore(&mut self, chore: Chore) {
        self.chores.push_back(chore);
    }

    /// A chore is to be begun before all others.
    pub(crate) fn add_first(&mut self, chore: Chore) {
        self.chores.push_front(chore);
    }

    pub(crate) fn has_chore(&self, chore: Chore) -> bool {
        self.chores.contains(&chore)
    }

    pub(crate) fn next_chore(&mut self) -> Option<Chore> {
        self.chores.pop_front()
    }
}
