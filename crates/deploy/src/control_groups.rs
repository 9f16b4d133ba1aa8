//! Control groups of processes (version 2): made before a process is started in one, and removed when nothing is in them any more.
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
}

impl ControlGroups {
    /// The list of processes of a group, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be had; then what was made for it is removed.
    pub(crate) fn open(&mut self, group: &str) -> Result<PathBuf, String> {
        let mut path = root()?;
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
        Ok(path.join(PROCESSES))
    }

    /// Removes those that were made and in which nothing is left.
    pub(crate) fn clean(&mut self) {
        let all = std::mem::take(&mut self.made);
        // Groups in others first.
        for path in all.into_iter().rev() {
            match fs::remove_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => self.made.push(path),
                _ => {}
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
