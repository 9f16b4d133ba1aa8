//! Processes that are killed: their links end at once, and those who live go on.
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::namespace::alone;
use crate::player::{Player, linked, sharing};

/// Set in a process that is to be killed.
const VICTIM: &str = "PUNCTUAL_TEST_VICTIM";

/// Not a test of its own: what the processes do that others kill.
#[test]
#[ignore = "the other process of who_is_killed_leaves_nothing_behind"]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let player = Player::new(["Spam", "There"], &sharing());
    // Its parent kills it; should the parent be gone, it ends by itself.
    let parent = std::os::unix::process::parent_id();
    let mut number = 0;
    while std::os::unix::process::parent_id() == parent {
        number += 1;
        player.throw(number, 1_000);
        while player.reader.take_next_sample().unwrap().is_some() {}
    }
}

/// In the network namespace of the calling thread.
fn start() -> Child {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(own);
    command.args(["kills::victim", "--exact", "--ignored"]).env(VICTIM, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn who_is_killed_leaves_nothing_behind() {
    alone(|| {
        let [one, other] = linked();
        let witness = Player::new(["Unheard", "Spam"], &sharing());
        let mut number = 0;
        for kill in 0..tiers::current().number("shm.participant_kills") {
            let mut child = start();
            // It is killed while it meets others, while it writes, and while it is full.
            std::thread::sleep(Duration::from_millis(kill * 7 % 60));
            if kill % 2 == 0 {
                for (player, links) in [(&one, 2), (&other, 1), (&witness, 1)] {
                    player.expect(links, "shared memory with");
                }
            }
            (number..number + 50).for_each(|number| one.throw(number, 100));
            child.kill().unwrap();
            child.wait().unwrap();
            // The kernel says so long before its lease ends.
            for (player, links) in [(&one, 1), (&other, 1), (&witness, 0)] {
                player.expect(links, "shared memory with");
            }
            other.catch_all(number..number + 50, 100);
            number += 50;
        }
        for player in [&one, &other, &witness] {
            player.leave();
        }
    });
}
