//! What all passes together say, for people and programs.
use serde_json::{Value, json};

use crate::cell::figures::{FIGURES, Figure};
use crate::cell::{Cell, Kind};
use crate::conduct::{Measured, Results, float};
use crate::contender::{Contender, FLOOR, OWN, REFERENCE};
use crate::statistics::Estimate;

/// The whole comparison.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// What was measured on, and how: names and values.
    pub(crate) machine: Vec<(&'static str, String)>,
    /// What a reader must know to judge the figures.
    pub(crate) remarks: Vec<String>,
    pub(crate) contenders: Vec<Who>,
    pub(crate) rows: Vec<Row>,
}

/// Middleware or plain sockets that were compared.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) name: String,
    pub(crate) about: String,
    /// Bytes of its program and its own libraries, without symbols, if that is a figure about it.
    pub(crate) bytes: Option<u64>,
}

/// A cell with what each contender reached; entries are in the order of contenders.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    pub(crate) entries: Vec<Entry>,
}

/// What one contender reached in one cell.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// In the unit of the cell.
    pub(crate) figure: Option<Estimate>,
    /// To the reference in the same pass.
    pub(crate) ratio: Option<Estimate>,
    /// How many times better Punctual is in the same pass: shorter times, higher rates; none for Punctual itself.
    pub(crate) gain: Option<Estimate>,
    /// Median over passes of the 99th percentile, and the greatest of all, in microseconds.
    pub(crate) tail: Option<[f64; 2]>,
    /// Microseconds of processor for each round trip of the asking side; CPU-seconds for a million samples of both sides.
    pub(crate) processor: Option<f64>,
    /// Bytes of memory at most, of both sides.
    pub(crate) memory: Option<[u64; 2]>,
    /// Bytes that the publisher's link carried for each event.
    pub(crate) link: Option<f64>,
    pub(crate) lost: u64,
    pub(crate) of: u64,
    /// The cell is one that the contender is for.
    pub(crate) concerned: bool,
    /// In how many passes it was measured.
    pub(crate) passes: usize,
    /// What was in the way, if it was not measured in all passes.
    pub(crate) missing: Option<String>,
}

impl Row {
    /// The contenders that the cell is for, with what they reached.
    pub(crate) fn concerned<'a>(
        &'a self,
        contenders: &'a [Who],
    ) -> impl Iterator<Item = (&'a Who, &'a Entry)> {
        contenders.iter().zip(&self.entries).filter(|(_, entry)| entry.concerned)
    }
}

/// Puts results in order; they are by cell and contender.
pub(crate) fn rows(cells: &[Cell], contenders: &[Contender], all: &[Vec<Results>]) -> Vec<Row> {
    let row = |(cell, results): (&Cell, &Vec<Results>)| {
        let of = |name: &str| {
            let index = contenders.iter().position(|contender| contender.name == name);
            index.and_then(|index| results.get(index)).map_or(&[][..], |results| results.measured.as_slice())
        };
        let (base, own) = (of(cell.reference()), of(OWN));
        let one = |(contender, results): (&Contender, &Results)| Entry {
            concerned: contender.scope.has(cell),
            gain: if contender.name == OWN { None } else { gain(cell.kind, results, own) },
            ..entry(*cell, results, base)
        };
        Row { cell: *cell, entries: contenders.iter().zip(results).map(one).collect() }
    };
    cells.iter().zip(all).map(row).collect()
}

/// Values to those of another contender in the same pass.
fn ratios(results: &Results, base: &[(usize, Measured)]) -> Vec<f64> {
    let ratio = |(pass, measured): &(usize, Measured)| {
        let (_, base) = base.iter().find(|(other, _)| other == pass)?;
        Some(measured.value / base.value)
    };
    results.measured.iter().filter_map(ratio).collect()
}

