//! What callees of this domain say to sessions: by the rules of the file, or by programs that are asked and have a time to answer. No I/O.
use std::collections::BTreeMap;
use std::net::IpAddr;

use wan::{Class, FlowRequest, Prefix, SessionId};

use crate::domain_file::{CalleeAnswer, CalleeRule};

/// A session that is asked about.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) session: SessionId,
    pub(crate) caller: IpAddr,
    pub(crate) callees: Vec<IpAddr>,
    pub(crate) flows: Vec<FlowRequest>,
}

/// A question to a program, by its connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Put {
    pub(crate) program: u64,
    pub(crate) number: u64,
    pub(crate) callees: Vec<IpAddr>,
}

/// What comes of a question at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Rates, or a refusal.
    Now(Option<Vec<u64>>),
    /// Programs are asked; all of them have to agree.
    Later(Vec<Put>),
}

/// A session whose callees' programs have not all answered.
#[derive(Debug)]
struct Pending {
    session: SessionId,
    rates: Vec<u64>,
    until: u64,
}

/// Rules, programs, and what is not answered.
#[derive(Debug)]
pub(crate) struct CalleePolicy {
    rules: Vec<CalleeRule>,
    patience: u64,
    programs: BTreeMap<u64, Prefix>,
    /// By the number of the question that began it.
    pending: BTreeMap<u64, Pending>,
    /// For each question that is not answered, its program and what it is part of.
    open: BTreeMap<u64, (u64, u64)>,
    next: u64,
}

/// Rates of flows that a rule takes.
fn taken(most: &BTreeMap<Class, u64>, flows: &[FlowRequest]) -> Option<Vec<u64>> {
    let rate = |flow: &FlowRequest| {
        let rate = most.get(&flow.class)?.min(&flow.desired.rate);
        (*rate >= flow.least_rate).then_some(*rate)
    };
    flows.iter().map(rate).collect()
}

fn lowered(rates: &mut [u64], by: &[u64]) {
    rates.iter_mut().zip(by).for_each(|(rate, other)| *rate = (*rate).min(*other));
}

impl CalleePolicy {
    /// By the rules of a file; a program may take `patience` nanoseconds.
    pub(crate) fn new(rules: Vec<CalleeRule>, patience: u64) -> Self {
        let (programs, pending, open) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { rules, patience, programs, pending, open, next: 0 }
    }

    /// A program answers for these callees from now on.
    pub(crate) fn registered(&mut self, program: u64, callees: Prefix) {
        self.programs.insert(program, callees);
    }

    /// A connection has ended. What its program was asked is refused when its time is over.
    pub(crate) fn left(&mut self, program: u64) {
        self.programs.remove(&program);
    }

    /// Would these callees take part?
    pub(crate) fn ask(&mut self, now: u64, asked: &Asked) -> Decision {
        let mut rates: Vec<u64> = asked.flows.iter().map(|flow| flow.desired.rate).collect();
        let mut programs: BTreeMap<u64, Vec<IpAddr>> = BTreeMap::new();
        for callee in &asked.callees {
            let rule = self.rules.iter().find(|rule| rule.is_for(*callee, asked.caller));
            match rule.map(|rule| &rule.answer) {
                None => return Decision::Now(None),
                Some(CalleeAnswer::UpTo(most)) => match taken(most, &asked.flows) {
                    Some(taken) => lowered(&mut rates, &taken),
                    None => return Decision::Now(None),
                },
                Some(CalleeAnswer::Ask) => {
                    let of = self.programs.iter().filter(|(_, prefix)| prefix.contains(*callee));
                    // The nearest one, of several the last that has come.
                    match of.max_by_key(|(program, prefix)| (prefix.length, **program)) {
                        Some((program, _)) => programs.entry(*program).or_default().push(*callee),
                        None => return Decision::Now(None),
                    }
                }
            }
        }
        if programs.is_empty() {
            return Decision::Now(Some(rates));
        }
        let first = self.next + 1;
        let pending = Pending { session: asked.session, rates, until: now.saturating_add(self.patience) };
        self.pending.insert(first, pending);
        let put = |(program, callees)| {
            self.next += 1;
            self.open.insert(self.next, (program, first));
            Put { program, number: self.next, callees }
        };
        Decision::Later(programs.into_iter().map(put).collect())
    }

    /// A program has answered: what its session's callees say, if they all have.
    pub(crate) fn replied(
        &mut self,
        program: u64,
        number: u64,
        rates: Option<Vec<u64>>,
    ) -> Option<(SessionId, Option<Vec<u64>>)> {
        let (_, of) = self.open.get(&number).copied().filter(|(asked, _)| *asked == program)?;
        self.open.remove(&number);
        let pending = self.pending.get_mut(&of)?;
        match rates.filter(|rates| rates.len() == pending.rates.len()) {
            Some(rates) => {
                lowered(&mut pending.rates, &rates);
                if self.open.values().any(|(_, other)| *other == of) {
                    return None;
                }
                let pending = self.pending.remove(&of)?;
                Some((pending.session, Some(pending.rates)))
            }
            None => Some((self.forget(of)?, None)),
        }
    }

    fn forget(&mut self, of: u64) -> Option<SessionId> {
        self.open.retain(|_, (_, other)| *other != of);
        self.pending.remove(&of).map(|pending| pending.session)
    }

    /// Sessions whose callees' programs have not answered in time: they are refused.
    pub(crate) fn late(&mut self, now: u64) -> Vec<SessionId> {
        let late = self.pending.iter().filter(|(_, pending)| pending.until <= now);
        let late: Vec<u64> = late.map(|(of, _)| *of).collect();
        late.into_iter().filter_map(|of| self.forget(of)).collect()
    }

