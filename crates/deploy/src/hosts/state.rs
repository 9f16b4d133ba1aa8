//! Files in which a node manager leaves its deployments to the next one.
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deployment::{Checkpoint, Supervisor, Target, line, read};
use execution::{Adopted, DeploymentState, EpochPlan, ProcessIdentity};

use crate::command::{FAILED, Failure};
use crate::files;

/// The end of the names of these files.
const STATE: &str = "state";

/// Where a node manager keeps what it leaves, in the folder of control sockets.
#[derive(Clone)]
pub(super) struct StateFolder {
    path: PathBuf,
    host: String,
    boot: String,
}

/// The state of a deployment in a file.
pub(crate) struct StateFile {
    path: PathBuf,
    empty: DeploymentState,
    /// Plans that the supervisor was given.
    plans: Vec<(Arc<Target>, EpochPlan)>,
    written: Option<(Checkpoint, Vec<ProcessIdentity>)>,
}

impl StateFolder {
    /// That of a host.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn open(folder: &Path, host: &str) -> Result<Self, Failure> {
        const BOOT: &str = "/proc/sys/kernel/random/boot_id";
        let path = folder.join(format!("node-{host}"));
        let failed = |path: &Path, error: io::Error| (FAILED, format!("{}: {error}", path.display()));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| failed(&path, error))?;
        let boot = fs::read_to_string(BOOT).map_err(|error| failed(Path::new(BOOT), error))?;
        Ok(Self { path, host: host.to_owned(), boot: boot.trim().to_owned() })
    }

    /// What the sockets of a deployment's processes begin with.
    pub(super) fn sockets(&self, deployment: &str) -> PathBuf {
        self.path.join(deployment)
    }

    /// The file of a deployment.
    pub(super) fn file(&self, deployment: &str) -> StateFile {
        StateFile {
            path: self.path.join(format!("{deployment}.{STATE}")),
            empty: DeploymentState::new(&self.host, &self.boot, deployment),
            plans: Vec::new(),
            written: None,
        }
    }

    /// All deployments that the node manager before has left, with what was under way. What is of another start of the system is removed.
    ///
    /// # Errors
    /// A file cannot be read, or is not what a node manager of this host has written: nothing is adopted then.
    pub(super) fn left(&self) -> Result<Vec<(DeploymentState, Adopted)>, Failure> {
        let failed = |error: io::Error| (FAILED, format!("{}: {error}", self.path.display()));
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|end| end == STATE) {
                paths.push(path);
            }
        }
        paths.sort();
        let mut all = Vec::new();
        for path in paths {
            let wrong = |what: String| {
                let (file, folder) = (path.display(), self.path.display());
                let what = format!(
                    "{file}: {what}; its processes are neither adopted nor ended: see what of it runs (fuser {folder}/*), end that, and remove the file"
                );
                (FAILED, what)
            };
            let text = files::read(&path)?;
            let state: DeploymentState = read(text.trim_end()).map_err(|error| wrong(error.to_string()))?;
            let deployment = path.file_stem().unwrap_or_default().to_string_lossy();
            let adopted = state.adopted(&self.host, &deployment).map_err(wrong)?;
            if state.is_over(&self.boot) {
                fs::remove_file(&path).map_err(failed)?;
            } else {
                all.push((state, adopted));
            }
        }
        Ok(all)
    }
}

impl StateFile {
    /// The supervisor is about to be given this plan.
    pub(super) fn knows(&mut self, target: &Arc<Target>, plan: EpochPlan) {
        self.plans.push((Arc::clone(target), plan));
    }

    /// It has this already.
    pub(crate) fn has(&mut self, left: &DeploymentState) {
        self.written = Some((left.checkpoint.clone(), left.processes.clone()));
    }

