//! A pair that is admitted with losses: what the verdict says is what both sides do, in one step with the ways, and what was not asked for is not believed.
use std::net::SocketAddr;
use std::sync::Arc;

use dcps::assurance::{Action, Gate, Way};
use dcps::qos::{DataReaderQos, OfferedAssurance as Promise, RequestedAssurance as Wish};
use rtps::{Conduct, Path};
use wire::admission::{
    Contract, OfferedAssurance, OfferedRepairs, Repairs, Request, RequestedAssurance, RequestedLosses,
    Socket, Stage, State, Verdict,
};
use wire::discovery::EndpointData;
use wire::qos::{Durability, EndpointQos, History, LivelinessKind, Reliability};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant};

const READER: GuidPrefix = GuidPrefix([1; 12]);
const WRITER: GuidPrefix = GuidPrefix([2; 12]);
const MANAGER: GuidPrefix = GuidPrefix([7; 12]);
const NOW: Instant = Instant::from_nanos(1);

fn socket(host: u8, port: u16) -> Socket {
    Socket { address: [10, 0, 0, host].into(), port }
}

fn writer(kept: Option<u64>) -> EndpointData {
    let guid = Guid::new(WRITER, EntityId::user(1, EntityKind::WriterNoKey));
    let contract = Contract { datagram: 1_472, minimum_separation: 5_000_000, ..Contract::default() };
    let repairs = kept.map(|kept| OfferedRepairs { source: socket(2, 50_001), kept });
    EndpointData {
        offered_assurance: Some(OfferedAssurance { contract, source: socket(2, 50_000), repairs }),
        ..EndpointData::new(guid, "T".into(), "T".into(), EndpointQos::writer())
    }
}

fn reader() -> EndpointData {
    let guid = Guid::new(READER, EntityId::user(1, EntityKind::ReaderNoKey));
    let losses = RequestedLosses { frames: 2, within: 200_000_000, source: socket(1, 50_002) };
    let wanted = RequestedAssurance {
        maximum_latency: 100_000_000,
        losses: Some(losses),
        ..RequestedAssurance::default()
    };
    EndpointData {
        requested_assurance: Some(wanted),
        ..EndpointData::new(guid, "T".into(), "T".into(), EndpointQos::reader())
    }
}

fn way(to: &str) -> Way {
    Way { paths: vec![Path::routed(to.parse().unwrap(), 1_472)], direct: None }
}

fn verdict(asked: &Request) -> Verdict {
    Verdict {
        writer: asked.writer,
        reader: asked.reader,
        serial: asked.serial,
        epoch: 1,
        state: State::Admitted,
        bound: 90_000_000,
        lease: 6_000_000_000,
        source: asked.source,
        destination: asked.destination,
        dscp: 46,
        losses: Repairs {
            frames: 2,
            repairs_dscp: 38,
            questions_dscp: 30,
            datagram: 512,
            repairs: asked.losses.repairs,
            questions: asked.losses.questions,
            answered_at: asked.losses.answered_at,
            within: asked.losses.within,
            heartbeat: 40_000,
            patience: 50_000,
            again: 60_000,
            spacing: 10_000,
            without: 20_000_000,
        },
        ..Verdict::default()
    }
}

fn conduct() -> Conduct {
    let time = Duration::from_nanos;
    Conduct {
        heartbeat: time(40_000),
        patience: time(50_000),
        again: time(60_000),
        spacing: time(10_000),
        datagram: 512,
    }
}

/// Where a path goes, and the port and class of its flow.
type PathOf = (SocketAddr, Option<(u16, u8)>);

/// The last match of a gate, with the port and class of each flow on it.
fn matched(gate: &mut Gate) -> Option<(Vec<PathOf>, Option<Conduct>)> {
    let flow = |path: &Path| (path.destination, path.flow.map(|flow| (flow.port.get(), flow.class)));
    let mut last = None;
    while let Some(action) = gate.poll_action() {
        if let Action::Match { way, conduct, .. } = action {
            last = Some((way.paths.iter().chain(&way.direct).map(flow).collect(), conduct));
        }
    }
    last
}

/// The gate of the reader's participant, and what it asks.
fn asking(kept: Option<u64>) -> (Gate, Option<Request>) {
    let mut gate = Gate::new(READER, Duration::from_secs(1));
    gate.manager_found(NOW, Guid::new(MANAGER, EntityId::user(1, EntityKind::WriterWithKey)));
    gate.writer_found(NOW, &reader(), &Arc::new(writer(kept)), way("10.0.0.2:7411"), socket(1, 7_411));
    let asked = std::iter::from_fn(|| gate.poll_action()).find_map(|action| match action {
        Action::Ask(request) => Some(request),
        _ => None,
    });
    (gate, asked)
}

