//! freeDiameter as an agent between a manager and its AAA server: what the manager asks, and what the server ends, goes through it.
use keys::Authority;
use testkit::diameter_agent::{Agent, NAME, is_there};
use testkit::namespace::{alone, ip};
use wan_server::protocol::{Answer, Ask};

use crate::aaa_server::{AaaServer, TABLE, last_record, operate, write_peers};
use crate::authorized::{admitted, asked, monitor, nothing_is_reserved, only, why};
use crate::domains::{Domains, EAST, PATIENT, WEST};

const SERVER: &str = "10.7.0.1";
const RELAY: &str = "10.7.0.2";
const CLIENT: &str = "10.7.0.3";

#[test]
fn requests_and_aborts_go_through_an_agent() {
    alone(|| {
        if !is_there() {
            return;
        }
        // The agent takes no addresses of loopback.
        ip("link add nodes type veth peer name others");
        ip("link set others up");
        for address in [SERVER, RELAY, CLIENT] {
            ip(&format!("address add {address}/24 dev nodes"));
        }
        ip("link set nodes up");
        let domains = Domains::prepared("relayed", PATIENT, |folder, asn, text| {
            if asn == WEST {
                let server = "host = \"relay.example.net\"\nspeaks-for = [\"rm.example.net\"]";
                let client = format!("host = \"relay.example.net\"\naddress = \"{RELAY}:3868\"");
                write_peers(folder, "", [SERVER, CLIENT], [server, &client]);
                text.push_str(TABLE);
            }
        });
        let _server = AaaServer::start(&domains);
        let to = format!(
            "ConnectPeer = \"aaa.example.net\" {{ ConnectTo = \"{SERVER}\"; No_TLS; Port = 3868; }};\n"
        );
        Authority::open(&domains.path("relay-keys")).unwrap().issue_host(NAME, 30).unwrap();
        let agent = Agent::start(&domains.path(""), "relay-keys", RELAY, &to);
        let (mut at_west, mut at_east) = (monitor(&domains, WEST), monitor(&domains, EAST));

        // There is no other way to the server than the agent, which asks for the manager.
        let first = admitted(&domains, 1_000_000);
        let name = only(&domains);
        let refused = domains.establish(&asked(1_500_000)).unwrap_err();
        assert_eq!((refused.asn, refused.reason.as_str()), (WEST, "not-authorized"), "{refused:?}");
        assert!(refused.text.contains("1000000 of 2000000 b/s are left"), "{refused:?}");

        // What the server begins comes through it the other way: both ends hear of it.
        operate(&domains, &["abort", "aaa.toml", &name]);
        for monitor in [&mut at_west, &mut at_east] {
            let why = why(monitor, &first.session);
            assert_eq!((why.asn, why.reason.as_str()), (WEST, "aborted"), "{why:?}");
        }
        nothing_is_reserved(&domains);
        let record = last_record(&domains, &name);
        assert_eq!(
            (record.cause.as_deref(), record.host.as_str()),
            (Some("administrative"), "rm.example.net")
        );

        // A session that its caller ends, and none without the agent.
        let second = admitted(&domains, 1_000_000);
        let name = only(&domains);
        let stop = Ask::Stop { session: second.session.clone() };
        assert_eq!(domains.ask(WEST, &stop), Answer::Stopped { session: second.session });
        assert_eq!(last_record(&domains, &name).cause.as_deref(), Some("logout"));
        drop(agent);
        let refused = testkit::patience::patiently("a manager that knows", || {
            domains.establish(&asked(1_000_000)).err()
        });
        assert_eq!((refused.asn, refused.reason.as_str()), (WEST, "aaa-unavailable"), "{refused:?}");
        nothing_is_reserved(&domains);
    });
}
