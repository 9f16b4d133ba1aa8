//! Flows that give up their shares, and the least shares with which all ports can do.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::ledger::{Admitted, FlowId, Ledger, Move, Phase, Reshare};
use crate::levels::SMALL_PORT;
use crate::meeting::{Lacks, Meeting, Who};
use crate::network::Flow;
use crate::order::{pause, verified_order_counted};
use crate::path::fixed_latency;
use crate::policing::Enforcement;
use crate::port::Contender;
use crate::split::{Split, extras};
use crate::units::time_of;

/// How often ports are looked at, each of them so many times on average, before a search is given up: in a cycle shares may
/// grow in small steps.
const VISITS: usize = 100;
/// How many times a limit shares may be together where the limit rests on another method.
const MOST_BEYOND: u64 = 4;

/// Why it does not work so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stuck {
    /// With the shares of these, too, it might.
    With(Vec<FlowId>),
    /// Not with any shares.
    Never,
}

/// A flow that gives up its shares.
#[derive(Debug)]
pub(crate) struct Member<'l> {
    pub(crate) id: FlowId,
    pub(crate) flow: &'l Flow,
    /// What it has; none if it is new.
    pub(crate) before: Option<Arc<Admitted>>,
    /// For each subscriber, the hops of its way and what its limit leaves to their shares together.
    ways: Vec<(Vec<usize>, u64)>,
    /// Shares that it has at least.
    pub(crate) least: Vec<u64>,
    pub(crate) shares: Vec<u64>,
    /// What it offers with them; the levels are of no meaning.
    pub(crate) offers: Vec<Contender>,
    /// Its places at the ports of its hops that have been looked at.
    places: Vec<Option<usize>>,
}

/// Members and the ports that they meet at.
#[derive(Debug)]
pub(crate) struct Group<'l> {
    pub(crate) ledger: &'l Ledger,
    /// The new flow is the last one, if there is one.
    pub(crate) members: Vec<Member<'l>>,
    by_id: BTreeMap<FlowId, usize>,
    pub(crate) meetings: BTreeMap<usize, Meeting<'l>>,
    /// For each port of a member, the largest number of hops before it.
    depths: BTreeMap<usize, usize>,
    /// Whether shares may together be more than limits.
    pub(crate) beyond: bool,
}

