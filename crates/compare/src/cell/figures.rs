//! The figures 13 to 18 of the CIAO paper as cells: what they show, and what TAO's event service was measured to need for the same.
use super::{Cell, Kind, Placement};

/// A figure of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Figure {
    pub(crate) number: u8,
    pub(crate) title: &'static str,
    /// What TAO's event service needs, which is not measured in the same run.
    pub(crate) tao: &'static str,
}

/// Where [`Figure::tao`] is from.
pub(crate) const ORIGIN: &str = "TAO's event service is not measured in this run. Its figures are of TAO 2.2.1, linked statically and optimised (-O2), \
    without a container, on two cores of a virtual machine (AMD EPYC, Linux 6.18) with other load, in 2026-11, once: events of 1 KiB unless said \
    otherwise, medians, normal scheduling.";

/// All of them.
pub(crate) const FIGURES: [Figure; 6] = [
    Figure {
        number: 13,
        title: "in one process, from a publisher to a subscriber, by payload",
        tao: "1.05 us, the same from 16 bytes to 16 KiB",
    },
    Figure {
        number: 14,
        title: "in one process, from a publisher to the last of its subscribers",
        tao: "5.7 us to the last of 8, 21.7 us to the last of 32",
    },
    Figure {
        number: 15,
        title: "between two processes of a host, from a publisher to a subscriber",
        tao: "66 us, 1,000 events a second",
    },
    Figure {
        number: 16,
        title: "between two processes of a host, from a publisher to the last of its subscribers",
        tao: "194 us to the last of 8, 1,000 events a second; 608 us to the last of 32, 100 events a second",
    },
    Figure {
        number: 17,
        title: "deliveries a second to subscribers in one other process of the host",
        tao: "of 32 subscribers: 39 thousand/s directly, 319 thousand/s federated by UDP",
    },
    Figure {
        number: 18,
        title: "deliveries a second to subscribers on a node each, whose links carry 10 Mbit/s",
        tao: "not measured",
    },
];

/// Events a second of those that are followed between processes, as words for a driver.
const FOLLOW: &str = "follow=1";
const LISTENER: &str = "wake=listener";

/// All cells of figures, in their order.
pub(crate) const CELLS: [Cell; 27] = [
    alone("ciao-13-64", "64 bytes", 13, 64, 1),
    alone("ciao-13-1k", "1 KiB", 13, 1_024, 1),
    alone("ciao-13-16k", "16 KiB", 13, 16_384, 1),
    alone("ciao-14-1k-2", "1 KiB, 2 subscribers", 14, 1_024, 2),
    alone("ciao-14-1k-8", "1 KiB, 8 subscribers", 14, 1_024, 8),
    alone("ciao-14-1k-32", "1 KiB, 32 subscribers", 14, 1_024, 32),
    alone("ciao-14-64-32", "64 bytes, 32 subscribers", 14, 64, 32),
    alone("ciao-14-16k-32", "16 KiB, 32 subscribers", 14, 16_384, 32),
    between("ciao-15-s-1k", "one core, 1 KiB", 15, Placement::S, 1_024, 1),
    between("ciao-15-x-64", "two cores, 64 bytes", 15, Placement::X, 64, 1),
    between("ciao-15-x-1k", "two cores, 1 KiB", 15, Placement::X, 1_024, 1),
    between("ciao-15-x-16k", "two cores, 16 KiB", 15, Placement::X, 16_384, 1),
    spinning("ciao-15-x-64-spin", "two cores, 64 bytes, shared memory, spinning", 64),
    spinning("ciao-15-x-1k-spin", "two cores, 1 KiB, shared memory, spinning", 1_024),
    between("ciao-16-s-1k-32", "one core, 1 KiB, 32 subscribers", 16, Placement::S, 1_024, 32),
    between("ciao-16-x-1k-8", "two cores, 1 KiB, 8 subscribers", 16, Placement::X, 1_024, 8),
    between("ciao-16-x-1k-32", "two cores, 1 KiB, 32 subscribers", 16, Placement::X, 1_024, 32),
    between("ciao-16-x-64-32", "two cores, 64 bytes, 32 subscribers", 16, Placement::X, 64, 32),
    between("ciao-16-x-16k-32", "two cores, 16 KiB, 32 subscribers", 16, Placement::X, 16_384, 32),
    many("ciao-17-1", "1 subscriber", 17, Kind::Rate, 1),
    many("ciao-17-8", "8 subscribers", 17, Kind::Rate, 8),
    many("ciao-17-32", "32 subscribers", 17, Kind::Rate, 32),
    many("ciao-18-1", "1 node", 18, Kind::Nodes, 1),
    many("ciao-18-8", "8 nodes", 18, Kind::Nodes, 8),
    many("ciao-18-32", "32 nodes", 18, Kind::Nodes, 32),
    lossy("ciao-18-lossy-8", "8 nodes, each loses 1 % of what comes", 8),
    lossy("ciao-18-lossy-32", "32 nodes, each loses 1 % of what comes", 32),
];

