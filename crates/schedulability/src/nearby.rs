//! Which changes concern what is refused: they are tried first, since a search may end before all are.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use assembly::{End, Lane, Layout, Plan};

use crate::Deployed;
use crate::admission::{Admission, State};
use crate::change::{Change, Effect};

/// Lanes of chains and connections that are not admitted, and the cores that these lanes are on.
pub(crate) struct Nearby<'p> {
    plans: Vec<(&'p Plan, Layout<'p>)>,
    /// By plan and path.
    lanes: BTreeSet<(usize, String)>,
    /// By host and core.
    cores: BTreeSet<(String, u16)>,
}

impl<'p> Nearby<'p> {
    pub(crate) fn of(plans: &'p [Deployed<'p>], admission: &Admission) -> Self {
        let laid_out = plans.iter().map(|deployed| (deployed.plan, deployed.plan.layout())).collect();
        let mut nearby = Self { plans: laid_out, lanes: BTreeSet::new(), cores: BTreeSet::new() };
        for verdict in admission.chains.iter().filter(|chain| chain.state != State::Admitted) {
            let Some(deployed) = plans.get(verdict.plan) else { continue };
            let path = deployed.plan.chains.get(&verdict.name).into_iter().flat_map(|chain| &chain.path);
            path.for_each(|end| nearby.add(verdict.plan, end));
        }
        for verdict in admission.limited().filter(|connection| connection.state != State::Admitted) {
            let Some(deployed) = plans.get(verdict.plan) else { continue };
            let Some(connection) = deployed.plan.connections.get(&verdict.name) else { continue };
            let to = connection.to.iter().filter(|to| format!("{to}") == verdict.to);
            to.chain([&connection.from]).for_each(|end| nearby.add(verdict.plan, end));
        }
        nearby
    }

    fn add(&mut self, plan: usize, end: &End) {
        let component = end.component().and_then(|name| self.plans.get(plan)?.0.components.get(name));
        let Some((container, lane)) =
            component.and_then(|it| Some((it.container.as_ref()?, it.lane.as_ref()?)))
        else {
            return;
        };
        let path = format!("container.{container}.lanes.{lane}");
        if let Some((host, lane)) = self.lane_at(plan, &path) {
            let cores = lane.cores.iter().map(|core| (String::from(host), *core));
            self.cores.extend(cores.collect::<BTreeSet<_>>());
        }
        self.lanes.insert((plan, path));
    }

    /// How near a change is: 0 is a queue, 1 a lane of what is refused, 2 a lane on the same core, 3 anything else.
    pub(crate) fn rank(&self, change: &Change) -> u8 {
        if matches!(change.effect, Effect::Depth { .. }) {
            return 0;
        }
        if self.lanes.contains(&(change.plan, change.path.clone())) {
            return 1;
        }
        let shares = self.lane_at(change.plan, &change.path).is_some_and(|(host, lane)| {
            lane.cores.iter().any(|core| self.cores.contains(&(String::from(host), *core)))
        });
        if shares { 2 } else { 3 }
    }

    /// The lane at a path such as `container.NAME.lanes.NAME`, and the host that it is on.
    fn lane_at(&self, plan: usize, path: &str) -> Option<(&'p str, &'p Lane)> {
        let (plan, layout) = self.plans.get(plan)?;
        let mut names = path.split('.');
        let (_, container, _, lane) = (names.next()?, names.next()?, names.next()?, names.next()?);
        let container = plan.containers.get(container)?;
        Some((layout.host_of(&container.process)?, container.lanes.get(lane)?))
    }
}