    /// What the next node manager would find.
    pub(crate) fn written(&self) -> Option<&Checkpoint> {
        self.written.as_ref().map(|(checkpoint, _)| checkpoint)
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// It cannot be written; the file has what it had before.
    pub(crate) fn keep(
        &mut self,
        supervisor: &Supervisor,
        processes: Vec<ProcessIdentity>,
    ) -> Result<(), String> {
        let news = (supervisor.checkpoint(), processes);
        if self.written.as_ref() == Some(&news) {
            return Ok(());
        }
        let (current, next) = supervisor.plans();
        let is_used = |target: &Arc<Target>| {
            Arc::ptr_eq(target, current) || next.is_some_and(|next| Arc::ptr_eq(target, next))
        };
        // The last one is about to be used.
        let last = self.plans.len().saturating_sub(1);
        let mut number = 0;
        self.plans.retain(|(target, _)| {
            number += 1;
            is_used(target) || number > last
        });
        let plan = |wanted: &Arc<Target>| {
            let found = self.plans.iter().find(|(target, _)| Arc::ptr_eq(target, wanted));
            found.map(|(_, plan)| plan.clone())
        };
        let state = DeploymentState {
            runs: plan(current),
            next: next.and_then(plan),
            checkpoint: news.0.clone(),
            processes: news.1.clone(),
            ..self.empty.clone()
        };
        let failed = |error: io::Error| {
            format!(
                "{} cannot be written, and is what the next node manager needs: {error}",
                self.path.display()
            )
        };
        let text = line(&state).map_err(|error| error.to_string())?;
        // One who reads it finds the one or the other, and nothing in between.
        let fresh = self.path.with_extension("new");
        fs::write(&fresh, text).map_err(failed)?;
        fs::rename(&fresh, &self.path).map_err(failed)?;
        self.written = Some(news);
        Ok(())
    }

    /// Nothing of the deployment is left.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Temporary(PathBuf);

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn temporary(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("punctual-state-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }

    #[test]
    fn what_is_kept_is_left_to_the_next_one() {
        let place = temporary("kept");
        let folder = StateFolder::open(&place.0, "east").unwrap();
        assert_eq!(folder.left(), Ok(Vec::new()));
        let mut file = folder.file("tracker");
        let supervisor = Supervisor::new("tracker".to_owned(), None, 1);
        let process = ProcessIdentity { incarnation: 1, pid: 2, started: 3 };
        file.keep(&supervisor, vec![process]).unwrap();
        // It names a process that the supervisor does not know.
        let (_, what) = folder.left().unwrap_err();
        assert!(what.contains("tracker.state: ") && what.contains("neither adopted nor ended"), "{what}");
        file.keep(&supervisor, Vec::new()).unwrap();
        let left = folder.left().unwrap();
        assert_eq!(left[0].0.deployment, "tracker");
        assert_eq!(left[0].1, Adopted::Nothing);
        // Of another host, and of another start of the system.
        fs::create_dir_all(place.0.join("node-west")).unwrap();
        fs::copy(&file.path, place.0.join("node-west/tracker.state")).unwrap();
        let (_, what) = StateFolder::open(&place.0, "west").unwrap().left().unwrap_err();
        assert!(what.contains("on the host \"east\""), "{what}");
        let rebooted = StateFolder { boot: "another".to_owned(), ..folder.clone() };
        assert_eq!(rebooted.left(), Ok(Vec::new()));
        assert!(!file.path.exists());
    }

    /// Each beginning of a file, and each byte of it changed: nothing is adopted unless it is what was written.
    #[test]
    fn what_was_not_written_so_is_refused_with_its_path() {
        let place = temporary("bad");
        let folder = StateFolder::open(&place.0, "east").unwrap();
        let mut file = folder.file("tracker");
        file.keep(&Supervisor::new("tracker".to_owned(), None, 1), Vec::new()).unwrap();
        let text = fs::read(&file.path).unwrap();
        let refused = |bytes: &[u8]| {
            fs::write(&file.path, bytes).unwrap();
            match folder.left() {
                Err((_, what)) => assert!(what.contains("tracker.state"), "{what}"),
                Ok(left) => {
                    // Another number or another start of the system is well-formed, too.
                    let is_same = left.iter().all(|(state, _)| state.processes.is_empty());
                    assert!(is_same, "{}", String::from_utf8_lossy(bytes));
                }
            }
        };
        for length in 0..text.len() - 2 {
            fs::write(&file.path, &text[..length]).unwrap();
            assert!(folder.left().is_err(), "{length} bytes");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone();
            bytes[at] ^= 0x15;
            refused(&bytes);
        }
    }
}
