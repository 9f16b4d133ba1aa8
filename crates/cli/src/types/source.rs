//! IDL of the command line or of a file, with the files that it includes, and what is wrong with it, shown in its lines.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dynamic::idl::{self, IdlError};
use dynamic::{Schema, idl::Parsed};

use crate::exit::Failure;

/// A text, and where it is from.
pub(crate) struct Source {
    /// What the user calls it.
    pub(crate) place: String,
    text: String,
    /// Where files are looked for that it includes, one after the other; of a text of the command line: here.
    folders: Vec<PathBuf>,
    included: BTreeMap<String, String>,
}

impl Source {
    pub(crate) fn text(place: &str, text: &str) -> Self {
        Self {
            place: place.to_owned(),
            text: text.to_owned(),
            folders: vec![PathBuf::new()],
            included: BTreeMap::new(),
        }
    }

    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        let folders = path.parent().map(Path::to_path_buf).into_iter().collect();
        Ok(Self { place: path.display().to_string(), text, folders, included: BTreeMap::new() })
    }

    /// Files are looked for in these folders, too.
    pub(crate) fn looking_in(mut self, folders: &[PathBuf]) -> Self {
        self.folders.extend_from_slice(folders);
        self
    }

    /// Its types; what it says that is passed over is told on standard error.
    pub(crate) fn schema(&mut self) -> Result<Schema, Failure> {
        self.parsed().map(|parsed| parsed.schema)
    }

    /// All that it declares; what it says that is passed over is told on standard error.
    pub(crate) fn parsed(&mut self) -> Result<Parsed, Failure> {
        let (folders, included) = (&self.folders, &mut self.included);
        let mut include = |name: &str| {
            // The first place is the one that is meant most often.
            let mut first = None;
            for path in folders.iter().map(|folder| folder.join(name)) {
                match std::fs::read_to_string(&path) {
                    Ok(text) => {
                        included.insert(name.to_owned(), text.clone());
                        return Ok(text);
                    }
                    Err(error) => drop(first.get_or_insert(format!("{}: {error}", path.display()))),
                }
            }
            Err(first.unwrap_or_else(|| "there is no folder to look in".to_owned()))
        };
        let parsed = idl::parse_with(&self.text, &mut include);
        let parsed = parsed.map_err(|error| Failure::Usage(self.shown(&error)))?;
        for warning in &parsed.warnings {
            eprintln!("punctual: warning: {}", self.shown(warning));
        }
        Ok(parsed)
    }

    /// What is wrong, with its line and a mark under its place.
    pub(crate) fn shown(&self, error: &IdlError) -> String {
        let text = if error.file.is_empty() { Some(&self.text) } else { self.included.get(&error.file) };
        let line = text.and_then(|text| text.lines().nth((error.line as usize).saturating_sub(1)));
        let Some(line) = line.filter(|line| !line.trim().is_empty() && line.len() <= LONGEST) else {
            return format!("{}: {error}", self.place);
        };
        // Tabs stay as wide as they are; other control characters of a file are no orders to a terminal.
        let shown: String = line
            .chars()
            .map(|letter| if letter.is_control() && letter != '\t' { '?' } else { letter })
            .collect();
        let before = line.chars().take((error.column as usize).saturating_sub(1));
        let mark: String = before.map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
        format!("{}: {error}\n  {shown}\n  {mark}^", self.place)
    }
}

/// Most bytes of a line that is shown.
const LONGEST: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        Source::text("--type", text).schema().unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_marked_in_their_line() {
        assert_eq!(
            said("struct A {\n\tlung x;\n};"),
            "--type: line 2, column 2: the type lung is not known; describe it before it is used\n  \tlung x;\n  \t^"
        );
        assert!(
            said("#include \"none.idl\"\nstruct A { long x; };")
                .contains("#include \"none.idl\": none.idl: No such file")
        );
    }

    #[test]
    fn files_are_included_from_beside_the_file() {
        let folder = std::env::temp_dir().join(format!("punctual-idl-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("base.idl"), "struct Base { long x; };").unwrap();
        std::fs::write(folder.join("whole.idl"), "#include \"base.idl\"\nstruct Whole { Base base; };")
            .unwrap();
        let schema = Source::file(&folder.join("whole.idl")).and_then(|mut source| source.schema());
        std::fs::write(folder.join("base.idl"), "struct Base { lung x; };").unwrap();
        let wrong = Source::file(&folder.join("whole.idl")).and_then(|mut source| source.schema());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(schema.unwrap().find("Whole").is_some());
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.ends_with("whole.idl: base.idl: line 1, column 15: the type lung is not known; describe it before it is used\n  struct Base { lung x; };\n                ^"), "{wrong}");
    }
}
