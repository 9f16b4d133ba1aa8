//! `punctual deploy import`: a plan of descriptors in XML.
use std::io::Write;
use std::path::{Path, PathBuf};

use assembly::{Descriptors, import};
use clap::Args;
use diagnostics::Source;

use crate::command::{BAD_NEWS, DONE, FAILED, Failure, print};
use crate::files::{read, show};

/// Command line of the import.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy import plan.cdp                                   the plan as TOML, and what was left out\n  \
    punctual deploy import plan.cdp --domain lab.cdd --events es.ced -o plan.toml\n\n\
    Exit code: 0 all of it is in the plan; 1 something has no place there, and is listed; 3 a file cannot be read or written.")]
pub(crate) struct ImportArguments {
    /// The deployment plan (.cdp)
    plan: PathBuf,
    /// The domain with its nodes (.cdd)
    #[arg(long, value_name = "FILE")]
    domain: Option<PathBuf>,
    /// Events descriptors of CIAO (.ced)
    #[arg(long, value_name = "FILE")]
    events: Vec<PathBuf>,
    /// Writes the plan here, and not to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A descriptor.
struct Descriptor {
    file: String,
    text: String,
}

impl Descriptor {
    fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { file: path.display().to_string(), text: read(path)? })
    }

    fn source(&self) -> Source<'_> {
        Source { file: &self.file, text: &self.text }
    }
}

pub(crate) fn run(
    arguments: &ImportArguments,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    let plan = Descriptor::open(&arguments.plan)?;
    let domain = arguments.domain.as_deref().map(Descriptor::open).transpose()?;
    let events = arguments.events.iter().map(|path| Descriptor::open(path)).collect::<Result<Vec<_>, _>>()?;
    let sources: Vec<Source<'_>> = events.iter().map(Descriptor::source).collect();
    let descriptors = Descriptors {
        plan: plan.source(),
        domain: domain.as_ref().map(Descriptor::source),
        events: &sources,
    };
    // A problem is shown with the lines of its own file.
    let all: Vec<Source<'_>> =
        [plan.source()].into_iter().chain(descriptors.domain).chain(sources.iter().copied()).collect();
    let shown = |problems: &[diagnostics::Problem]| -> String {
        let of = |problem: &diagnostics::Problem| {
            let source =
                all.iter().find(|source| source.file == problem.file).copied().unwrap_or(plan.source());
            show(source, std::slice::from_ref(problem))
        };
        problems.iter().map(of).collect()
    };
    let imported = match import(&descriptors) {
        Ok(imported) => imported,
        Err(problems) => return Err((BAD_NEWS, shown(&problems))),
    };
    let text = imported.plan.to_toml();
    match &arguments.output {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| (FAILED, format!("--output {}: {error}", path.display())))?,
        None => print(out, format_args!("{text}"))?,
    }
    if imported.left_out.is_empty() {
        return Ok(DONE);
    }
    let count = imported.left_out.len();
    print(told, format_args!("{}{count} places have to be looked at\n", shown(&imported.left_out)))?;
    Ok(BAD_NEWS)
}