/// A term of cells: each node loses one datagram in a hundred that comes to it.
const LOSSY: &str = "lossy=1";

const fn alone(id: &'static str, title: &'static str, figure: u8, size: usize, subscribers: usize) -> Cell {
    let (kind, placement, terms) = (Kind::OneWay, Placement::Alone, &[LISTENER]);
    Cell { id, title, kind, placement, size, terms, figure: Some(figure), subscribers }
}

const fn between(
    id: &'static str,
    title: &'static str,
    figure: u8,
    placement: Placement,
    size: usize,
    subscribers: usize,
) -> Cell {
    let (kind, terms) = (Kind::OneWay, &[LISTENER]);
    Cell { id, title, kind, placement, size, terms, figure: Some(figure), subscribers }
}

/// Consumers do not sleep. Gateways cannot do that.
const fn spinning(id: &'static str, title: &'static str, size: usize) -> Cell {
    Cell { terms: &["wake=spin", "memory=1"], ..between(id, title, 15, Placement::X, size, 1) }
}

const fn many(id: &'static str, title: &'static str, figure: u8, kind: Kind, subscribers: usize) -> Cell {
    let (placement, size, terms) = (Placement::X, 1_024, &[LISTENER, "batched=1"]);
    Cell { id, title, kind, placement, size, terms, figure: Some(figure), subscribers }
}

const fn lossy(id: &'static str, title: &'static str, subscribers: usize) -> Cell {
    Cell { terms: &[LISTENER, "batched=1", LOSSY], ..many(id, title, 18, Kind::Nodes, subscribers) }
}

impl Cell {
    /// Whether nodes lose some of what comes to them.
    pub(crate) fn is_lossy(&self) -> bool {
        self.terms.contains(&LOSSY)
    }

    /// What drivers of figures are told besides what all are.
    pub(crate) fn more(&self) -> Vec<String> {
        let (subscribers, nodes) =
            if self.kind == Kind::Nodes { (1, self.subscribers) } else { (self.subscribers, 1) };
        let follow = (self.kind == Kind::OneWay).then(|| FOLLOW.to_owned());
        let network = (self.kind == Kind::Nodes).then(|| "network=1".to_owned());
        let counts = [format!("subscribers={subscribers}"), format!("nodes={nodes}")];
        counts.into_iter().chain(follow).chain(network).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_is_of_a_figure_and_says_so() {
        for cell in CELLS {
            let figure = FIGURES.iter().find(|figure| Some(figure.number) == cell.figure).unwrap();
            assert!(cell.id.starts_with(&format!("ciao-{}-", figure.number)), "{}", cell.id);
        }
        for figure in FIGURES {
            assert!(CELLS.iter().filter(|cell| cell.figure == Some(figure.number)).count() > 1, "{figure:?}");
        }
    }
}
