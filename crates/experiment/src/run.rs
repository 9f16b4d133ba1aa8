//! The command `punctual midas`: runs the experiment, shows what came of it, and says it by its exit code.
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};
use network::SwitchKind;

use crate::contrast::Contrast;
use crate::live::{Wishes, measure, obstacle, suiting};
use crate::outcome::{self, save, say};
use crate::scale::Scale;
use crate::setting::Setting;
use crate::simulated::simulate;
use crate::text;

/// Runs the experiment of the MIDAS paper on this machine: three topics through one switch, without and with a manager.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
#[command(after_help = "Examples:\n  \
    punctual midas                        measures it in a lab (needs root), or simulates it where there can be none\n  \
    punctual midas --simulate             simulates it frame by frame\n  \
    punctual midas --rate 10              over links of 10 Mb/s, for machines that stand still often\n  \
    punctual midas --switch bridge        on a Linux bridge in place of Open vSwitch\n  \
    punctual midas --html /tmp/m.html     where the page with the plots goes\n  \
    punctual midas --svg /tmp/m.svg       its picture as a file of its own, too\n\n\
    Exit code: 0 every promise was kept; 1 a promise was broken; 2 wrong command line; 3 it could not be done, or the machine stood\n\
    still too often to tell. See docs/midas-experiment.md.")]
pub struct Arguments {
    /// Measures some seconds of each phase, for tests of the experiment itself
    #[arg(long)]
    pub short: bool,
    /// Simulates it frame by frame, also where it could be measured
    #[arg(long)]
    pub simulate: bool,
    /// Megabits per second of its links; without it, as fast as suits how this machine stands still
    #[arg(long, value_name = "MEGABITS", value_parser = clap::builder::PossibleValuesParser::new(["100", "50", "10"]).map(|text| text.parse::<u32>().unwrap_or(100)))]
    pub rate: Option<u32>,
    /// The kind of switch: Open vSwitch, or a bridge of the kernel with nftables
    #[arg(long, value_enum, default_value_t = Switch::OpenVswitch)]
    pub switch: Switch,
    /// Plays this phase alone, 1 to 4; may be repeated, and says nothing of the others
    #[arg(long, value_name = "NUMBER", hide = true, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub phase: Vec<u8>,
    /// Where the page with the plots goes
    #[arg(long, value_name = "FILE", default_value = "midas.html")]
    pub html: PathBuf,
    /// Where its picture goes as a file of its own: one topic without and with a manager (SVG)
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Kinds of switches that the experiment runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Switch {
    /// Open vSwitch in user space
    OpenVswitch,
    /// A bridge of Linux with nftables, set by `punctual switch serve`
    Bridge,
}

impl Switch {
    fn kind(self) -> SwitchKind {
        match self {
            Self::OpenVswitch => SwitchKind::OpenVswitch,
            Self::Bridge => SwitchKind::Bridge,
        }
    }
}

/// Runs the command; the result is its exit code: [`HELD`](crate::HELD), [`BROKEN`](crate::BROKEN) or [`VOID`](crate::VOID). It ends early once `stopped` is true; `progress`
/// shows what is being done.
pub fn run(
    arguments: &Arguments,
    stopped: &Arc<AtomicBool>,
    progress: &dyn Fn(&str),
    out: &mut dyn Write,
) -> u8 {
    let tried = attempt(arguments, stopped, progress, out);
    outcome::code("midas", progress, tried)
}

fn attempt(
    arguments: &Arguments,
    stopped: &Arc<AtomicBool>,
    progress: &dyn Fn(&str),
    out: &mut dyn Write,
) -> Result<u8, String> {
    outcome::check(&[("--html", Some(&arguments.html)), ("--svg", arguments.svg.as_deref())])?;
    let why = if arguments.simulate {
        Some("it was asked for".to_owned())
    } else {
        obstacle(arguments.switch.kind())
    };
    let asked = arguments.rate.and_then(Scale::of_rate);
    let chosen = match (why, asked) {
        (Some(why), _) => Err(why),
        (None, Some(scale)) => Ok((scale, "as --rate says".to_owned())),
        (None, None) => suiting(stopped, progress),
    };
    let scale = asked.or(chosen.as_ref().ok().map(|(scale, _)| *scale)).unwrap_or(Scale::ALL[0]);
    let setting = Setting::new(scale, arguments.switch.kind())?;
    // Each phase is shown as soon as it is over, because all of them take minutes.
    let mut told = |text: &str| {
        progress("");
        say(out, text)
    };
    let report = match chosen {
        Err(why) => simulate(&setting, &why, progress, &mut told)?,
        Ok((scale, why)) => measure(
            &setting,
            &mut Wishes {
                speed: format!("{} Mb/s: {why}", scale.megabits()),
                short: arguments.short,
                phases: &arguments.phase,
                stopped,
                progress,
                told: &mut told,
            },
        )?,
    };
    let page = &arguments.html;
    save(page, crate::page::page(&report))?;
    if let Some(path) = &arguments.svg {
        let contrast =
            Contrast::of(&report).ok_or("--svg: no topic was measured both without and with a manager")?;
        save(path, contrast.file())?;
    }
    told(&format!("{}\nThe page with the plots: {}", text::tail(&report), page.display()))?;
    Ok(report.conclusion().code())
}
