//! What became of each pair, for people and for programs.
use std::collections::BTreeMap;

use diagnostics::{printable, written};
use reservation::{Budget, Pair, PairId, Share, Verdict, Way};
use serde_json::{Value, json};
use wan_server::protocol::BoundKind;

use crate::output::print;

pub(super) struct Told {
    is_json: bool,
    /// What a pair is called: its topic, and where it is.
    names: BTreeMap<PairId, (String, [String; 2])>,
    is_away: bool,
    is_cut: bool,
}

fn time(nanoseconds: u64) -> String {
    written(nanoseconds.saturating_mul(1_000))
}

fn share(share: Share) -> String {
    let by = if share.is_announced { "announced" } else { "by --host-share" };
    if share.time == 0 { format!("0 ({by})") } else { format!("{} ({by})", time(share.time)) }
}

/// The division of a limit.
fn divided(budget: &Budget, bound: u64, loss: u32) -> String {
    let Budget { latency, writer, reader, .. } = *budget;
    // A bound of what arrives is another promise than one of every packet.
    let lost = match loss {
        0 => String::new(),
        loss => format!(" for what arrives, at most {loss} ppm lost"),
    };
    format!(
        "of {}: the writer's host {}, the network at most {} of {}{lost}, the reader's host {}",
        time(latency),
        share(writer),
        time(bound),
        time(budget.network()),
        share(reader)
    )
}

/// What has become of its flow since.
fn since(way: Way) -> String {
    let Way { detours, has_one_copy_left } = way;
    let mut text = match detours {
        0 => String::new(),
        1 => "; it goes another way since".to_owned(),
        more => format!("; it has gone another way {more} times since"),
    };
    if has_one_copy_left {
        text.push_str("; one copy of two is left");
    }
    text
}

impl Told {
    pub(super) fn new(is_json: bool) -> Self {
        Self { is_json, names: BTreeMap::new(), is_away: false, is_cut: false }
    }

    /// What pairs are called; those that are gone keep their names until that is told.
    pub(super) fn know(&mut self, pairs: &[Pair]) {
        for pair in pairs {
            self.names.entry(pair.id).or_insert_with(|| {
                let at = |end: &reservation::End| format!("{}:{}", end.address, end.port);
                (pair.topic.clone(), [pair.from.address.to_string(), at(&pair.to)])
            });
        }
    }

    pub(super) fn tell(&mut self, id: PairId, verdict: &Verdict) {
        let Some((topic, [from, to])) = self.names.get(&id) else { return };
        if self.is_json {
            let mut line = as_json(verdict);
            if let Value::Object(fields) = &mut line {
                fields.extend(
                    [("topic", topic), ("from", from), ("to", to)]
                        .map(|(name, value)| (name.to_owned(), json!(value))),
                );
            }
            print(format_args!("{line}"));
        } else {
            print(format_args!("{} from {from} to {to}: {}", printable(topic), shown(verdict)));
        }
        if *verdict == Verdict::Over {
            self.names.remove(&id);
        } else {
            self.is_away = false;
        }
    }

    /// Whether more writers and readers may match than are looked at: told each time it begins.
    pub(super) fn cut(&mut self, is_cut: bool) {
        if is_cut && !self.is_cut {
            eprintln!(
                "punctual: more writers and readers may match than are looked at: those that are known keep what they have, and some others are told nothing"
            );
        }
        self.is_cut = is_cut;
    }

    /// The manager cannot be asked: told once, until something else is told.
    pub(super) fn away(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_away, true) {
            eprintln!("punctual: {}", printable(why));
        }
    }
}

fn shown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Pending => "is asked for".to_owned(),
        Verdict::Admitted { session, budget, bound, loss, way } => {
            format!("session {}, {}{}", printable(session), divided(budget, *bound, *loss), since(*way))
        }
        Verdict::Without(why) => format!("no session: {}", printable(why)),
        Verdict::Over => "writer and reader match no more".to_owned(),
    }
}

fn as_json(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Pending => json!({ "verdict": "pending" }),
        Verdict::Admitted { session, budget, bound, loss, way } => {
            let share = |of: Share| json!({ "time": of.time, "announced": of.is_announced });
            json!({
                "verdict": "admitted",
                "session": session,
                "latency": budget.latency,
                "bound": bound,
                "kind": BoundKind::of(*loss),
                "loss": loss,
                "network": budget.network(),
                "detours": way.detours,
                "one-copy-left": way.has_one_copy_left,
                "writer-host": share(budget.writer),
                "reader-host": share(budget.reader),
            })
        }
        Verdict::Without(why) => json!({ "verdict": "without", "why": why }),
        Verdict::Over => json!({ "verdict": "over" }),
    }
}
