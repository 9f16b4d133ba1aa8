//! Files that are only appended to: a line for each commit, which is on the disk when the call returns.
//!
//! A line is a checksum of eight hexadecimal digits, a space, and a list of entries in JSON. What a crash leaves of a commit
//! is one line at the end that is not whole: it is cut when the file is opened, and nothing of it was confirmed to anyone. A
//! line that is not whole and has whole ones after it is damage, which is told and not repaired.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use system::Error;

/// Bytes of the checksum and the space after it.
const PREFIX: usize = 9;
/// The longest line that is read.
const LONGEST: usize = 64 << 20;

/// An open file.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Where the last whole commit ends.
    len: u64,
    /// After a failed write what is behind `len` is not known.
    broken: bool,
}

/// What was found in a file.
#[derive(Debug)]
pub struct Found<T> {
    /// All entries of whole commits, in order.
    pub entries: Vec<T>,
    /// Bytes of a commit that was not whole, which are cut when the file is opened to write.
    pub torn: u64,
    /// Where the last whole commit ends.
    whole: u64,
}

/// Reads a file without changing it, as one that another process may be writing. One that is not there is empty.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Found<T>, Error> {
    match File::open(path) {
        Ok(file) => read_from(&file, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Found { entries: Vec::new(), torn: 0, whole: 0 })
        }
        Err(error) => Err(Error::system(path.display())(error)),
    }
}

fn read_from<T: DeserializeOwned>(file: &File, path: &Path) -> Result<Found<T>, Error> {
    let mut reader = BufReader::new(file);
    let mut found = Found { entries: Vec::new(), torn: 0, whole: 0 };
    let mut line = Vec::new();
    loop {
        line.clear();
        let limited = io::Read::take(&mut reader, LONGEST as u64);
        let count = { limited }.read_until(b'\n', &mut line).map_err(Error::system(path.display()))?;
        if count == 0 {
            return Ok(found);
        }
        match entries_of(&line) {
            Some(entries) if found.torn == 0 => {
                found.entries.extend::<Vec<T>>(entries);
                found.whole += count as u64;
            }
            Some(_) => {
                return Err(Error::new(
                    format!("{}: what is written at byte {} is damaged", path.display(), found.whole),
                    "keep a copy of the file, then take out the damaged line, or put back a copy that is whole",
                ));
            }
            None => found.torn += count as u64,
        }
    }
}

/// The entries of a line; `None` if it is not whole.
fn entries_of<T: DeserializeOwned>(line: &[u8]) -> Option<Vec<T>> {
    let line = line.strip_suffix(b"\n")?;
    let (prefix, text) = line.split_at_checked(PREFIX)?;
    let sum = std::str::from_utf8(prefix.strip_suffix(b" ")?).ok()?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    if sum != crc32fast::hash(text) {
        return None;
    }
    serde_json::from_slice(text).ok()
}

fn line_of<T: Serialize>(entries: &[T]) -> io::Result<Vec<u8>> {
    let text = serde_json::to_string(entries)?;
    Ok(format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes())).into_bytes())
}

impl Journal {
    /// Opens a file, or makes it, cuts a torn commit, and reads the rest. One process at a time has it open.
    ///
    /// # Errors
    /// It cannot be read or written, is damaged, or another process has it open.
    pub fn open<T: DeserializeOwned>(path: &Path) -> Result<(Self, Found<T>), Error> {
        let failed = || Error::system(path.display());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    format!("{}: another process writes it", path.display()),
                    "end that one first, or name another folder",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed()(error)),
        }
        let found = read_from(&file, path)?;
        let mut journal = Self { file, path: path.to_owned(), len: found.whole, broken: found.torn > 0 };
        journal.mend().map_err(failed())?;
        sync_folder(path).map_err(failed())?;
        Ok((journal, found))
    }

    /// Cuts what is behind the last whole commit.
    fn mend(&mut self) -> io::Result<()> {
        if self.broken {
            self.file.set_len(self.len)?;
            self.file.sync_all()?;
            self.broken = false;
        }
        self.file.seek(SeekFrom::Start(self.len)).map(drop)
    }

    /// Appends a commit, which is on the disk when this returns.
    ///
    /// # Errors
    /// It is not there; the next one may be.
    pub fn append<T: Serialize>(&mut self, entries: &[T]) -> io::Result<()> {
        if self.broken {
            self.mend()?;
        }
        let line = line_of(entries)?;
        self.broken = true;
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.len += line.len() as u64;
        self.broken = false;
        Ok(())
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of all commits.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True if there is no commit.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Replaces all commits by one: a crash leaves either the old ones or the new one.
    ///
    /// # Errors
    /// The old ones are still there.
    pub fn rewrite<T: Serialize>(&mut self, entries: &[T]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        // Locked before it has the name: no other process finds it free.
        file.try_lock().map_err(io::Error::from)?;
        let line = if entries.is_empty() { Vec::new() } else { line_of(entries)? };
        file.write_all(&line)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)?;
        sync_folder(&self.path)?;
        (self.file, self.len, self.broken) = (file, line.len() as u64, false);
        Ok(())
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However much of the last commit a crash leaves, all before is there, and the next commit is read.
    #[test]
    fn a_torn_tail_is_cut_wherever_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let (mut journal, _) = Journal::open::<u32>(&path).unwrap();
        journal.append(&[1, 2]).unwrap();
        let before = journal.len() as usize;
        journal.append(&[3, 4, 5]).unwrap();
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        for end in before..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(read::<u32>(&path).unwrap().entries, [1, 2]);
            let (mut journal, found) = Journal::open::<u32>(&path).unwrap();
            assert_eq!((found.entries, found.torn as usize), (vec![1, 2], end - before));
            journal.append(&[6]).unwrap();
            drop(journal);
            assert_eq!(read::<u32>(&path).unwrap().entries, [1, 2, 6], "cut at {end}");
        }
    }

    #[test]
    fn damage_before_whole_commits_is_told_and_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let (mut journal, _) = Journal::open::<u32>(&path).unwrap();
        [[1], [2], [3]].iter().for_each(|entry| journal.append(entry).unwrap());
        assert!(Journal::open::<u32>(&path).unwrap_err().what.contains("another process"));
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        // Each byte of the second commit but the end of its line, which makes one torn line of two.
        let line = whole.len() / 3;
        for at in line..2 * line - 1 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let error = Journal::open::<u32>(&path).unwrap_err();
            assert!(error.what.contains(&format!("byte {line} ")), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn all_commits_are_replaced_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let (mut journal, _) = Journal::open::<u32>(&path).unwrap();
        journal.append(&[1, 2]).unwrap();
        journal.rewrite(&[2]).unwrap();
        assert!(Journal::open::<u32>(&path).is_err(), "it is still open");
        journal.append(&[3]).unwrap();
        journal.rewrite::<u32>(&[]).unwrap();
        journal.append(&[4]).unwrap();
        drop(journal);
        assert_eq!(Journal::open::<u32>(&path).unwrap().1.entries, [4]);
    }
}
