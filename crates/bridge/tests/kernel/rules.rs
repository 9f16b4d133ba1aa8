//! Rules: as `nft` reads them, changed in one step, found out when others change them, and taken away without what is of others.
use bridge::tables::Tables;
use openflow::flow::FlowMod;
use openflow::matching::Match;
use openflow::words::TableId;

use crate::scene::{add, apply, beside_a_bridge, dscp, flow, managed, nft, out};

/// Without what frames of the kernel itself may have counted, and with elements of maps, which have no order, in one.
fn plain(listing: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut elements: Vec<String> = Vec::new();
    for line in listing.lines() {
        let text = line.trim();
        let element = text.trim_start_matches("elements = { ");
        if let Some(last) = element.strip_suffix(" }").filter(|_| element.contains(" : goto ")) {
            elements.push(last.to_owned());
            elements.sort();
            lines.extend(elements.drain(..).map(|element| format!("\t\t{element}")));
        } else if element.contains(" : goto ") {
            elements.push(element.trim_end_matches(',').to_owned());
        } else if text.starts_with("counter ") {
            lines.push("\t\tcounter".to_owned());
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn what_managers_tell_is_what_nft_reads() {
    beside_a_bridge(|mut kernel, ports| {
        kernel.apply(&managed(), &ports).unwrap();
        let read = plain(&nft("list table netdev punctual_br0"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel/managed.nft");
        if std::env::var_os("PUNCTUAL_BLESS").is_some() {
            std::fs::write(path, &read).unwrap();
        }
        assert_eq!(read, std::fs::read_to_string(path).unwrap());
    });
}

#[test]
fn changes_leave_the_rest_and_are_the_same_as_all_anew() {
    beside_a_bridge(|mut kernel, ports| {
        let mut tables = managed();
        kernel.apply(&tables, &ports).unwrap();
        let handles = |table: &str| -> Vec<String> {
            let text = nft(&format!("-a list chain netdev punctual_br0 {table}"));
            text.lines().filter(|line| line.contains("# handle")).map(str::to_owned).collect()
        };
        let before = handles("e1");
        add(&mut tables, 0, 60_000, &flow(3, [10, 1, 0, 2], 7001), apply(vec![dscp(18), out(2)]));
        let gone =
            FlowMod::delete_strict(TableId(0), 60_000, Match::of(&flow(1, [10, 1, 0, 2], 7001)).unwrap());
        tables.change_flow(&gone, crate::scene::NOW).unwrap();
        kernel.apply(&tables, &ports).unwrap();
        assert_eq!(handles("e1"), before, "what is not changed stays");
        assert!(!kernel.read().unwrap().0.any);
        let changed = plain(&nft("list table netdev punctual_br0"));
        kernel.remove().unwrap();
        kernel.apply(&tables, &ports).unwrap();
        // Chains and maps are listed by age.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&plain(&nft("list table netdev punctual_br0"))), sorted(&changed));
    });
}

#[test]
fn saboteurs_are_found_out_and_put_right() {
    beside_a_bridge(|mut kernel, ports| {
        let tables = managed();
        let all: Vec<u64> = tables.entries().map(|(_, entry)| entry.id).collect();
        let mut lost = |line: &str| {
            kernel.apply(&tables, &ports).unwrap();
            assert!(!kernel.read().unwrap().0.any);
            nft(line);
            let (found, _) = kernel.read().unwrap();
            assert!(found.any, "{line}");
            (found.entries, found.groups)
        };
        let admitted = tables
            .entries()
            .find(|((table, priority, _), _)| (*table, *priority) == (0, 60_000))
            .unwrap()
            .1
            .id;
        assert_eq!(lost(&format!("flush chain netdev punctual_br0 e{admitted}")).0, [admitted].into());
        assert_eq!(lost("flush chain netdev punctual_br0 g2").1, [2].into());
        assert!(lost("flush chain netdev punctual_br0 in_2").0.len() == all.len());
        assert!(lost("insert rule netdev punctual_br0 t0 drop").0.len() > 5);
        assert!(lost("flush chain netdev punctual_br0 t2").0.len() == 2);
        assert_eq!(lost("flush map netdev punctual_br0 m2_100_3").0.len(), 1);
        assert_eq!(lost("delete table netdev punctual_br0"), (all.iter().copied().collect(), [1, 2].into()));
        kernel.apply(&tables, &ports).unwrap();
        assert!(!kernel.read().unwrap().0.any, "all is put right");
    });
}

#[test]
fn nothing_is_left_and_what_is_of_others_stays() {
    beside_a_bridge(|mut kernel, ports| {
        nft("add table netdev punctual_br01");
        nft("add table bridge filter");
        kernel.begin(&ports).unwrap();
        assert!(nft("list tables").contains("netdev punctual_br0\n"));
        kernel.apply(&managed(), &ports).unwrap();
        kernel.apply(&Tables::default(), &ports).unwrap();
        kernel.remove().unwrap();
        assert_eq!(nft("list tables"), "table netdev punctual_br01\ntable bridge filter\n");
        kernel.remove().unwrap();
    });
}
