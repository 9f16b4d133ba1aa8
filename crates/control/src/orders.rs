//! A change of gates as the requests that it takes, one after another, each answered with what the gate then has.
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gate::Contract;
use gate::protocol::{Answer, ContractState, Refusal, Request};

use crate::action::{Done, GateChange, GateKey, Room};

/// A change under way.
#[derive(Debug)]
pub struct GateOrder {
    left: VecDeque<Request>,
    under_way: Request,
    /// What is to be there at the end and nothing else, if the list has been asked for.
    wanted: Option<Vec<(GateKey, Contract)>>,
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// This has to be asked.
    Ask(Request),
    /// The change has ended.
    Done(Done),
}

impl GateOrder {
    /// The order with its first request.
    pub fn new(change: GateChange) -> (Self, Request) {
        let (under_way, wanted) = match change {
            GateChange::Set(key, contract) => (set(&key, &contract), None),
            GateChange::Remove(key) => (Request::Remove { port: key.port, key: key.flow }, None),
            GateChange::Replace(wanted) => (Request::List, Some(wanted)),
        };
        (Self { left: VecDeque::new(), under_way, wanted }, under_way)
    }

    /// The answer to the request that is under way.
    pub fn answer(&mut self, answer: Result<Answer, String>) -> Next {
        let answer = match answer {
            Ok(Answer::Refused { reason: Refusal::Full, what }) => {
                return Next::Done(Done::Full(Room::Gates, format!("the gates refused it: {what}")));
            }
            Ok(Answer::Refused { what, .. }) => return failed(format!("the gates refused it: {what}")),
            Ok(answer) => answer,
            Err(why) => return failed(why),
        };
        let fits = match (&self.under_way, &answer) {
            (Request::Set { port, key, contract }, Answer::Set { port: at, key: named, contract: has }) => {
                port == at && key == named && contract == has
            }
            (Request::Remove { port, key }, Answer::Removed { port: at, key: named, .. }) => {
                port == at && key == named
            }
            (Request::List, Answer::List { .. }) => true,
            _ => false,
        };
        if !fits {
            return failed(format!("the gates have something else than they were told: {answer:?}"));
        }
        if let (Answer::List { contracts, .. }, Some(wanted)) = (answer, self.wanted.take()) {
            self.left = changes(&contracts, &wanted);
        }
        match self.left.pop_front() {
            Some(next) => {
                self.under_way = next;
                Next::Ask(next)
            }
            None => Next::Done(Done::Confirmed),
        }
    }
}

fn failed(why: String) -> Next {
    Next::Done(Done::Failed(why))
}

/// What leads from the contracts that are there to those that are wanted: the unwanted go first, so that there is room.
fn changes(there: &[ContractState], wanted: &[(GateKey, Contract)]) -> VecDeque<Request> {
    let is = |state: &ContractState, key: &GateKey| state.port == key.port && state.key == key.flow;
    let gone = there
        .iter()
        .filter(|state| !wanted.iter().any(|(key, _)| is(state, key)))
        .map(|state| Request::Remove { port: state.port, key: state.key });
    let new = wanted
        .iter()
        .filter(|(key, contract)| !there.iter().any(|state| is(state, key) && state.contract == *contract))
        .map(|(key, contract)| set(key, contract));
    gone.chain(new).collect()
}

fn set(key: &GateKey, contract: &Contract) -> Request {
    Request::Set { port: key.port, key: key.flow, contract: *contract }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;
    use alloc::vec;
    use core::net::Ipv4Addr;
    use gate::protocol::Counters;
    use gate::{Key, Kind};

    fn key(port: u32, source_port: u16) -> GateKey {
        let [source, destination] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host).into());
        GateKey { port, flow: Key { source, source_port, destination, destination_port: 7411 } }
    }

    const CONTRACT: Contract = Contract {
        kind: Kind::Messages,
        octets: 200,
        separation: 1_000_000,
        tolerance: 0,
        window: 0,
        dscp: 46,
    };

    fn state(key: &GateKey, contract: &Contract) -> ContractState {
        let counters = Counters::default();
        ContractState { port: key.port, key: key.flow, contract: *contract, counters }
    }

    #[test]
    fn a_contract_counts_when_the_gate_says_that_it_has_it() {
        let (mut order, request) = GateOrder::new(GateChange::Set(key(1, 9), CONTRACT));
        let Request::Set { port, key, contract } = request else { panic!("{request:?}") };
        let answer = Answer::Set { port, key, contract };
        assert!(matches!(order.answer(Ok(answer)), Next::Done(Done::Confirmed)));
        for wrong in [
            Answer::Set { port: port + 1, key, contract },
            Answer::Set { port, key, contract: Contract { octets: 201, ..contract } },
            Answer::Removed { port, key, counters: None },
            Answer::Refused { reason: Refusal::Full, what: "full".to_owned() },
        ] {
            let (mut order, _) = GateOrder::new(GateChange::Set(self::key(1, 9), CONTRACT));
            assert!(matches!(order.answer(Ok(wrong)), Next::Done(Done::Failed(_) | Done::Full(..))));
        }
        assert!(matches!(order.answer(Err("gone".to_owned())), Next::Done(Done::Failed(_))));
    }

    #[test]
    fn replacing_touches_only_what_differs() {
        let other = Contract { octets: 300, ..CONTRACT };
        let wanted = vec![(key(1, 1), CONTRACT), (key(1, 2), CONTRACT), (key(1, 3), CONTRACT)];
        let there = [state(&key(1, 1), &CONTRACT), state(&key(1, 2), &other), state(&key(2, 1), &CONTRACT)];
        let (mut order, first) = GateOrder::new(GateChange::Replace(wanted));
        assert_eq!(first, Request::List);
        let mut next = order.answer(Ok(Answer::List { ports: Vec::new(), contracts: there.to_vec() }));
        let mut asked = Vec::new();
        let ended = loop {
            next = match next {
                Next::Done(done) => break done,
                Next::Ask(request) => {
                    asked.push(request);
                    order.answer(Ok(match request {
                        Request::Set { port, key, contract } => Answer::Set { port, key, contract },
                        Request::Remove { port, key } => Answer::Removed { port, key, counters: None },
                        other => panic!("{other:?}"),
                    }))
                }
            };
        };
        assert_eq!(ended, Done::Confirmed);
        let remove = Request::Remove { port: 2, key: key(2, 1).flow };
        assert_eq!(asked, [remove, set(&key(1, 2), &CONTRACT), set(&key(1, 3), &CONTRACT)]);
    }
}
