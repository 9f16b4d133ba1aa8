//! What every back-end has to keep, looked at from outside: it offers, reserves in place of what was reserved, refuses without change, never refuses
//! less, opens, releases, and says what it holds.
use std::net::IpAddr;

use wan::{
    Addresses, AggregateId, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, Place, SessionId, TSpec, TunnelId,
};

use crate::backend::Backend;

/// Bytes of the least packet of what is asked for.
const LEAST_PACKET: u32 = 64;

/// What a back-end that holds nothing is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Course {
    /// Where traffic comes in.
    pub from: Place,
    /// Where it goes out.
    pub to: Place,
    /// Its class.
    pub class: Class,
    /// Bytes at once, so few that rates alone decide.
    pub burst: u64,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
}

/// Delay and jitter; or what is missing and what is offered.
type Verdict = Result<(u64, u64), (u64, u64)>;

struct Judge<'b> {
    backend: &'b mut dyn Backend,
    course: Course,
    ticket: u64,
}

fn aggregate(class: Class, number: u64) -> AggregateId {
    AggregateId { tunnel: TunnelId { origin: Asn(65_000), number }, class }
}

fn leg(number: u64) -> LegId {
    LegId { session: SessionId { origin: Asn(65_000), number }, flow: 0, peer: Asn(65_001) }
}

fn wrong<T>(what: &str, got: &impl std::fmt::Debug) -> Result<T, String> {
    Err(format!("{what}: {got:?}"))
}

