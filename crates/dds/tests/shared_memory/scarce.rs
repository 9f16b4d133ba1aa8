//! Without free descriptors, and in a flood of connections: nothing spins, and all works again afterwards.
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use forks::{Ended, in_child};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Uid, getpid, setuid};
use shm::Talk;

use crate::namespace::{alone, run};
use crate::player::{Player, apart, linked, sharing};
use crate::process::{ALONE, arguments, check, is_alone, is_own};
use testkit::patience::{LIMIT, patiently_or};

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

/// The processor time of the thread that calls.
fn own_processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn without_a_free_descriptor_nothing_spins_and_the_link_is_made_later() {
    if !is_own("scarce::without_a_free_descriptor_nothing_spins_and_the_link_is_made_later") {
        return;
    }
    alone(|| {
        let [player, second] = linked();
        let places = places();
        let (parent, limit) = (getpid().as_raw(), take_descriptors());
        let ended = in_child(LIMIT, || {
            give_descriptors(limit);
            let _talks = places.iter().map(|place| Talk::new(place).unwrap()).collect::<Vec<_>>();
            // A thread that spins gets as much of the processors as this one, however many others want them.
            let before = processor_time(parent, "dds-links");
            let begun = own_processor_time();
            while own_processor_time() - begun < Duration::from_millis(500) {}
            let (computed, used) =
                (own_processor_time() - begun, processor_time(parent, "dds-links") - before);
            assert!(used < computed / 20, "{used:?}, and a thread that computes {computed:?}");
        });
        assert_eq!(ended.unwrap(), Ended::Returned);
        player.expect_line("connections cannot be accepted");
        give_descriptors(limit);
        let other = Player::new(["Back", "There"], &sharing());
        player.expect(2, "shared memory with");
        player.meet(2);
        let told = || player.participant.report().iter().any(|line| line.contains("cannot be accepted"));
        patiently_or(|| "it is still told".to_owned(), || (!told()).then_some(()));
        [player, second, other].iter().for_each(Player::leave);
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
        let ended = in_child(LIMIT, || {
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
        patiently_or(|| "it is still told".to_owned(), || (!told()).then_some(()));
        player.leave();
    });
}

/// So many connections of another user are accepted before the flood ends.
const FLOOD: u32 = 6_000;

#[test]
fn a_flood_of_another_user_is_accepted_slowly_and_our_own_still_meet() {
    alone(|| {
        let [player, second] = linked();
        let places = places();
        std::thread::scope(|scope| {
            let (mut has_begun, begins) = std::io::pipe().unwrap();
            let places = &places;
            let flood = scope.spawn(move || {
                in_child(LIMIT * 2, || {
                    setuid(Uid::from_raw(65_534)).unwrap();
                    let (begun, mut count, mut is_told) = (Instant::now(), 0_u32, false);
                    while count < FLOOD {
                        count += places.iter().map(|place| u32::from(Talk::new(place).is_ok())).sum::<u32>();
                        if !is_told {
                            (&begins).write_all(b"!").unwrap();
                            is_told = true;
                        }
                    }
                    // Those that wait to be accepted, and 2,000 in a second, of each of the two: a busy machine takes longer, never less.
                    let least = (f64::from(FLOOD) - 400.0) / (2.0 * 2_200.0);
                    assert!(begun.elapsed().as_secs_f64() > least, "{count} were accepted");
                })
            });
            has_begun.read_exact(&mut [0]).unwrap();
            let other = Player::new(["Back", "There"], &sharing());
            player.expect(2, "shared memory with");
            other.meet(1);
            assert_eq!(flood.join().unwrap().unwrap(), Ended::Returned);
            player.expect_line("connections of other users were refused");
            other.leave();
        });
        [player, second].iter().for_each(Player::leave);
    });
}

/// Descriptors of this process, threads of it, and its mappings of shared memory.
fn held() -> [usize; 3] {
    let count = |what: &str| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    [count("fd"), count("task"), maps.lines().filter(|line| line.contains("memfd:punctual")).count()]
}

#[test]
fn nothing_is_taken_before_endpoints_match_and_nothing_kept_after_closing() {
    if !is_own("scarce::nothing_is_taken_before_endpoints_match_and_nothing_kept_after_closing") {
        return;
    }
    alone(|| {
        let before = held();
        let strangers =
            [Player::new(["There", "Back"], &sharing()), Player::new(["Elsewhere", "Nowhere"], &sharing())];
        for player in &strangers {
            let found = || player.participant.get_discovered_participants().len();
            patiently_or(|| "they never met".to_owned(), || (found() == 1).then_some(()));
        }
        strangers[1].leave();
        let [_, _, mappings] = held();
        assert_eq!((mappings, places().len()), (0, 0), "nobody shares anything");
        let other = Player::new(["Back", "There"], &sharing());
        let [one, _] = &strangers;
        one.expect(1, "shared memory with");
        assert!(held()[2] > 0);
        // What is lent is still there for whoever has it.
        let mut loan = one.writer.loan(9_000).unwrap();
        let is_shared = loan.is_shared();
        let handles = (one.writer.clone(), other.reader.clone(), other.participant.clone());
        one.leave();
        other.leave();
        let after = if is_shared { [before[0], before[1], 1] } else { before };
        patiently_or(|| format!("{after:?} expected: {:?}", held()), || (held() == after).then_some(()));
        loan.fill(7);
        assert!(loan.iter().all(|octet| *octet == 7));
        drop(loan);
        patiently_or(|| format!("{before:?} expected: {:?}", held()), || (held() == before).then_some(()));
        assert!(is_shared && handles.0.loan(10).is_err());
    });
}

#[test]
fn a_process_with_few_descriptors_left_keeps_them() {
    if !is_own("scarce::a_process_with_few_descriptors_left_keeps_them") {
        return;
    }
    alone(|| {
        let pair =
            [Player::new(["There", "Elsewhere"], &sharing()), Player::new(["Elsewhere", "There"], &apart())];
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        // Less than a quarter is free, yet enough for all that a link takes.
        setrlimit(Resource::RLIMIT_NOFILE, 256, hard).unwrap();
        let most: Vec<File> = (0..)
            .map(|_| File::open("/dev/null").unwrap())
            .take_while(|file| std::os::fd::AsRawFd::as_raw_fd(file) < 200)
            .collect();
        let third = Player::new(["Nothing", "There"], &sharing());
        // Whoever of the two has to connect.
        let told =
            |player: &Player| player.participant.report().iter().any(|line| line.contains("few descriptors"));
        let either = || [&pair[0], &third].into_iter().any(told).then_some(());
        patiently_or(|| "no reason is told".to_owned(), either);
        pair[0].throw(1, 100);
        third.catch_all(1..2, 100);
        assert_eq!(third.reported("shared memory with"), 0);
        drop(most);
        // It is tried again.
        third.expect(1, "shared memory with");
        pair.iter().chain([&third]).for_each(Player::leave);
    });
}

/// What a pair does in a process whose system refuses a call, as seccomp profiles of containers do.
#[test]
fn refused() {
    if !is_alone() {
        return;
    }
    alone(|| {
        let pair = [Player::new(["There", "Back"], &sharing()), Player::new(["Back", "There"], &sharing())];
        for player in &pair {
            player.meet(1);
        }
        pair[0].throw(1, 100_000);
        pair[1].catch_all(1..2, 100_000);
        pair[0].expect_transport(dds::Transport::Udp);
        let told = |player: &Player| player.reported("no shared memory") > 0;
        patiently_or(|| "nothing is told".to_owned(), || pair.iter().any(told).then_some(()));
        pair.iter().for_each(Player::leave);
    });
}

#[test]
fn where_the_system_refuses_a_call_udp_is_used_and_it_is_said() {
    if let Err(error) = Command::new("strace").arg("-V").output() {
        assert!(std::env::var_os("CI").is_none(), "strace is missing, see scripts/setup: {error}");
        eprintln!("passed over: strace is missing: {error}");
        return;
    }
    for refused in
        ["memfd_create:error=ENOSYS", "socketpair:error=EPERM", "listen:error=EACCES", "accept4:error=EPERM"]
    {
        let mut strace = Command::new("strace");
        strace
            .args(["-f", "-qq", "-o", "/dev/null", "-e", "signal=none", "-e"])
            .arg(format!("inject={refused}"));
        let own = std::env::current_exe().unwrap();
        let output = strace.arg(own).args(arguments("scarce::refused")).env(ALONE, "1").output().unwrap();
        check(refused, &output);
    }
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
