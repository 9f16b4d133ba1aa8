//! The lead among managers that share a store: the wait for it, and what one does that cannot make sure that it leads.
use std::time::{Duration, Instant};

use dds::Error;
use store::{Standing, Store};
use tokio::time::sleep;
use tracing::{info, warn};
use wire::admission::State;

use crate::daemon::{Daemon, Ended};
use crate::presence::Presence;
use crate::switch_connections::SwitchConnections;

/// How often one that stands by looks whether it leads, and one that leads whether it does still.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// How often it looks which other managers there are.
const LOOK_AROUND: Duration = Duration::from_secs(1);
/// How often one that is unsure repeats what is granted: participants wait for three seconds.
const REPEAT: Duration = Duration::from_secs(1);

impl Presence<'_> {
    /// Waits until this manager leads those that share its store; false if it was to stop. `stands_by` is called when it has to wait for another one. Meanwhile switches may connect, and it is a slave of them.
    ///
    /// # Errors
    /// What announcing says.
    pub(crate) async fn wait_to_lead(
        &mut self,
        store: &mut dyn Store,
        switches: &mut SwitchConnections,
        stop: &dyn Fn() -> bool,
        stands_by: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        self.say_that(false)?;
        store.stand_by();
        let (mut told, mut looked, began) = (None, None::<Instant>, Instant::now());
        loop {
            if stop() {
                return Ok(false);
            }
            match store.standing() {
                Standing::Alone | Standing::Leads => break,
                // It renews what it has, and leads again, or does not.
                Standing::Unsure => {}
                Standing::StandsBy(holder) => {
                    let is_new = told.as_ref() != Some(&holder);
                    // Between two leaders there is none for a moment.
                    if is_new && (holder.is_some() || began.elapsed() >= LOOK_AROUND) {
                        stands_by();
                        match &holder {
                            Some(holder) => {
                                info!("stands by: {holder} leads the managers of the store {}", store.place())
                            }
                            None => {
                                info!("stands by: no manager leads yet those of the store {}", store.place())
                            }
                        }
                        told = Some(holder);
                    }
                }
            }
            if looked.is_none_or(|at| at.elapsed() >= LOOK_AROUND) {
                self.shares(store.identity())?;
                self.look();
                looked = Some(Instant::now());
            }
            switches.stand_by(LOOK).await;
        }
        info!("leads the managers of the store {}", store.place());
        Ok(true)
    }
}

impl Daemon<'_> {
    /// Whether it may act. To ask costs nothing.
    pub(crate) fn may_act(&self) -> bool {
        matches!(self.store.standing(), Standing::Alone | Standing::Leads)
    }

    /// It cannot make sure that it leads, or does not: gives switches and gates up, at once. What is granted stays in them.
    ///
    /// For as long as no other manager is known to lead it repeats what is granted, so that admitted flows go on; it answers no request.
    pub(crate) async fn hold_out(&mut self, stop: &dyn Fn() -> bool) -> Ended {
        self.connections.clear();
        self.agents.clear();
        let why = self.store.trouble().unwrap_or_else(|| "another manager may lead".to_owned());
        warn!(
            "gives switches and gates up, because it cannot make sure that it leads: {why}. Admitted flows go on, and nothing new is admitted"
        );
        let mut repeat_at = Instant::now();
        loop {
            if stop() {
                return Ended::Stopped;
            }
            match self.store.standing() {
                Standing::Unsure => {}
                Standing::Alone | Standing::Leads => {
                    info!("leads again: begins anew with what is stored");
                    return Ended::StandsBack;
                }
                Standing::StandsBy(holder) => {
                    let holder = holder.unwrap_or_else(|| "another manager".to_owned());
                    warn!("does not lead any more ({holder} may): stands by");
                    return Ended::StandsBack;
                }
            }
            if Instant::now() >= repeat_at {
                repeat_at = Instant::now() + REPEAT;
                self.verdicts.repeat(&self.topics, |verdict| verdict.state == State::Admitted);
            }
            sleep(LOOK).await;
        }
    }
}