    /// When the next one is late.
    pub(crate) fn due(&self) -> u64 {
        self.pending.values().map(|pending| pending.until).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use wan::{Asn, Direction, FlowKind, TSpec};

    use super::*;
    use crate::domain_file::prefix;

    fn flow(class: Class, rate: u64, least_rate: u64) -> FlowRequest {
        let desired = TSpec { rate, bucket: 1_000, peak: rate, least_unit: 1_000, largest_packet: 1_000 };
        let (kind, direction) = (FlowKind::Data, Direction::Forward);
        FlowRequest {
            kind,
            direction,
            protocol: 17,
            source_port: 1,
            destination_port: 2,
            class,
            desired,
            least_rate,
            most_loss: wan::ANY_LOSS,
            limit: 1,
            copies: 1,
            asking: wan::Asking::HopByHop,
        }
    }

    fn asked(number: u64, callees: &[&str], flows: Vec<FlowRequest>) -> Asked {
        let callees = callees.iter().map(|callee| callee.parse().unwrap()).collect();
        let session = SessionId { origin: Asn(1), number };
        Asked { session, caller: "10.1.0.1".parse().unwrap(), callees, flows }
    }

    fn rule(callees: &str, callers: Option<&str>, answer: CalleeAnswer) -> CalleeRule {
        let callers = callers.map(|callers| vec![prefix(callers).unwrap()]);
        CalleeRule { callees: prefix(callees).unwrap(), callers, answer }
    }

    fn policy() -> CalleePolicy {
        let up_to = |rate| CalleeAnswer::UpTo(BTreeMap::from([(Class::Ef, rate)]));
        let rules = vec![
            rule("10.3.1.0/24", Some("10.9.0.0/16"), up_to(9_000)),
            rule("10.3.1.0/24", None, up_to(2_000)),
            rule("10.3.2.0/24", None, up_to(500)),
            rule("10.3.8.0/21", None, CalleeAnswer::Ask),
        ];
        CalleePolicy::new(rules, 100)
    }

    #[test]
    fn rules_take_part_up_to_a_rate_and_refuse_what_they_do_not_name() {
        let mut policy = policy();
        let mut rates =
            |callees: &[&str], flow: FlowRequest| match policy.ask(0, &asked(1, callees, vec![flow])) {
                Decision::Now(rates) => rates,
                Decision::Later(_) => panic!("a program is asked"),
            };
        let ef = |rate, least| flow(Class::Ef, rate, least);
        assert_eq!(rates(&["10.3.1.1"], ef(1_000, 1_000)), Some(vec![1_000]));
        assert_eq!(rates(&["10.3.1.1"], ef(3_000, 1_000)), Some(vec![2_000]), "no more than the rule says");
        assert_eq!(rates(&["10.3.1.1"], ef(3_000, 2_001)), None, "less than is enough");
        assert_eq!(rates(&["10.3.1.1"], flow(Class::Af1, 1, 1)), None, "another class");
        assert_eq!(rates(&["10.3.1.1", "10.3.2.1"], ef(3_000, 1)), Some(vec![500]), "the least of all");
        assert_eq!(rates(&["10.3.1.1", "10.3.3.1"], ef(1, 1)), None, "one has no rule");
    }

    #[test]
    fn programs_are_asked_each_for_its_callees_and_all_have_to_agree() {
        let mut policy = policy();
        let ask = |policy: &mut CalleePolicy, number| {
            policy.ask(0, &asked(number, &["10.3.8.1", "10.3.9.1"], vec![flow(Class::Ef, 100, 1)]))
        };
        assert_eq!(ask(&mut policy, 1), Decision::Now(None), "no program is there");
        policy.registered(7, prefix("10.3.8.0/21").unwrap());
        policy.registered(5, prefix("10.3.9.0/24").unwrap());
        let Decision::Later(put) = ask(&mut policy, 2) else { panic!("nobody is asked") };
        let of: Vec<(u64, String)> =
            put.iter().map(|put| (put.program, put.callees[0].to_string())).collect();
        assert_eq!(of, [(5, "10.3.9.1".to_owned()), (7, "10.3.8.1".to_owned())]);
        let session = SessionId { origin: Asn(1), number: 2 };
        assert_eq!(policy.replied(7, put[0].number, Some(vec![90])), None, "the question of another program");
        assert_eq!(policy.replied(5, put[0].number, Some(vec![90])), None, "one is missing");
        assert_eq!(policy.replied(5, put[0].number, Some(vec![1])), None, "twice");
        assert_eq!(policy.replied(7, put[1].number, Some(vec![95])), Some((session, Some(vec![90]))));
        // One refusal is enough, and what comes later changes nothing.
        let Decision::Later(put) = ask(&mut policy, 2) else { panic!("nobody is asked") };
        assert_eq!(policy.replied(5, put[0].number, None), Some((session, None)));
        assert_eq!(policy.replied(7, put[1].number, Some(vec![95])), None);
        assert_eq!(policy.due(), u64::MAX);
    }

    #[test]
    fn no_answer_in_time_is_a_refusal() {
        let mut policy = policy();
        policy.registered(7, prefix("10.3.8.0/21").unwrap());
        let question = asked(3, &["10.3.8.1"], vec![flow(Class::Ef, 100, 1)]);
        let Decision::Later(put) = policy.ask(50, &question) else { panic!("nobody is asked") };
        policy.left(7);
        assert_eq!((policy.due(), policy.late(149)), (150, Vec::new()));
        assert_eq!(policy.late(150), [question.session]);
        assert_eq!(policy.replied(7, put[0].number, Some(vec![1])), None, "too late");
        assert_eq!(policy.ask(0, &question), Decision::Now(None), "it has left");
    }
}
