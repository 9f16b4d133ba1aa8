//! QoS files of the OMG.
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use qos_profiles::{LONGEST, QosProvider};

use crate::problem::{Origin, Problem};

/// The profiles of a QoS file in the XML of the OMG (`docs/qos.md`, "Files"), beside those that are built in.
///
/// ```no_run
/// use dds::prelude::*;
/// # #[derive(DdsType, Clone, Default, Debug)] struct Pose { x: f64 }
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let qos = settings::qos_provider("plant.xml".as_ref())?;
/// let participant = settings::Settings::load()?.participant()?;
/// let writer = participant.writer::<Pose>("arm/pose").qos(qos.datawriter_qos("Plant::Positions", "arm/pose")?).create()?;
/// # drop(writer); Ok(()) }
/// ```
///
/// # Errors
/// The first thing that is wrong, with its place, and how many more there are; [`QosProvider::read`] tells all.
pub fn qos_provider(path: &Path) -> Result<QosProvider, Problem> {
    let unreadable = |error: &std::io::Error| Problem::unreadable(path, error);
    let mut text = String::new();
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    // One byte more than is read says that there are more.
    file.take(LONGEST as u64 + 1).read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    QosProvider::read(&path.display().to_string(), &text).map_err(|problems| {
        let more = match problems.len() {
            0 | 1 => String::new(),
            count => format!("; and {} more", count - 1),
        };
        let first = problems.into_iter().next();
        let place = first.as_ref().and_then(|problem| problem.place);
        let what = first.map_or_else(String::new, |problem| format!("{}; {}", problem.what, problem.remedy));
        let origin = place.map_or(Origin::Default, |(line, column)| Origin::File {
            name: path.display().to_string(),
            line,
            column,
        });
        Problem { origin, what: what + &more }
    })
}
