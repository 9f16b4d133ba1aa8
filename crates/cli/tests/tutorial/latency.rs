//! A latency in ten minutes, in three terminals.
use super::terminal::Terminal;
use super::{Block, blocks, root};

/// Takes some forty seconds, most of which it waits: not for every save of a file.
pub(super) fn is_wanted() -> bool {
    std::env::var("PUNCTUAL_TIER").is_ok_and(|tier| tier != "quick")
}

/// Removes the lab also where a test fails.
pub(super) struct Tidy<'r>(pub(super) &'r std::path::Path, pub(super) String);

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        let mut terminal = Terminal::new(self.0, &self.1);
        if std::thread::panicking() {
            terminal.is_over();
        } else {
            terminal.ends();
        }
    }
}

/// What follows the state in which the manager is asked. Its line is missing where the answer comes before the reader looks.
fn after_pending(printed: &str) -> &str {
    printed
        .strip_prefix("Pending \n")
        .unwrap_or_else(|| panic!("does not begin with the question: {printed:?}"))
}

#[test]
fn a_latency_is_promised_refused_and_withdrawn() {
    let Some(_turn) = lab_turn::turn() else { return };
    if !is_wanted() {
        eprintln!("passed over: PUNCTUAL_TIER=ci runs it");
        return;
    }
    let Some(root) = root("latency") else { return };
    let blocks = blocks("latency.md");
    let (mut typed, mut printed) = (Vec::new(), Vec::new());
    for block in &blocks {
        match block {
            Block::Commands(text) => typed.push(text.as_str()),
            Block::Printed(text) => printed.push(text.as_str()),
        }
    }
    let [each, manager, writer, reader, status, refused, down] = typed[..] else { panic!("{blocks:#?}") };
    let [ready, admitted, promised, no_room, revoked, alone] = printed[..] else { panic!("{blocks:#?}") };
    let terminal = |commands: &str| Terminal::new(&root, &format!("{each}{commands}"));

    let _tidy = Tidy(&root, format!("{each}{down}"));
    let mut first = terminal(manager);
    first.shows(ready);
    let _second = terminal(writer);
    let mut third = terminal(reader);
    third.shows(after_pending(admitted));
    third.ends();

    let mut third = terminal(&(reader.trim_end().to_owned() + " & sleep 4\n" + status + "wait\n"));
    third.shows(promised);
    third.ends();

    let mut third = terminal(refused);
    third.shows(after_pending(no_room));
    third.ends();

    let mut third = terminal(reader);
    let (pending_and_admitted, rest) = revoked.split_at(revoked.find("Revoked").unwrap());
    third.shows(after_pending(pending_and_admitted));
    first.interrupt();
    third.shows(rest);
    third.ends();
    first.ends();

    let mut third = terminal(reader);
    third.shows(alone);
}
