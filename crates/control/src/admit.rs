//! Admission: from a request to a plan, from a plan to steps.
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Offer, Plan, Reason};
use latency::policing::Counts;
use latency::switch::Guard;

use crate::action::{Pair, StoreChange};
use crate::fabric::Site;
use crate::operations::{Kind, Step, Task};
use crate::requests::{Asked, Obstacle, Progress, Wish};
use crate::reservations::{Granted, covers, suits};
use crate::resource_manager::ResourceManager;

/// Why no flow is displaced for a request at the moment.
const IN_VAIN: &str = "flows of others would have to go for it, which was in vain before: it is tried again, less and less often";

impl ResourceManager {
    /// Looks at a request whose turn has come. False if something else has to end before.
    pub(crate) fn begin_request(&mut self, now: Duration, pair: Pair) -> bool {
        let turned = self.requests.begin_turn(pair);
        let begun = self.decide(now, pair);
        self.requests.end_turn(pair, turned, begun);
        begun
    }

    fn decide(&mut self, now: Duration, pair: Pair) -> bool {
        let Some(own) = self.requests.look_at(pair) else { return true };
        let wish = match self.examine(pair) {
            Ok(wish) => wish,
            Err(Obstacle::Wrong(reason)) => {
                self.refuse(now, pair, &reason, Offer::default(), false);
                return true;
            }
            Err(Obstacle::Missing(reason)) => {
                self.wait(now, pair, &reason);
                return true;
            }
        };
        let is_alone = wish.aggregate.is_some() || wish.losses.is_some();
        if !is_alone && self.served_by_tree(now, &wish, own) {
            return true;
        }
        let there = self
            .reservations
            .at(wish.source, wish.destination)
            .and_then(|number| self.reservations.get(number));
        let Some(grant) = there else {
            if let Some(losses) = wish.losses {
                return self.admit_with_losses(now, &wish, losses, own);
            }
            if !is_alone && let Some(begun) = self.found_tree(now, &wish, own) {
                return begun;
            }
            // Others that wait for the same flow are served with it, if that can be.
            let pairs = self.same_flow(&wish);
            let together = self.requests.for_all(&wish, &pairs);
            if pairs.len() > 1 && self.fits(&together) {
                return self.admit(now, &together, own, pairs);
            }
            return self.admit(now, &wish, own, BTreeSet::from([pair]));
        };
        let number = grant.number;
        if !grant.is_held() {
            self.requests.park(pair);
            return true;
        }
        if grant.writer != pair.0 && !is_alone {
            let reason =
                "another writer's flow has the same addresses and ports: the network cannot tell them apart";
            self.refuse(now, pair, reason, Offer::default(), true);
            return true;
        }
        if let Some(begun) = self.meets_with_losses(now, number, &wish) {
            return begun;
        }
        let Some(grant) = self.reservations.get(number) else { return true };
        if (grant.contract, grant.aggregate, grant.tunnel) == (wish.contract, wish.aggregate, wish.tunnel)
            && suits(grant.ends.first(), &wish)
        {
            self.join(now, number, pair, 0);
            return true;
        }
        let mut pairs = grant.pairs.clone();
        pairs.insert(pair);
        let wish = self.requests.for_all(&wish, &pairs);
        self.admit(now, &wish, Some(number), pairs)
    }

    /// The pair and others that wait, whose packets would be those of the same flow, also those that another flow serves until then: each of
    /// them alone could want it to be another flow than the one before.
    fn same_flow(&self, wish: &Wish) -> BTreeSet<Pair> {
        let same = |(pair, asked): &(Pair, &Asked)| {
            let request = &asked.request;
            let waits = matches!(asked.progress, Progress::Queued | Progress::Parked);
            let place = (request.source, request.destination) == (wish.source, wish.destination);
            let whose = pair.0 == wish.pair.0 || wish.aggregate.is_some();
            waits
                && asked.request.losses.asked().is_none()
                && place
                && whose
                && request.contract == wish.contract
                && asked.aggregate() == wish.aggregate
        };
        let others = self.requests.all().filter(same).map(|(pair, _)| pair);
        let mut together = BTreeSet::from([wish.pair]);
        for pair in others {
            if self.examine_with(pair, &together).is_ok() {
                together.insert(pair);
            }
        }
        together
    }

