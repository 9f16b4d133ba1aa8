//! Who is no manager of a domain, or not of the one that it says, reserves nothing.
use keys::{Authority, Identity, Role};
use testkit::namespace::alone;
use testkit::patience::patiently;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wan::{AggregateId, Asking, Asn, Body, Class, LinkId, Message, MessageId, Reserve, TSpec, TunnelId};

use crate::domains::{Domains, EAST, MILLISECOND, TRANSIT, WEST, flow, session};

/// What AS 65001 could say to AS 65002.
fn reserve(from: u32) -> Message {
    let (origin, number) = (Asn(WEST), 7);
    let traffic =
        TSpec { rate: 1_000_000, bucket: 1_000, peak: 1_000_000, least_unit: 1_000, largest_packet: 1_000 };
    let reserve = Reserve {
        aggregate: AggregateId { tunnel: TunnelId { origin, number }, class: Class::Ef },
        id: MessageId { epoch: 1, number: 1 },
        echo: 1,
        path: vec![Asn(WEST), Asn(TRANSIT)],
        position: 1,
        link: Some(LinkId(12)),
        traffic: Some(traffic),
        limit: 1_000_000_000,
        delay: 0,
        loss: 0,
        most_loss: wan::ANY_LOSS,
        jitter: 0,
        lifetime: 7_000_000_000,
        asking: Asking::HopByHop,
        label: None,
    };
    Message { from: Asn(from), to: Asn(TRANSIT), body: Body::Reserve(reserve) }
}

/// Says something to AS 65002 in a role, and waits until it has heard it or ended the connection.
fn say(identity: &Identity, bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().unwrap();
    runtime.block_on(async {
        let secure = identity.client_to(Role::Domain(TRANSIT)).unwrap();
        let Ok(stream) = connections::connect("127.0.0.1:7412", Some(secure)).await else { return };
        let (mut from, mut to) = tokio::io::split(stream);
        let mut framed = u16::try_from(bytes.len()).unwrap().to_be_bytes().to_vec();
        framed.extend(bytes);
        let _ = to.write_all(&framed).await;
        let _ = to.flush().await;
        // Two of its beats later it has read this, or it has closed the connection.
        let _ = from.read_exact(&mut [0; 4]).await;
    });
}

#[test]
fn who_is_not_what_it_says_reserves_nothing() {
    alone(|| {
        let mut domains = Domains::new("strangers", "");
        let authority = Authority::open(&domains.path("keys")).unwrap();
        let identity = |role: Role| {
            authority.issue(role).unwrap();
            Identity::load(&domains.path("keys"), role).unwrap()
        };
        let nothing = |what: &str| {
            let status = domains.status(TRANSIT);
            assert_eq!(status.aggregates, [], "{what}");
            status.false_messages
        };
        let honest = reserve(WEST).encode().unwrap();
        // In the name of another one.
        say(&identity(Role::Domain(EAST)), &honest);
        domains.told(TRANSIT, "AS 65003: it speaks in the name of AS 65001; such messages are left out");
        assert_eq!(nothing("a false name"), 1);
        // For another one, and no message at all.
        let elsewhere = Message { to: Asn(EAST), ..reserve(WEST) }.encode().unwrap();
        say(&identity(Role::Domain(WEST)), &elsewhere);
        domains.told(TRANSIT, "AS 65001: it sends here what is for AS 65003");
        say(&identity(Role::Domain(WEST)), b"GET / HTTP/1.1");
        domains.told(TRANSIT, "AS 65001: what it sends is no message");
        assert_eq!(nothing("no message"), 3);
        // A domain that the file does not have, and another role of the same authority.
        say(&identity(Role::Domain(65_009)), &honest);
        domains.told(TRANSIT, "AS 65009 at 127.0.0.1 is turned away: no [[domain]] of the file is it");
        say(&identity(Role::Manager), &honest);
        domains.told(TRANSIT, "is turned away: its certificate is that of manager, and of no domain");
        // Another authority: neither end believes the other.
        let foreign = Authority::open(&domains.path("foreign")).unwrap();
        foreign.issue(Role::Domain(WEST)).unwrap();
        say(&Identity::load(&domains.path("foreign"), Role::Domain(WEST)).unwrap(), &honest);
        assert_eq!(nothing("strangers"), 3);
        // The honest one, for comparison: what would have been reserved.
        patiently("a reservation", || {
            say(&identity(Role::Domain(WEST)), &honest);
            (domains.status(TRANSIT).aggregates.len() == 1).then_some(())
        });

        // A manager with a certificate of another authority sets nothing up, and both sides say why.
        domains.kill(WEST);
        domains.start_with(WEST, "foreign");
        domains.told(WEST, "its certificate is of another authority");
        domains.told(TRANSIT, "its certificate is of another authority");
        let why = patiently("a manager", || {
            let asked = session("10.3.1.7", vec![flow(1_000_000, 25 * MILLISECOND)]);
            let mut client = domains.client(WEST)?;
            client.ask(&wan_server::protocol::Ask::Establish(asked)).ok()?;
            match client.answer().ok()?? {
                wan_server::protocol::Answer::Refused(why) if why.reason != "busy" => Some(why),
                _ => None,
            }
        });
        assert_eq!((why.asn, why.reason.as_str()), (WEST, "no-answer"));
        assert!(domains.status(EAST).hosted.is_empty() && domains.status(EAST).aggregates.is_empty());
    });
}
