//! What routes answer, as types: `openapi.json` says the same, which a test compares.
use std::collections::BTreeMap;

use control::others::OtherManager;
use control::report::{
    CablingAlarm, HostStatus, LinkReport, PairReport, Plugged, ReservedStatus, SwitchStatus,
};
use pages::layout::places;
use serde::Serialize;

use crate::model::{Alarm, Place, Snapshot};
use crate::record::{Entry, Reading, Record, flow_id};

/// How many readings a list of flows has of each.
const RECENT: usize = 60;
/// The most nodes that are given places: with more there is nothing to see.
const DRAWN: usize = 200;

/// The network.
#[derive(Serialize)]
pub(crate) struct NetworkAnswer<'a> {
    time: u64,
    started: u64,
    epoch: u64,
    requests: usize,
    admitted: usize,
    operations: usize,
    reserved: Reserved<'a>,
    access: &'a str,
    switches: &'a [SwitchStatus],
    refused_switches: Vec<RefusedSwitch<'a>>,
    hosts: &'a [HostStatus],
    links: &'a [LinkReport],
    nodes: Vec<Node>,
    cabling: &'a [CablingAlarm],
    plugged: &'a [Plugged],
    managers: &'a [OtherManager],
    drops: Vec<Place>,
}

#[derive(Serialize)]
struct Reserved<'a> {
    #[serde(flatten)]
    status: &'a ReservedStatus,
    text: String,
}

#[derive(Serialize)]
struct RefusedSwitch<'a> {
    datapath: u64,
    reason: &'a str,
}

/// Where a node is drawn, in pixels.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Node {
    name: String,
    kind: &'static str,
    x: f64,
    y: f64,
    /// For a host: the direction away from its switch, of length 1; 0 else.
    away_x: f64,
    away_y: f64,
}

/// Places of the nodes of a network; none if they are too many to be drawn.
pub(crate) fn nodes(snapshot: &Snapshot) -> Vec<Node> {
    let switches = snapshot.report.switches.iter().map(|switch| (switch.name.as_str(), true));
    let hosts = snapshot.report.hosts.iter().map(|host| (host.name.as_str(), false));
    let all: Vec<(&str, bool)> = hosts.chain(switches).collect();
    if all.len() > DRAWN {
        return Vec::new();
    }
    let index: BTreeMap<&str, usize> =
        all.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
    let link = |link: &LinkReport| Some((*index.get(link.from.as_str())?, *index.get(link.to.as_str())?));
    let links: Vec<(usize, usize)> = snapshot.links.iter().filter_map(link).collect();
    let is_switch: Vec<bool> = all.iter().map(|(_, is_switch)| *is_switch).collect();
    let places = places(&is_switch, &links);
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let node = |((name, is_switch), place): (&(&str, bool), pages::layout::Place)| Node {
        name: (*name).to_owned(),
        kind: if *is_switch { "switch" } else { "host" },
        x: round(place.x),
        y: round(place.y),
        away_x: place.away.map_or(0.0, |(x, _)| (x * 100.0).round() / 100.0),
        away_y: place.away.map_or(0.0, |(_, y)| (y * 100.0).round() / 100.0),
    };
    all.iter().zip(places).map(node).collect()
}

/// The network as it is.
pub(crate) fn network<'a>(record: &Record, snapshot: &'a Snapshot, nodes: Vec<Node>) -> NetworkAnswer<'a> {
    let report = &snapshot.report;
    let refused = report.refused_switches.iter();
    NetworkAnswer {
        time: snapshot.time,
        started: snapshot.started,
        epoch: report.epoch,
        requests: report.requests,
        admitted: report.admitted,
        operations: report.operations,
        reserved: Reserved { status: &report.reserved, text: report.reserved.to_string() },
        access: &report.access,
        switches: &report.switches,
        refused_switches: refused
            .map(|(datapath, reason)| RefusedSwitch { datapath: *datapath, reason })
            .collect(),
        hosts: &report.hosts,
        links: &snapshot.links,
        nodes,
        cabling: &report.cabling,
        plugged: &report.plugged,
        managers: &report.managers,
        drops: record.places().collect(),
    }
}

/// All flows.
#[derive(Serialize)]
pub(crate) struct FlowsAnswer<'a> {
    time: u64,
    /// Requests that are known; more than there are flows here, if these are too many.
    requests: usize,
    flows: Vec<Flow<'a>>,
}

/// A flow: a pair of writer and reader.
#[derive(Serialize)]
pub(crate) struct Flow<'a> {
    id: String,
    #[serde(flatten)]
    pair: &'a PairReport,
    readings: Vec<Reading>,
}

fn flow<'a>(record: &Record, pair: &'a PairReport, most: usize) -> Flow<'a> {
    let id = flow_id(&pair.writer, &pair.reader);
    let readings = record.readings(&id);
    let skip = readings.len().saturating_sub(most);
    let readings = readings.skip(skip).copied().collect();
    Flow { id, pair, readings }
}

/// All flows as they are.
pub(crate) fn flows<'a>(record: &Record, snapshot: &'a Snapshot) -> FlowsAnswer<'a> {
    let flows = snapshot.report.pairs.iter().map(|pair| flow(record, pair, RECENT));
    FlowsAnswer { time: snapshot.time, requests: snapshot.report.requests, flows: flows.collect() }
}

/// One flow with its history.
#[derive(Serialize)]
pub(crate) struct FlowAnswer<'a> {
    time: u64,
    flow: Flow<'a>,
    history: Vec<&'a Entry>,
}

/// One flow as it is; none if there is none.
pub(crate) fn one_flow<'a>(record: &'a Record, snapshot: &'a Snapshot, id: &str) -> Option<FlowAnswer<'a>> {
    let pair = snapshot.report.pairs.iter().find(|pair| flow_id(&pair.writer, &pair.reader) == id)?;
    let history = record.history(0).filter(|entry| entry.flow.as_deref() == Some(id)).collect();
    Some(FlowAnswer { time: snapshot.time, flow: flow(record, pair, usize::MAX), history })
}

/// What has happened.
#[derive(Serialize)]
pub(crate) struct HistoryAnswer<'a> {
    pub(crate) last: u64,
    pub(crate) entries: Vec<&'a Entry>,
}

/// What is wrong.
#[derive(Serialize)]
pub(crate) struct AlarmsAnswer {
    pub(crate) time: u64,
    pub(crate) alarms: Vec<Alarm>,
}

/// A flow was ended by hand.
#[derive(Serialize)]
pub(crate) struct EndedAnswer {
    pub(crate) id: String,
    pub(crate) done: String,
}
