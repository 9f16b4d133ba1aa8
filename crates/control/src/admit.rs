//! Admission: from a request to a plan, from a plan to steps.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use latency::choice::along;
use latency::ledger::{Offer, Plan, Reason, Refusal};
use latency::network::Flow;
use latency::path::fixed_latency;
use latency::policing::Enforcement;
use latency::routes::{Topology, Tree};
use latency::units::NANOSECOND;
use openflow::Message;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::words::MeterId;

use crate::action::{GateChange, GateKey, StoreChange};
use crate::entries::FlowEntry;
use crate::manager::ResourceManager;
use crate::network::Network;
use crate::requests::{Obstacle, Wish};
use crate::said;
use crate::state::{GrantPhase, Granted, GrantedHop, Kind, Phase, Progress, Site, Step, Task, dscp};

impl ResourceManager {
    /// Looks at a request whose turn has come. False if something else has to end before.
    pub(crate) fn begin_request(&mut self, now: Duration, pair: crate::action::Pair) -> bool {
        let Some(asked) = self.asked.get_mut(&pair) else { return true };
        if asked.progress != Progress::Queued {
            return true;
        }
        asked.serial = asked.request.serial;
        let own = asked.grant;
        let importance = asked.request.contract.importance;
        if self.room_for.remove(&pair) {
            // Those that wait for it come after it.
            self.unpark();
        }
        let more = |other: &crate::action::Pair| {
            self.asked.get(other).is_some_and(|other| other.request.contract.importance > importance)
        };
        if self.room_for.iter().any(more) {
            self.park(pair);
            return true;
        }
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
        let there =
            self.tuples.get(&(wish.source, wish.destination)).and_then(|number| self.grants.get(number));
        let Some(grant) = there else {
            // Others that wait for the same flow are served with it, if that can be.
            let pairs = self.same_flow(&wish);
            let together = self.for_all(&wish, &pairs);
            if pairs.len() > 1 && self.fits(&together) {
                return self.admit(now, &together, own, pairs);
            }
            return self.admit(now, &wish, own, BTreeSet::from([pair]));
        };
        let number = grant.number;
        if grant.phase != GrantPhase::Held {
            self.park(pair);
            return true;
        }
        if grant.writer != pair.0 {
            let reason =
                "another writer's flow has the same addresses and ports: the network cannot tell them apart";
            self.refuse(now, pair, reason, Offer::default(), true);
            return true;
        }
        let separation =
            wish.maximum_separation == 0 || (1..=wish.maximum_separation).contains(&grant.maximum_separation);
        if grant.contract == wish.contract && grant.promised <= wish.maximum_latency && separation {
            self.join(now, number, pair, own);
            return true;
        }
        let mut pairs = grant.pairs.clone();
        pairs.insert(pair);
        let wish = self.for_all(&wish, &pairs);
        self.admit(now, &wish, Some(number), pairs)
    }

    /// The pair and others that wait, whose packets would be those of the same flow.
    fn same_flow(&self, wish: &Wish) -> BTreeSet<crate::action::Pair> {
        let same = |(pair, asked): &(&crate::action::Pair, &crate::state::Asked)| {
            let request = &asked.request;
            let waits =
                matches!(asked.progress, Progress::Queued | Progress::Parked) && asked.grant.is_none();
            let place = (request.source, request.destination) == (wish.source, wish.destination);
            waits && place && pair.0 == wish.pair.0 && request.contract == wish.contract
        };
        let others = self.asked.iter().filter(same).map(|(pair, _)| *pair);
        others.filter(|pair| self.examine(*pair).is_ok()).chain([wish.pair]).collect()
    }

    /// Whether there is a place for a wish as things are.
    fn fits(&self, wish: &Wish) -> bool {
        let trees = self.topology.trees(wish.from, &[wish.to], &[], self.config.ways.max(1));
        let flow = self.flow(wish.from, wish);
        flow.is_some_and(|flow| self.ledger.plan_among(self.next_grant, &flow, &trees).is_ok())
    }

