//! What-if: what the manager would answer to a request. Nothing is changed by the question.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use latency::ledger::{Plan, Reason};
use latency::network::Flow;
use latency::routes::Tree;
use latency::units::NANOSECOND;
use serde::Serialize;
use wire::Guid;
use wire::admission::{Contract, Socket};

use crate::losses::Part;
use crate::report::HopReport;
use crate::requests::{Goal, Wish};
use crate::resource_manager::ResourceManager;

/// Hosts that an error names at most.
const NAMED: usize = 20;

/// A flow that a reader might ask for. Times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The host of the writer, by its name.
    pub from: String,
    /// The host of the reader, by its name.
    pub to: String,
    /// What would be written; a policy may depend on it.
    pub topic: String,
    /// The user who would ask; empty if requests are not signed.
    pub user: String,
    /// What the writer would promise.
    pub contract: Contract,
    /// The latency that the reader would ask for.
    pub maximum_latency: u64,
    /// The most time between messages that the reader would accept; 0 if it does not matter.
    pub maximum_separation: u64,
}

/// What would become of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It would be admitted.
    Admitted,
    /// It would be admitted once less important flows have gone.
    Displaces,
    /// It would wait for something that is under way or away.
    Waits,
    /// It would be refused.
    Refused,
}

/// The answer. Times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Answer {
    /// What would become of it.
    pub outcome: Outcome,
    /// Why; empty if it would be admitted.
    pub reason: String,
    /// What it would be promised; 0 unless it would be admitted.
    pub promised: u64,
    /// Its worst case with the flows that there are now; 0 unless it would be admitted, or if none is known.
    pub present: u64,
    /// A latency that would be admitted; 0 if none is known.
    pub offered_latency: u64,
    /// A separation that would be admitted; 0 if none is known.
    pub offered_separation: u64,
    /// Its way, if it would be admitted.
    pub hops: Vec<HopReport>,
    /// Flows that would change a level for it, or share their latency out anew. None is promised less.
    pub changes: usize,
    /// The topics of the flows that would go for it.
    pub yielding: Vec<String>,
    /// The steps of work that the decision took ([`latency::work`]): [`latency::work::Limits::MOST`] at most. Its worst case takes no more than that again.
    pub steps: u64,
}

impl Answer {
    fn because(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: reason.into(),
            promised: 0,
            present: 0,
            offered_latency: 0,
            offered_separation: 0,
            hops: Vec::new(),
            changes: 0,
            yielding: Vec::new(),
            steps: 0,
        }
    }
}

impl ResourceManager {
    /// What would be answered if a reader asked for this now, as the newest request of its importance. Takes no more steps than two requests.
    ///
    /// # Errors
    /// What is wrong with the question, and what to do.
    pub fn what_if(&self, question: &Question) -> Result<Answer, String> {
        let wish = self.wish_asked(question)?;
        if let Err(reason) = self.may_ask_this(question, &wish) {
            return Ok(Answer::because(Outcome::Refused, reason));
        }
        let (answer, steps) = self.reservations.apart(|| self.imagine(&wish));
        Ok(Answer { steps, ..answer })
    }

    fn wish_asked(&self, question: &Question) -> Result<Wish, String> {
        let Question { contract, .. } = question;
        if question.maximum_latency == 0 || contract.minimum_separation == 0 {
            return Err("a maximum latency and a minimum separation above 0 are needed".into());
        }
        if contract.largest_message == 0 || contract.smallest_message > contract.largest_message {
            return Err("the largest message must be above 0, and the smallest one no larger".into());
        }
        let (from, to) = (self.host_called(&question.from)?, self.host_called(&question.to)?);
        if from == to {
            return Err("writer and reader are on the same host: there is no network between them".into());
        }
        let goal = Goal {
            host: to,
            to: Socket::default(),
            address: None,
            maximum_latency: question.maximum_latency,
            maximum_separation: question.maximum_separation,
        };
        Ok(Wish {
            pair: (Guid::UNKNOWN, Guid::UNKNOWN),
            from,
            source: Socket::default(),
            destination: Socket::default(),
            contract: *contract,
            aggregate: None,
            tunnel: None,
            losses: None,
            part: Part::Whole,
            goals: alloc::vec![goal],
        })
    }

