//! What of a lab does not run any more though it should.
use std::fs::OpenOptions;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::lab::Lab;
use crate::remove::processes;

/// Bytes at the end of a log that are looked at, and lines that are told.
const LOOKED_AT: u64 = 16 << 10;
const TOLD: usize = 4;

impl Lab {
    /// Whether processes of the lab have ended by themselves, in words, with what their logs say last; `None` if all run. What it has counted or
    /// measured since then says nothing.
    pub fn ended(&self) -> Option<String> {
        let there = processes(&self.record().name, &self.record().namespaces);
        let gone = self.record().processes.iter().filter(|id| !there.contains(id)).count();
        if gone == 0 {
            return None;
        }
        let mut said =
            format!("{gone} of the lab's {} processes ended by themselves", self.record().processes.len());
        for log in self.logs() {
            if let Some(last) = last_words(&log) {
                said += &format!("; {}: {last}", log.display());
            }
        }
        Some(said)
    }
}

/// The last lines of a log that are about something serious; all of the last ones of a log without levels.
fn last_words(log: &Path) -> Option<String> {
    let mut file = OpenOptions::new().read(true).open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT))).ok()?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    serious(&String::from_utf8_lossy(&bytes))
}

fn serious(text: &str) -> Option<String> {
    let has_levels = text.lines().any(|line| line.contains("|INFO|"));
    let matters = |line: &&str| !line.trim().is_empty() && (!has_levels || line.contains("|EMER|"));
    let lines: Vec<&str> = text.lines().filter(matters).collect();
    let last = lines.get(lines.len().saturating_sub(TOLD)..).unwrap_or_default();
    (!last.is_empty()).then(|| last.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_log_with_levels_what_is_serious_is_told() {
        let log = "1|poll|INFO|a\n2|util|EMER|assertion failed\n3|bridge|WARN|b\n";
        assert_eq!(serious(log).as_deref(), Some("2|util|EMER|assertion failed"));
        assert_eq!(serious("1|poll|INFO|a\n"), None);
        let plain = "one\ntwo\n\nthree\nfour\nfive\n";
        assert_eq!(serious(plain).as_deref(), Some("two / three / four / five"));
        assert_eq!(serious(""), None);
        assert_eq!(last_words(Path::new("/nowhere/at/all")), None);
    }
}