impl<'l> Member<'l> {
    fn new(
        ledger: &'l Ledger,
        (id, flow): (FlowId, &'l Flow),
        before: Option<Arc<Admitted>>,
        frees_guards: bool,
    ) -> Option<Self> {
        let ports = ledger.ports();
        ledger.work().charge_each(8 * flow.tree.len())?;
        let mut ways = Vec::with_capacity(flow.subscribers.len());
        for subscriber in &flow.subscribers {
            let way = flow.way_to(subscriber.hop);
            let along = way.iter().filter_map(|hop| flow.port(ports, *hop).ok());
            let fixed = fixed_latency(flow, along)?;
            ways.push((way, subscriber.limit.checked_sub(fixed)?));
        }
        // What holds a flow to its contract rests on its first share.
        let kept = before.as_ref().filter(|before| !frees_guards || is_fixed(ledger, before));
        let kept = kept.and_then(|kept| kept.shares.first()).copied();
        let mut least = Vec::with_capacity(flow.tree.len());
        for hop in 0..flow.tree.len() {
            let port = flow.port(ports, hop).ok()?;
            let frames = flow.frames(port)?;
            // No frame is faster than this anywhere.
            let alone = time_of(if hop == 0 { frames.bits } else { frames.smallest }, port.rate)?;
            least.push(kept.filter(|_| hop == 0).map_or(alone, |kept| alone.max(kept)));
        }
        let offers = flow.contenders(ports, &least).ok()?;
        let (shares, places) = (least.clone(), alloc::vec![None; flow.tree.len()]);
        Some(Self { id, flow, before, ways, least, shares, offers, places })
    }

    /// What the limits leave beyond the shares, for a hop; `None` if one is exceeded.
    fn room(&self, hop: usize) -> Option<u64> {
        let ways = self.ways.iter().filter(|(way, _)| way.contains(&hop));
        ways.map(|(way, left)| self.left_of(way, *left)).min().unwrap_or(Some(u64::MAX))
    }

    fn left_of(&self, way: &[usize], left: u64) -> Option<u64> {
        way.iter().try_fold(left, |left, hop| left.checked_sub(*self.shares.get(*hop)?))
    }

    fn keeps_limits(&self) -> bool {
        self.ways.iter().all(|(way, left)| self.left_of(way, *left).is_some())
    }

    /// Whether shares are not so far beyond the limits that no method could help.
    fn is_near_limits(&self) -> bool {
        self.ways.iter().all(|(way, left)| self.left_of(way, left.saturating_mul(MOST_BEYOND)).is_some())
    }

    fn port_of(&self, hop: usize) -> Option<usize> {
        Some(self.flow.tree.get(hop)?.port)
    }

    /// For each hop, the part of what its limits leave that it would get.
    fn extra(&self, ledger: &Ledger) -> Option<Vec<u64>> {
        let slacks = self.ways.iter().map(|(way, left)| self.left_of(way, *left));
        let slacks = slacks.collect::<Option<Vec<u64>>>()?;
        let kept = self.before.as_ref().and_then(|before| before.shares.first());
        let weight = |(hop, place): (usize, &crate::network::Hop)| {
            // A guard that can stay as it is stays so.
            if hop == 0 && kept == self.shares.first() { 0 } else { ledger.weight(hop, place.port) }
        };
        let weights: Vec<u64> = self.flow.tree.iter().enumerate().map(weight).collect();
        let split = if self.before.is_some() { Split::Load } else { ledger.split() };
        Some(extras(self.flow, &slacks, &weights, split))
    }
}

/// Whether the first share of a flow must stay as it is.
fn is_fixed(ledger: &Ledger, admitted: &Admitted) -> bool {
    ledger.keeps_meters() && matches!(admitted.enforcement, Enforcement::Meter(_))
}

impl<'l> Group<'l> {
    /// Flows that have something, and a new one. Unless guards are free, nothing that holds a flow to its contract becomes narrower.
    pub(crate) fn new(
        ledger: &'l Ledger,
        giving: impl Iterator<Item = (&'l Flow, FlowId, Arc<Admitted>)>,
        new: Option<(FlowId, &'l Flow)>,
        frees_guards: bool,
    ) -> Option<Self> {
        let mut members = Vec::new();
        for (flow, id, before) in giving {
            members.push(Member::new(ledger, (id, flow), Some(before), frees_guards)?);
        }
        if let Some(new) = new {
            members.push(Member::new(ledger, new, None, frees_guards)?);
        }
        let by_id = members.iter().enumerate().map(|(index, member)| (member.id, index)).collect();
        let mut depths: BTreeMap<usize, usize> = BTreeMap::new();
        for (depth, hop) in members.iter().flat_map(|member| member.flow.tree.iter().enumerate()) {
            let known = depths.entry(hop.port).or_default();
            *known = depth.max(*known);
        }
        Some(Self { ledger, members, by_id, meetings: BTreeMap::new(), depths, beyond: false })
    }

    /// The new flow.
    fn new_flow(&self) -> Option<(usize, &Member<'l>)> {
        self.members.last().filter(|last| last.before.is_none()).map(|last| (self.members.len() - 1, last))
    }

    /// All ports of members.
    pub(crate) fn ports(&self) -> Vec<usize> {
        self.depths.keys().copied().collect()
    }

    /// A port with what members offer to it, at the levels so far.
    pub(crate) fn meeting(&mut self, at: usize) -> Result<&mut Meeting<'l>, Stuck> {
        if !self.meetings.contains_key(&at) {
            let port = self.ledger.ports().get(at).ok_or(Stuck::Never)?;
            let entries = self.ledger.entries(at);
            self.ledger.charge(at, 2 * entries.len()).map_err(|_| Stuck::Never)?;
            let mut meeting = Meeting::new(port, entries);
            for (place, entry) in entries.iter().enumerate() {
                let Some(member) = self.by_id.get(&entry.flow).copied() else {
                    meeting.add(Who::Other(entry.flow), entry.contender);
                    continue;
                };
                let (hop, one) = (entry.hop, self.members.get_mut(member).ok_or(Stuck::Never)?);
                meeting.add(Who::Member { member, hop }, *one.offers.get(hop).ok_or(Stuck::Never)?);
                *one.places.get_mut(hop).ok_or(Stuck::Never)? = Some(place);
            }
            meeting.kept = alloc::vec![meeting.levels_so_far()];
            let new = self.new_flow().and_then(|(member, new)| {
                let hop = new.flow.tree.iter().position(|hop| hop.port == at)?;
                Some((member, hop, *new.offers.get(hop)?))
            });
            if let Some((member, hop, offer)) = new {
                meeting.add(Who::Member { member, hop }, offer);
                let one = self.members.get_mut(member).and_then(|one| one.places.get_mut(hop));
                *one.ok_or(Stuck::Never)? = Some(entries.len());
            }
            self.meetings.insert(at, meeting);
        }
        self.meetings.get_mut(&at).ok_or(Stuck::Never)
    }

    /// For each flow of a port the most that it could have there: its share, or for a member all that its limits leave.
    pub(crate) fn most_shares(&self, at: usize) -> Option<Vec<u64>> {
        let meeting = self.meetings.get(&at)?;
        let most = |(index, who): (usize, &Who)| match who {
            Who::Other(_) => Some(meeting.entries.get(index)?.share),
            Who::Member { member, hop } => {
                let member = self.members.get(*member)?;
                // One that has too much already gets no less than it has.
                member.shares.get(*hop)?.checked_add(member.room(*hop).unwrap_or(0))
            }
        };
        meeting.who.iter().enumerate().map(most).collect()
    }

    /// All members have the least shares again.
    pub(crate) fn begin_again(&mut self) -> Result<(), Stuck> {
        for at in 0..self.members.len() {
            let least = self.members.get(at).ok_or(Stuck::Never)?.least.clone();
            self.set_shares(at, least)?;
        }
        Ok(())
    }

    /// Raises the shares of members from the least ones until each port keeps those of its flows.
    pub(crate) fn raise_all(&mut self) -> Result<(), Stuck> {
        self.begin_again()?;
        self.raise_further()
    }

    /// The same from those that they have.
    pub(crate) fn raise_further(&mut self) -> Result<(), Stuck> {
        // Ports nearer to publishers first: others wait for what they say.
        let mut due: BTreeSet<(usize, usize)> =
            self.depths.iter().map(|(port, depth)| (*depth, *port)).collect();
        let mut left = VISITS * due.len();
        while let Some((_, at)) = due.pop_first() {
            left = left.checked_sub(1).ok_or(Stuck::Never)?;
            let work = self.ledger.work();
            let meeting = self.meeting(at)?;
            let needs = meeting.needs(work).map_err(|lacks| match lacks {
                Lacks::Others(flows) => Stuck::With(flows),
                Lacks::Bound => Stuck::Never,
                Lacks::Move => Stuck::With(Vec::new()),
            })?;
            let needs: Vec<(Who, u64)> = meeting.who.iter().copied().zip(needs).collect();
            for (who, need) in needs {
                let Who::Member { member, hop } = who else { continue };
                for changed in self.raise(member, hop, need)? {
                    let depth = self.depths.get(&changed).copied().unwrap_or(0);
                    due.insert((depth, changed));
                }
                let one = self.members.get(member).ok_or(Stuck::Never)?;
                if !(one.keeps_limits() || self.beyond && one.is_near_limits()) {
                    return Err(Stuck::With(self.beside(member)?));
                }
            }
        }
        Ok(())
    }

    /// A member needs so much at a hop; the ports to which it then offers something else.
    fn raise(&mut self, at: usize, hop: usize, need: u64) -> Result<Vec<usize>, Stuck> {
        let member = self.members.get(at).ok_or(Stuck::Never)?;
        if need <= *member.shares.get(hop).ok_or(Stuck::Never)? {
            return Ok(Vec::new());
        }
        // A meter that is changed begins anew, with a full bucket.
        if hop == 0 && member.before.as_ref().is_some_and(|before| is_fixed(self.ledger, before)) {
            return Err(Stuck::Never);
        }
        let mut shares = member.shares.clone();
        *shares.get_mut(hop).ok_or(Stuck::Never)? = need;
        self.set_shares(at, shares)
    }

    /// A member has these shares; the ports to which it then offers something else.
    pub(crate) fn set_shares(&mut self, at: usize, shares: Vec<u64>) -> Result<Vec<usize>, Stuck> {
        let member = self.members.get_mut(at).ok_or(Stuck::Never)?;
        if member.shares == shares {
            return Ok(Vec::new());
        }
        let offers = member.flow.contenders(self.ledger.ports(), &shares).map_err(|_| Stuck::Never)?;
        self.ledger.work().charge_each(8 * offers.len()).ok_or(Stuck::Never)?;
        member.shares = shares;
        let mut changed = Vec::new();
        for (hop, (now, before)) in offers.iter().zip(&member.offers).enumerate() {
            let Some(port) = member.port_of(hop).filter(|_| now != before) else { continue };
            changed.push(port);
            let place = member.places.get(hop).copied().flatten();
            let meeting = self.meetings.get_mut(&port);
            if let Some(offer) = meeting.zip(place).and_then(|(meeting, at)| meeting.offers.get_mut(at)) {
                *offer = *now;
            }
        }
        member.offers = offers;
        Ok(changed)
    }

    /// The flows beside a member, whose shares stay so far.
    fn beside(&self, member: usize) -> Result<Vec<FlowId>, Stuck> {
        let member = self.members.get(member).ok_or(Stuck::Never)?;
        if member.flow.tree.iter().any(|hop| self.ledger.entries(hop.port).len() > SMALL_PORT) {
            return Err(Stuck::Never);
        }
        let at = |port: usize| self.ledger.entries(port).iter().map(|entry| entry.flow);
        let others = member.flow.tree.iter().flat_map(|hop| at(hop.port));
        Ok(others.filter(|id| !self.by_id.contains_key(id)).collect())
    }

    /// Shares out what the limits leave: all, a half, a quarter or nothing, as the ports can keep it.
    pub(crate) fn share_out(&mut self) -> Result<(), Stuck> {
        if self.beyond {
            return if self.all_keep() { Ok(()) } else { Err(Stuck::Never) };
        }
        let least: Vec<Vec<u64>> = self.members.iter().map(|member| member.shares.clone()).collect();
        let extra: Option<Vec<Vec<u64>>> =
            self.members.iter().map(|member| member.extra(self.ledger)).collect();
        let extra = extra.ok_or(Stuck::Never)?;
        for parts in [4, 2, 1, 0] {
            for (at, (least, extra)) in least.iter().zip(&extra).enumerate() {
                let before = self.members.get(at).and_then(|member| member.before.as_ref());
                let fixed = before.is_some_and(|before| is_fixed(self.ledger, before));
                let with = |(hop, (least, extra)): (usize, (&u64, &u64))| {
                    if hop == 0 && fixed { *least } else { least.saturating_add(extra / 4 * parts) }
                };
                self.set_shares(at, least.iter().zip(extra).enumerate().map(with).collect())?;
            }
            // What ports before a full one get is jitter there, where nothing is shared out.
            if self.all_keep() || self.meets_full() && self.raise_further().is_ok() && self.all_keep() {
                return Ok(());
            }
        }
        Err(Stuck::Never)
    }

    /// Whether a member passes a port that is declared full.
    fn meets_full(&self) -> bool {
        self.depths.keys().any(|port| self.ledger.is_full(*port))
    }

    fn shares_at(&self, meeting: &Meeting<'_>) -> Option<Vec<u64>> {
        let share = |(index, who): (usize, &Who)| match who {
            Who::Other(_) => Some(meeting.entries.get(index)?.share),
            Who::Member { member, hop } => self.members.get(*member)?.shares.get(*hop).copied(),
        };
        meeting.who.iter().enumerate().map(share).collect()
    }

    /// Whether all ports keep all shares, and have room for what is queued.
    pub(crate) fn all_keep(&self) -> bool {
        self.meetings.iter().all(|(at, meeting)| {
            let Some(shares) = self.shares_at(meeting) else { return false };
            let has_room =
                |levels: &Vec<u8>| self.ledger.fits(*at, meeting.port, &meeting.at(levels)).is_ok();
            meeting.keeps(&shares, self.ledger.work()) && meeting.kept.iter().all(has_room)
        })
    }

    /// What changes: shares, and levels from the first that are kept to the last.
    pub(crate) fn phase(&self) -> Option<Phase> {
        let mut shares = Vec::new();
        for member in &self.members {
            let Some(before) = member.before.as_ref().filter(|before| before.shares != member.shares) else {
                continue;
            };
            let to = self.ledger.admitted_with(member.flow, &member.shares).ok()?;
            shares.push(Reshare { flow: member.id, from: Arc::clone(before), to: Arc::new(to) });
        }
        let (moves, pause) = self.moves()?;
        Some(Phase { shares, settles: self.settling()?, moves, pause })
    }

    /// The moves of the flows of ports from the first levels that are kept there to the last, in an order in which all shares are kept, and
    /// how long to wait after each.
    fn moves(&self) -> Option<(Vec<Move>, u64)> {
        let (mut moves, mut waits) = (Vec::new(), 0);
        for (at, meeting) in &self.meetings {
            let [from, .., to] = meeting.kept.as_slice() else { continue };
            let flows: Vec<FlowId> = meeting.entries.iter().map(|entry| entry.flow).collect();
            let steps = flows.iter().zip(from).zip(to);
            let steps: Vec<Move> = steps
                .map(|((flow, from), to)| Move { port: *at, flow: *flow, from: *from, to: *to })
                .filter(|step| step.from != step.to)
                .collect();
            if steps.is_empty() {
                continue;
            }
            let mut shares = self.shares_at(meeting)?;
            shares.truncate(flows.len());
            let mut contenders = meeting.at(from);
            contenders.truncate(flows.len());
            let work = self.ledger.work();
            waits = pause(&meeting.server, &flows, &contenders, &shares, &steps, work)?.max(waits);
            moves.extend(verified_order_counted(
                &meeting.server,
                &flows,
                &contenders,
                &shares,
                &steps,
                work,
            )?);
        }
        Some((moves, waits))
    }
}
