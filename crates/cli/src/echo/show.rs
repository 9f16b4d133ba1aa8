//! A sample as a line.
use std::collections::BTreeMap;

use dcps::TypeSupport;
use dcps::reader::Sample as Octets;
use dds::cdr::Representation;
use dds::{InstanceHandle, InstanceState};
use dynamic::Sample;

use crate::hex;
use crate::output::print;
use crate::types::Form;

/// Shows samples of one type.
pub(super) struct Shower {
    form: Form,
    info: bool,
    support: Box<dyn TypeSupport + Send>,
    /// Keys of instances as text: the reader forgets an instance with its last sample, which has no data that would say them.
    keys: BTreeMap<InstanceHandle, String>,
}

/// Instances whose keys are remembered.
const MAX_KEYS: usize = 16_384;

impl Shower {
    pub(super) fn new(form: Form, info: bool) -> Self {
        Self { support: form.support(), form, info, keys: BTreeMap::new() }
    }

    /// Prints a sample; of one that only tells of the end of its instance the key, after a word that says so.
    pub(super) fn show(&mut self, sample: &Octets) {
        let info = &sample.info;
        if self.info {
            let writer = dds::Guid::from_bytes(info.publication_handle.to_bytes());
            print(format_args!(
                "# {} writer {writer} sample {}",
                clock(info.source_timestamp.as_nanos()),
                info.sequence_number.0
            ));
        }
        match &sample.payload {
            Some(payload) => {
                self.remember(info.instance_handle, payload.bytes());
                print(format_args!("{}", self.text(payload.bytes(), false)));
            }
            None => {
                let word = match info.instance_state {
                    InstanceState::NotAliveDisposed => "disposed",
                    InstanceState::NotAliveNoWriters => "no writers",
                    InstanceState::Alive => "alive",
                };
                let key = self.keys.get(&info.instance_handle).map_or("an instance", String::as_str);
                print(format_args!("# {word}: {key}"));
            }
        }
    }

    fn remember(&mut self, instance: InstanceHandle, payload: &[u8]) {
        if self.keys.len() >= MAX_KEYS || self.keys.contains_key(&instance) || !self.support.has_key() {
            return;
        }
        let (mut key, mut octets) = (Vec::new(), Vec::new());
        let made = self.support.key(payload, false, &mut key);
        if made.and_then(|()| self.support.key_payload(&key, Representation::Xcdr2, &mut octets)).is_ok() {
            let text = self.text(&octets, true);
            self.keys.insert(instance, text);
        }
    }

    fn text(&self, payload: &[u8], is_key: bool) -> String {
        match &self.form {
            Form::Octets { .. } => hex::show(payload),
            Form::Described(schema, index) => match Sample::decode(schema, *index, payload, is_key) {
                Ok(sample) => sample.to_string(),
                Err(unreadable) => {
                    format!("# not readable as this type: {unreadable}; octets {}", hex::show(payload))
                }
            },
        }
    }
}

/// A time of the wall clock in UTC (proleptic Gregorian calendar), with microseconds.
fn clock(nanos: i64) -> String {
    const DAY: i64 = 86_400_000_000;
    let micros = nanos.div_euclid(1_000);
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    // Years that begin in March have their leap day at the end: 400 of them are 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let seconds = rest / 1_000_000;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        rest % 1_000_000
    )
}

#[cfg(test)]
mod tests {
    use super::clock;

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(clock(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(clock(1_709_210_096_123_456_789), "2024-02-29T12:34:56.123456Z");
        assert_eq!(clock(-1_000), "1969-12-31T23:59:59.999999Z");
        assert_eq!(clock(4_107_542_400_000_000_000), "2100-03-01T00:00:00.000000Z");
    }
}
