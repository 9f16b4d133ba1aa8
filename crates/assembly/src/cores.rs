//! Cores of lanes, and which of them the kernel lets threads of the class deadline have.
use crate::plan::{Lane, Plan};

impl Plan {
    /// The cores that threads of a lane may use: its own, or those of its process. All if there are none.
    pub fn cores_of<'p>(&'p self, process: &str, lane: &'p Lane) -> &'p [u16] {
        if !lane.cores.is_empty() {
            return &lane.cores;
        }
        self.processes.get(process).map(|process| process.cores.as_slice()).unwrap_or_default()
    }

    /// Whether the kernel can keep threads of the class deadline on the cores of a lane, as far as the plan says it. It keeps none on some
    /// cores of a root domain: the cores are all of the host, or the process is in a control group, which may be a partition of them.
    pub fn keeps_deadline_threads(&self, process: &str, lane: &Lane) -> bool {
        let cores = self.cores_of(process, lane);
        let host = self.layout().host_of(process).and_then(|host| self.hosts.get(host)?.cores);
        let are_all =
            cores.is_empty() || host.is_some_and(|count| (0..count).all(|core| cores.contains(&core)));
        are_all || self.processes.get(process).is_some_and(|process| process.cgroup.is_some())
    }
}
