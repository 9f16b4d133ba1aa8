//! What every back-end has to keep, looked at from outside: it offers, reserves in place of what was reserved, refuses without change, never refuses
//! less, opens, releases, and says what it holds.
use std::net::IpAddr;

use wan::{
    Addresses, AggregateId, Asking, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, Place, SessionId, TSpec, TunnelId,
};

use crate::backend::Backend;

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
    /// Bytes of the least packet.
    pub least_packet: u32,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// Where flows come from, at an edge, and where they go to.
    pub addresses: [IpAddr; 2],
    /// Whether flows can be let in: the addresses are at edges.
    pub has_edges: bool,
    /// Bits per second that a back-end may take of a link beyond what one aggregate asks, because devices count in other units and packets are
    /// longer on the wire. It may never take less than is asked.
    pub rounding: u64,
}

impl Course {
    /// Of packets of one size, between addresses of documentation, without rounding.
    pub fn new(from: Place, to: Place, class: Class, packet: u32) -> Self {
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        Self {
            from,
            to,
            class,
            burst: packet.into(),
            least_packet: packet,
            largest_packet: packet,
            addresses: [address(1), address(2)],
            has_edges: true,
            rounding: 0,
        }
    }
}

/// Delay, jitter and loss.
type Budget = (u64, u64, u32);
/// A budget; or what is missing and what is offered.
type Verdict = Result<Budget, (u64, u64)>;

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
        let Course { from, to, class, burst, least_packet, largest_packet, .. } = self.course;
        Demand { from, to, class, rate, burst, least_packet, largest_packet }
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
    fn offer(&mut self, rate: u64) -> Result<(u64, Budget), String> {
        let ticket = self.ticket();
        let demand = self.demand(rate);
        match self.answer(BackendCommand::Offer { ticket, demand })? {
            BackendAnswer::Offered { ticket: of, rate, delay, jitter, loss } if of == ticket => {
                Ok((rate, (delay, jitter, loss)))
            }
            other => wrong("no offer", &other),
        }
    }

    fn reserve(&mut self, number: u64, rate: u64) -> Result<Verdict, String> {
        let ticket = self.ticket();
        let (aggregate, demand) = (aggregate(self.course.class, number), self.demand(rate));
        match self.answer(BackendCommand::Reserve { ticket, aggregate, demand })? {
            BackendAnswer::Reserved { ticket: of, delay, jitter, loss } if of == ticket => {
                Ok(Ok((delay, jitter, loss)))
            }
            BackendAnswer::Refused { ticket: of, missing, offer } if of == ticket => {
                Ok(Err((missing, offer)))
            }
            other => wrong("neither reserved nor refused", &other),
        }
    }

    fn reserved(&mut self, number: u64, rate: u64, budget: Budget) -> Result<(), String> {
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

    /// What is free, which is so much, or less by what is rounded for so many aggregates.
    fn is_free(&mut self, rate: u64, aggregates: u64, when: &str) -> Result<u64, String> {
        // Another one could have so much: the offer is not about what is held already.
        let (free, _) = self.offer(1)?;
        let least = rate.saturating_sub(self.course.rounding.saturating_mul(aggregates));
        match (least..=rate).contains(&free) {
            true => Ok(free),
            false => wrong(&format!("{when} free should be {rate}"), &free),
        }
    }

    /// More than is free is refused: so much is missing, and all that is free can be had.
    fn refuses(&mut self, number: u64, free: u64, more: u64, what: &str) -> Result<u64, String> {
        let rate = free.saturating_add(more);
        match self.reserve(number, rate)? {
            Err((missing, offer))
                if missing.checked_add(offer) == Some(rate)
                    && (free.saturating_sub(self.course.rounding)..=free).contains(&offer) =>
            {
                Ok(offer)
            }
            other => wrong(what, &other),
        }
    }

    fn run(mut self) -> Result<(), String> {
        let class = self.course.class;
        self.holds(&[])?;
        let (all, budget) = self.offer(1)?;
        let rounding = self.course.rounding;
        if all < 8 + rounding.saturating_mul(16) {
            return wrong("too little is free to look at anything", &all);
        }
        self.is_free(all, 0, "an offer is no reservation;")?;
        // In place of what was reserved, not beside it; the budget stays whatever is reserved.
        self.reserved(1, all / 2, budget)?;
        self.is_free(all - all / 2, 1, "after half is reserved")?;
        self.reserved(1, all / 4 * 3, budget)?;
        let left = self.is_free(all - all / 4 * 3, 1, "after three quarters instead")?;
        let one = Holding::Aggregate(aggregate(class, 1));
        self.holds(&[one])?;
        // Refusals say what is missing, and change nothing, for a new one and for one that is there.
        let offer = self.refuses(2, left, 1 + rounding, "one bit per second too many is not refused so")?;
        self.holds(&[one])?;
        self.refuses(1, all, 2 + rounding, "two bits per second more than all are not refused so")?;
        self.is_free(left, 0, "after refusals")?;
        self.reserved(2, offer, budget)?;
        self.is_free(left - offer, 1, "when all is reserved")?;
        // Less is never refused, and neither is the same.
        self.reserved(1, all / 4 * 3, budget)?;
        self.reserved(1, all / 8, budget)?;
        self.is_free(all - offer - all / 8, 2, "after less")?;
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
        if self.course.has_edges {
            self.flows(one)?;
            self.moves(one, offer, budget)?;
        }
        // Several at once are carried out in their order.
        let [first, second, third] = [self.ticket(), self.ticket(), self.ticket()];
        let answers = self.backend.execute(vec![
            BackendCommand::Release { ticket: first, holding: one },
            BackendCommand::Reserve {
                ticket: second,
                aggregate: aggregate(class, 3),
                demand: self.demand(all - left - rounding),
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
        self.is_free(all, 0, "after all is released").map(drop)
    }

    fn flows(&mut self, one: Holding) -> Result<(), String> {
        let two = Holding::Aggregate(aggregate(self.course.class, 2));
        for number in [1, 2, 1] {
            self.open(number, 1)?;
        }
        self.holds(&[one, two, Holding::Flow(leg(1)), Holding::Flow(leg(2))])?;
        for number in [1, 1] {
            self.release(Holding::Flow(leg(number)))?;
        }
        self.holds(&[one, two, Holding::Flow(leg(2))])?;
        self.release(Holding::Flow(leg(2)))?;
        self.holds(&[one, two])
    }

    fn open(&mut self, number: u64, into: u64) -> Result<(), String> {
        let class = self.course.class;
        let desired = TSpec {
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
            // No two flows are the same packets.
            destination_port: if number == 1 { 7_401 } else { 7_402 },
            class,
            desired,
            least_rate: 8,
            most_loss: wan::ANY_LOSS,
            limit: 1,
            copies: 1,
            asking: Asking::HopByHop,
        };
        let [source, destination] = self.course.addresses;
        let addresses = Addresses { sources: vec![source], destinations: vec![destination] };
        let (ticket, aggregate) = (self.ticket(), aggregate(class, into));
        let open = BackendCommand::Open { ticket, leg: leg(number), aggregate, flow, addresses };
        match self.answer(open)? {
            BackendAnswer::Done { ticket: of } if of == ticket => Ok(()),
            other => wrong("a flow is not let in", &other),
        }
    }

    /// A flow goes into another aggregate while both are there, and is shut with the one that it is in.
    fn moves(&mut self, one: Holding, rate: u64, budget: Budget) -> Result<(), String> {
        let two = Holding::Aggregate(aggregate(self.course.class, 2));
        self.open(1, 1)?;
        self.open(1, 2)?;
        self.holds(&[one, two, Holding::Flow(leg(1))])?;
        self.release(two)?;
        self.holds(&[one])?;
        // The manager releases it all the same.
        self.release(Holding::Flow(leg(1)))?;
        self.reserved(2, rate, budget)?;
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
