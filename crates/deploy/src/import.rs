//! `punctual deploy import`: a plan of descriptors in XML, of a launch file of ROS 2, or of a dataflow of dora.
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use assembly::{Descriptors, ImportedPrograms, LaunchFile, import, import_dataflow, import_launch};
use clap::Args;
use diagnostics::{Problem, Source};

use crate::command::{BAD_NEWS, DONE, FAILED, Failure, WRONG, print};
use crate::files::{read, show};

/// Command line of the import.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy import plan.cdp                                   the plan as TOML, and what was left out\n  \
    punctual deploy import plan.cdp --domain lab.cdd --events es.ced -o plan.toml\n  \
    punctual deploy import plan.cdp --events es.ced --program target/debug/server -o plan.toml\n  \
    punctual deploy import robot.launch.xml --arg use_sim=false --prefix /opt/ros/jazzy -o robot.toml\n  \
    punctual deploy import dataflow.yml -o dataflow.toml              and dataflow.types.json, which has its ports\n\n\
    Exit code: 0 all of it is in the plan; 1 something has no place there, and is listed; 3 a file cannot be read or written.")]
pub(crate) struct ImportArguments {
    /// The deployment plan (.cdp), launch file of ROS 2 (.xml) or dataflow of dora (.yml, .yaml)
    plan: PathBuf,
    /// The domain with its nodes (.cdd)
    #[arg(long, value_name = "FILE")]
    domain: Option<PathBuf>,
    /// Events descriptors of CIAO (.ced)
    #[arg(long, value_name = "FILE")]
    events: Vec<PathBuf>,
    /// Descriptors: the component server that all processes execute, in place of the libraries; its path as the plan is to say it
    #[arg(long, value_name = "LOCATION")]
    program: Option<String>,
    /// Launch files: a value of an argument
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// Launch files: the folder that packages are installed in, as /opt/ros/jazzy
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<String>,
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

/// What is imported, by the name of the file.
enum Format {
    Descriptors,
    Launch,
    Dataflow,
}

/// How the file is read.
///
/// # Errors
/// An option is for another format, or the file is a program.
fn format(arguments: &ImportArguments) -> Result<Format, Failure> {
    let ending = arguments.plan.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = match ending.to_ascii_lowercase().as_str() {
        "xml" | "launch" => Format::Launch,
        "yml" | "yaml" => Format::Dataflow,
        "py" => {
            let file = arguments.plan.display();
            let what = format!(
                "{file}: a launch file in Python is a program, and is not run\n  write what it starts as a launch file in XML, and import that"
            );
            return Err((BAD_NEWS, what));
        }
        _ => Format::Descriptors,
    };
    let is_of_launch = !arguments.arguments.is_empty() || arguments.prefix.is_some();
    let is_of_descriptors =
        arguments.domain.is_some() || !arguments.events.is_empty() || arguments.program.is_some();
    match format {
        Format::Descriptors | Format::Dataflow if is_of_launch => {
            Err((WRONG, "--arg and --prefix are for launch files (.xml)\n  leave them out".to_owned()))
        }
        Format::Launch | Format::Dataflow if is_of_descriptors => Err((
            WRONG,
            "--domain, --events and --program are for descriptors (.cdp)\n  leave them out".to_owned(),
        )),
        format => Ok(format),
    }
}

pub(crate) fn run(
    arguments: &ImportArguments,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    match format(arguments)? {
        Format::Descriptors => descriptors(arguments, out, told),
        Format::Launch => launch(arguments, out, told),
        Format::Dataflow => dataflow(arguments, out, told),
    }
}

/// Problems, each with the lines of its own file.
fn shown(problems: &[Problem], files: &[Source<'_>]) -> String {
    let of = |problem: &Problem| {
        let source = files.iter().find(|source| source.file == problem.file);
        let source = source.copied().unwrap_or(Source { file: &problem.file, text: "" });
        show(source, std::slice::from_ref(problem))
    };
    problems.iter().map(of).collect()
}

fn launch(arguments: &ImportArguments, out: &mut dyn Write, told: &mut dyn Write) -> Result<u8, Failure> {
    let file = Descriptor::open(&arguments.plan)?;
    let values = arguments.arguments.iter().map(|argument| match argument.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err((WRONG, format!("--arg {argument}: write NAME=VALUE"))),
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let folder = arguments.plan.parent().unwrap_or(Path::new(""));
    let included = RefCell::new(Vec::new());
    let include = |path: &str| {
        let path = inside(folder, path)?;
        let text = read(&path).map_err(|(_, why)| why)?;
        let file = path.display().to_string();
        included.borrow_mut().push((file.clone(), text.clone()));
        Ok((file, text))
    };
    let launch = LaunchFile {
        source: file.source(),
        arguments: &values,
        prefix: arguments.prefix.as_deref(),
        include: &include,
    };
    let imported = import_launch(&launch);
    let included = included.into_inner();
    let others = included.iter().map(|(file, text)| Source { file, text });
    let files: Vec<Source<'_>> = std::iter::once(file.source()).chain(others).collect();
    let imported = imported.map_err(|problems| (BAD_NEWS, shown(&problems, &files)))?;
    written(arguments, &imported, &files, out, told)
}

/// A file in a folder: no link leads out of it.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = |path: &Path| std::fs::canonicalize(path).map_err(|error| error.to_string());
    let file = folder.join(path);
    if real(&file)?.starts_with(real(here)?) {
        Ok(file)
    } else {
        Err("a link leads out of the folder".to_owned())
    }
}

fn dataflow(arguments: &ImportArguments, out: &mut dyn Write, told: &mut dyn Write) -> Result<u8, Failure> {
    let file = Descriptor::open(&arguments.plan)?;
    let files = [file.source()];
    let mut imported =
        import_dataflow(file.source()).map_err(|problems| (BAD_NEWS, shown(&problems, &files)))?;
    let Some(output) = &arguments.output else {
        let what = "a dataflow becomes a plan and a manifest of its ports\n  say where: -o plan.toml writes plan.types.json beside it";
        return Err((WRONG, what.to_owned()));
    };
    let types = output.with_extension("types.json");
    let name = types.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let name =
        name.ok_or_else(|| (WRONG, format!("--output {}: this is no name of a file", output.display())))?;
    imported.plan.manifests.push(name);
    std::fs::write(&types, imported.types.json())
        .map_err(|error| (FAILED, format!("{}: {error}", types.display())))?;
    written(arguments, &imported, &files, out, told)
}

/// Writes a plan of programs, and tells what it lacks.
fn written(
    arguments: &ImportArguments,
    imported: &ImportedPrograms,
    files: &[Source<'_>],
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    write(arguments, &imported.plan.to_toml(), out)?;
    tell(&imported.left_out, files, told)
}

/// Writes the plan where it is wanted.
fn write(arguments: &ImportArguments, text: &str, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.output {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| (FAILED, format!("--output {}: {error}", path.display()))),
        None => print(out, format_args!("{text}")),
    }
}

/// Tells what has to be looked at.
fn tell(left_out: &[Problem], files: &[Source<'_>], told: &mut dyn Write) -> Result<u8, Failure> {
    if left_out.is_empty() {
        return Ok(DONE);
    }
    let count = left_out.len();
    print(told, format_args!("{}{count} places have to be looked at\n", shown(left_out, files)))?;
    Ok(BAD_NEWS)
}

fn descriptors(
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
    let files: Vec<Source<'_>> =
        [plan.source()].into_iter().chain(descriptors.domain).chain(sources.iter().copied()).collect();
    let mut imported = import(&descriptors).map_err(|problems| (BAD_NEWS, shown(&problems, &files)))?;
    if let Some(program) = &arguments.program {
        imported = imported.with_program(plan.source(), program);
    }
    write(arguments, &imported.plan.to_toml(), out)?;
    tell(&imported.left_out, &files, told)
}
