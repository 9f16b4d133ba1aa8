//! Units as systemd reads them, written after systemd.syntax(7) and "Command lines" of systemd.service(5): the judge of what is exported.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A unit: the values of each setting of each section, in order.
#[derive(Debug, Default)]
pub(crate) struct Unit(BTreeMap<(String, String), Vec<String>>);

impl Unit {
    pub(crate) fn open(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::read(&text)
    }

    fn read(text: &str) -> Self {
        let mut unit = Self::default();
        let (mut section, mut joined) = (String::new(), String::new());
        for line in text.lines() {
            let line = line.trim_start();
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(part) = line.strip_suffix('\\') {
                joined += part;
                joined.push(' ');
                continue;
            }
            joined += line;
            let whole = std::mem::take(&mut joined);
            let whole = whole.trim();
            if let Some(name) = whole.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                section = name.to_owned();
            } else if !whole.is_empty() {
                let (name, value) = whole.split_once('=').unwrap_or_else(|| panic!("no setting: {whole}"));
                let values = unit.0.entry((section.clone(), name.trim().to_owned())).or_default();
                values.push(value.trim().to_owned());
            }
        }
        unit
    }

    pub(crate) fn all(&self, section: &str, name: &str) -> &[String] {
        self.0.get(&(section.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The only value of a setting.
    pub(crate) fn one(&self, section: &str, name: &str) -> Option<&str> {
        let all = self.all(section, name);
        assert!(all.len() < 2, "{name} is there {} times", all.len());
        all.first().map(String::as_str)
    }

    /// Program and arguments of the process.
    pub(crate) fn command(&self) -> Vec<String> {
        let mut words = words(self.one("Service", "ExecStart").unwrap());
        // Without a colon systemd would replace variables in the words.
        words[0] = words[0].strip_prefix(':').expect("no variables").to_owned();
        words
    }

    /// The environment of the process.
    pub(crate) fn environment(&self) -> Vec<String> {
        self.all("Service", "Environment").iter().flat_map(|value| words(value)).collect()
    }
}

/// The words of a line, without quotes, escapes and specifiers.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\\', _) => {
                let escaped = match rest.next().unwrap() {
                    'n' => '\n',
                    't' => '\t',
                    'x' => {
                        let code: String = rest.by_ref().take(2).collect();
                        char::from(u8::from_str_radix(&code, 16).unwrap())
                    }
                    c @ ('"' | '\\' | '\'') => c,
                    c => panic!("systemd knows no escape {c}"),
                };
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ' | '\t', None) => words.extend(word.take()),
            ('%', _) => {
                assert_eq!(rest.next(), Some('%'), "a specifier in {line}");
                word.get_or_insert_default().push('%');
            }
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    assert!(quote.is_none(), "a quote is open: {line}");
    words.extend(word);
    words
}

/// What systemd itself says of the units in a folder: it accepts them without a warning. Outside of continuous integration it may be absent.
pub(crate) fn verify(folder: &Path) {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_unit = |path: &PathBuf| path.extension().is_some_and(|it| it == "service" || it == "target");
    let units: Vec<PathBuf> = entries.filter(is_unit).collect();
    assert!(!units.is_empty());
    let output = match Command::new("systemd-analyze").args(["verify", "--man=no"]).args(&units).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "systemd-analyze: {error}: scripts/setup installs it");
            return eprintln!("passed over: systemd-analyze is not there");
        }
    };
    let told = String::from_utf8_lossy(&output.stderr);
    // Units of the machine may have mistakes of their own.
    let ours: Vec<&str> = told.lines().filter(|line| line.contains("punctual-")).collect();
    assert!(output.status.success() && ours.is_empty(), "{told}");
}