#[test]
fn both_sides_take_the_flows_and_the_conduct_of_the_verdict_and_give_them_up_with_it() {
    let (mut gate, asked) = asking(Some(u64::MAX));
    let asked = asked.unwrap();
    let losses = asked.losses;
    assert_eq!((losses.frames, losses.repairs, losses.questions), (2, socket(2, 50_001), socket(1, 50_002)));
    assert_eq!((losses.answered_at, losses.within, losses.kept), (socket(2, 7_411), 200_000_000, u64::MAX));
    let said = verdict(&asked);
    gate.verdict_heard(NOW, MANAGER, said.clone());
    let to_writer = "10.0.0.2:7411".parse().unwrap();
    assert_eq!(matched(&mut gate), Some((vec![(to_writer, Some((50_002, 30)))], Some(conduct()))));
    let pair = &gate.pairs_of(reader().guid.entity_id)[0];
    assert_eq!((pair.stage, pair.losses), (Stage::Assured, Some((2, Duration::from_millis(200)))));
    let over = Verdict { state: State::Revoked, ..said.clone() };
    gate.verdict_heard(NOW, MANAGER, over.clone());
    assert_eq!(matched(&mut gate), Some((vec![(to_writer, None)], None)));

    let mut gate = Gate::new(WRITER, Duration::from_secs(1));
    gate.manager_found(NOW, Guid::new(MANAGER, EntityId::user(1, EntityKind::WriterWithKey)));
    let to_reader = "10.0.0.1:7411".parse().unwrap();
    let announced = vec!["10.0.0.1:7411".parse().unwrap()];
    gate.reader_found(NOW, &writer(Some(u64::MAX)), &Arc::new(reader()), way("10.0.0.1:7411"), announced);
    gate.request_heard(NOW, Request { stage: Stage::Assured, ..asked });
    gate.verdict_heard(NOW, MANAGER, said);
    let flows = vec![(to_reader, Some((50_000, 46))), (to_reader, Some((50_001, 38)))];
    assert_eq!(matched(&mut gate), Some((flows, Some(conduct()))));
    gate.verdict_heard(NOW, MANAGER, over);
    let (ways, conduct) = matched(&mut gate).unwrap();
    assert!(conduct.is_none() && ways.iter().all(|(_, flow)| flow.is_none()), "{ways:?}");
}

#[test]
fn what_was_not_asked_for_is_not_believed_and_a_manager_without_losses_refuses() {
    let (_, asked) = asking(Some(u64::MAX));
    let asked = asked.unwrap();
    let good = verdict(&asked);
    let wrong = |change: &dyn Fn(&mut Repairs)| {
        let (mut gate, _) = asking(Some(u64::MAX));
        let mut said = good.clone();
        change(&mut said.losses);
        gate.verdict_heard(NOW, MANAGER, said);
        assert!(matched(&mut gate).is_none());
        gate.pairs_of(reader().guid.entity_id).remove(0)
    };
    for change in [
        &(|kept: &mut Repairs| kept.frames = 1) as &dyn Fn(&mut Repairs),
        &|kept| kept.within -= 1,
        &|kept| kept.questions.port += 1,
        &|kept| kept.spacing = 0,
        &|kept| kept.again = u64::MAX,
        &|kept| kept.heartbeat = kept.spacing - 1,
        &|kept| kept.questions_dscp = 64,
        &|kept| kept.datagram = 100,
    ] {
        assert_eq!(wrong(change).state, State::Pending);
    }
    let (mut gate, _) = asking(Some(u64::MAX));
    gate.verdict_heard(NOW, MANAGER, Verdict { losses: Repairs::default(), ..good });
    let pair = &gate.pairs_of(reader().guid.entity_id)[0];
    assert_eq!(
        (pair.state, pair.reason.as_str()),
        (State::Refused, "the resource manager knows no bounds with losses")
    );
    // A writer that cannot keep it is not asked for it.
    for (kept, words) in [(None, "keeps no bound with losses"), (Some(99_999_999), "longer HISTORY")] {
        let (gate, asked) = asking(kept);
        assert_eq!(asked.map_or(0, |asked| asked.maximum_latency), 0);
        let pair = &gate.pairs_of(reader().guid.entity_id)[0];
        assert!(pair.state == State::Refused && pair.reason.contains(words), "{}", pair.reason);
    }
}

#[test]
fn qos_says_what_a_bound_with_losses_needs() {
    let wish = Wish::within(Duration::from_millis(100));
    let check = |assurance: Wish, change: &dyn Fn(&mut EndpointQos)| {
        let mut qos = DataReaderQos { assurance: Some(assurance), ..DataReaderQos::default() };
        qos.endpoint.reliability = Reliability::RELIABLE;
        change(&mut qos.endpoint);
        qos.check().map_err(|error| format!("{error}"))
    };
    let good = wish.losses(4, Duration::from_millis(200));
    assert_eq!(check(good, &|_| {}), Ok(()));
    let separated = Wish { maximum_separation: Some(Duration::from_secs(1)), ..good };
    for (wish, word) in [
        (wish.losses(0, Duration::from_secs(1)), "1 to 4"),
        (wish.losses(5, Duration::from_secs(1)), "1 to 4"),
        (wish.losses(1, Duration::from_millis(199)), "twice"),
        (wish.losses(1, Duration::INFINITE), "twice"),
        (separated, "maximum_separation"),
    ] {
        assert!(check(wish, &|_| {}).unwrap_err().contains(word));
    }
    assert!(check(good, &|qos| qos.reliability = Reliability::BEST_EFFORT).unwrap_err().contains("RELIABLE"));
    assert!(
        check(good, &|qos| qos.durability = Durability::TransientLocal).unwrap_err().contains("VOLATILE")
    );

    let promise = Promise::every(Duration::from_millis(10));
    let kept = |change: &dyn Fn(&mut EndpointQos)| {
        let mut qos = EndpointQos::writer();
        qos.history = History::KeepAll;
        change(&mut qos);
        promise.kept(&qos)
    };
    assert_eq!(kept(&|_| {}), Some(u64::MAX));
    assert_eq!(kept(&|qos| qos.history = History::KeepLast(3)), Some(30_000_000));
    assert_eq!(kept(&|qos| qos.lifespan = Duration::from_millis(5)), Some(5_000_000));
    assert_eq!(kept(&|qos| qos.reliability = Reliability::BEST_EFFORT), None);
    assert_eq!(kept(&|qos| qos.liveliness.kind = LivelinessKind::ManualByTopic), None);
}