    /// Whether there is a place for a wish as things are.
    fn fits(&self, wish: &Wish) -> bool {
        let flow = self.fabric.network().flow(wish);
        let trees = || self.fabric.trees(wish, self.config.ways);
        flow.is_some_and(|flow| self.reservations.plan(&flow, &trees()).is_ok())
    }

    /// A grant that is in force serves the pair, too, at this end. What it has had until now it keeps until then.
    pub(crate) fn join(&mut self, now: Duration, number: u64, pair: Pair, end: usize) {
        let serial = self.requests.work_on(pair);
        let Some(grant) = self.reservations.get(number) else { return };
        let is_here = grant.pairs.contains(&pair) && grant.at.get(&pair) == Some(&end);
        if is_here && self.requests.get(pair).is_some_and(|asked| asked.grant == Some(number)) {
            // It is stored so: a store that does not work takes nothing from a pair that asks again.
            return self.joined(now, number, pair, serial, None);
        }
        self.reservations.add_pair(number, pair, end);
        let store =
            Task::Store { change: StoreChange::Put(Box::new(self.stored_grant(number))), sure: false };
        self.start(now, Kind::Join { number, pair, serial }, alloc::vec![Step::of(alloc::vec![store])]);
    }

    /// Admits a wish for these pairs, in the place of an older grant if there is one.
    fn admit(&mut self, now: Duration, wish: &Wish, replaces: Option<u64>, pairs: BTreeSet<Pair>) -> bool {
        let (pair, is_alone) = (wish.pair, wish.aggregate.is_some());
        let Some(flow) = self.fabric.network().flow(wish) else {
            self.refuse(now, pair, "its numbers are out of range", Offer::default(), false);
            return true;
        };
        let trees = self.fabric.trees(wish, self.config.ways);
        if trees.is_empty() {
            let reason = self.fabric.no_way(wish);
            self.wait(now, pair, &reason);
            return true;
        }
        let same_tuple =
            |grant: &Granted| (grant.source, grant.destination) == (wish.source, wish.destination);
        match self.reservations.plan(&flow, &trees) {
            Ok(plan) if self.is_behind_others(pair, &plan) => {
                self.wait_for_room(now, pair, "another request that waits for room comes before it");
            }
            Ok(plan) => {
                let at = pairs.iter().map(|pair| (*pair, 0)).collect();
                let granted = match self.reservations.granted(
                    self.fabric.network(),
                    &plan,
                    wish,
                    replaces.into_iter().collect(),
                    at,
                ) {
                    Ok(granted) => granted,
                    Err(reason) => {
                        self.refuse(now, pair, &reason, Offer::default(), true);
                        return true;
                    }
                };
                let old = replaces.and_then(|old| self.reservations.get(old)).filter(|old| same_tuple(old));
                if let Some(old) = old.filter(|old| !plan.phases.is_empty() || !covers(&granted, old)) {
                    if old.pairs.iter().any(|other| *other != pair) && !self.requests.may_displace(now, pair)
                    {
                        self.refuse(now, pair, IN_VAIN, Offer::default(), true);
                        return true;
                    }
                    self.make_room(
                        now,
                        wish,
                        replaces.into_iter().collect(),
                        &granted.pairs,
                        "it is being changed",
                    );
                    return true;
                }
                if !plan.phases.is_empty() {
                    if self.operations.changing() > 0 {
                        return false;
                    }
                    if let Some(reason) = self.immovable(&plan) {
                        self.wait(now, pair, &reason);
                        return true;
                    }
                }
                self.install(now, plan, granted);
            }
            Err(_) if self.room_is_coming(&flow, &trees) => {
                self.wait_for_room(now, pair, "it waits for the place of a flow that is on its way out");
            }
            Err(reason) => {
                // What serves others, too, does not go for one of them.
                let serves_others = |old: &Granted| !old.pairs.is_subset(&pairs);
                let replaces = replaces.filter(|old| !self.reservations.get(*old).is_some_and(serves_others));
                let victims = self.reservations.victims(&flow, &trees, replaces);
                if let Some((victims, why)) = victims.filter(|_| self.requests.may_displace(now, pair)) {
                    if self.requests.yields_room(pair) {
                        self.wait_for_room(now, pair, "room is being made for a more important request");
                    } else {
                        self.make_room(now, wish, victims, &pairs, why);
                    }
                    return true;
                }
                let refusal = self.reservations.refusal(&flow, &trees, reason);
                let words = self.reason(&refusal.reason, wish);
                let retry = !matches!(refusal.reason, Reason::Flow(_) | Reason::Separation { .. });
                // What goes between hosts is not asked to come less often.
                let separation = refusal.offer.separation.filter(|_| !is_alone);
                self.refuse(now, pair, &words, Offer { separation, ..refusal.offer }, retry);
            }
        }
        true
    }

