//! A sample as text.
use std::collections::BTreeMap;

use dcps::TypeSupport;
use dcps::reader::Sample as Octets;
use dds::cdr::Representation;
use dds::{InstanceHandle, InstanceState};
use dynamic::Sample;

use crate::format::{END, Format};
use crate::hex;
use crate::output::print;
use crate::types::Form;
use crate::utc;

/// Shows samples of one type.
pub(super) struct Shower {
    form: Form,
    format: Format,
    info: bool,
    support: Box<dyn TypeSupport + Send>,
    /// Keys of instances as text: the reader forgets an instance with its last sample, which has no data that would say them.
    keys: BTreeMap<InstanceHandle, String>,
}

/// Instances whose keys are remembered.
const MAX_KEYS: usize = 16_384;

impl Shower {
    pub(super) fn new(form: Form, format: Format, info: bool) -> Self {
        Self { support: form.support(), form, format, info, keys: BTreeMap::new() }
    }

    /// Prints a sample; of one that only tells of the end of its instance the key, after a word that says so.
    pub(super) fn show(&mut self, sample: &Octets) {
        let info = &sample.info;
        if self.info {
            let writer = dds::Guid::from_bytes(info.publication_handle.to_bytes());
            print(format_args!(
                "# {} writer {writer} sample {}",
                utc::show(info.source_timestamp.as_nanos()),
                info.sequence_number.0
            ));
        }
        match &sample.payload {
            Some(payload) => {
                self.remember(info.instance_handle, payload.bytes());
                match self.format {
                    Format::Json => print(format_args!("{}", self.text(payload.bytes(), self.format, false))),
                    Format::Text => {
                        print(format_args!("{}\n{END}", self.text(payload.bytes(), self.format, false)));
                    }
                }
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
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        let made = self.support.key(payload, false, &mut key);
        if made.and_then(|()| self.support.key_payload(&key, Representation::Xcdr2, &mut bytes)).is_ok() {
            let text = self.text(&bytes, Format::Json, true);
            self.keys.insert(instance, text);
        }
    }

    fn text(&self, payload: &[u8], format: Format, is_key: bool) -> String {
        match &self.form {
            Form::Octets { .. } => hex::show(payload),
            Form::Described(schema, index) => match Sample::decode(schema, *index, payload, is_key) {
                Ok(sample) if format == Format::Text => sample.lines().to_string(),
                Ok(sample) => sample.to_string(),
                Err(unreadable) => {
                    format!("# not readable as this type: {unreadable}; bytes {}", hex::show(payload))
                }
            },
        }
    }
}
