//! Links whose speed is negotiated anew: flows that fit no more go, the least important ones first, and come back with the speed.
//!
//! Between the switch's word and the end of those flows nothing is proven of the link: the flows that go are still sent over it. Until the last of them
//! has left, the ledger keeps the former rate, and nothing new is admitted over the link.
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use latency::network::Port;
use openflow::port::Port as Seen;

use crate::note::Note;
use crate::operations::Chore;
use crate::report::CablingAlarm;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// A port has this speed now.
    pub(crate) fn see_speed(&mut self, switch: usize, port: &Seen) {
        match self.fabric.see_speed(switch, port) {
            Some(Ok(CablingAlarm { subject, what })) => self.note(Note::Cabling { subject, what }),
            Some(Err(subject)) => self.note(Note::CablingRight(subject)),
            None => {}
        }
    }

    /// What the ports of the ledger should be. `None` if no flow can be promised anything on slow links.
    fn ports_wanted(&self) -> Option<Vec<Port>> {
        self.fabric.ports_now(&self.planned, self.config.domains.len())
    }

    /// Links that are to have another rate than flows are planned with get no new ones, and flows that use them are looked at.
    pub(crate) fn want_rates(&mut self) {
        let wanted = self.ports_wanted();
        let is_slow = |link: &usize| self.fabric.is_slow(*link);
        let differs = match &wanted {
            Some(ports) => self.reservations.differing(ports),
            None => (0..self.planned.len()).filter(is_slow).collect(),
        };
        let is_other = |link: &usize| {
            let planned = wanted.as_ref().and_then(|ports| ports.get(*link));
            planned.is_none_or(|port| self.reservations.load(*link).rate != port.rate)
        };
        // Where control alone is another one, nothing is slower than flows are planned with but what discovery takes.
        let changing: Vec<usize> =
            differs.iter().copied().filter(|link| is_other(link) || is_slow(link)).collect();
        self.fabric.set_changing(changing.into_iter());
        if !differs.is_empty() && !self.operations.has_chore(Chore::Rates) {
            self.operations.add_first(Chore::Rates);
        }
    }

    /// Links get the rate that they have, if all flows fit; else those go that do not. False if something else has to end before.
    pub(crate) fn begin_rates(&mut self, now: Duration) -> bool {
        if self.operations.changing() > 0 {
            return false;
        }
        let changed = match self.ports_wanted() {
            Some(ports) if self.reservations.differing(&ports).is_empty() => Ok(()),
            Some(ports) => self.reservations.change_ports(ports),
            None => Err(self.reservations.over(|link| self.fabric.is_slow(link))),
        };
        match changed {
            Ok(()) => {
                self.fabric.set_changing(core::iter::empty());
                self.fabric.rebuild_topology();
                self.requests.look_again();
            }
            Err(victims) => {
                for number in victims {
                    let slow = self.reservations.get(number).and_then(|grant| {
                        grant.hops.iter().map(|hop| hop.link).find(|link| self.fabric.is_slow(*link))
                    });
                    let reason = match slow {
                        Some(link) => format!(
                            "the link from {} has become slower, and there is no room for it any more",
                            self.fabric.network().port_name(link)
                        ),
                        None => "a link has another speed, and there is no room for it any more".into(),
                    };
                    self.revoke(now, number, &reason);
                }
            }
        }
        true
    }
}
