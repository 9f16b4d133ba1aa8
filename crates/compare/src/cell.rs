//! What is measured: one cell of the table for each of these.
pub(crate) mod figures;

/// A figure that every contender is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    /// For the command line and for programs.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) title: &'static str,
    pub(crate) kind: Kind,
    pub(crate) placement: Placement,
    /// Bytes of data in a sample.
    pub(crate) size: usize,
    /// What a driver is told of it besides that.
    pub(crate) terms: &'static [&'static str],
    /// The figure of the CIAO paper that it is of.
    pub(crate) figure: Option<u8>,
    /// Readers, or consumers of all processes together.
    pub(crate) subscribers: usize,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Microseconds of a round trip.
    RoundTrip,
    /// Thousand samples a second from a writer to a reader.
    Rate,
    /// Milliseconds from the start of a process to its first sample.
    Start,
    /// Microseconds from just before an event is pushed until the last of its consumers has it.
    OneWay,
    /// Thousand deliveries a second of consumers on a node each.
    Nodes,
}

/// Where the two processes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Both on one core.
    S,
    /// One core each.
    X,
    /// There is one process, on one core.
    Alone,
}

impl Kind {
    /// The unit of the figure.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::RoundTrip | Self::OneWay => "us",
            Self::Rate | Self::Nodes => "thousand/s",
            Self::Start => "ms",
        }
    }

    /// Roles of the side that is started first, and of the other.
    pub(crate) const fn roles(self) -> [&'static str; 2] {
        match self {
            Self::RoundTrip | Self::OneWay => ["pong", "ping"],
            Self::Rate | Self::Nodes => ["sub", "pub"],
            Self::Start => ["early", "first"],
        }
    }

    /// Whether a greater figure is better.
    pub(crate) const fn more_is_better(self) -> bool {
        matches!(self, Self::Rate | Self::Nodes)
    }
}

impl Cell {
    /// Whether samples go through shared memory.
    pub(crate) fn in_memory(&self) -> bool {
        self.terms.contains(&"memory=1")
    }
}

const LISTENER: &str = "wake=listener";

/// All cells but those of figures, in the order of the table.
pub(crate) const CELLS: [Cell; 13] = [
    round_trip("rtt-s-64", "round trip, one core, 64 bytes, listener", Placement::S, 64, &[LISTENER]),
    round_trip("rtt-s-1k", "round trip, one core, 1 KiB, listener", Placement::S, 1_024, &[LISTENER]),
    round_trip("rtt-s-16k", "round trip, one core, 16 KiB, listener", Placement::S, 16_384, &[LISTENER]),
    round_trip(
        "rtt-s-64-waitset",
        "round trip, one core, 64 bytes, WaitSet",
        Placement::S,
        64,
        &["wake=waitset"],
    ),
    round_trip(
        "rtt-s-64-memory",
        "round trip, one core, 64 bytes, shared memory, event",
        Placement::S,
        64,
        &[LISTENER, "memory=1"],
    ),
    round_trip("rtt-x-64", "round trip, two cores, 64 bytes, listener", Placement::X, 64, &[LISTENER]),
    round_trip(
        "rtt-x-64-spin",
        "round trip, two cores, 64 bytes, spinning",
        Placement::X,
        64,
        &["wake=spin"],
    ),
    round_trip(
        "rtt-x-64-memory-spin",
        "round trip, two cores, 64 bytes, shared memory, spinning",
        Placement::X,
        64,
        &["wake=spin", "memory=1"],
    ),
    rate("rate-16", "reliable, keep all, 16 bytes, each sent at once", 16, &[LISTENER]),
    rate("rate-16-batched", "reliable, keep all, 16 bytes, batched", 16, &[LISTENER, "batched=1"]),
    rate("rate-1k-batched", "reliable, keep all, 1 KiB, batched", 1_024, &[LISTENER, "batched=1"]),
    rate(
        "rate-16k-memory",
        "16 KiB, shared memory, loaned where there are loans",
        16_384,
        &[LISTENER, "memory=1"],
    ),
    Cell {
        id: "start",
        title: "process start to first sample",
        kind: Kind::Start,
        placement: Placement::X,
        size: 64,
        terms: &[LISTENER],
        figure: None,
        subscribers: 1,
    },
];

const fn round_trip(
    id: &'static str,
    title: &'static str,
    placement: Placement,
    size: usize,
    terms: &'static [&'static str],
) -> Cell {
    Cell { id, title, kind: Kind::RoundTrip, placement, size, terms, figure: None, subscribers: 1 }
}

const fn rate(id: &'static str, title: &'static str, size: usize, terms: &'static [&'static str]) -> Cell {
    let (kind, placement) = (Kind::Rate, Placement::X);
    Cell { id, title, kind, placement, size, terms, figure: None, subscribers: 1 }
}

/// The cells whose names contain one of these texts; all but those of figures if there are none.
///
/// # Errors
/// A text that is in no name.
pub(crate) fn select(texts: &[String]) -> Result<Vec<Cell>, String> {
    let all = || CELLS.into_iter().chain(figures::CELLS);
    if let Some(text) = texts.iter().find(|text| !all().any(|cell| cell.id.contains(text.as_str()))) {
        let names: Vec<&str> = all().map(|cell| cell.id).collect();
        return Err(format!("--cells {text}: there is none with that in its name: {}", names.join(", ")));
    }
    let wanted = |cell: &Cell| texts.iter().any(|text| cell.id.contains(text.as_str()));
    Ok(if texts.is_empty() { CELLS.to_vec() } else { all().filter(wanted).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_selected_by_parts_of_their_names() {
        let names = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            select(&texts).map(|cells| cells.iter().map(|cell| cell.id).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).map(|cells| cells.len()), Ok(CELLS.len()));
        assert_eq!(names(&["ciao-13"]), Ok(vec!["ciao-13-64", "ciao-13-1k", "ciao-13-16k"]));
        assert_eq!(names(&["rate-16-b", "start"]), Ok(vec!["rate-16-batched", "start"]));
        assert!(names(&["rtt", "rat3"]).is_err_and(|said| said.contains("rat3: there is none")));
    }
}
