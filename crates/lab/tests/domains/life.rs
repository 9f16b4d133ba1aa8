//! Labs of domains are built whole or not at all, and their links are cut and joined.
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::wan::{How, WanFile, WanLab, cut};
use testkit::patience::patiently;

use crate::session::{between, line, up};

fn passes(lab: &WanLab, from: &str, to: &str) -> bool {
    let addresses = between(lab, from, to, true);
    let (source, destination): (IpAddr, IpAddr) = (addresses.sources[0], addresses.destinations[0]);
    let receiver = lab.on(to, || UdpSocket::bind(SocketAddr::new(destination, 7_700)).unwrap()).unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let sender = lab.on(from, || UdpSocket::bind(SocketAddr::new(source, 7_700)).unwrap()).unwrap();
    let _ = sender.send_to(b"?", SocketAddr::new(destination, 7_700));
    receiver.recv(&mut [0; 1]).is_ok()
}

#[test]
fn five_domains_and_a_ring_are_built_and_cut() {
    let ring = line(5, "10 Mb/s") + "[[link]]\nnumber = 9\nbetween = [65005, 65001]\nrate = \"10 Mb/s\"\n";
    let Some((_turn, lab)) = up(&ring) else { return };
    let name = lab.record().name.clone();
    // The way from the first domain to the last is the link that closes the ring.
    let arrives = |from, to| patiently("a datagram", || passes(&lab, from, to).then_some(()));
    arrives("a", "c");
    arrives("c", "a");
    for how in [How::Down, How::Silent] {
        cut(&name, 9, how).unwrap();
        patiently("the cut", || (!passes(&lab, "a", "c") && !passes(&lab, "c", "a")).then_some(()));
        cut(&name, 9, How::Joined).unwrap();
        arrives("a", "c");
        arrives("c", "a");
    }
    // The link is from the last domain to the first.
    cut(&name, 9, How::OneWay).unwrap();
    patiently("the cut", || (!passes(&lab, "c", "a")).then_some(()));
    arrives("a", "c");
    assert!(cut(&name, 8, How::Down).unwrap_err().to_string().contains("1, 2, 3, 4, 9"));
    assert!(lab::list().unwrap().iter().any(|listed| listed.name == name));
}

#[test]
fn one_that_is_interrupted_leaves_nothing() {
    let Some((_turn, lab)) = up(&line(1, "1 Mb/s")) else { return };
    drop(lab);
    let file = WanFile::read("test.toml", &line(3, "1 Mb/s")).unwrap();
    let name = lab_turn::name();
    let error = WanLab::up(&file, &name, &Arc::new(AtomicBool::new(true))).unwrap_err();
    assert!(error.what.contains("interrupted"), "{error}");
    assert!(!lab::list().unwrap().iter().any(|listed| listed.name == name));
    assert!(!std::path::Path::new("/run/netns").join(format!("{name}-a")).exists());
}

#[test]
fn a_file_that_is_wrong_says_where() {
    let wrong = |from: &str, to: &str| {
        WanFile::read("test.toml", &line(3, "1 Mb/s").replace(from, to)).unwrap_err().to_string()
    };
    assert!(wrong("asn = 65002", "asn = 65001").contains("AS 65001 is there twice"));
    assert!(wrong("asn = 65002", "ans = 65002").contains("unknown field `ans`"));
    assert!(wrong("between = [65002, 65003]", "between = [65002, 65009]").contains("AS 65009"));
    assert!(wrong("rate = \"1 Mb/s\"", "rate = \"1 Mbps\"").contains("1 Mbps"));
    assert!(wrong("number = 2", "number = 1").contains("link 1"));
    assert!(wrong("\"60 %\"", "\"much\"").contains("much"));
    for bursts in ["0", "1001", "4000000000"] {
        let told = wrong("asn = 65002", &format!("asn = 65002\nbursts = {bursts}"));
        assert!(told.contains(&format!("AS 65002: `bursts` is {bursts}")), "{told}");
    }
    assert!(wrong("\"c\"", "\"a\"").contains("host \"a\""));
}
