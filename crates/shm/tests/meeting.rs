//! Processes meet at a name, give each other memory, know whose process the other is, and see it go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use shm::{Bell, Doorbell, MIN_CAPACITY, Meeting, Said, Segment, Talk, Window, own_user, ready};

const LIMIT: Option<Duration> = Some(Duration::from_secs(20));

fn name(of: &str) -> Vec<u8> {
    format!("punctual-test-{}-{of}", std::process::id()).into_bytes()
}

fn pair(of: &str) -> (Talk, Talk) {
    let meeting = Meeting::new(&name(of)).unwrap();
    assert!(meeting.accept().unwrap().is_none());
    let near = Talk::new(&name(of)).unwrap();
    assert_eq!(ready(&[near.as_fd(), meeting.as_fd()], LIMIT).unwrap(), [false, true]);
    (near, meeting.accept().unwrap().unwrap())
}

fn words(talk: &Talk) -> Said {
    ready(&[talk.as_fd()], LIMIT).unwrap();
    talk.hear(&mut [0; 16]).unwrap()
}

#[test]
fn memory_is_given_with_words() {
    let (near, far) = pair("memory");
    let (segment, doorbell) = (Segment::new(5, MIN_CAPACITY).unwrap(), Doorbell::new().unwrap());
    assert!(matches!(far.hear(&mut [0; 16]), Ok(Said::Nothing)));
    near.say(b"hello", &[segment.file(), doorbell.file()]).unwrap();
    let Said::Words(5, files) = words(&far) else { panic!("nothing was said") };
    assert!(Window::open(files[0].as_fd(), 5).is_ok() && Bell::open(files[1].as_fd()).is_ok());
    assert_eq!(files.len(), 2);
}

#[test]
fn the_kernel_says_whose_process_it_is_and_when_it_is_gone() {
    let (near, far) = pair("whose");
    for end in [&near, &far] {
        let peer = end.peer().unwrap();
        assert_eq!((peer.process, peer.user), (std::process::id().cast_signed(), own_user()));
    }
    drop(near);
    assert!(matches!(words(&far), Said::Gone));
    assert_eq!(far.say(b"hello", &[]).unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_name_is_had_by_one_and_ends_with_it() {
    let meeting = Meeting::new(&name("one")).unwrap();
    assert_eq!(Meeting::new(&name("one")).unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(meeting);
    assert_eq!(Talk::new(&name("one")).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(Meeting::new(&name("one")).is_ok());
    assert_eq!(Meeting::new(&[b'x'; 101]).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn words_that_are_too_long_end_the_talk_and_their_memory_is_let_go_of() {
    let (near, far) = pair("long");
    let doorbell = Doorbell::new().unwrap();
    near.say(&[0; 17], &[doorbell.file(), doorbell.file()]).unwrap();
    assert!(matches!(words(&far), Said::Gone));
    // The descriptors that came are closed: only the doorbell's own is there for its memory.
    let inode = |file: &std::path::Path| std::fs::metadata(file).ok().map(|about| about.ino());
    let own = std::fs::metadata(format!("/proc/self/fd/{}", doorbell.file().as_raw_fd())).unwrap().ino();
    let open = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(|entry| inode(&entry.path()) == Some(own)));
    assert_eq!(open.count(), 1);
    let many = [doorbell.file(); 4];
    assert_eq!(near.say(b"hello", &many).unwrap_err().kind(), ErrorKind::InvalidInput);
}
