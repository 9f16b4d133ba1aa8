//! Endpoints of a topic that the command's own endpoint is not matched with: told as soon as they are found.
use std::collections::BTreeSet;

use dds::DomainParticipant;
use rtps::discovery::Mismatch;
use wire::discovery::ParticipantData;

use crate::describe::{People, Person};
use crate::explain;

/// How often a command looks for such endpoints while it waits.
pub(crate) const LOOK: dds::Duration = dds::Duration::from_millis(250);

/// What was told already.
#[derive(Default)]
pub(crate) struct Unmatched {
    told: BTreeSet<String>,
}

impl Unmatched {
    /// Tells on standard error why endpoints of `topic` do not match the participant's own one, each reason once.
    pub(crate) fn tell(&mut self, participant: &DomainParticipant, topic: &str) {
        let found: Vec<_> = participant
            .get_not_matched()
            .into_iter()
            .filter(|pair| pair.local.topic_name == topic && pair.remote.participant != participant.prefix())
            .collect();
        if found.is_empty() {
            return;
        }
        let known = participant.get_discovered_participants();
        let people = People::new(known.iter().map(|found| Person::of(&found.data as &ParticipantData)));
        for pair in &found {
            let other = people.endpoint(&pair.remote);
            for reason in &pair.reasons {
                let is_writer = pair.remote.guid.entity_id.is_writer();
                let text = match reason {
                    Mismatch::Type { writer, reader } => {
                        let (theirs, ours) = if is_writer { (writer, reader) } else { (reader, writer) };
                        wrong_type(&other, is_writer, theirs, ours)
                    }
                    Mismatch::TypeObjects { difference, .. } => {
                        let consequence =
                            if is_writer { "its samples are not shown" } else { "nothing is written to it" };
                        format!(
                            "the type of the {other} is another one: {difference}: {consequence}\n  Without --type and --idl the types of the topic are asked for."
                        )
                    }
                    reason => {
                        let (what, todo) = explain::mismatch(reason);
                        format!("not matched with the {other}: {what}\n  {todo}")
                    }
                };
                if self.told.insert(text.clone()) {
                    crate::output::progress("");
                    eprintln!("punctual: {text}");
                }
            }
        }
    }
}

fn wrong_type(other: &str, is_writer: bool, theirs: &str, ours: &str) -> String {
    let (verb, consequence, more) = if is_writer {
        ("reads", "its samples are not shown", "reads them")
    } else {
        ("writes", "nothing is written to it", "writes")
    };
    format!(
        "the {other} has the type {theirs:?}, and this command {verb} {ours:?}: {consequence}\n  --type-name {theirs:?} {more} as what --type or --idl describes, under that name."
    )
}
