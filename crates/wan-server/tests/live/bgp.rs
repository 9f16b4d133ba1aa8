//! Paths that BGP alone tells: real speakers of five domains, all paths between them, sessions over them, links that are cut.
use std::collections::BTreeMap;

use testkit::namespace::alone;
use testkit::patience::patiently_or;
use wan_server::protocol::{Answer, Ask, Paths};
use wan_server::{bgp_routes, prefix};

use crate::bgp_speakers::{Speaker, is_there, socket};
use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};

/// Two domains without managers: one beside the transit domain, and one that has a single neighbour.
const OTHER: u32 = 65_004;
const STUB: u32 = 65_005;

/// What each domain needs in class EF, in its file.
const NEEDS: [(u32, &str); 3] = [(WEST, "1500 us"), (TRANSIT, "4 ms"), (EAST, "2 ms")];

/// A file without paths of its own, with a BGP speaker, and with link 13 between west and east.
fn with_bgp(asn: u32, text: &str) -> String {
    let blocks = text.split("\n\n").filter(|block| !block.contains("[[path]]"));
    let mut text = blocks.collect::<Vec<_>>().join("\n\n");
    assert!(!text.contains("[[path]]"));
    text = text.replace("\"10.3.0.0/16\"", "\"10.3.0.0/16\", \"2001:db8:3::/48\"");
    let (_, ef) = NEEDS.into_iter().find(|(of, _)| *of == asn).unwrap();
    text.push_str(&format!(
        "\n[bgp]\ncommand = [\"vtysh\", \"--vty_socket\", \"{}\"]\ninterval = \"100 ms\"\nef = \"{ef}\"\n",
        socket(asn)
    ));
    if asn != TRANSIT {
        let terms = "ef = { rate = \"20 Mbit/s\", burst = \"60 kB\", delay = \"3 ms\", jitter = \"1 ms\" }\n";
        for (from, to) in [(WEST, EAST), (EAST, WEST)] {
            text.push_str(&format!(
                "\n[[agreement]]\nfrom = {from}\nto = {to}\nlink = 13\ndestinations = [{to}]\n{terms}"
            ));
        }
        let other = if asn == WEST { "middle" } else { "hosts" };
        text.push_str(&format!(
            "\n[[declared.link]]\nbetween = [\"{other}\", \"border-13\"]\n\
             ef = {{ rate = \"40 Mbit/s\", burst = \"200 kB\", delay = \"300 us\", jitter = \"100 us\" }}\n"
        ));
    }
    text
}

/// The lines that the manager's command makes of its file.
fn route_map(domains: &Domains, asn: u32) -> String {
    let file = format!("{}.toml", Domains::name(asn));
    let said = domains.command().args(["bgp", &file]).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).unwrap()
}

fn paths(domains: &Domains, asn: u32) -> Paths {
    match domains.ask(asn, &Ask::Paths) {
        Answer::Paths(paths) => *paths,
        other => panic!("{other:?}"),
    }
}

type Told = BTreeMap<Vec<u32>, BTreeMap<String, u64>>;

/// Waits until these are all paths of the west, with the milliseconds of class EF.
fn west_has(domains: &Domains, expected: &[(&[u32], Option<f64>)]) {
    let nanoseconds = |delay: f64| (delay * 1e6) as u64;
    let expected: Told = expected
        .iter()
        .map(|(path, ef)| {
            let ef = ef.map(|ef| ("ef".to_owned(), nanoseconds(ef)));
            // AF4 is told by the other domain alone, so by no whole path.
            (path.to_vec(), ef.into_iter().collect())
        })
        .collect();
    let now = || -> Told {
        let all = paths(domains, WEST).paths;
        assert!(all.iter().all(|path| path.is_of_bgp));
        all.into_iter().map(|path| (path.domains, path.told)).collect()
    };
    patiently_or(|| format!("{expected:?}: {:?}", now()), || (now() == expected).then_some(()));
}