    fn host_called(&self, name: &str) -> Result<usize, String> {
        self.fabric.network().hosts.iter().position(|host| host.name == name).ok_or_else(|| {
            let names: Vec<&str> =
                self.fabric.network().hosts.iter().take(NAMED).map(|host| host.name.as_str()).collect();
            let more = if self.fabric.network().hosts.len() > NAMED { ", ..." } else { "" };
            let name: String = name.chars().take(64).collect();
            format!("the network has no host \"{name}\"; name one of: {}{more}", names.join(", "))
        })
    }

    fn imagine(&self, wish: &Wish) -> Answer {
        let Some(flow) = self.fabric.network().flow(wish) else {
            return Answer::because(Outcome::Refused, "its numbers are out of range");
        };
        let trees = self.fabric.trees(wish, self.config.ways);
        if trees.is_empty() {
            return Answer::because(Outcome::Waits, self.fabric.no_way(wish));
        }
        let turn = self.requests.newest(wish.contract.importance, wish.pair);
        match self.reservations.plan(&flow, &trees) {
            Ok(plan) if self.comes_after_others(turn, &plan) => {
                Answer::because(Outcome::Waits, "another request that waits for room comes before it")
            }
            Ok(plan) => self.foresee_admission(wish, &plan),
            Err(_) if self.room_is_coming(&flow, &trees) => Answer::because(
                Outcome::Waits,
                "it would wait for the place of a flow that is on its way out",
            ),
            Err(reason) => self.foresee_refusal(wish, &flow, &trees, reason),
        }
    }

    fn foresee_admission(&self, wish: &Wish, plan: &Plan) -> Answer {
        let granted =
            match self.reservations.granted(self.fabric.network(), plan, wish, Vec::new(), BTreeMap::new()) {
                Ok(granted) => granted,
                Err(reason) => return Answer::because(Outcome::Refused, reason),
            };
        if let Some(reason) = self.immovable(plan) {
            return Answer::because(Outcome::Waits, reason);
        }
        let latency = self.reservations.foreseen(plan).map(|latency| latency.div_ceil(NANOSECOND));
        let changed = plan.moves().map(|step| step.flow).chain(plan.shares().map(|change| change.flow));
        let mut changed: Vec<u64> = changed.filter(|flow| *flow != plan.id).collect();
        changed.sort_unstable();
        changed.dedup();
        Answer {
            promised: granted.ends.first().map_or(0, |end| end.promised),
            present: latency.unwrap_or(0),
            hops: granted.hops.iter().map(|hop| self.hop_report(hop)).collect(),
            changes: changed.len(),
            ..Answer::because(Outcome::Admitted, "")
        }
    }

    fn foresee_refusal(&self, wish: &Wish, flow: &Flow, trees: &[Tree], reason: Reason) -> Answer {
        if let Some((victims, why)) = self.reservations.victims(flow, trees, None) {
            let topic = |number: &u64| {
                let pairs = &self.reservations.get(*number)?.pairs;
                Some(self.requests.first_of(pairs)?.request.topic.clone())
            };
            let topics = victims.iter().map(|victim| topic(victim).unwrap_or_else(|| "unknown".to_string()));
            let reason = format!("{} less important flows would go for it: {why}", victims.len());
            return Answer { yielding: topics.collect(), ..Answer::because(Outcome::Displaces, reason) };
        }
        let refusal = self.reservations.refusal(flow, trees, reason);
        let time = |time: Option<u64>| time.map_or(0, |time| time.div_ceil(NANOSECOND));
        Answer {
            offered_latency: time(refusal.offer.latency),
            offered_separation: time(refusal.offer.separation),
            ..Answer::because(Outcome::Refused, self.reason(&refusal.reason, wish))
        }
    }
}
