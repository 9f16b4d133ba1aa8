//! Servers of several machines ask each other for the time, so that stamps of one can be compared with those of another.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use dds::{DataReader, DataWriter, DdsType, DomainParticipant};

use super::clocks::{Clocks, RoundTrip};
use super::traced::machine;
use crate::context::Clock;
use crate::reports::Fault;
use crate::server::Server;

/// Between two questions.
const PERIOD: Duration = Duration::from_millis(200);

/// A question for the time, or its answer. Instants are nanoseconds of the monotonic clocks of machines.
#[derive(DdsType, Clone, Copy, Default, Debug)]
struct TimeMessage {
    /// The server that asks, and its machine.
    asker: u64,
    of: u64,
    /// The machine that answers; 0 in a question.
    machine: u64,
    sent: i64,
    received: i64,
    answered: i64,
}

/// The exchange of a server with those of a domain. It ends with this.
pub(crate) struct Comparison {
    domain: u32,
    topic: String,
    is_over: Arc<AtomicBool>,
    reader: Option<DataReader<TimeMessage>>,
    writer: DataWriter<TimeMessage>,
}

fn now() -> i64 {
    i64::try_from(udp::monotonic()).unwrap_or(i64::MAX)
}

/// Looks at what has come: answers questions of other machines, and notes answers to own ones.
fn look(reader: &DataReader<TimeMessage>, writer: &DataWriter<TimeMessage>, asker: u64, clocks: &Clocks) {
    while let Ok(Some(sample)) = reader.take_next_sample() {
        let came = now();
        let Some(message) = sample.data else { continue };
        let TimeMessage { asker: of, machine: by, sent, received, answered, .. } = message;
        match by {
            0 if message.of != machine() => {
                let answer = TimeMessage { machine: machine(), received: came, answered: now(), ..message };
                // The next question is answered.
                let _ = writer.write(&answer);
            }
            0 => {}
            _ if of == asker => clocks.note(by, &RoundTrip { sent, received, answered, came }),
            _ => {}
        }
    }
}

impl Server {
    /// Compares the clock of this machine with those of others, whose servers do the same under the same name of a topic: as long as stamps of other
    /// machines come, they are asked for the time. The rates of two clocks differ by `drift` parts of 10^9 at most; the last call says it for all
    /// topics. A simulated server has nothing to compare.
    ///
    /// # Errors
    /// The topic cannot be had.
    pub fn compare_clocks(
        &mut self,
        participant: &DomainParticipant,
        topic: &str,
        drift: u32,
    ) -> Result<(), dds::Error> {
        let domain = participant.get_domain_id();
        let is_known = |known: &Comparison| known.domain == domain && known.topic == topic;
        if matches!(self.clock, Clock::Virtual(_)) || machine() == 0 || self.comparisons.iter().any(is_known)
        {
            self.clocks.set_drift(drift);
            return Ok(());
        }
        let writer = participant.writer::<TimeMessage>(topic).best_effort().create()?;
        // No other server asks with the same number: none of its machine has begun at this instant, and others have other numbers.
        let asker = udp::monotonic() ^ machine();
        let is_over = Arc::new(AtomicBool::new(false));
        let mut comparison = Comparison {
            domain,
            topic: topic.to_owned(),
            is_over: Arc::clone(&is_over),
            reader: None,
            writer: writer.clone(),
        };
        let (answers, clocks) = (writer.clone(), Arc::clone(&self.clocks));
        let reader = participant.reader::<TimeMessage>(topic).best_effort();
        let reader = reader.on_data_available(move |reader| look(reader, &answers, asker, &clocks));
        comparison.reader = Some(reader.create()?);
        self.comparisons.push(comparison);
        self.clocks.set_drift(drift);
        let clocks = Arc::clone(&self.clocks);
        let ask = move || {
            while !is_over.load(Relaxed) {
                if clocks.is_wanted() {
                    let question =
                        TimeMessage { asker, of: machine(), sent: now(), ..TimeMessage::default() };
                    // The next one is asked.
                    let _ = writer.write(&question);
                }
                thread::sleep(PERIOD);
            }
        };
        if let Err(error) = thread::Builder::new().name("clocks".to_owned()).spawn(ask) {
            self.reports.add("clocks", Fault::Thread(format!("no thread: {error}")));
        }
        Ok(())
    }

    /// Ends the comparisons of clocks in all domains and by all topics for which `is_kept` says `false`. With the last one all that is known of other
    /// clocks is forgotten.
    pub fn keep_comparisons(&mut self, is_kept: impl Fn(u32, &str) -> bool) {
        self.comparisons.retain(|known| is_kept(known.domain, &known.topic));
        if self.comparisons.is_empty() {
            self.clocks.forget();
        }
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        // They are refused only if their participant is gone already.
        if let Some(reader) = self.reader.take() {
            let _ = reader.get_subscriber().delete_datareader(&reader);
        }
        let _ = self.writer.get_publisher().delete_datawriter(&self.writer);
    }
}
