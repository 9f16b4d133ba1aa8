//! A managed LAN, in three terminals.
use super::latency::{Tidy, is_wanted};
use super::terminal::Terminal;
use super::{Block, blocks, root};

#[test]
fn a_network_is_set_up_promises_refuses_and_is_maintained() {
    let Some(_turn) = lab_turn::turn() else { return };
    if !is_wanted() {
        eprintln!("passed over: PUNCTUAL_TIER=ci runs it");
        return;
    }
    let Some(root) = root("lan") else { return };
    let blocks = blocks("../tutorial-lan.md");
    let (mut typed, mut printed) = (Vec::new(), Vec::new());
    for block in &blocks {
        match block {
            Block::Commands(text) => typed.push(text.as_str()),
            Block::Printed(text) => printed.push(text.as_str()),
        }
    }
    // What the first block installs is there.
    let [_install, each, check, keys, policy, start, writer, reader, stranger, refused, drain, down] =
        typed[..]
    else {
        panic!("{blocks:#?}")
    };
    let [readable, ready, promised, unsigned, too_soon, drained] = printed[..] else { panic!("{blocks:#?}") };
    let terminal = |commands: &str| Terminal::new(&root, &format!("{each}{commands}"));

    let _tidy = Tidy(&root, format!("{each}{down}"));
    let mut first = terminal(&format!("{check}{keys}{policy}{start}"));
    first.shows(readable);
    first.shows("1 rules; what none of them is for is denied");
    first.shows(ready);
    let second = terminal(writer);
    let mut third = terminal(reader);
    third.shows(promised);
    third.ends();

    let mut third = terminal(stranger);
    third.shows(unsigned);
    third.ends();
    let mut third = terminal(refused);
    third.shows(too_soon);
    third.ends();
    let mut third = terminal(drain);
    third.shows(drained);
    third.ends();
    second.interrupt();
    first.interrupt();
    first.ends();
}