impl Judge<'_> {
    fn demand(&self, rate: u64) -> Demand {
        let Course { from, to, class, burst, largest_packet } = self.course;
        Demand {
            from,
            to,
            class,
            rate,
            burst,
            least_packet: LEAST_PACKET.min(largest_packet),
            largest_packet,
        }
    }

    fn ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    fn answer(&mut self, command: BackendCommand) -> Result<BackendAnswer, String> {
        let mut answers = self.backend.execute(vec![command.clone()]);
        match (answers.pop(), answers.is_empty()) {
            (Some(answer), true) => Ok(answer),
            _ => wrong("a command has not one answer", &command),
        }
    }

    /// What is free, and the budget.
    fn offer(&mut self, rate: u64) -> Result<(u64, (u64, u64)), String> {
        let ticket = self.ticket();
        let demand = self.demand(rate);
        match self.answer(BackendCommand::Offer { ticket, demand })? {
            BackendAnswer::Offered { ticket: of, rate, delay, jitter } if of == ticket => {
                Ok((rate, (delay, jitter)))
            }
            other => wrong("no offer", &other),
        }
    }

    fn reserve(&mut self, number: u64, rate: u64) -> Result<Verdict, String> {
        let ticket = self.ticket();
        let (aggregate, demand) = (aggregate(self.course.class, number), self.demand(rate));
        match self.answer(BackendCommand::Reserve { ticket, aggregate, demand })? {
            BackendAnswer::Reserved { ticket: of, delay, jitter } if of == ticket => Ok(Ok((delay, jitter))),
            BackendAnswer::Refused { ticket: of, missing, offer } if of == ticket => {
                Ok(Err((missing, offer)))
            }
            other => wrong("neither reserved nor refused", &other),
        }
    }

    fn reserved(&mut self, number: u64, rate: u64, budget: (u64, u64)) -> Result<(), String> {
        match self.reserve(number, rate)? {
            Ok(of) if of == budget => Ok(()),
            other => wrong("reserved, with the budget that was offered", &other),
        }
    }

    fn release(&mut self, holding: Holding) -> Result<(), String> {
        let ticket = self.ticket();
        match self.answer(BackendCommand::Release { ticket, holding })? {
            BackendAnswer::Done { ticket: of } if of == ticket => Ok(()),
            other => wrong("a release is not done", &other),
        }
    }

    fn holds(&mut self, what: &[Holding]) -> Result<(), String> {
        let ticket = self.ticket();
        match self.answer(BackendCommand::Observe { ticket })? {
            BackendAnswer::Observed { ticket: of, mut holdings } if of == ticket => {
                holdings.sort();
                let mut what = what.to_vec();
                what.sort();
                if holdings == what { Ok(()) } else { wrong("it says that it holds", &holdings) }
            }
            other => wrong("no observation", &other),
        }
    }

    fn is_free(&mut self, rate: u64, when: &str) -> Result<(), String> {
        // Another one could have so much: the offer is not about what is held already.
        let (free, _) = self.offer(1)?;
        if free == rate { Ok(()) } else { wrong(&format!("{when} free should be {rate}"), &free) }
    }

    fn run(mut self) -> Result<(), String> {
        let class = self.course.class;
        self.holds(&[])?;
        let (all, budget) = self.offer(1)?;
        if all < 8 {
            return wrong("too little is free to look at anything", &all);
        }
        self.is_free(all, "an offer is no reservation;")?;
        // In place of what was reserved, not beside it; the budget stays whatever is reserved.
        self.reserved(1, all / 2, budget)?;
        self.is_free(all - all / 2, "after half is reserved")?;
        self.reserved(1, all / 4 * 3, budget)?;
        self.is_free(all - all / 4 * 3, "after three quarters instead")?;
        let one = Holding::Aggregate(aggregate(class, 1));
        self.holds(&[one])?;
        // Refusals say what is missing, and change nothing, for a new one and for one that is there.
        let left = all - all / 4 * 3;
        match self.reserve(2, left + 1)? {
            Err((1, offer)) if offer == left => {}
            other => return wrong("one bit per second too many is not refused so", &other),
        }
        self.holds(&[one])?;
        match self.reserve(1, all + 2)? {
            Err((2, offer)) if offer == all => {}
            other => return wrong("two bits per second more than all are not refused so", &other),
        }
        self.is_free(left, "after refusals")?;
        self.reserved(2, left, budget)?;
        self.is_free(0, "when all is reserved")?;
        // Less is never refused, and neither is the same.
        self.reserved(1, all / 4 * 3, budget)?;
        self.reserved(1, all / 8, budget)?;
        self.is_free(all - left - all / 8, "after less")?;
        // What is forwarded has no answer.
        let commit = BackendCommand::Commit {
            aggregate: aggregate(class, 1),
            label_in: Some(16),
            label_out: Some(17),
        };
        for _ in 0..2 {
            let answers = self.backend.execute(vec![commit.clone()]);
            if !answers.is_empty() {
                return wrong("a commit is answered", &answers);
            }
        }
        self.flows(one)?;
        // Several at once are carried out in their order.
        let [first, second, third] = [self.ticket(), self.ticket(), self.ticket()];
        let answers = self.backend.execute(vec![
            BackendCommand::Release { ticket: first, holding: one },
            BackendCommand::Reserve {
                ticket: second,
                aggregate: aggregate(class, 3),
                demand: self.demand(all - left),
            },
            BackendCommand::Observe { ticket: third },
        ]);
        match &answers[..] {
            [
                BackendAnswer::Done { ticket },
                BackendAnswer::Reserved { ticket: reserved, .. },
                BackendAnswer::Observed { ticket: observed, holdings },
            ] if [*ticket, *reserved, *observed] == [first, second, third] && holdings.len() == 2 => {}
            other => return wrong("what comes together is not carried out in its order", &other),
        }
        // What is released is free again, what is not there as well.
        for number in [3, 2, 2, 1] {
            self.release(Holding::Aggregate(aggregate(class, number)))?;
        }
        self.holds(&[])?;
        self.is_free(all, "after all is released")
    }

    fn flows(&mut self, one: Holding) -> Result<(), String> {
        let class = self.course.class;
        let two = Holding::Aggregate(aggregate(class, 2));
        let traffic = TSpec {
            rate: 8,
            bucket: u64::from(self.course.largest_packet),
            peak: 8,
            least_unit: self.course.largest_packet,
            largest_packet: self.course.largest_packet,
        };
        let flow = FlowRequest {
            kind: FlowKind::Data,
            direction: Direction::Forward,
            protocol: 17,
            source_port: 7_400,
            destination_port: 7_401,
            class,
            desired: traffic,
            least_rate: 8,
            limit: 1,
        };
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let addresses = Addresses { sources: vec![address(1)], destinations: vec![address(2)] };
        for number in [1, 2, 1] {
            let ticket = self.ticket();
            let open = BackendCommand::Open {
                ticket,
                leg: leg(number),
                aggregate: aggregate(class, 1),
                flow,
                addresses: addresses.clone(),
            };
            match self.answer(open)? {
                BackendAnswer::Done { ticket: of } if of == ticket => {}
                other => return wrong("a flow is not let in", &other),
            }
        }
        self.holds(&[one, two, Holding::Flow(leg(1)), Holding::Flow(leg(2))])?;
        for number in [1, 1] {
            self.release(Holding::Flow(leg(number)))?;
        }
        self.holds(&[one, two, Holding::Flow(leg(2))])?;
        self.release(Holding::Flow(leg(2)))?;
        self.holds(&[one, two])
    }
}

/// Looks whether a back-end that holds nothing keeps all that a manager relies on. It holds nothing afterwards.
///
/// # Errors
/// What it does not keep, and what it answered.
pub fn conforms(backend: &mut dyn Backend, course: Course) -> Result<(), String> {
    Judge { backend, course, ticket: 1_000 }.run()
}