#[test]
fn sessions_go_over_paths_that_bgp_alone_tells_and_leave_those_that_it_withdraws() {
    if !is_there() {
        return;
    }
    alone(|| {
        let domains = Domains::changed("bgp", PATIENT, with_bgp);
        // Before there are speakers, there is no path, and the manager says why.
        domains.told(WEST, "the table of BGP cannot be read");
        let asked = session("10.3.1.7", vec![flow(1_000_000, 25 * MILLISECOND)]);
        assert_eq!(domains.establish(&asked).unwrap_err().reason, "no-path");

        let folder = domains.path("");
        let other = "route-map punctual permit 10\n set large-community 65004:34:500 additive\n";
        let speaker = |asn, neighbours: &[u32], announces: &[&str], route_map: &str| {
            Speaker::start(&folder, asn, neighbours, announces, route_map)
        };
        let map = |asn| route_map(&domains, asn);
        let west = speaker(WEST, &[TRANSIT, EAST, OTHER, STUB], &["10.1.0.0/16"], &map(WEST));
        let transit = speaker(TRANSIT, &[WEST, EAST], &["10.2.0.0/16"], &map(TRANSIT));
        // Another one's addresses are no paths to it, and not asked for.
        let announced = ["10.3.0.0/16", "2001:db8:3::/48", "10.3.7.0/24"];
        let east = speaker(EAST, &[WEST, TRANSIT, OTHER], &announced, &map(EAST));
        let silent = speaker(OTHER, &[WEST, EAST], &["10.2.0.0/16"], other);
        let stub = speaker(STUB, &[WEST], &[], "route-map punctual permit 10\n");
        for (one, another) in [
            (&west, &transit),
            (&west, &east),
            (&west, &silent),
            (&transit, &east),
            (&silent, &east),
            (&west, &stub),
        ] {
            one.join(another);
        }
        // By hand: 4 ms of the transit domain and 2 ms of the east; the fourth domain tells nothing of EF.
        let all: [(&[u32], Option<f64>); 6] = [
            (&[TRANSIT], Some(4.0)),
            (&[EAST, TRANSIT], Some(6.0)),
            (&[OTHER, EAST, TRANSIT], None),
            (&[EAST], Some(2.0)),
            (&[TRANSIT, EAST], Some(6.0)),
            (&[OTHER, EAST], None),
        ];
        west_has(&domains, &all);
        domains.told(WEST, "do not end at the domain that has the addresses");
        // Behind a single neighbour all paths are known too.
        let range = prefix("10.3.0.0/16").unwrap();
        let of_stub = || {
            let routes =
                bgp_routes(&[range], &stub.asked("show bgp ipv4 unicast 10.3.0.0/16 json")?).unwrap();
            let mut paths: Vec<String> = routes.iter().map(|route| format!("{:?}", route.as_path)).collect();
            paths.sort();
            Some(paths)
        };
        let mut expected =
            [vec![WEST, TRANSIT, EAST], vec![WEST, EAST], vec![WEST, OTHER, EAST]].map(|path| {
                let path: Vec<wan::Asn> = path.into_iter().map(wan::Asn).collect();
                format!("{:?}", [wan::Segment::Sequence(path)])
            });
        expected.sort();
        patiently_or(|| format!("{expected:?}: {:?}", of_stub()), || (of_stub()? == expected).then_some(()));

        // The fastest is the direct one.
        let admitted = domains.admitted(&asked);
        let over = || domains.status(WEST).aggregates.into_iter().map(|of| of.path).collect::<Vec<_>>();
        assert_eq!(over(), [[WEST, EAST]]);
        // The link between the speakers is taken down: BGP withdraws it, and the session goes the other way.
        west.cut(&east);
        west_has(
            &domains,
            &[
                (&[TRANSIT], Some(4.0)),
                (&[OTHER, EAST, TRANSIT], None),
                (&[TRANSIT, EAST], Some(6.0)),
                (&[OTHER, EAST], None),
            ],
        );
        patiently_or(
            || format!("the other way: {:?}", over()),
            || (over() == [[WEST, TRANSIT, EAST]]).then_some(()),
        );
        let bounds = domains.status(WEST).sessions[0].bounds.clone();
        // As by the static paths: 0.7 + 0.3 ms, 3 ms, 1 ms, 2 ms, 0.4 ms.
        assert_eq!(bounds[0].delay, 7_400_000);
        assert_eq!(domains.status(WEST).sessions[0].session, admitted.session);
        // What the sum exceeds is not asked for.
        let late =
            domains.establish(&session("10.3.1.7", vec![flow(1_000_000, 5 * MILLISECOND)])).unwrap_err();
        assert_eq!(
            (late.asn, late.reason.as_str(), late.offer),
            (WEST, "no-path", Some(6_000_000)),
            "{late:?}"
        );

        // A speaker that is gone takes no path with it.
        let before = paths(&domains, WEST).paths;
        drop(west);
        let is_away = || paths(&domains, WEST).bgp.is_some_and(|bgp| bgp.is_read && bgp.trouble.is_some());
        patiently_or(|| "a table that cannot be read".to_owned(), || is_away().then_some(()));
        assert_eq!(paths(&domains, WEST).paths, before);
        domains.admitted(&asked);
    });
}
