//! For each type that the process publishes: who subscribes to it, and by which filters.
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use filter::{Expression, Fields, Program, Schema};

use crate::event::GatewayId;
use crate::interest::Interest;
use crate::told::Notice;
use crate::topology::Topology;

/// Steps of a filter for one event at most. A filter that needs more passes, and the subscriber judges.
const MOST_STEPS: usize = 1 << 20;

/// A type of events that the process publishes.
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) schema: Option<Box<dyn Schema + Send>>,
    /// The group to which peers listen.
    pub(crate) group: Option<u32>,
    pub(crate) targets: Vec<Target>,
}

/// A gateway that subscribes to events of a type.
pub(crate) struct Target {
    pub(crate) id: u64,
    /// The peer on the way.
    pub(crate) next: u64,
    patterns: Vec<Pattern>,
}

struct Pattern {
    source: Option<String>,
    program: Option<Program>,
}

impl Target {
    /// Whether an event is for it.
    pub(crate) fn wants<F: Fields + ?Sized>(&self, source: &str, fields: &F) -> bool {
        self.patterns.iter().any(|pattern| {
            pattern.source.as_deref().is_none_or(|wanted| wanted == source)
                && pattern
                    .program
                    .as_ref()
                    .is_none_or(|program| program.passes_within(fields, MOST_STEPS).unwrap_or(true))
        })
    }
}

impl Kind {
    /// Finds the subscribers anew. What is wrong with filters is told.
    pub(crate) fn find_targets(&mut self, topology: &Topology, ttl: u8, tell: &mut impl FnMut(Notice)) {
        self.targets.clear();
        for (way, record) in topology.reached() {
            if way.distance > u32::from(ttl) {
                continue;
            }
            let mut patterns = Vec::new();
            for interest in &record.interests {
                if interest.kind.as_deref().is_some_and(|kind| kind != self.name) {
                    continue;
                }
                let program = match self.compile(interest) {
                    Ok(program) => program,
                    Err(reason) => {
                        let subscriber = GatewayId(record.id);
                        tell(Notice::Filter { subscriber, kind: self.name.clone(), reason });
                        None
                    }
                };
                patterns.push(Pattern { source: interest.source.clone(), program });
            }
            if !patterns.is_empty() {
                let target = Target { id: record.id, next: way.next, patterns };
                self.targets.push(target);
            }
        }
    }

    fn compile(&self, interest: &Interest) -> Result<Option<Program>, String> {
        let Some(filter) = &interest.filter else { return Ok(None) };
        let Some(schema) = &self.schema else { return Err("its events have no fields".to_string()) };
        let expression = Expression::parse(&filter.expression);
        let expression = expression.map_err(|error| error.to_string())?;
        let parameters: Vec<&str> = filter.parameters.iter().map(String::as_str).collect();
        expression.compile(&**schema, &parameters).map(Some).map_err(|error| error.to_string())
    }
}