/// How many times better Punctual's values are than these, in the same pass.
fn gain(kind: Kind, results: &Results, own: &[(usize, Measured)]) -> Option<Estimate> {
    let better = |ratio: f64| if kind.more_is_better() { 1.0 / ratio } else { ratio };
    let gains: Vec<f64> = ratios(results, own).into_iter().map(better).collect();
    Estimate::of(&gains)
}

fn entry(cell: Cell, results: &Results, base: &[(usize, Measured)]) -> Entry {
    let measured: Vec<&Measured> = results.measured.iter().map(|(_, measured)| measured).collect();
    let values: Vec<f64> = measured.iter().map(|measured| measured.value).collect();
    let ratios = ratios(results, base);
    let median = |values: Vec<f64>| Estimate::of(&values).map(|estimate| estimate.median);
    let p99 = median(measured.iter().filter_map(|one| Some(float(one.times?.p99) / 1e3)).collect());
    let max = measured.iter().filter_map(|one| Some(one.times?.max)).max();
    let processor = measured.iter().filter_map(|one| {
        let [one, other] = one.processor?;
        // A nanosecond for each of a million samples is a thousandth of a second; for people of round trips it is microseconds: the same.
        Some(if cell.kind == Kind::RoundTrip { one / 1e3 } else { (one + other) / 1e3 })
    });
    let memory = measured.iter().filter_map(|one| one.memory);
    let link = measured.iter().filter_map(|one| one.link);
    Entry {
        figure: Estimate::of(&values),
        ratio: Estimate::of(&ratios),
        gain: None,
        tail: p99.zip(max).map(|(p99, max)| [p99, float(max) / 1e3]),
        processor: median(processor.collect()),
        memory: memory.reduce(|one, other| [one[0].max(other[0]), one[1].max(other[1])]),
        link: median(link.collect()),
        lost: measured.iter().map(|measured| measured.lost).sum(),
        of: measured.iter().map(|measured| measured.of).sum(),
        concerned: true,
        passes: measured.len(),
        missing: results.missing.clone(),
    }
}

impl Cell {
    /// Who the ratios refer to.
    pub(crate) const fn reference(&self) -> &'static str {
        if self.figure.is_some() { FLOOR } else { REFERENCE }
    }
}

