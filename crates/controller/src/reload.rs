//! The network file, read again while the manager runs: applied whole, or not at all. Where managers share a store it is kept there first, so that the next
//! leader goes by it, too.
use control::change_network::Reloaded;
use control::others::OtherManager;
use network::Texts;
use store::network_file::change;
use tracing::{info, warn};
use web::Said;

use crate::daemon::Daemon;
use crate::in_force::to_bytes;
use crate::operator::milliseconds;

impl Daemon<'_> {
    /// Reads the network again. If all that is in force can be kept, or `force` says so, the manager goes on with it as soon as it has answered,
    /// unless it is only checked.
    ///
    /// # Errors
    /// What is wrong with the file, that another manager stands by that would not lead with it, or that the store does not take it; nothing changes then.
    pub(crate) fn reload(&mut self, check: bool, force: bool, who: &str) -> Result<Reloaded, String> {
        let file = self.file.ok_or("this manager was not started with a file")?;
        let (texts, network) = file.read_again()?;
        let obstacles = self.manager.obstacles_to(network.clone(), solver::multipliers);
        let obstacles = obstacles.map_err(|error| error.to_string())?;
        if check {
            return Ok(Reloaded { applied: false, obstacles });
        }
        // It knows the network by its former file, would take this manager for one of another network, and lead beside it.
        let is_apart = |other: &&OtherManager| other.role == "stands by" && !other.shares_store;
        if let Some(other) = self.manager.managers().iter().find(is_apart) {
            return Err(format!(
                "a manager at {} stands by that does not share the store, so it would lead with the former file: stop it, reload this one, and start it with the new file, or let both share etcd",
                other.address
            ));
        }
        let applied = force || obstacles.is_empty();
        if applied {
            self.keep(&texts)?;
        }
        let text = match (applied, obstacles.len()) {
            (true, 0) => format!("the network file was read again by {who}: all flows are kept"),
            (true, count) => {
                format!("the network file was read again by {who}, by force: {count} flows are revoked")
            }
            (false, count) => {
                format!(
                    "the network file was read again by {who} and not applied: {count} flows could not be kept"
                )
            }
        };
        warn!("{text}");
        if let Some(window) = &mut self.window {
            let who = who.to_owned();
            let (time, what, warning) = (milliseconds(), "by hand", !applied);
            window.say(Said { time, who, what, text, warning, flow: None, frames: None });
        }
        if applied {
            self.changed = Some(texts);
        }
        Ok(Reloaded { applied, obstacles })
    }

    /// Keeps a network file for the managers that share the store, before this one goes on with it: one that leads after a crash has that file and the grants
    /// that were checked against it.
    fn keep(&mut self, texts: &Texts) -> Result<(), String> {
        self.is_file_in_doubt = true;
        change(self.store, to_bytes(texts)?).map_err(|error| {
            format!(
                "{error}. This manager goes on with the former file, and takes back what the store may have got as soon as that works again; another manager that leads before that leads with the new file"
            )
        })?;
        self.is_file_in_doubt = false;
        Ok(())
    }

    /// Takes a network file back of which it is not known whether the store has got it: each change that succeeds does that.
    pub(crate) fn take_back_file(&mut self) {
        if self.is_file_in_doubt && self.store.change(&[]).is_ok() {
            self.is_file_in_doubt = false;
            info!("the store has the former network file, after one that it may have got was refused");
        }
    }
}
