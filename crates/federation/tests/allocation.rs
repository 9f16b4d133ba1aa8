//! What events take from the heap: nothing, once all is warm.
#![allow(clippy::unwrap_used)]
use federation::{Gateway, GatewayId, Header, Interest, Settings};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

struct NoFields;
impl filter::Fields for NoFields {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        None
    }
}

#[test]
fn no_event_allocates_once_all_is_warm() {
    let mut gateways: Vec<Gateway> = (1..=3)
        .map(|id| Gateway::new(GatewayId(id), 1, Settings { ttl: 2, ..Settings::default() }))
        .collect();
    for (one, other) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
        gateways[one].add_peer(0, GatewayId(other as u64 + 1)).unwrap();
    }
    for gateway in &mut gateways[1..] {
        gateway.subscribe(Interest { kind: Some("Fix".into()), ..Interest::default() }).unwrap();
    }
    let kind = gateways[0].offer("Fix", None).unwrap();
    let (mut datagram, mut got, mut now) = (Vec::new(), 0_u32, 0);
    let mut run = |rounds: u32, is_publishing: bool| {
        for _ in 0..rounds {
            now += 1_000_000;
            if is_publishing {
                gateways[0].publish(kind, "gps.out", Header::default(), &NoFields, &[1; 600]).unwrap();
            }
            for _ in 0..3 {
                for from in 0..3 {
                    gateways[from].handle_timeout(now);
                    while let Some(to) = gateways[from].poll_transmit(now, &mut datagram) {
                        let federation::To::Peer(GatewayId(id)) = to else { continue };
                        let to = id as usize - 1;
                        gateways[to].handle_datagram(now, &datagram, &mut |_| got += 1);
                    }
                }
            }
        }
    };
    run(50, false);
    run(100, true);
    let ((), usage) = alloc_meter::measure(|| run(100, true));
    assert_eq!(usage.count, 0);
    // Each comes to both.
    assert_eq!(got, 400);
}
