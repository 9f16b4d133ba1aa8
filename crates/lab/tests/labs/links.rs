//! Links that hold frames and lose some.
use std::thread;
use std::time::{Duration, Instant};

use lab::Lab;
use lab::tap::Tap;
use lab::train::Heard;
use nix::sys::socket::{setsockopt, sockopt};

use crate::three::{three, up};
use crate::traffic::{Counter, address, greet, send, socket};
use lab_turn::turn;

#[test]
fn a_link_with_a_delay_holds_every_frame_so_long() {
    let Some(_turn) = turn() else { return };
    let text = three("plain").replace("rate = \"20 Mb/s\"", "delay = \"10 ms\"");
    let lab = up(&text);
    greet(&lab, "a", "c");
    let (one, other) = (socket(&lab, "a", 5_000, 0), socket(&lab, "c", 5_000, 0));
    other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = [0; 8];
    for number in 0..20_u64 {
        let sent = Instant::now();
        one.send_to(&number.to_ne_bytes(), address(&lab, "c", 5_000)).unwrap();
        assert_eq!(other.recv(&mut bytes).unwrap(), 8);
        assert!(sent.elapsed() >= Duration::from_millis(10), "held for {:?}", sent.elapsed());
        assert_eq!(u64::from_ne_bytes(bytes), number);
    }
    // In order, and without loss, when many are on the way at once.
    let counter = Counter::on(other);
    send(&one, address(&lab, "c", 5_000), 64, 500, Duration::from_micros(200));
    assert_eq!(counter.numbers().len(), 500);
}

#[test]
fn a_link_with_a_loss_loses_about_so_many() {
    let Some(_turn) = turn() else { return };
    let text = three("plain").replace("rate = \"20 Mb/s\"", "loss = \"20 %\"");
    let lab = up(&text);
    greet(&lab, "a", "c");
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&socket(&lab, "a", 0, 0), address(&lab, "c", 5_000), 64, 2_000, Duration::from_micros(200));
    let came = counter.numbers().len();
    // Six standard deviations.
    assert!((1_493..=1_707).contains(&came), "{came} of 2000 came");
}

/// When datagrams to a port of a host come to a port of the switch, in nanoseconds, and how long the frames are.
fn tapped(lab: &Lab, interface: &str, port: u16, send: impl FnOnce()) -> Vec<(u64, usize)> {
    let namespace = lab.switch("s1").unwrap().namespace.clone();
    let (ready, heard) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let listening = scope.spawn(move || {
            let file = std::fs::File::open(format!("/run/netns/{namespace}")).unwrap();
            nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
            let tap = Tap::open(interface).unwrap();
            ready.send(()).unwrap();
            let (mut frames, mut heard, mut frame) = (Vec::new(), Heard::default(), Vec::new());
            while let Some(time) = tap.next(&mut heard, Duration::from_millis(500)).unwrap() {
                while heard.next(&mut frame) {
                    if frame[12..14] == [8, 0] && frame[36..38] == port.to_be_bytes() {
                        frames.push((time, frame.len()));
                    }
                }
            }
            frames
        });
        heard.recv().unwrap();
        send();
        listening.join().unwrap()
    })
}

/// Sends trains of 40 datagrams over a link of 20 Mb/s: the longest time between the first frame of one and its last at the switch, and
/// the least that 38 frames need, both in nanoseconds.
pub(crate) fn trains(lab: &Lab) -> (u64, u64) {
    greet(lab, "a", "b");
    let sender = socket(lab, "a", 0, 0);
    setsockopt(&sender, sockopt::UdpGsoSegment, &1_400).unwrap();
    let frames = tapped(lab, "p1", 5_000, || {
        for _ in 0..5 {
            sender.send_to(&[0; 40 * 1_400], address(lab, "b", 5_000)).unwrap();
            thread::sleep(Duration::from_millis(60));
        }
    });
    assert_eq!(frames.len(), 200);
    assert!(frames.iter().all(|(_, length)| *length == 1_442), "{frames:?}");
    let took = frames.chunks(40).map(|train| train[39].0 - train[0].0).max().unwrap();
    // 1466 bytes on the wire; two may follow each other at once.
    (took, 38 * 1_466 * 8 * 50)
}

#[test]
fn a_train_of_datagrams_takes_the_time_of_its_frames() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("plain").replace("\"s1:1\"]", "\"s1:1\"]\nrate = \"20 Mb/s\""));
    // The first frame may be heard late, but not that of each train.
    let (took, least) = trains(&lab);
    assert!(took >= least * 95 / 100, "{took} ns for a train that needs {least}");
}
