//! Opening and closing.
use dds::config::{Config, ParticipantId};
use dds::driver::Driver;
use dds::host::Host;

use crate::namespace::{alone, bare};

fn refused(domain_id: u32, config: &Config) -> String {
    Driver::open(domain_id, config).unwrap_err().to_string()
}

#[test]
fn participant_ids_are_taken_in_order_and_come_back() {
    alone(|| {
        let config = Config::default();
        let open: Vec<_> = (0..3).map(|_| Driver::open(7, &config).unwrap()).collect();
        assert_eq!(open.iter().map(|driver| driver.participant_id()).collect::<Vec<_>>(), [0, 1, 2]);
        // The handle stays, the ports do not.
        open[1].close();
        assert_eq!(Driver::open(7, &config).unwrap().participant_id(), 1);
        let mut fixed = config.clone();
        fixed.discovery.participant_id = ParticipantId::Fixed(2);
        let said = refused(7, &fixed);
        assert!(said.contains("participant 2 of domain 7 is there already"), "{said}");
        fixed.discovery.participant_id = ParticipantId::Fixed(119);
        assert_eq!(Driver::open(7, &fixed).unwrap().participant_id(), 119);
    });
}

#[test]
fn errors_say_what_to_do() {
    alone(|| {
        let said = refused(233, &Config::default());
        assert!(said.contains("domain 233") && said.contains("0 to 232"), "{said}");
        let mut named = Config::default();
        named.network.interfaces = dds::config::Interfaces::Named(vec!["eth7".to_owned()]);
        let said = refused(0, &named);
        assert!(said.contains("interface lo: not used: the configuration names others"), "{said}");
    });
    bare(|| {
        let said = refused(0, &Config::default());
        assert!(said.contains("interface lo: not used: it is off"), "{said}");
    });
}
