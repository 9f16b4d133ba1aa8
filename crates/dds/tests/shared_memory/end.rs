//! Links that end while both participants live: what is under way comes again, from the writer's history, and so does the link.
use std::collections::BTreeSet;
use std::os::fd::RawFd;

use nix::sys::socket::{Shutdown, shutdown};

use crate::namespace::alone;
use crate::player::{Player, limit, linked, sharing};

/// Ends a connection that a link of this network namespace lasts as long as; nobody is told. One end alone: the other is closed by that, and
/// its number may soon be that of something else.
fn cut() -> bool {
    // Num RefCount Protocol Flags Type St Inode Path: connected sockets (03) that keep the bounds of messages (0005).
    let text = std::fs::read_to_string("/proc/thread-self/net/unix").unwrap();
    let connected: BTreeSet<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(4..6) == Some(&["0005", "03"]))
        .map(|fields| format!("socket:[{}]", fields[6]))
        .collect();
    let names = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let numbers: Vec<RawFd> = names.filter_map(|name| name.file_name().to_str()?.parse().ok()).collect();
    let is_talk = |number: &RawFd| {
        let target = std::fs::read_link(format!("/proc/self/fd/{number}"));
        target.is_ok_and(|target| connected.contains(&*target.to_string_lossy()))
    };
    numbers.into_iter().find(is_talk).is_some_and(|number| shutdown(number, Shutdown::Both).is_ok())
}

#[test]
fn samples_go_on_and_none_is_missing_until_the_link_is_made_again() {
    alone(|| {
        let [one, other] = linked();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..2_000 {
                    one.throw(number, 1_000);
                    if number == 1_000 {
                        assert!(cut(), "there is no link");
                    }
                }
            });
            other.catch_all(0..2_000, 1_000);
        });
        // It is made again, five times.
        for link in 2..7 {
            for player in [&one, &other] {
                player.expect_line(&format!(": link {link}"));
            }
            assert!(cut(), "there is no link {link}");
            one.throw(link, 10);
            other.catch_all(link..link + 1, 10);
        }
        for player in [&one, &other] {
            player.expect(0, "shared memory with");
            player.expect_line("the link ended 6 times: UDP is used");
        }
        // Back as well.
        other.throw(1, 10);
        one.catch_all(1..2, 10);
        one.writer.wait_for_acknowledgments(limit()).unwrap();
        one.leave();
        other.leave();
    });
}

#[test]
fn the_others_keep_theirs() {
    alone(|| {
        let [one, other] = linked();
        let third = Player::new(["Back", "There"], &sharing());
        third.expect(1, "shared memory with");
        one.expect(2, "shared memory with");
        third.meet(1);
        other.leave();
        one.expect(1, "shared memory with");
        one.meet(1);
        (0..100).for_each(|number| one.throw(number, 10));
        third.catch_all(0..100, 10);
        one.leave();
        third.leave();
    });
}
