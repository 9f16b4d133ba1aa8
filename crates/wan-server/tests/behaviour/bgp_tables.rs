//! What bgpd of FRR 8.4.4 has said, and texts that are no such answers.
use wan::{Asn, BgpRoute, Prefix, Segment};
use wan_server::{bgp_routes, prefix};

/// As it was said of a range with two paths, of one without any, and of a range of IPv4 with one that is not valid.
const SAID: &str = include_str!("bgp_said.json");

fn asked() -> Vec<Prefix> {
    ["fd05::/16", "fd09::/16", "10.4.0.0/16"].map(|text| prefix(text).unwrap()).into()
}

fn sequence(domains: [u32; 3]) -> Vec<Segment> {
    vec![Segment::Sequence(domains.map(Asn).to_vec())]
}

#[test]
fn all_valid_routes_are_read_with_all_communities() {
    let range = prefix("fd05::/16").unwrap();
    let expected = [
        BgpRoute {
            prefix: range,
            as_path: sequence([65_002, 65_004, 65_005]),
            large_communities: vec![[65_002, 46, 200], [65_004, 46, 400], [65_005, 46, 500]],
        },
        BgpRoute {
            prefix: range,
            as_path: [sequence([65_003, 65_004, 65_005]), vec![Segment::Unordered]].concat(),
            large_communities: Vec::new(),
        },
    ];
    assert_eq!(bgp_routes(&asked(), SAID.as_bytes()), Ok(expected.to_vec()));
}

#[test]
fn what_is_no_answer_to_all_questions_is_refused_as_a_whole() {
    let refused = |change: &dyn Fn(&str) -> String, reason: &str| {
        let said = bgp_routes(&asked(), change(SAID).as_bytes()).unwrap_err();
        assert!(said.contains(reason), "{said}");
    };
    let replaced = |from: &'static str, to: &'static str| {
        move |text: &str| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        }
    };
    // As if it had ended halfway, at any place.
    for end in (0..SAID.trim_end().len()).step_by(7) {
        refused(&|text| text[..end].to_owned(), "answer to \"show bgp ip");
    }
    refused(&|text| format!("{text}{{}}"), "more is said than answers to 3 questions");
    refused(&replaced("{", "% Unknown command\n{"), "not understood");
    refused(&replaced("{\n}", "{\"warning\":\"no instance\\n\"}"), "is: no instance\\n");
    refused(&replaced("\"fd05::/16\"", "\"fd06::/16\""), "is about fd06::/16");
    refused(&replaced("\"65002:46:200\"", "\"65002:46\""), "\"65002:46\", which is no large community");
    refused(&replaced("\"65002:46:200\"", "\"65002:46:4294967296\""), "no large community");
    refused(&replaced("\"65002:46:200\"", "\"65002:46:2:0\""), "no large community");
    refused(&replaced("\"segments\"", "\"parts\""), "missing field `segments`");
}