    fn park(&mut self, pair: crate::action::Pair) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Parked;
        }
    }

    /// The wish with the least that any of the pairs asks for.
    fn for_all(&self, wish: &Wish, pairs: &BTreeSet<crate::action::Pair>) -> Wish {
        let mut wish = wish.clone();
        for asked in pairs.iter().filter_map(|pair| self.asked.get(pair)) {
            wish.maximum_latency = wish.maximum_latency.min(asked.request.maximum_latency);
            let separations = [wish.maximum_separation, asked.request.maximum_separation];
            let least = separations.into_iter().filter(|separation| *separation > 0).min();
            wish.maximum_separation = least.unwrap_or(0);
        }
        wish
    }

    /// A grant that is in force serves the pair, too.
    fn join(&mut self, now: Duration, number: u64, pair: crate::action::Pair, own: Option<u64>) {
        if let Some(old) = own.filter(|own| *own != number) {
            if let Some(asked) = self.asked.get_mut(&pair) {
                asked.grant = None;
            }
            self.leave(now, old, pair, "it asked for something else");
        }
        let mut serial = 0;
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Working;
            serial = asked.serial;
        }
        let Some(grant) = self.grants.get_mut(&number) else { return };
        grant.pairs.insert(pair);
        let store =
            Task::Store { change: StoreChange::Put(Box::new(self.stored_grant(number))), sure: false };
        self.start(now, Kind::Join { number, pair, serial }, alloc::vec![Step::of(alloc::vec![store])]);
    }

    /// Admits a wish for these pairs, in the place of an older grant if there is one.
    fn admit(
        &mut self,
        now: Duration,
        wish: &Wish,
        replaces: Option<u64>,
        pairs: BTreeSet<crate::action::Pair>,
    ) -> bool {
        let pair = wish.pair;
        let Some(flow) = self.flow(wish.from, wish) else {
            self.refuse(now, pair, "its numbers are out of range", Offer::default(), false);
            return true;
        };
        let trees = self.topology.trees(wish.from, &[wish.to], &[], self.config.ways.max(1));
        if trees.is_empty() {
            let reason = self.no_way(wish);
            self.wait(now, pair, &reason);
            return true;
        }
        let number = self.next_grant;
        let same_tuple =
            |grant: &Granted| (grant.source, grant.destination) == (wish.source, wish.destination);
        match self.ledger.plan_among(number, &flow, &trees) {
            Ok(plan) => {
                let granted = match self.granted(&plan, wish, replaces, pairs) {
                    Ok(granted) => granted,
                    Err(reason) => {
                        self.refuse(now, pair, &reason, Offer::default(), true);
                        return true;
                    }
                };
                let old = replaces.and_then(|old| self.grants.get(&old)).filter(|old| same_tuple(old));
                if old.is_some_and(|old| !plan.moves.is_empty() || !covers(&granted, old)) {
                    self.make_room(
                        now,
                        wish,
                        replaces.into_iter().collect(),
                        &granted.pairs,
                        "it is being changed",
                    );
                    return true;
                }
                if !plan.moves.is_empty() {
                    if self.busy() > 0 {
                        return false;
                    }
                    if let Some(reason) = self.immovable(&plan) {
                        self.wait(now, pair, &reason);
                        return true;
                    }
                }
                self.install(now, plan, granted);
            }
            Err(reason) => {
                let victims = self.victims(number, &flow, &trees, replaces);
                if let Some((victims, why)) = victims {
                    self.make_room(now, wish, victims, &pairs, why);
                    return true;
                }
                let refusal = self.refusal(number, &flow, &trees, reason);
                let words = self.reason(&refusal.reason, wish);
                let retry = !matches!(refusal.reason, Reason::Flow(_) | Reason::Separation { .. });
                self.refuse(now, pair, &words, refusal.offer, retry);
            }
        }
        true
    }

    /// What is in the way of a flow that has no way.
    fn no_way(&self, wish: &Wish) -> String {
        let links = self.network.links.iter().map(|link| (link.from, link.to)).collect();
        let all = Topology::new(links, self.forwards());
        let Some(tree) = all.trees(wish.from, &[wish.to], &[], 1).into_iter().next() else {
            return "there is no way from the writer's host to the reader's".into();
        };
        for hop in &tree.hops {
            if !self.is_up(hop.port) {
                return format!("the link from {} is down", self.network.port_name(hop.port));
            }
            let Some(link) = self.network.links.get(hop.port) else { continue };
            let mut sites: Vec<Site> = Vec::new();
            if let Some(switch) = self.network.switch_of(link.to) {
                sites.push(Site::Switch(switch));
                sites.extend(hop.parent.is_none().then_some(Site::Gates(switch)));
            }
            if let Some(site) = sites.into_iter().find(|site| self.phase(*site) != Phase::Ready) {
                return format!("{} is not ready", self.site_name(site));
            }
        }
        "there is no way from the writer's host to the reader's now".into()
    }

    /// Grants that have to go so that the flow is admitted, and why: the one that it takes the place of, or less important
    /// ones.
    fn victims(
        &self,
        number: u64,
        flow: &Flow,
        trees: &[Tree],
        replaces: Option<u64>,
    ) -> Option<(Vec<u64>, &'static str)> {
        if let Some(old) = replaces {
            let mut without = self.ledger.clone();
            without.remove(old);
            if without.plan_among(number, flow, trees).is_ok() {
                return Some((alloc::vec![old], "it is being changed"));
            }
        }
        let first = trees.first()?;
        let (victims, _) = self.ledger.yielding(number, &along(flow, first))?;
        // What waits for something that is away may never be gone.
        let movable = |victim: &u64| {
            self.grants.get(victim).is_some_and(|grant| match &grant.phase {
                GrantPhase::Leaving(awaiting) => awaiting.is_empty(),
                GrantPhase::Installing | GrantPhase::Held | GrantPhase::Restored => true,
            })
        };
        (!victims.is_empty() && victims.iter().all(movable))
            .then_some((victims, "it yields to a more important flow"))
    }

    /// Grants go; the pairs wait for that.
    fn make_room(
        &mut self,
        now: Duration,
        wish: &Wish,
        victims: Vec<u64>,
        pairs: &BTreeSet<crate::action::Pair>,
        why: &str,
    ) {
        for victim in victims {
            self.revoke(now, victim, why);
        }
        self.room_for.insert(wish.pair);
        for pair in pairs {
            // Who still asks for what the writer has changed has to ask anew.
            let same = self.asked.get(pair).is_some_and(|asked| asked.request.contract == wish.contract);
            if same {
                self.park(*pair);
                self.put_off(*pair, "room is being made for it");
            } else {
                let reason = "the writer has another contract now: ask again";
                self.refuse(now, *pair, reason, Offer::default(), false);
            }
        }
    }

    /// The refusal with what could be offered instead.
    fn refusal(&self, number: u64, flow: &Flow, trees: &[Tree], reason: Reason) -> Refusal {
        let first = trees.first().and_then(|first| self.ledger.plan(number, &along(flow, first)).err());
        first.unwrap_or(Refusal { reason, offer: Offer::default() })
    }

    fn reason(&self, reason: &Reason, wish: &Wish) -> String {
        let port = |port: usize| self.network.port_name(port);
        let flow = |number: u64| match self.grants.get(&number) {
            Some(grant) => {
                let topic = grant.pairs.iter().find_map(|pair| self.asked.get(pair));
                topic.map_or_else(
                    || "a flow that is leaving".into(),
                    |asked| format!("\"{}\"", asked.request.topic),
                )
            }
            None => "it".into(),
        };
        let why = said::reason(reason, port, flow);
        let Some((_, entry)) = self.network.access(wish.from) else { return why };
        let switch = self.network.links.get(entry).and_then(|link| self.network.switch_of(link.from));
        let meters = switch
            .and_then(|switch| self.network.switches.get(switch))
            .is_some_and(|switch| matches!(switch.model.guard, latency::switch::Guard::Meters { .. }));
        match reason {
            Reason::Delay { .. } | Reason::Buffer { .. } if meters => format!(
                "{why}; {} has meters, which let a whole burst through at any time: with message gates the bound is less",
                self.network.node_name(self.network.switch_node(switch.unwrap_or(0)))
            ),
            _ => why,
        }
    }

    /// A flow that has to move and cannot now.
    fn immovable(&self, plan: &Plan) -> Option<String> {
        plan.moves.iter().find_map(|step| {
            let grant = self.grants.get(&step.flow)?;
            let link = self.network.links.get(step.port)?;
            let away = self.network.switch_of(link.from).map(Site::Switch);
            let away = away.filter(|site| self.phase(*site) != Phase::Ready);
            match (&grant.phase, away) {
                (_, Some(site)) => Some(format!("{} is away", self.site_name(site))),
                (GrantPhase::Leaving(_) | GrantPhase::Restored, _) => {
                    Some("another flow is on its way out".into())
                }
                _ => None,
            }
        })
    }

    /// The grant of a plan.
    fn granted(
        &self,
        plan: &Plan,
        wish: &Wish,
        replaces: Option<u64>,
        pairs: BTreeSet<crate::action::Pair>,
    ) -> Result<Granted, String> {
        let flow = &plan.admitted.flow;
        let hops: Vec<GrantedHop> = flow
            .tree
            .iter()
            .zip(&plan.contenders)
            .zip(&plan.admitted.shares)
            .map(|((hop, contender), share)| GrantedHop {
                link: hop.port,
                share: *share,
                level: contender.level,
            })
            .collect();
        self.grant_of(plan.id, flow, &plan.admitted.enforcement, hops, wish, pairs)
            .map(|granted| Granted { replaces, ..granted })
    }

    /// A grant with these hops, as it is programmed.
    pub(crate) fn grant_of(
        &self,
        number: u64,
        flow: &Flow,
        enforcement: &Enforcement,
        hops: Vec<GrantedHop>,
        wish: &Wish,
        pairs: BTreeSet<crate::action::Pair>,
    ) -> Result<Granted, String> {
        let numbers = || String::from("its numbers are out of range");
        let ports: Vec<_> = hops.iter().filter_map(|hop| self.ledger.ports().get(hop.link)).collect();
        let fixed = fixed_latency(flow, ports.iter().copied()).ok_or_else(numbers)?;
        let shares =
            hops.iter().try_fold(fixed, |sum, hop| sum.checked_add(hop.share)).ok_or_else(numbers)?;
        let first = hops.first().ok_or_else(numbers)?;
        let frames = ports.first().and_then(|port| flow.frames(port)).ok_or_else(numbers)?;
        let octets = u32::try_from(frames.bits / 8).map_err(|_| numbers())?;
        let (mut gate, mut meter) = (None, None);
        match enforcement {
            Enforcement::Trust => {}
            Enforcement::Gate(limits) => {
                let back = self.network.links.get(Network::back(first.link)).ok_or_else(numbers)?;
                let flow = gate::Key {
                    source: wish.source.address.into(),
                    source_port: wish.source.port,
                    destination: wish.destination.address.into(),
                    destination_port: wish.destination.port,
                };
                let key = GateKey { port: back.number, flow };
                // Steps of gates are whole nanoseconds, so that only a separation may have to be rounded: against us
                // the gate would open earlier than the analysis knows, so it opens later.
                let contract = gate::Contract {
                    octets: u32::try_from(limits.octets).map_err(|_| numbers())?,
                    separation: limits.separation.div_ceil(NANOSECOND),
                    tolerance: limits.tolerance / NANOSECOND,
                    window: limits.window / NANOSECOND,
                    dscp: dscp(first.level),
                };
                contract.check().map_err(|error| error.to_string())?;
                gate = Some((key, contract));
            }
            Enforcement::Meter(_) => {
                let switch = self.first_switch(&hops).ok_or_else(numbers)?;
                let used = self.switches.get(switch).map(|state| &state.meters).ok_or_else(numbers)?;
                meter = (1..=MeterId::MAX.0).find(|meter| !used.contains(meter));
            }
        }
        Ok(Granted {
            number,
            source: wish.source,
            destination: wish.destination,
            writer: wish.pair.0,
            contract: wish.contract,
            maximum_latency: wish.maximum_latency,
            maximum_separation: wish.maximum_separation,
            pairs,
            hops,
            meter,
            gate,
            octets,
            promised: shares.div_ceil(NANOSECOND).min(wish.maximum_latency),
            phase: GrantPhase::Installing,
            replaces: None,
            doomed: None,
            serials: BTreeMap::new(),
        })
    }

    /// The switch behind the writer's host.
    pub(crate) fn first_switch(&self, hops: &[GrantedHop]) -> Option<usize> {
        let link = self.network.links.get(hops.first()?.link)?;
        self.network.switch_of(link.to)
    }

    /// What each switch of the way is to have, from the writer on.
    pub(crate) fn flow_entries(&self, grant: &Granted) -> Vec<(usize, FlowEntry)> {
        let mut entries = Vec::new();
        for (index, (before, hop)) in grant.hops.iter().zip(grant.hops.iter().skip(1)).enumerate() {
            let (Some(link), Some(entry)) =
                (self.network.links.get(hop.link), self.network.links.get(Network::back(before.link)))
            else {
                continue;
            };
            let Some(switch) = self.network.switch_of(link.from) else { continue };
            let entry = FlowEntry {
                flow: grant.number,
                in_port: entry.number,
                source: grant.source,
                destination: grant.destination,
                dscp: dscp(hop.level),
                out_port: link.number,
                meter: grant.meter.filter(|_| index == 0),
            };
            entries.push((switch, entry));
        }
        entries
    }

    /// The meter of a grant.
    pub(crate) fn meter_of(&self, number: u64, meter: Option<u32>) -> Option<Message> {
        let Enforcement::Meter(limits) = self.ledger.flow(number)?.enforcement else { return None };
        let kilo = |bits: u64| u32::try_from(bits / 1_000).unwrap_or(u32::MAX);
        Some(Message::MeterMod(MeterMod {
            command: MeterCommand::Add,
            flags: MeterFlags::KBPS | MeterFlags::BURST | MeterFlags::STATS,
            meter: MeterId(meter?),
            bands: alloc::vec![Band::drop(kilo(limits.rate), kilo(limits.burst))],
        }))
    }

    /// Enters the plan into the ledger and begins to install it.
    fn install(&mut self, now: Duration, plan: Plan, granted: Granted) {
        let (number, pairs) = (granted.number, granted.pairs.clone());
        if !self.ledger.commit(plan.clone()) {
            // It was made on this very ledger.
            for pair in pairs {
                self.refuse(now, pair, "the plan did not hold: ask again", Offer::default(), true);
            }
            return;
        }
        self.next_grant += 1;
        let old = granted.replaces.and_then(|old| self.grants.get(&old)).cloned();
        let old = old.filter(|old| (old.source, old.destination) == (granted.source, granted.destination));
        self.tuples.insert((granted.source, granted.destination), number);
        if let (Some(meter), Some(switch)) = (granted.meter, self.first_switch(&granted.hops))
            && let Some(state) = self.switches.get_mut(switch)
        {
            state.meters.insert(meter);
        }
        self.grants.insert(number, granted);
        for pair in &pairs {
            if let Some(asked) = self.asked.get_mut(pair) {
                asked.progress = Progress::Working;
                asked.serial = asked.request.serial;
            }
        }
        let mut steps = self.moving(&plan);
        steps.extend(self.entering(number, old.as_ref()));
        self.start(now, Kind::Admit { number, plan: Box::new(plan) }, steps);
    }

    /// Others change their levels, one after the other, each stored before the next.
    fn moving(&self, plan: &Plan) -> Vec<Step> {
        let mut moved: BTreeMap<u64, Granted> = BTreeMap::new();
        let mut steps = Vec::new();
        for change in &plan.moves {
            let Some(before) = moved.get(&change.flow).or(self.grants.get(&change.flow)).cloned() else {
                continue;
            };
            let mut after = before.clone();
            after.hops.iter_mut().filter(|hop| hop.link == change.port).for_each(|hop| hop.level = change.to);
            let entry = |grant: &Granted| {
                let entries = self.flow_entries(grant);
                let at = grant.hops.iter().skip(1).position(|hop| hop.link == change.port)?;
                entries.into_iter().nth(at).map(|(switch, entry)| (switch, entry.add()))
            };
            match (entry(&before), entry(&after)) {
                (Some((switch, from)), Some((_, to))) => {
                    let install = |message, sure| {
                        alloc::vec![Task::Install { switch, messages: alloc::vec![message], sure }]
                    };
                    steps.push(Step { tasks: install(to, false), undo: install(from, true) });
                }
                _ => {
                    let say = |grant: &Granted| self.announcements(grant);
                    steps.push(Step { tasks: say(&after), undo: say(&before) });
                }
            }
            let put = |grant: &Granted, sure| {
                let grant = Box::new(self.to_store(grant));
                alloc::vec![Task::Store { change: StoreChange::Put(grant), sure }]
            };
            steps.push(Step { tasks: put(&after, false), undo: put(&before, true) });
            moved.insert(change.flow, after);
        }
        steps
    }

    /// The verdicts of all pairs of a grant.
    fn announcements(&self, grant: &Granted) -> Vec<Task> {
        let asked = grant.pairs.iter().filter_map(|pair| self.asked.get(pair));
        asked
            .map(|asked| {
                let verdict = self.admission(grant, &asked.request);
                let serial = asked.verdict.serial;
                Task::Announce(Box::new(wire::admission::Verdict { serial, ..verdict }))
            })
            .collect()
    }

    /// The grant goes into gates and switches and is stored. Where it takes the place of one between the same ends, the
    /// switches change first, the last one first, since the gate is what holds the flow to its former contract until then.
    fn entering(&self, number: u64, old: Option<&Granted>) -> Vec<Step> {
        let Some(grant) = self.grants.get(&number) else { return Vec::new() };
        let entries = self.flow_entries(grant);
        let before = old.map(|old| self.flow_entries(old)).unwrap_or_default();
        let former = |switch: usize, entry: &FlowEntry| {
            before.iter().find(|(at, other)| (*at, other.in_port) == (switch, entry.in_port))
        };
        let mut installs = Vec::new();
        for (index, (switch, entry)) in entries.iter().enumerate() {
            let meter = self.meter_of(number, grant.meter).filter(|_| index == 0);
            let back = match former(*switch, entry) {
                Some((_, former)) => former.add(),
                None => entry.delete(),
            };
            let mut undo = alloc::vec![back];
            undo.extend(
                meter.as_ref().and_then(|_| Some(Message::MeterMod(MeterMod::delete(MeterId(grant.meter?))))),
            );
            let messages = meter.into_iter().chain([entry.add()]).collect();
            let switch = *switch;
            installs.push(Step {
                tasks: alloc::vec![Task::Install { switch, messages, sure: false }],
                undo: alloc::vec![Task::Install { switch, messages: undo, sure: true }],
            });
        }
        let gate = grant.gate.and_then(|(key, contract)| {
            let switch = self.first_switch(&grant.hops)?;
            let back = match old.and_then(|old| old.gate).filter(|(old, _)| *old == key) {
                Some((key, contract)) => GateChange::Set(key, contract),
                None => GateChange::Remove(key),
            };
            Some(Step {
                tasks: alloc::vec![Task::Gate {
                    switch,
                    change: GateChange::Set(key, contract),
                    sure: false
                }],
                undo: alloc::vec![Task::Gate { switch, change: back, sure: true }],
            })
        });
        let mut steps = Vec::new();
        if old.is_some() {
            installs.reverse();
            steps.extend(installs);
            steps.extend(gate);
        } else {
            steps.extend(gate);
            let mut all = Step::default();
            for step in installs {
                all.tasks.extend(step.tasks);
                all.undo.extend(step.undo);
            }
            steps.push(all);
        }
        let put = StoreChange::Put(Box::new(self.to_store(grant)));
        steps.push(Step {
            tasks: alloc::vec![Task::Store { change: put, sure: false }],
            undo: alloc::vec![Task::Store { change: StoreChange::Remove(number), sure: true }],
        });
        steps
    }

    /// A grant has been installed, or has failed to be.
    pub(crate) fn installed_grant(
        &mut self,
        now: Duration,
        number: u64,
        plan: &Plan,
        failed: Option<String>,
        missed: BTreeSet<Site>,
    ) {
        let Some(grant) = self.grants.get_mut(&number) else { return };
        if let Some(reason) = failed {
            let (pairs, old) = (grant.pairs.clone(), grant.replaces);
            let tuple = (grant.source, grant.destination);
            grant.pairs.clear();
            let old = old
                .filter(|old| self.grants.get(old).is_some_and(|old| (old.source, old.destination) == tuple));
            // Without an older one it keeps its ends to itself until it is gone.
            if let Some(old) = old {
                self.tuples.insert(tuple, old);
            }
            for pair in pairs {
                self.refuse_for_now(now, pair, &reason);
            }
            // Others are back where they were; what has missed that has to come back before this is gone.
            if !plan.moves.is_empty() && self.ledger.undo(plan) || missed.is_empty() {
                self.gone(number);
            } else if let Some(grant) = self.grants.get_mut(&number) {
                grant.phase = GrantPhase::Leaving(BTreeSet::new());
                self.still_missing(number, missed);
            }
        } else {
            grant.phase = GrantPhase::Held;
            for change in &plan.moves {
                if let Some(moved) = self.grants.get_mut(&change.flow) {
                    let hops = moved.hops.iter_mut().filter(|hop| hop.link == change.port);
                    hops.for_each(|hop| hop.level = change.to);
                }
                self.moved(change.flow);
            }
            self.in_force(now, number);
        }
    }

    /// The verdicts of a flow that has moved say where it is now.
    fn moved(&mut self, number: u64) {
        let Some(grant) = self.grants.get(&number) else { return };
        for pair in grant.pairs.clone() {
            let (Some(asked), Some(grant)) = (self.asked.get(&pair), self.grants.get(&number)) else {
                continue;
            };
            let verdict = self.admission(grant, &asked.request);
            if asked.grant == Some(number)
                && let Some(asked) = self.asked.get_mut(&pair)
            {
                asked.verdict.dscp = verdict.dscp;
            }
        }
    }

    /// A grant is in force: its pairs are told, and what it takes the place of goes.
    fn in_force(&mut self, now: Duration, number: u64) {
        let Some(grant) = self.grants.get_mut(&number) else { return };
        if let Some(reason) = grant.doomed.take() {
            // It cannot stay: it is as if it had not come.
            let pairs = core::mem::take(&mut grant.pairs);
            for pair in pairs {
                self.refuse(now, pair, &reason, Offer::default(), true);
            }
            self.farewell(now, number, Vec::new());
            self.look_again();
            return;
        }
        let (pairs, replaces) = (grant.pairs.clone(), grant.replaces.take());
        for pair in &pairs {
            match self.asked.get_mut(pair) {
                Some(asked) if asked.progress == Progress::Working => self.admitted(now, *pair, number),
                // It was withdrawn and asked for again meanwhile: its turn comes.
                Some(asked) => asked.grant = Some(number),
                None => {}
            }
        }
        if let Some(old) = replaces.and_then(|old| self.grants.get_mut(&old)) {
            // Its pairs have another grant now; nobody is to hear that this one goes.
            old.pairs.retain(|pair| !pairs.contains(pair));
            if old.pairs.is_empty() && old.phase == GrantPhase::Held {
                let old = old.number;
                self.farewell(now, old, Vec::new());
            }
        }
        for pair in pairs {
            if !self.asked.contains_key(&pair) {
                self.leave(now, number, pair, "nobody asks for it any more");
            }
        }
    }
}

/// Whether a flow that keeps the old contract keeps the new one, also as gates see it.
fn covers(new: &Granted, old: &Granted) -> bool {
    let (ours, theirs) = (&new.contract, &old.contract);
    let contract = ours.largest_message >= theirs.largest_message
        && ours.smallest_message <= theirs.smallest_message
        && ours.datagram == theirs.datagram
        && ours.minimum_separation <= theirs.minimum_separation
        && ours.jitter >= theirs.jitter
        && ours.emission >= theirs.emission;
    let gate = match (new.gate, old.gate) {
        (Some((key, ours)), Some((old_key, theirs))) => {
            key == old_key
                && ours.octets >= theirs.octets
                && ours.separation <= theirs.separation
                && ours.tolerance >= theirs.tolerance
                && ours.window >= theirs.window
        }
        (None, None) => true,
        _ => false,
    };
    contract && gate && new.meter.is_none()
}
