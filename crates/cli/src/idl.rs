//! `punctual idl`: Rust from IDL.
use std::path::PathBuf;

use clap::Args;
use dynamic::rust;

use crate::exit::{Failure, Outcome};
use crate::types::source::Source;

/// Command line of `punctual idl`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual idl robot.idl                     shows the types in Rust\n  \
    punctual idl robot.idl -o src/robot.rs     writes them into a file: `mod robot;`\n  \
    punctual idl robot.idl -I /opt/common/idl  files that are included are there, too\n\n\
    docs/idl.md says what becomes of which type.")]
pub(crate) struct Arguments {
    /// File with IDL.
    file: PathBuf,
    /// Writes here, and not to standard output. Nothing is written if something is wrong.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder with files that are included; those beside the file are found without.
    #[arg(short = 'I', long = "include", value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Path to what has `DdsType` and `cdr`, if it is not the crate dds itself.
    #[arg(long = "crate", value_name = "PATH", default_value = "::dds")]
    path: String,
}

/// Writes the types.
///
/// # Errors
/// What is wrong with the IDL, with its place, or with the file that is written.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !arguments.path.strip_prefix("::").unwrap_or(&arguments.path).split("::").all(part) {
        return Err(Failure::Usage(format!("--crate {}: give a path, as crate::middleware", arguments.path)));
    }
    let mut source = Source::file(&arguments.file)?.looking_in(&arguments.folders);
    let parsed = source.parsed()?;
    let written =
        rust::write(&parsed, &arguments.path).map_err(|error| Failure::Usage(source.shown(&error)))?;
    let name = arguments.file.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let text = format!(
        "// Written by `punctual idl` from {name}; what is changed here is lost when it is written again.\n\n{written}"
    );
    match &arguments.output {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::System(format!("--output {}: {error}", path.display())))?,
        None => {
            use std::io::Write as _;
            if std::io::stdout().write_all(text.as_bytes()).is_err() {
                // The reader of the pipe has gone.
                std::process::exit(0);
            }
        }
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("punctual-idl-command-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("more")).unwrap();
        let (idl, rust) = (folder.join("a.idl"), folder.join("a.rs"));
        std::fs::write(folder.join("more/b.idl"), "struct B { long x; };").unwrap();
        std::fs::write(&idl, "#include \"b.idl\"\nstruct A { @colour B b; };").unwrap();
        let mut arguments = Arguments {
            file: idl.clone(),
            output: Some(rust.clone()),
            folders: vec![folder.join("more")],
            path: "::dds".to_owned(),
        };
        let done = run(&arguments);
        let written = std::fs::read_to_string(&rust).unwrap_or_default();
        std::fs::write(&idl, "struct A {\n  map<float, long> x; };").unwrap();
        let refused = run(&arguments);
        arguments.folders.clear();
        std::fs::write(&idl, "#include \"b.idl\"\nstruct A { B b; };").unwrap();
        let missing = run(&arguments);
        let same = std::fs::read_to_string(&rust).unwrap_or_default();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(done, Ok(Outcome::Done));
        assert!(
            written.starts_with("// Written by `punctual idl` from a.idl;")
                && written.contains("pub struct A {")
        );
        assert_eq!(written, same);
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("a.idl: line 1, column 8: member x: a key of a map")
                && refused.ends_with("\n         ^"),
            "{refused}"
        );
        assert!(missing.unwrap_err().to_string().contains("#include \"b.idl\": "));
    }
}
