//! What publishers and subscribers note, and the files in which they hand it over.
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// A sample that was written, or one that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// The number of the sample, from 0, one more each time.
    pub(crate) number: u64,
    /// When its send call began, or when the kernel received its last datagram: in nanoseconds since 1970, in a simulation since its
    /// start.
    pub(crate) at: i64,
}

/// Writes records, a line each. The last line says how many they are, so that a file that was cut off is noticed.
///
/// # Errors
/// What the system says.
pub(crate) fn write(path: &Path, records: &[Record]) -> io::Result<()> {
    let mut text = String::with_capacity(records.len() * 28);
    for Record { number, at } in records {
        let _ = writeln!(text, "{number} {at}");
    }
    let _ = writeln!(text, "end {}", records.len());
    fs::write(path, text)
}

/// The same, for programs that end with what went wrong.
///
/// # Errors
/// In words, with the file's name.
pub(crate) fn save(path: &Path, records: &[Record]) -> Result<(), String> {
    write(path, records).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads them again.
///
/// # Errors
/// In words, with the file's name: what the system says, or the first line that makes no sense.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let mut records = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || format!("{name}:{}: \"{line}\" is not a number and a time", index + 1);
        let (first, second) = line.split_once(' ').ok_or_else(wrong)?;
        if first == "end" {
            let whole = second.parse() == Ok(records.len());
            return if whole { Ok(records) } else { Err(wrong()) };
        }
        let number = first.parse().map_err(|_| wrong())?;
        records.push(Record { number, at: second.parse().map_err(|_| wrong())? });
    }
    Err(format!("{name}: it is cut off: the program that wrote it was ended"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_a_file_that_was_cut_off_is_refused() {
        let path = std::env::temp_dir().join(format!("punctual-record-{}", std::process::id()));
        let records = [Record { number: 0, at: -5 }, Record { number: 7, at: 1_700_000_000_000_000_000 }];
        write(&path, &records).unwrap();
        assert_eq!(read(&path).unwrap(), records);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 6]).unwrap();
        assert!(read(&path).unwrap_err().contains("cut off"));
        fs::write(&path, "1 2\nx 3\nend 2\n").unwrap();
        assert!(read(&path).unwrap_err().contains(":2:"));
        fs::remove_file(&path).unwrap();
        assert!(read(&path).is_err());
    }
}
