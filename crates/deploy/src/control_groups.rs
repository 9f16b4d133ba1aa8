//! Control groups of processes (version 2): made before a process is started in one, and removed when no process is, or is to be, in them any more.
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// What the kernel knows of the mounts of this program.
const MOUNTS: &str = "/proc/self/mountinfo";
/// Where the processes of a group are written.
const PROCESSES: &str = "cgroup.procs";

/// Enters the group whose list of processes is the first word, and executes the rest.
pub(crate) const ENTER: &str = "echo $$ > \"$0\" && exec \"$@\"";

/// The groups that this program has made.
#[derive(Default)]
pub(crate) struct ControlGroups {
    /// In the order in which they were made: a group comes before those in it.
    made: Vec<PathBuf>,
    /// Those in which processes are, or will be: each as often as there are such processes. One that was just started is in none yet.
    used: Vec<PathBuf>,
}

impl ControlGroups {
    /// The list of processes of a group, which is made if it is not there, and stays until its process has left it.
    ///
    /// # Errors
    /// It cannot be had; then what was made for it is removed.
    pub(crate) fn open(&mut self, group: &str) -> Result<PathBuf, String> {
        self.open_below(root()?, group)
    }

    fn open_below(&mut self, root: PathBuf, group: &str) -> Result<PathBuf, String> {
        let mut path = root;
        for name in group.split('/') {
            path.push(name);
            match fs::create_dir(&path) {
                Ok(()) => self.made.push(path.clone()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    self.clean();
                    return Err(refused(group, &path, &error));
                }
            }
        }
        let processes = path.join(PROCESSES);
        self.used.push(path);
        Ok(processes)
    }

    /// A process has ended that was started in the group of this list of processes, or it was not started.
    pub(crate) fn leave(&mut self, processes: &Path) {
        let group = processes.parent();
        if let Some(at) = self.used.iter().position(|used| Some(used.as_path()) == group) {
            self.used.swap_remove(at);
        }
    }

    /// Removes those that were made and in which nothing is left or will be.
    pub(crate) fn clean(&mut self) {
        let all = std::mem::take(&mut self.made);
        // Groups in others first.
        for path in all.into_iter().rev() {
            let is_used = self.used.iter().any(|used| used.starts_with(&path));
            let stays = || fs::remove_dir(&path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
            if is_used || stays() {
                self.made.push(path);
            }
        }
        self.made.reverse();
    }
}

/// Whether a process can be put into a group; nothing is made.
///
/// # Errors
/// Why not, and what to do.
pub(crate) fn check(group: &str) -> Result<(), String> {
    let root = root()?;
    let path = root.join(group);
    let there = path.ancestors().take_while(|it| it.starts_with(&root)).find(|it| it.is_dir());
    let there = there.ok_or_else(|| format!("{} is not there", root.display()))?;
    // A group that is not there is made in this one, and one that is there gets a process.
    let written = if there == path { path.join(PROCESSES) } else { there.to_owned() };
    access(&written, AccessFlags::W_OK).map_err(|error| refused(group, &written, &error.into()))
}

fn refused(group: &str, path: &Path, error: &io::Error) -> String {
    format!(
        "the control group \"{group}\" cannot be had: {}: {error}; start this as root, or let systemd delegate a group (Delegate=yes), or take \
         cgroup out",
        path.display()
    )
}

/// Where groups of version 2 are.
fn root() -> Result<PathBuf, String> {
    let mounts = fs::read(MOUNTS).map_err(|error| format!("{MOUNTS}: {error}"))?;
    mounted(&mounts).ok_or_else(|| {
        "control groups of version 2 are not mounted here: mount -t cgroup2 none /sys/fs/cgroup, or take cgroup out".to_owned()
    })
}

/// The last mount of the type cgroup2 whose root is that of all groups.
fn mounted(mounts: &[u8]) -> Option<PathBuf> {
    let place = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let dash = words.iter().position(|word| *word == b"-")?;
        let is_root = *words.get(3)? == b"/" && *words.get(dash + 1)? == b"cgroup2";
        is_root.then(|| unescaped(words.get(4)?)).flatten()
    };
    mounts.split(|byte| *byte == b'\n').filter_map(place).next_back()
}

/// A path in which the kernel has written blanks and the like as `\040`.
fn unescaped(word: &[u8]) -> Option<PathBuf> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            plain.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(3)?;
        plain.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?);
        rest = behind;
    }
    Some(std::ffi::OsString::from_vec(plain).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups are folders, and any folder will do here.
    #[test]
    fn a_group_stays_until_all_that_are_started_in_it_have_ended() {
        let root = std::env::temp_dir().join(format!("punctual-groups-{}", std::process::id()));
        fs::create_dir(&root).unwrap();
        let [outer, inner] = ["a", "a/b"].map(|group| root.join(group));
        let mut groups = ControlGroups::default();
        let first = groups.open_below(root.clone(), "a/b").unwrap();
        assert_eq!(first, inner.join(PROCESSES));
        // None is in it yet: each process enters the group by itself, after its start.
        groups.clean();
        assert!(inner.is_dir());
        let second = groups.open_below(root.clone(), "a/b").unwrap();
        groups.leave(&first);
        groups.clean();
        assert!(inner.is_dir(), "the second is about to be in it");
        // A group that cannot be made takes no other one with it.
        fs::write(root.join("file"), "").unwrap();
        let error = groups.open_below(root.clone(), "file/c").unwrap_err();
        assert!(error.contains("cannot be had"), "{error}");
        assert!(inner.is_dir());
        let third = groups.open_below(root.clone(), "a").unwrap();
        groups.leave(&second);
        groups.clean();
        assert!(!inner.exists() && outer.is_dir());
        groups.leave(&third);
        // What others made stays.
        fs::create_dir(root.join("other")).unwrap();
        let fourth = groups.open_below(root.clone(), "other").unwrap();
        groups.leave(&fourth);
        groups.clean();
        assert!(!outer.exists() && root.join("other").is_dir());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_place_of_version_2_is_found() {
        let legacy = "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let part = "32 30 0:28 /user.slice /mnt/part rw - cgroup2 cgroup2 rw\n";
        let whole = "33 30 0:28 / /mnt/with\\040blank rw shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(mounted(legacy.as_bytes()), None);
        assert_eq!(mounted(part.as_bytes()), None);
        let all = [legacy, whole, part].concat();
        assert_eq!(mounted(all.as_bytes()), Some("/mnt/with blank".into()));
        for bad in
            ["", "-", "1 2 3 / /x\\0 - cgroup2", "1 2 3 / /x\\999 - cgroup2", "1 2 3 / /x -", "- cgroup2"]
        {
            assert_eq!(mounted(bad.as_bytes()), None, "{bad}");
        }
    }
}
