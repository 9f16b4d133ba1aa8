//! Owners of tunnels, who ask over HTTP: they are answered when all that they want is decided, or after a while.
use std::time::Duration;

use control::ResourceManager;
use control::tunnels::{TunnelState, TunnelsWanted};
use tokio::sync::oneshot::Sender;
use web::TunnelsHeld;

use crate::daemon::Daemon;

/// How long an answer waits for what is not decided. The interface waits for longer.
const PATIENCE: Duration = Duration::from_secs(1);

type Answer = Sender<Result<TunnelsHeld, String>>;

/// Those that wait.
#[derive(Default, Debug)]
pub(crate) struct Waiting(Vec<(Duration, u32, Answer)>);

impl Waiting {
    /// When [`Self::answer`] wants to be called.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.0.iter().map(|(until, ..)| *until).min()
    }

    /// Answers those of whom all is decided, or who have waited for long enough.
    pub(crate) fn answer(&mut self, now: Duration, epoch: u64, manager: &ResourceManager) {
        for (until, owner, answer) in std::mem::take(&mut self.0) {
            let tunnels = manager.tunnels_of(owner);
            let waits = tunnels.iter().any(|tunnel| tunnel.state == TunnelState::Pending);
            if waits && now < until && !answer.is_closed() {
                self.0.push((until, owner, answer));
            } else {
                let _ = answer.send(Ok(TunnelsHeld { epoch, tunnels }));
            }
        }
    }
}

impl Daemon<'_> {
    /// An owner says what it wants.
    pub(crate) fn hold_tunnels(&mut self, owner: u32, wanted: &TunnelsWanted, answer: Answer) {
        let now = self.now();
        match self.manager.hold_tunnels(now, owner, wanted) {
            Ok(()) => self.tunnels.0.push((now.saturating_add(PATIENCE), owner, answer)),
            Err(wrong) => drop(answer.send(Err(wrong))),
        }
    }
}
