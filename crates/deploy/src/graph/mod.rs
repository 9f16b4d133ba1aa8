//! `punctual deploy graph`: plans as a picture, with what is proved of their chains.
mod chains;
mod page;
mod picture;
mod scene;
mod sizes;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use response::Limits;
use schedulability::{Deployed, admit};

use crate::admit::STEPS;
use crate::command::{DONE, FAILED, Failure, print};
use crate::files::Loaded;
use crate::transfers;
use picture::Drawing;
use scene::Scene;

/// Plans that are drawn.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy graph tracker.toml > tracker.svg            one picture: hosts, components, connections, chains with bounds\n  \
    punctual deploy graph tracker.toml --html tracker.html      a page: the picture, and tables that sort and search\n  \
    punctual deploy graph tracker.toml plant.toml --svg b.svg   both at the same time on the hosts that they share\n\n\
    A bound is one that punctual deploy admit proves. Where there is none, the picture says what is missing.\n\n\
    Exit code: 0 it is drawn, whatever the verdicts; 1 a plan makes no sense; 2 wrong command line; 3 a file cannot be read or written.\n\
    See docs/deploy-plan.md.")]
pub(crate) struct GraphArguments {
    /// Plans (TOML or JSON); several are to run at the same time
    #[arg(required = true, value_name = "PLAN")]
    plans: Vec<PathBuf>,
    /// Writes a page here
    #[arg(long, value_name = "FILE", conflicts_with = "svg")]
    html: Option<PathBuf>,
    /// Writes the picture here, and not to standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// How many steps the analysis may take
    #[arg(long, value_name = "NUMBER", default_value_t = STEPS)]
    steps: u64,
}

pub(crate) fn run(arguments: &GraphArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let loaded = Loaded::all(&arguments.plans)?;
    // What is wrong with a network file is what the picture says is missing.
    let _ = transfers::compute(&loaded);
    let deployed: Vec<Deployed<'_>> = loaded.iter().map(Loaded::deployed).collect();
    let admission = admit(&deployed, Limits { steps: arguments.steps, ..Limits::default() });
    let scene = Scene::of(&loaded, &admission);
    let drawing = Drawing::of(&scene);
    let (option, file, text) = match (&arguments.html, &arguments.svg) {
        (Some(file), _) => ("--html", file, page::page(&loaded, &scene, &drawing)),
        (None, Some(file)) => ("--svg", file, drawing.file()),
        (None, None) => {
            print(out, format_args!("{}", drawing.file()))?;
            return Ok(DONE);
        }
    };
    std::fs::write(file, text).map_err(|error| (FAILED, format!("{option} {}: {error}", file.display())))?;
    Ok(DONE)
}