impl Report {
    /// The cells that are of no figure.
    pub(crate) fn plain(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.cell.figure.is_none())
    }

    /// The figures of which cells were measured, with their rows.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (&'static Figure, Vec<&Row>)> {
        let of = |figure: &Figure| {
            self.rows.iter().filter(|row| row.cell.figure == Some(figure.number)).collect::<Vec<_>>()
        };
        FIGURES.iter().map(move |figure| (figure, of(figure))).filter(|(_, rows)| !rows.is_empty())
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let estimate = |estimate: Option<Estimate>| {
            estimate.map(|Estimate { median, low, high, confidence }| {
                json!({"median": median, "low": low, "high": high, "confidence": confidence})
            })
        };
        let entry = |(who, entry): (&Who, &Entry)| {
            json!({
                "name": who.name,
                "figure": estimate(entry.figure),
                "ratio": estimate(entry.ratio),
                "p99_us": entry.tail.map(|tail| tail[0]),
                "max_us": entry.tail.map(|tail| tail[1]),
                "processor": entry.processor,
                "memory_bytes": entry.memory,
                "link_bytes": entry.link,
                "lost": entry.lost,
                "of": entry.of,
                "passes": entry.passes,
                "not_measured": entry.missing,
            })
        };
        let rows = self.rows.iter().map(|row| {
            let entries: Vec<Value> = row.concerned(&self.contenders).map(entry).collect();
            json!({
                "cell": row.cell.id,
                "title": row.cell.title,
                "unit": row.cell.kind.unit(),
                "figure": row.cell.figure,
                "reference": row.cell.reference(),
                "entries": entries,
            })
        });
        let rows: Vec<Value> = rows.collect();
        let machine: serde_json::Map<String, Value> =
            self.machine.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let contenders: Vec<Value> = self
            .contenders
            .iter()
            .map(|who| json!({"name": who.name, "about": who.about, "bytes": who.bytes}))
            .collect();
        json!({
            "reference": REFERENCE,
            "machine": machine,
            "remarks": self.remarks,
            "contenders": contenders,
            "figures": self.figures().map(|(figure, _)| json!({"number": figure.number, "title": figure.title, "tao": figure.tao}))
                .collect::<Vec<_>>(),
            "cells": rows,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cell::CELLS;

    fn measured(value: f64) -> Measured {
        Measured {
            value,
            times: None,
            processor: Some([3e3, 1e3]),
            memory: Some([5, 7]),
            link: None,
            lost: 1,
            of: 10,
        }
    }

    fn results(values: &[(usize, f64)], missing: Option<&str>) -> Results {
        let measured = values.iter().map(|(pass, value)| (*pass, measured(*value))).collect();
        Results { measured, missing: missing.map(str::to_owned), ..Results::default() }
    }

    /// A report of two cells, in which a contender was measured in one pass of two, and not at all.
    pub(crate) fn report() -> Report {
        let other = [results(&[(1, 50.0)], Some("it <hung>")), results(&[], Some("no <rate>"))];
        made([(REFERENCE, basis()), ("other", other)])
    }

    /// One with Punctual: better than the peer in one cell, and worse in the other.
    pub(crate) fn own_beside() -> Report {
        let own = [results(&[(0, 15.0), (1, 30.0)], None), results(&[(0, 12.0), (1, 12.0)], None)];
        let peer = [results(&[(0, 10.0), (1, 20.0)], None), results(&[(0, 8.0), (1, 8.0)], None)];
        made([(REFERENCE, basis()), (OWN, own), ("peer", peer)])
    }

    fn basis() -> [Results; 2] {
        [results(&[(0, 10.0), (1, 20.0)], None), results(&[(0, 4.0), (1, 4.0)], None)]
    }

    fn made<const COUNT: usize>(all: [(&str, [Results; 2]); COUNT]) -> Report {
        let program = Err("<none> & more".to_owned());
        let contenders = all.each_ref().map(|(name, _)| Contender {
            name: (*name).to_owned(),
            about: "about <it>".to_owned(),
            program: program.clone(),
            scope: crate::contender::Scope::All,
        });
        let all = [0, 1].map(|cell| all.iter().map(|(_, results)| results[cell].clone()).collect::<Vec<_>>());
        let rate = CELLS.into_iter().find(|cell| cell.kind == Kind::Rate);
        let cells: Vec<Cell> = CELLS.into_iter().take(1).chain(rate).collect();
        Report {
            machine: vec![("load average", "0.5".to_owned())],
            remarks: vec!["a <remark>".to_owned()],
            contenders: contenders
                .iter()
                .map(|one| Who { name: one.name.clone(), about: one.about.clone(), bytes: Some(2_500_000) })
                .collect(),
            rows: rows(&cells, &contenders, &all),
        }
    }

    #[test]
    fn ratios_are_of_the_same_pass() {
        let report = report();
        let json = report.json();
        let entry = |row: usize, entry: usize| &json["cells"][row]["entries"][entry];
        assert_eq!(entry(0, 0)["figure"]["median"], 15.0);
        assert_eq!(entry(0, 0)["ratio"]["median"], 1.0);
        // Against the 20 of its own pass, not the median.
        assert_eq!(entry(0, 1)["ratio"]["median"], 2.5);
        assert_eq!((&entry(0, 1)["passes"], &entry(0, 1)["not_measured"]), (&1.into(), &"it <hung>".into()));
        assert_eq!(entry(1, 1)["figure"], Value::Null);
        // The asking side alone, and both sides.
        assert_eq!((&entry(0, 0)["processor"], &entry(1, 0)["processor"]), (&3.0.into(), &4.0.into()));
        assert_eq!((&entry(1, 0)["lost"], &entry(1, 0)["of"]), (&2.into(), &20.into()));
    }
}
