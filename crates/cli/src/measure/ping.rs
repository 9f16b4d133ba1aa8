//! `punctual ping`: round trips to participants that run `punctual pong`.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use dds::qos::ReliabilityKind;
use dds::{
    DataReader, DataReaderListener, DataWriter, DomainParticipant, Error, GuardCondition, NO_STATUS, QosKind,
    ReturnCode, States, StatusMask, WaitSet,
};
use serde_json::json;

use super::pace::{Rate, Schedule, wake_exactly};
use super::qos::{Arrival, QosOptions, duration, parse_size};
use super::round_trips::RoundTrips;
use super::table::table;
use super::types::Probe;
use super::usage::Usage;
use super::waiting::Waiting;
use super::{clock, topics};
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{flush, print};
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual ping`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual pong &                          the other side, on this host or another\n  \
    punctual ping                            100 pings a second until Ctrl-C, a line each second, and the sum\n  \
    punctual ping --rate max --count 100000  one after the other, as fast as possible\n  \
    punctual ping --size 64k --json\n\n\
    `round trip` counts from the call of write to the end of take, at the side that asks. With a rate, `since due`\n\
    counts from the time at which the ping was due, so that a stall counts for every ping that it delayed (no coordinated\n\
    omission); with --rate max nothing is ever due, and a stall counts once.\n\
    One-way times are given with their clock error, which is none if both sides run on one kernel.")]
pub(crate) struct Arguments {
    /// Pings a second, or max: the next one when the one before is answered or lost.
    #[arg(short, long, default_value = "100", value_name = "RATE", value_parser = Rate::parse)]
    rate: Rate,
    /// Bytes in each ping besides its 44 of numbers and times.
    #[arg(short, long, default_value = "56", value_parser = parse_size)]
    size: usize,
    /// Ends after this many pings.
    #[arg(short = 'n', short_alias = 'c', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Ends after this time.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    duration: Option<Duration>,
    /// A ping that is not answered within this time is lost.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span::parse_finite)]
    lost_after: Duration,
    /// Gives up if the other side takes longer than this to be there; default: waits as long as it takes.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    timeout: Option<Duration>,
    /// RELIABILITY best effort instead of reliable; `punctual pong` answers both.
    #[arg(long)]
    best_effort: bool,
    /// How answers are noticed.
    #[arg(long, value_enum, default_value_t = Arrival::Waitset)]
    arrival: Arrival,
    /// One JSON object in each line: the seconds, then the sum.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    domain: DomainOptions,
}

/// Everything that belongs to asking.
struct Asker {
    writer: DataWriter<Probe>,
    reader: DataReader<Probe>,
    trips: Arc<Mutex<RoundTrips>>,
    waits: WaitSet,
    /// Set by the listener.
    guard: GuardCondition,
    probe: Probe,
}

/// Takes answers on the thread that brings them, and wakes the one that asks.
struct Answered {
    trips: Arc<Mutex<RoundTrips>>,
    guard: GuardCondition,
}

impl DataReaderListener<Probe> for Answered {
    fn on_data_available(&self, reader: &DataReader<Probe>) {
        let took = self.trips.lock().unwrap_or_else(PoisonError::into_inner).take(reader);
        // An error shows again when the asking thread takes.
        if took != Ok(0) {
            self.guard.set_trigger_value(true);
        }
    }
}

/// Asks until it is told to stop, and prints what came of it.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual ping")?;
    let mut asker = Asker::new(&participant, arguments, stop)?;
    if let Some(outcome) = asker.meet(arguments, stop)? {
        return Ok(outcome);
    }
    let before = Usage::now();
    asker.ask(arguments, stop)?;
    let used = Usage::now().since(&before);
    let mut trips = asker.trips.lock().unwrap_or_else(PoisonError::into_inner);
    trips.finish();
    let kind = if arguments.best_effort { ReliabilityKind::BestEffort } else { ReliabilityKind::Reliable };
    if arguments.json {
        let mut sum = trips.json();
        sum["kind"] = json!("sum");
        sum["rate"] = json!(arguments.rate.to_string());
        sum["bytes"] = json!(arguments.size);
        sum["reliability"] = json!(format!("{kind:?}"));
        sum["cpu"] = used.json();
        print(format_args!("{sum}"));
    } else {
        print(format_args!("{}", trips.text(used.wall)));
        let how = match arguments.rate {
            Rate::Max => "one after the other: a stall counts once".to_owned(),
            rate => format!("{rate}: since due counts a stall for every ping that it delayed"),
        };
        print(format_args!("{} bytes, {kind:?}, {how}", arguments.size));
        let remark = trips.one_way.remark();
        let [there, back] = trips.one_way.latencies();
        let rows = [
            ("round trip", &trips.round_trip, ""),
            ("since due", &trips.since_due, ""),
            ("one way there", there, remark.as_str()),
            ("one way back", back, remark.as_str()),
        ];
        table(&rows).iter().for_each(|line| print(format_args!("{line}")));
        print(format_args!("{}", used.text(trips.answered_count(), "round trip")));
    }
    flush();
    Ok(if trips.answered_count() > 0 { Outcome::Done } else { Outcome::BadNews })
}

impl Asker {
    fn new(participant: &DomainParticipant, arguments: &Arguments, stop: &Stop) -> Result<Self, Failure> {
        let asker = u64::from_le_bytes(*participant.prefix().0.last_chunk().unwrap_or(&[0; 8]));
        let has_schedule = arguments.rate != Rate::Max;
        let trips = Arc::new(Mutex::new(RoundTrips::new(asker, arguments.lost_after, has_schedule)?));
        let waits = WaitSet::new();
        waits.attach_condition(stop.condition())?;
        let guard = GuardCondition::new();
        let listener = (arguments.arrival == Arrival::Listener).then(|| {
            Arc::new(Answered { trips: Arc::clone(&trips), guard: guard.clone() })
                as Arc<dyn DataReaderListener<Probe>>
        });
        let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
        let qos = QosOptions { best_effort: arguments.best_effort, keep_last: None };
        let [pings, answers] = topics::probe(participant, arguments.best_effort)?;
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        let writer_qos = QosKind::Specific(qos.writer(arguments.size));
        let writer = publisher.create_datawriter::<Probe>(&pings, writer_qos, None, NO_STATUS)?;
        let reader_qos = QosKind::Specific(qos.reader(arguments.size));
        let reader = subscriber.create_datareader::<Probe>(&answers, reader_qos, listener, mask)?;
        match arguments.arrival {
            Arrival::Waitset => {
                waits.attach_condition(reader.create_readcondition(States::NOT_READ).into())?
            }
            Arrival::Listener => waits.attach_condition(guard.clone().into())?,
        }
        let probe = Probe { asker, data: vec![0x5a; arguments.size], ..Probe::default() };
        Ok(Self { writer, reader, trips, waits, guard, probe })
    }

    /// Waits for the other side; an outcome if it did not come.
    fn meet(&mut self, arguments: &Arguments, stop: &Stop) -> Result<Option<Outcome>, Failure> {
        let mut waiting = Waiting::new("punctual pong");
        while !self.is_answered()? {
            if arguments.timeout.is_some_and(|timeout| waiting.time() >= timeout) {
                waiting.end();
                let domain = arguments.domain.domain;
                print(format_args!(
                    "no participant answers in domain {domain}: start `punctual pong` there, or see `punctual why`"
                ));
                return Ok(Some(Outcome::BadNews));
            }
            if waiting.wait("", stop)? {
                return Ok(Some(Outcome::Done));
            }
        }
        waiting.end();
        Ok(None)
    }

    /// Sends a greeting, and looks whether an earlier one was answered. That the other side is matched here does not say that it knows
    /// our reader yet: its answers would be lost.
    fn is_answered(&mut self) -> Result<bool, Error> {
        {
            let mut trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
            trips.take(&self.reader)?;
            if trips.is_greeted() {
                return Ok(true);
            }
        }
        if !self.writer.get_matched_subscriptions().is_empty() {
            self.probe.number = Probe::GREETING;
            self.write()?;
        }
        Ok(false)
    }

    /// The pings, the answers, and a line each second.
    fn ask(&mut self, arguments: &Arguments, stop: &Stop) -> Result<(), Failure> {
        wake_exactly();
        let start = Instant::now();
        let mut schedule = Schedule::new(start, arguments.rate);
        let mut tick = start + SECOND;
        let mut active = Vec::new();
        let mut sent = 0;
        loop {
            let now = Instant::now();
            let ends = arguments.count.is_some_and(|count| sent >= count)
                || arguments.duration.is_some_and(|duration| now - start >= duration);
            // Before looking: what comes from now on sets it again.
            self.guard.set_trigger_value(false);
            let (open, lost_at) = {
                let mut trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
                trips.take(&self.reader)?;
                trips.expire(now);
                if now >= tick {
                    tick += SECOND;
                    let line = trips.second(now - start, arguments.json);
                    print(format_args!("{line}"));
                    flush();
                }
                (trips.open(), trips.lost_at())
            };
            if stop.requested() || ends && open == 0 {
                return Ok(());
            }
            let due = match &schedule {
                Some(schedule) => Some(schedule.due()),
                None => (open == 0).then_some(now),
            };
            match due.filter(|_| !ends) {
                Some(due) if due <= now => {
                    self.send(sent, schedule.map(|_| due))?;
                    sent += 1;
                    if let Some(schedule) = &mut schedule {
                        schedule.advance();
                    }
                }
                due => {
                    let until = [due, lost_at].into_iter().flatten().fold(tick, Instant::min);
                    let left = until.saturating_duration_since(Instant::now());
                    match self.waits.wait_into(&mut active, duration(left)) {
                        Err(error) if error.code != ReturnCode::Timeout => return Err(error.into()),
                        _ => {}
                    }
                }
            }
        }
    }

    /// One ping. A ping that finds no room counts as sent, and is lost.
    fn send(&mut self, number: u64, due: Option<Instant>) -> Result<(), Error> {
        self.probe.number = number;
        let sent = Instant::now();
        self.probe.sent = clock::wall();
        {
            let mut trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
            trips.sent(number, due, sent);
        }
        self.write()
    }

    fn write(&self) -> Result<(), Error> {
        match self.writer.write(&self.probe) {
            Err(error) if error.code != ReturnCode::Timeout => Err(error),
            _ => Ok(()),
        }
    }
}

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);
