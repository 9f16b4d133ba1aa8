//! The network file, read again while the manager runs: applied whole, or not at all.
use control::change_network::Reloaded;
use tracing::warn;
use web::Said;

use crate::daemon::Daemon;
use crate::operator::milliseconds;

impl Daemon<'_> {
    /// Reads the network again. If all that is in force can be kept, or `force` says so, the manager goes on with it as soon as it has answered,
    /// unless it is only checked.
    ///
    /// # Errors
    /// What is wrong with the file, or that another manager stands by with the former one; nothing changes then.
    pub(crate) fn reload(&mut self, check: bool, force: bool, who: &str) -> Result<Reloaded, String> {
        let read = self.read_again.ok_or("this manager was not started with a file")?;
        let (network, agents) = read()?;
        let obstacles = self.manager.obstacles_to(network.clone(), solver::multipliers);
        let obstacles = obstacles.map_err(|error| error.to_string())?;
        if check {
            return Ok(Reloaded { applied: false, obstacles });
        }
        // It knows the network by its former file, and would take this manager for one of another network.
        if let Some(other) = self.manager.managers().iter().find(|other| other.role == "stands by") {
            return Err(format!(
                "a manager at {} stands by with the former file: stop it, reload this one, and start it with the new file",
                other.address
            ));
        }
        let applied = force || obstacles.is_empty();
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
            self.changed = Some(Box::new((network, agents)));
        }
        Ok(Reloaded { applied, obstacles })
    }
}
