//! `punctual pong`: answers every `punctual ping` in the domain.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use dds::{
    DataReader, DataReaderListener, DataWriter, DomainParticipant, Error, NO_STATUS, QosKind, ReturnCode,
    States, StatusMask, WaitSet,
};
use serde_json::json;

use super::qos::{Arrival, QosOptions, duration};
use super::types::Probe;
use super::usage::Usage;
use super::{clock, topics};
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{flush, print, progress};
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual pong`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual pong                      answers every `punctual ping` until Ctrl-C\n  \
    punctual pong --arrival listener   answers from a listener's callback")]
pub(crate) struct Arguments {
    /// How pings are noticed.
    #[arg(long, value_enum, default_value_t = Arrival::Waitset)]
    arrival: Arrival,
    /// Ends after this time.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    duration: Option<Duration>,
    /// The sum as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    domain: DomainOptions,
}

/// Answers pings of one kind.
struct Answerer {
    writer: DataWriter<Probe>,
    clock: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    probe: Probe,
    answered: u64,
    /// Answers that found no room.
    refused: u64,
}

impl Answerer {
    /// Answers all that is there.
    fn answer(&self, reader: &DataReader<Probe>) -> Result<(), Error> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(info) = reader.take_into(&mut state.probe)? {
            if !info.valid_data {
                continue;
            }
            state.probe.received = clock::wall();
            state.probe.clock = self.clock;
            state.probe.answered = clock::wall();
            match self.writer.write(&state.probe) {
                Ok(_) => state.answered += u64::from(state.probe.number != Probe::GREETING),
                Err(error) if error.code == ReturnCode::Timeout => state.refused += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn counts(&self) -> (u64, u64) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.answered, state.refused)
    }
}

/// Answers on the thread that brings the pings.
struct Echo(Arc<Answerer>);

impl DataReaderListener<Probe> for Echo {
    fn on_data_available(&self, reader: &DataReader<Probe>) {
        if let Err(error) = self.0.answer(reader) {
            eprintln!("punctual: {error}");
        }
    }
}

/// Answers until it is told to stop.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual pong")?;
    let waits = WaitSet::new();
    waits.attach_condition(stop.condition())?;
    let both = [pair(&participant, false, arguments.arrival)?, pair(&participant, true, arguments.arrival)?];
    if arguments.arrival == Arrival::Waitset {
        for (_, reader) in &both {
            waits.attach_condition(reader.create_readcondition(States::NOT_READ).into())?;
        }
    }
    let (start, before) = (Instant::now(), Usage::now());
    let mut active = Vec::new();
    let sum = || {
        let counts = both.iter().map(|(answerer, _)| answerer.counts());
        counts.fold((0, 0), |(answered, refused), (more, other)| (answered + more, refused + other))
    };
    while !stop.requested() {
        let left = arguments.duration.map(|duration| duration.saturating_sub(start.elapsed()));
        if left == Some(Duration::ZERO) {
            break;
        }
        let wait = left.map_or(SECOND, |left| left.min(SECOND));
        match waits.wait_into(&mut active, duration(wait)) {
            Ok(()) if arguments.arrival == Arrival::Waitset => {
                both.iter().try_for_each(|(answerer, reader)| answerer.answer(reader))?;
            }
            Ok(()) => {}
            Err(error) if error.code == ReturnCode::Timeout => progress(&format!("{} answered", sum().0)),
            Err(error) => return Err(error.into()),
        }
    }
    progress("");
    let (used, (answered, refused)) = (Usage::now().since(&before), sum());
    if arguments.json {
        let sum = json!({"kind": "sum", "answered": answered, "refused": refused, "cpu": used.json()});
        print(format_args!("{sum}"));
    } else {
        let refused =
            if refused > 0 { format!(", {refused} not answered for want of room") } else { String::new() };
        print(format_args!("{answered} answered{refused}, in {:.1} s", used.wall.as_secs_f64()));
        print(format_args!("{}", used.text(answered, "answer")));
    }
    flush();
    Ok(Outcome::Done)
}

/// Longest wait without a look around.
const SECOND: Duration = Duration::from_secs(1);
/// Answers may be large: bytes of the greatest that several of are held.
const LARGE: usize = 4 << 20;

fn pair(
    participant: &DomainParticipant,
    best_effort: bool,
    arrival: Arrival,
) -> Result<(Arc<Answerer>, DataReader<Probe>), Error> {
    let qos = QosOptions { best_effort, keep_last: None };
    let [pings, answers] = topics::probe(participant, best_effort)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let writer =
        publisher.create_datawriter(&answers, QosKind::Specific(qos.writer(LARGE)), None, NO_STATUS)?;
    let answerer = Arc::new(Answerer { writer, clock: clock::identity(), state: Mutex::default() });
    let listener = (arrival == Arrival::Listener)
        .then(|| Arc::new(Echo(Arc::clone(&answerer))) as Arc<dyn DataReaderListener<Probe>>);
    let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
    let reader =
        subscriber.create_datareader(&pings, QosKind::Specific(qos.reader(LARGE)), listener, mask)?;
    Ok((answerer, reader))
}
