//! The drivers of this program: what a process does that is measured. Drivers of other middleware are in the folder `bench/peers`.
mod loaned;
mod measure;
mod ours;
mod raw;

use clap::ValueEnum;

/// Command line of a driver.
#[derive(clap::Args, Clone, Debug)]
pub struct DriverArguments {
    /// What is measured.
    #[arg(value_enum)]
    what: What,
    /// A role and its terms.
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    Punctual,
    RawUdp,
    RawSendmmsg,
    RawGso,
}

/// Does what a driver is asked.
///
/// # Errors
/// In words: what could not be done.
pub fn drive(arguments: &DriverArguments) -> Result<(), String> {
    let task = measure::Task::parse(&arguments.words).map_err(|wrong| wrong.to_string())?;
    let done = match arguments.what {
        What::Punctual => ours::run(&task),
        What::RawUdp => raw::run(raw::Way::One, &task),
        What::RawSendmmsg => raw::run(raw::Way::Many, &task),
        What::RawGso => raw::run(raw::Way::Train, &task),
    };
    done.map_err(|wrong| wrong.to_string())
}
