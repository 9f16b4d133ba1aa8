//! What could be reserved on the way to a domain: nothing is kept of it but questions to the back-end.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::action::{Action, Out};
use crate::agreement::{Terms, loss_after};
use crate::backend::{BackendAnswer, BackendCommand, Demand, Place};
use crate::config::Config;
use crate::hops::Hops;
use crate::message::{Available, Body, Query, QueryResponse};
use crate::request::ANY_LOSS;
use crate::routes::MOST_DOMAINS;
use crate::words::{AggregateId, Asn, Class, LinkId, Reason, Refusal, TunnelId};

/// Queries that wait for the back-end at a time; those beyond get no answer.
const MOST_WAITING: usize = 256;

/// A query that waits for the back-end, and the link that it would leave by with what that has.
type Waiting = (Query, Option<(Asn, LinkId, Terms)>);

/// Queries under way here.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    waiting: BTreeMap<u64, Waiting>,
    /// Queries of this domain: whom to answer.
    asked: BTreeMap<u64, (u64, u64)>,
}

impl Queries {
    /// Someone here asks.
    pub(crate) fn ask(
        &mut self,
        (now, config, hops): (u64, &Config, &Hops),
        out: &mut Out,
        ticket: u64,
        path: Vec<Asn>,
        class: Class,
    ) {
        let number = out.unique();
        self.asked.insert(number, (ticket, now.saturating_add(config.limits.patience)));
        let aggregate = AggregateId { tunnel: TunnelId { origin: config.asn, number: 0 }, class };
        let available = u64::MAX;
        let query = Query {
            number,
            aggregate,
            path,
            position: 0,
            link: None,
            available,
            delay: 0,
            jitter: 0,
            loss: 0,
        };
        self.on_query((now, config, hops), out, config.asn, query);
    }

    /// The domain before this one asks.
    pub(crate) fn on_query(
        &mut self,
        (now, config, hops): (u64, &Config, &Hops),
        out: &mut Out,
        from: Asn,
        query: Query,
    ) {
        let position = usize::from(query.position);
        let before = position.checked_sub(1).map_or(Some(&config.asn), |at| query.path.get(at));
        let is_here = query.path.get(position) == Some(&config.asn) && before == Some(&from);
        let is_small = query.path.len() <= MOST_DOMAINS && query.delay < 1 << 60 && query.jitter < 1 << 60;
        if !is_here || !is_small || query.loss > ANY_LOSS || self.waiting.len() >= MOST_WAITING {
            return;
        }
        let class = query.aggregate.class;
        let mut onward = None;
        if let Some((next, destination)) = query.path.get(position + 1).zip(query.path.last()) {
            let mut best: Result<(Asn, LinkId, Terms), Refusal> =
                Err(Refusal { asn: config.asn, link: None, reason: Reason::NoAgreement });
            for agreement in config.toward(*next) {
                let link = agreement.link;
                match hops.border.terms(now, config, (*next, link), class, *destination) {
                    Ok(terms) => {
                        let rate = terms.rate.saturating_sub(hops.ledger(link, class).rate);
                        if best.as_ref().is_ok_and(|(_, _, other)| other.rate >= rate) {
                            continue;
                        }
                        // What is left of the rate.
                        best = Ok((*next, link, Terms { rate, ..terms }));
                    }
                    Err(refusal) if best.is_err() => best = Err(refusal),
                    Err(_) => {}
                }
            }
            match best {
                Ok(best) => onward = Some(best),
                Err(refusal) => return self.answer(config, out, &query, Err(refusal)),
            }
        }
        let ticket = out.ticket();
        let demand = Demand {
            from: query.link.map_or(Place::Edges, Place::Border),
            to: onward.map_or(Place::Edges, |(_, link, ..)| Place::Border(link)),
            class,
            rate: 1,
            burst: 1,
            least_packet: 1,
            largest_packet: 1,
        };
        self.waiting.insert(ticket, (query, onward));
        out.command(BackendCommand::Offer { ticket, demand });
    }

    /// The back-end has said what it has.
    pub(crate) fn on_backend(&mut self, config: &Config, out: &mut Out, answer: &BackendAnswer) {
        let (ticket, offered) = match answer {
            BackendAnswer::Offered { ticket, rate, delay, jitter, loss } => {
                (*ticket, Ok((*rate, *delay, *jitter, *loss)))
            }
            BackendAnswer::Failed { ticket, fault } => (*ticket, Err(Reason::Device(fault.clone()))),
            _ => return,
        };
        let Some((mut query, onward)) = self.waiting.remove(&ticket) else { return };
        let (rate, delay, jitter, loss) = match offered {
            Ok(offered) => offered,
            Err(reason) => {
                let refusal = Refusal { asn: config.asn, link: None, reason };
                return self.answer(config, out, &query, Err(refusal));
            }
        };
        query.available = query.available.min(rate);
        query.delay = query.delay.saturating_add(delay);
        query.jitter = query.jitter.saturating_add(jitter);
        query.loss = loss_after(query.loss, loss);
        let Some((next, link, terms)) = onward else {
            let available = Available {
                rate: query.available,
                delay: query.delay,
                jitter: query.jitter,
                loss: query.loss,
            };
            return self.answer(config, out, &query, Ok(available));
        };
        let onward = Query {
            position: query.position.saturating_add(1),
            link: Some(link),
            available: query.available.min(terms.rate),
            delay: query.delay.saturating_add(terms.delay),
            jitter: query.jitter.saturating_add(terms.jitter),
            loss: loss_after(query.loss, terms.loss),
            ..query
        };
        out.send(next, Body::Query(onward));
    }

    fn answer(&mut self, config: &Config, out: &mut Out, query: &Query, verdict: Result<Available, Refusal>) {
        let response = QueryResponse {
            number: query.number,
            path: query.path.clone(),
            position: query.position,
            verdict,
        };
        self.back(config, out, response);
    }

    /// To the domain before this one, or to whom asked.
    fn back(&mut self, config: &Config, out: &mut Out, response: QueryResponse) {
        let before = response.position.checked_sub(1);
        match before.and_then(|at| Some((at, *response.path.get(usize::from(at))?))) {
            Some((_, before)) if !config.is_neighbour(before) => {}
            Some((position, before)) => {
                out.send(before, Body::QueryResponse(QueryResponse { position, ..response }));
            }
            None => {
                if let Some((ticket, _)) = self.asked.remove(&response.number) {
                    out.actions.push(Action::QueryAnswer { ticket, answer: response.verdict });
                }
            }
        }
    }

    /// The domain after this one has answered.
    pub(crate) fn on_response(&mut self, config: &Config, out: &mut Out, from: Asn, response: QueryResponse) {
        let position = usize::from(response.position);
        let is_here = response.path.get(position) == Some(&config.asn);
        if is_here && response.path.get(position + 1) == Some(&from) && response.path.len() <= MOST_DOMAINS {
            self.back(config, out, response);
        }
    }

    /// Questions without an answer end.
    pub(crate) fn tick(&mut self, now: u64, out: &mut Out) {
        let own = out.own;
        let actions = &mut out.actions;
        self.asked.retain(|_, (ticket, until)| {
            if *until <= now {
                let answer = Err(Refusal { asn: own, link: None, reason: Reason::NoAnswer });
                actions.push(Action::QueryAnswer { ticket: *ticket, answer });
            }
            *until > now
        });
    }

    pub(crate) fn due(&self) -> u64 {
        self.asked.values().map(|(_, until)| *until).min().unwrap_or(u64::MAX)
    }
}
