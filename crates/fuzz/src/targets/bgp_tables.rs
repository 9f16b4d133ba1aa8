//! Answers of a BGP speaker: they are refused in words, or become paths on which each domain is passed once, with sums that are those of their domains.
use std::collections::BTreeSet;

use wan::{Class, MOST_PATHS, Prefix, paths_of_routes};
use wan_server::{DomainFile, bgp_routes, prefix};

const WEST: &str = include_str!("../../../wan-server/examples/wan/west.toml");
const SAID: &str = include_str!("../../../wan-server/tests/behaviour/bgp_said.json");

fn asked() -> Vec<Prefix> {
    ["10.3.0.0/16", "10.2.0.0/16", "10.4.0.0/16"].iter().filter_map(|text| prefix(text)).collect()
}

/// What has been said, once about ranges that the file knows.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let known = SAID
        .replace("fd05::/16", "10.3.0.0/16")
        .replace("65004", "65002")
        .replace("65005", "65003")
        .replace("\"valid\":true", "\"valid\": true");
    vec![known.into_bytes(), SAID.as_bytes().to_vec()]
}

/// All that a table says.
pub fn bgp_table(bytes: &[u8]) {
    let routes = match bgp_routes(&asked(), bytes) {
        Ok(routes) => routes,
        Err(what) => return assert!(!what.is_empty() && !what.contains(['\n', '\x1b']), "{what:?}"),
    };
    let file = DomainFile::read("west.toml", WEST).ok();
    assert!(file.is_some(), "the example is a file of a domain");
    let Some(file) = file else { return };
    let own = file.config.asn;
    let (paths, left_out) = paths_of_routes(&file.config, &routes);
    let count = paths.len() + left_out.unordered + left_out.looped_or_long + left_out.foreign;
    assert!(count <= routes.len() && paths.len() <= 2 * MOST_PATHS, "{paths:?}");
    for path in &paths {
        let domains: BTreeSet<_> = path.as_path.iter().collect();
        assert!(domains.len() == path.as_path.len() && (1..=15).contains(&domains.len()), "{path:?}");
        assert!(!domains.contains(&own), "{path:?}");
        for class in [Class::Ef, Class::Af4, Class::Af1] {
            let said = |asn| {
                let of = path.communities.iter().filter(|(other, of, _)| (*other, *of) == (asn, class));
                of.map(|(_, _, delay)| u64::from(*delay) * 1_000).max()
            };
            let by_hand = path.as_path.iter().map(|asn| said(*asn)).sum::<Option<u64>>();
            assert_eq!(path.delay(class), by_hand, "{path:?}");
        }
    }
}
