//! IDL of the command line or of a file, with the files that it includes, and what is wrong with it, shown in its lines.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dynamic::idl::{self, IdlError};
use dynamic::{Schema, idl::Parsed};

use crate::exit::Failure;

/// A text, and where it is from.
pub(super) struct Source {
    /// What the user calls it.
    pub(super) place: String,
    text: String,
    /// Where files are looked for that it includes; `None` for a text of the command line: here.
    folder: Option<PathBuf>,
    included: BTreeMap<String, String>,
}

impl Source {
    pub(super) fn text(place: &str, text: &str) -> Self {
        Self { place: place.to_owned(), text: text.to_owned(), folder: None, included: BTreeMap::new() }
    }

    pub(super) fn file(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Usage(format!("--idl {}: {error}", path.display())))?;
        let folder = path.parent().map(Path::to_path_buf);
        Ok(Self { place: path.display().to_string(), text, folder, included: BTreeMap::new() })
    }

    /// Its types; what it says that is passed over is told on standard error.
    pub(super) fn schema(&mut self) -> Result<Schema, Failure> {
        let (folder, included) = (self.folder.clone().unwrap_or_default(), &mut self.included);
        let mut include = |name: &str| {
            let path = folder.join(name);
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            included.insert(name.to_owned(), text.clone());
            Ok(text)
        };
        let parsed = idl::parse_with(&self.text, &mut include);
        let Parsed { schema, warnings } = parsed.map_err(|error| Failure::Usage(self.shown(&error)))?;
        for warning in &warnings {
            eprintln!("punctual: warning: {}", self.shown(warning));
        }
        Ok(schema)
    }

    /// What is wrong, with its line and a mark under its place.
    fn shown(&self, error: &IdlError) -> String {
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
