//! Opening and closing.
use dds::config::{Config, ParticipantId};
use dds::driver::Driver;
use dds::host::Host;

use crate::namespace::{alone, bare};
use crate::node::Node;
use crate::process::is_own;

fn refused(domain_id: u32, config: &Config) -> String {
    Driver::open(domain_id, config).unwrap_err().to_string()
}

#[test]
fn participant_ids_are_taken_in_order_and_come_back() {
    // A program that another test starts holds our sockets for a moment.
    if !is_own("opening::participant_ids_are_taken_in_order_and_come_back") {
        return;
    }
    alone(|| {
        let config = Config::default();
        let open: Vec<_> = (0..3).map(|_| Driver::open(7, &config).unwrap()).collect();
        assert_eq!(
            open.iter().map(|driver| driver.participant_id()).collect::<Vec<_>>(),
            [0, 1, 2].map(Some)
        );
        // The handle stays, the ports do not.
        open[1].close();
        assert_eq!(Driver::open(7, &config).unwrap().participant_id(), Some(1));
        let mut fixed = config.clone();
        fixed.discovery.participant_id = ParticipantId::Fixed(2);
        let said = refused(7, &fixed);
        assert!(said.contains("participant 2 of domain 7 is there already"), "{said}");
        fixed.discovery.participant_id = ParticipantId::Fixed(119);
        assert_eq!(Driver::open(7, &fixed).unwrap().participant_id(), Some(119));
    });
}

#[test]
fn errors_say_what_to_do() {
    if !is_own("opening::errors_say_what_to_do") {
        return;
    }
    alone(|| {
        let said = refused(233, &Config::default());
        assert!(said.contains("domain 233") && said.contains("0 to 232"), "{said}");
        let mut named = Config::default();
        named.network.interfaces = dds::config::Interfaces::Named(vec!["eth7".to_owned()]);
        let said = refused(0, &named);
        assert!(said.contains("interface lo: not used: the configuration names others"), "{said}");
    });
    alone(|| {
        // Somebody has the port of the group and does not share it.
        let taken = std::net::UdpSocket::bind("0.0.0.0:7400").unwrap();
        let said = refused(0, &Config::default());
        assert!(said.contains("multicast: the port of the group cannot be shared"), "{said}");
        drop(taken);
        let taken: Vec<_> =
            (0..120).map(|id| std::net::UdpSocket::bind(("0.0.0.0", 7_410 + 2 * id)).unwrap()).collect();
        let beyond = Driver::open(0, &Config::default()).unwrap();
        assert_eq!(beyond.participant_id(), None);
        let report = beyond.report();
        assert!(
            report.iter().any(|line| line.contains("those of all participant ids are taken")),
            "{report:#?}"
        );
        drop(taken);
        Driver::open(0, &Config::default()).unwrap();
    });
    bare(|| {
        let said = refused(0, &Config::default());
        assert!(said.contains("interface lo: not used: it is off"), "{said}");
    });
}

#[test]
fn the_report_says_what_was_granted() {
    alone(|| {
        let mut config = Config::default();
        config.threads.name_prefix = "granted".to_owned();
        config.threads.priority = Some(1);
        config.threads.cores = vec![udp::thread::cores().unwrap()[0], 900];
        let node = Node::start(&config);
        let report = node.host.report().join("\n");
        let core = config.threads.cores[0];
        for line in [
            "participant 0 of domain 0",
            "interface lo: 127.0.0.1/8, datagrams of 65507 bytes, multicast",
            "discovery 0.0.0.0:7410: receive buffer",
            "data 0.0.0.0:7411: receive buffer",
            "(2097152 asked for, it counts twice)",
            "discovery groups 0.0.0.0:7400",
            "thread granted-watch: normal priority, any core",
            &format!("cores [{core}] of [{core}, 900] asked for"),
        ] {
            assert!(report.contains(line), "{line}: {report}");
        }
        // By the right to it.
        let granted = report.contains("thread granted-user: real-time priority 1");
        assert!(granted || report.contains("CAP_SYS_NICE"), "{report}");
        node.host.close();
    });
}
