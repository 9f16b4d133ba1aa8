//! Without free descriptors, and in a flood of connections: nothing spins, and all works again afterwards.
use std::fs::{self, File};
use std::time::{Duration, Instant};

use forks::{Ended, in_child};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Uid, getpid, setuid};
use shm::Talk;

use crate::namespace::{alone, run};
use crate::player::{Player, sharing};
use crate::process::is_own;
use crate::{PATIENCE, patiently};

/// From now on no descriptor is free; gives the limit as it was.
fn take_descriptors() -> u64 {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // The lowest free one would be this.
    let free = File::open("/dev/null").map(|file| std::os::fd::AsRawFd::as_raw_fd(&file)).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, u64::try_from(free).unwrap(), hard).unwrap();
    assert!(File::open("/dev/null").is_err());
    soft
}

fn give_descriptors(limit: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, limit, hard).unwrap();
}

/// Names of the places where participants of the network namespace are met.
fn places() -> Vec<Vec<u8>> {
    let text = fs::read_to_string("/proc/thread-self/net/unix").unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().last()?.strip_prefix("@punctual-"));
    let mut names: Vec<Vec<u8>> = names.map(|name| format!("punctual-{name}").into_bytes()).collect();
    names.sort();
    names.dedup();
    names
}

/// Time that threads of this name of a process have had of processors.
fn processor_time(process: i32, name: &str) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let of_name = threads.filter(|thread| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
    });
    let nanoseconds = of_name.map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<u64>().unwrap()
    });
    Duration::from_nanos(nanoseconds.sum())
}

#[test]
fn without_a_free_descriptor_nothing_spins_and_the_link_is_made_later() {
    if !is_own("scarce::without_a_free_descriptor_nothing_spins_and_the_link_is_made_later") {
        return;
    }
    alone(|| {
        let player = Player::new(["There", "Back"], &sharing());
        let [place] = <[_; 1]>::try_from(places()).unwrap();
        let (parent, limit) = (getpid().as_raw(), take_descriptors());
        let ended = in_child(PATIENCE, || {
            give_descriptors(limit);
            let _talk = Talk::new(&place).unwrap();
            let begun = (Instant::now(), processor_time(parent, "dds-links"));
            std::thread::sleep(Duration::from_secs(1));
            let (elapsed, used) = (begun.0.elapsed(), processor_time(parent, "dds-links") - begun.1);
            assert!(used < elapsed / 20, "{used:?} of {elapsed:?}");
        });
        assert_eq!(ended.unwrap(), Ended::Returned);
        player.expect_line("connections cannot be accepted");
        give_descriptors(limit);
        let other = Player::new(["Back", "There"], &sharing());
        player.expect(1, "shared memory with");
        player.meet(1);
        let told = || player.participant.report().iter().any(|line| line.contains("cannot be accepted"));
        patiently(|| "it is still told".to_owned(), || (!told()).then_some(()));
        player.leave();
        other.leave();
    });
}

#[test]
fn interfaces_are_watched_on_after_descriptors_were_missing() {
    if !is_own("scarce::interfaces_are_watched_on_after_descriptors_were_missing") {
        return;
    }
    alone(|| {
        let player = Player::new(["There", "Back"], &sharing());
        let limit = take_descriptors();
        let ended = in_child(PATIENCE, || {
            give_descriptors(limit);
            run("ip", "link add late0 type veth peer name late1");
            run("ip", "addr add 10.77.0.1/24 dev late0");
            run("ip", "link set late0 up");
            run("ip", "link set late1 up");
        });
        assert_eq!(ended.unwrap(), Ended::Returned);
        player.expect_line("changes of interfaces cannot be seen now");
        give_descriptors(limit);
        player.expect_line("late0");
        let told = || player.participant.report().iter().any(|line| line.contains("cannot be seen now"));
        patiently(|| "it is still told".to_owned(), || (!told()).then_some(()));
        player.leave();
    });
}

#[test]
fn a_flood_of_another_user_is_accepted_slowly_and_our_own_still_meet() {
    alone(|| {
        let player = Player::new(["There", "Back"], &sharing());
        let [place] = <[_; 1]>::try_from(places()).unwrap();
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| {
                in_child(PATIENCE * 2, || {
                    setuid(Uid::from_raw(65_534)).unwrap();
                    let (begun, mut count) = (Instant::now(), 0_u32);
                    while begun.elapsed() < Duration::from_secs(2) {
                        count += u32::from(Talk::new(&place).is_ok());
                    }
                    // Those that wait to be accepted, and 2,000 in a second.
                    let most = 2_200.0 * begun.elapsed().as_secs_f64() + 200.0;
                    assert!(f64::from(count) < most, "{count} were accepted");
                })
            });
            std::thread::sleep(Duration::from_millis(100));
            let other = Player::new(["Back", "There"], &sharing());
            player.expect(1, "shared memory with");
            other.meet(1);
            assert_eq!(flood.join().unwrap().unwrap(), Ended::Returned);
            player.expect_line("connections of other users were refused");
            other.leave();
        });
        player.leave();
    });
}

#[test]
fn a_participant_that_may_have_no_files_uses_udp_and_says_so() {
    if !is_own("scarce::a_participant_that_may_have_no_files_uses_udp_and_says_so") {
        return;
    }
    alone(|| {
        setrlimit(Resource::RLIMIT_FSIZE, 0, 0).unwrap();
        let pair = [Player::new(["There", "Back"], &sharing()), Player::new(["Back", "There"], &sharing())];
        for player in &pair {
            player.meet(1);
            player.expect_line("no shared memory, UDP is used");
            player.expect_line("RLIMIT_FSIZE");
        }
        pair[0].throw(1, 100_000);
        pair[1].catch_all(1..2, 100_000);
        pair.iter().for_each(Player::leave);
    });
}