    /// Grants go; the pairs wait for that.
    pub(crate) fn make_room(
        &mut self,
        now: Duration,
        wish: &Wish,
        victims: Vec<u64>,
        pairs: &BTreeSet<Pair>,
        why: &str,
    ) {
        let is_other = |other: &Pair| *other != wish.pair;
        for victim in victims {
            if self.reservations.get(victim).is_some_and(|grant| grant.pairs.iter().any(is_other)) {
                self.requests.displaces(wish.pair);
            }
            self.revoke(now, victim, why);
        }
        self.requests.keep_room(wish.pair);
        for pair in pairs {
            // Who still asks for what the writer has changed has to ask anew.
            let is_same = |asked: &Asked| {
                asked.request.contract == wish.contract && asked.aggregate() == wish.aggregate
            };
            let same = self.requests.get(*pair).is_some_and(is_same);
            if same {
                self.requests.park(*pair);
                self.put_off(*pair, "room is being made for it");
            } else {
                let reason = "the writer has another contract now: ask again";
                self.refuse(now, *pair, reason, Offer::default(), false);
            }
        }
    }

    pub(crate) fn reason(&self, reason: &Reason, wish: &Wish) -> String {
        let port = |port: usize| self.fabric.network().port_name(port);
        let flow = |number: u64| match self.reservations.get(number) {
            Some(grant) => {
                let leader = self.reservations.get(self.reservations.leader_of(number)).unwrap_or(grant);
                let topic = self.requests.first_of(&leader.pairs);
                topic.map_or_else(
                    || "a flow that is leaving".into(),
                    |asked| format!("\"{}\"", asked.request.topic),
                )
            }
            None => "it".into(),
        };
        let why = latency::words::reason(reason, port, flow);
        let Some((_, entry)) = self.fabric.network().access(wish.from) else { return why };
        let switch = self
            .fabric
            .network()
            .links
            .get(entry)
            .and_then(|link| self.fabric.network().switch_of(link.from));
        let guard = switch.and_then(|switch| Some(self.fabric.network().switches.get(switch)?.model.guard));
        match (reason, guard) {
            (Reason::Delay { .. } | Reason::Buffer { .. }, Some(Guard::Meters { counts, .. })) => {
                let name =
                    self.fabric.network().node_name(self.fabric.network().switch_node(switch.unwrap_or(0)));
                let small = match counts {
                    Counts::Wire => "",
                    Counts::Frame => ", in small frames twice as much as they count",
                };
                format!(
                    "{why}; {name} has meters, which let a whole burst through at any time{small}: with message gates \
                     the bound is less"
                )
            }
            _ => why,
        }
    }

    /// A flow that has to move, or to share its latency out anew, and cannot now.
    pub(crate) fn immovable(&self, plan: &Plan) -> Option<String> {
        let leaves = |grant: &Granted| {
            let leaves = grant.is_leaving() || grant.is_restored();
            leaves.then(|| "another flow is on its way out".into())
        };
        let away = |site: Site| {
            (!self.fabric.is_ready(site)).then(|| format!("{} is away", self.fabric.site_name(site)))
        };
        let moved = plan.moves().find_map(|step| {
            let grant = self.reservations.get(step.flow)?;
            let link = self.fabric.network().links.get(step.port)?;
            self.fabric
                .network()
                .switch_of(link.from)
                .and_then(|switch| away(Site::Switch(switch)))
                .or_else(|| leaves(grant))
        });
        moved.or_else(|| {
            plan.shares().find_map(|change| {
                let grant = self.reservations.get(change.flow)?;
                let gates = grant.gate.and_then(|_| self.fabric.network().first_switch(&grant.hops));
                let entangled = || {
                    self.reservations
                        .is_entangled(change.flow)
                        .then(|| "another tree is being changed".into())
                };
                gates
                    .and_then(|switch| away(Site::Gates(switch)))
                    .or_else(|| leaves(grant))
                    .or_else(entangled)
            })
        })
    }
}
