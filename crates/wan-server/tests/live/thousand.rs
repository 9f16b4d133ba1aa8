//! Many sessions: transit knows aggregates, however many sessions are in them.
use testkit::namespace::alone;
use wan_server::protocol::{Answer, Ask, Flow};

use crate::domains::{Domains, EAST, MILLISECOND, TRANSIT, WEST, flow, session};

#[test]
fn a_thousand_sessions_are_one_aggregate_in_transit() {
    alone(|| {
        let limits =
            "[limits]\nrefresh = \"5 s\"\nlifetime = \"100 s\"\nguard = \"10 s\"\npatience = \"50 s\"\n";
        let domains = Domains::new("thousand", limits);
        let small = Flow { bucket: 40, largest_packet: 40, ..flow(5_000, 25 * MILLISECOND) };
        let asked = session("10.3.1.7", vec![small]);
        domains.admitted(&asked);
        let before = domains.status(TRANSIT).aggregates;
        assert_eq!(before.len(), 1);
        let (threads, each) = (9, 111);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut client = domains.client(WEST).unwrap();
                    for _ in 0..each {
                        client.ask(&Ask::Establish(asked.clone())).unwrap();
                        match client.answer::<Answer>().unwrap() {
                            Some(Answer::Admitted(_)) => {}
                            other => panic!("{other:?}"),
                        }
                    }
                });
            }
        });
        let [west, transit, east] = [WEST, TRANSIT, EAST].map(|asn| domains.status(asn));
        assert_eq!((west.sessions.len(), east.hosted.len()), (1_000, 1_000));
        let [after] = &transit.aggregates[..] else { panic!("{:?}", transit.aggregates) };
        assert_eq!((after.rate, after.bucket), (5_000_000, 40_000));
        assert_eq!(
            (&after.tunnel, after.label_in, after.label_out),
            (&before[0].tunnel, before[0].label_in, before[0].label_out)
        );
        assert!(transit.sessions.is_empty() && transit.hosted.is_empty());
    });
}
