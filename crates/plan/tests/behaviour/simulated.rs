//! Networks in which simple bounds were once too small: the simulation goes beyond what was claimed then, and stays within what is now.
use std::fs;
use std::path::Path;

use plan::{ADMITTED, Arguments, REFUSED};

use crate::command::{Folder, arguments, flow, json};

/// Plans a network of the tests, certified and simulated; nothing may be above its bound. Gives the worst that was found of a topic, and its
/// bound, in picoseconds.
fn worst(name: &str, seeds: u64, topic: &str) -> (u64, u64) {
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks").join(name);
    let (code, report) = json(&Arguments { certify: true, simulate: Some(seeds), ..arguments(&network) });
    assert_eq!(code, ADMITTED, "{report}");
    assert_eq!(report["simulation"]["violations"], 0, "{report}");
    assert_eq!(report["certificates"]["wrong"].as_array().unwrap().len(), 0, "{report}");
    let bound = flow(&report, topic)["subscribers"][0]["bound_ps"].as_u64().unwrap();
    let found = report["simulation"]["found"].as_array().unwrap();
    let found = found.iter().find(|found| found["flow"] == topic).unwrap();
    (found["worst_ps"].as_u64().unwrap(), bound)
}

/// The largest frame of the largest sample has 1,490 bytes, and that of a smaller one 1,538: 38.4 us more at 10 Mb/s.
#[test]
fn a_smaller_sample_has_the_larger_frame() {
    let (worst, bound) = worst("whole-sample.toml", 2, "clock/tick");
    assert!(worst > 1_386_728_000, "{worst}");
    assert_eq!(bound, 1_425_128_000);
}

/// 500 frames lose 4 bytes each behind the edge, and those of a babbler that fill the same bytes only 29 times.
#[test]
fn a_babbler_behind_a_tagged_link_sends_large_frames() {
    let (worst, bound) = worst("tagged-edge.toml", 6, "clock/tick");
    assert!(worst > 33_471_032_000 && worst <= bound, "{worst} {bound}");
}

/// With frames that keep their order the services of the hops may be concatenated, which gave 3,595.9 us.
#[test]
fn frames_that_overtake_wait_for_those_behind_them() {
    let (worst, bound) = worst("overtaking.toml", 4, "meter/readings");
    assert!(worst > 3_595_900_000 && worst <= bound, "{worst} {bound}");
    let folder = Folder::new();
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/overtaking.toml"));
    let text = text.unwrap().replace("queues = 2\n", "queues = 2\nkeeps-order = true\n");
    let ordered = folder.file("ordered.toml", &text);
    let (code, report) = json(&Arguments { certify: true, simulate: Some(2), ..arguments(&ordered) });
    assert_eq!((code, &report["simulation"]["violations"]), (ADMITTED, &0.into()));
    let subscriber = &flow(&report, "meter/readings")["subscribers"][0];
    assert_eq!(subscriber["method"], "concatenation", "{subscriber}");
}

/// The bound of the backlog counts the largest frame of control, not of the flows, as the one on the wire: 1,372 bytes more.
#[test]
fn a_frame_of_control_keeps_its_place() {
    let (_, _) = worst("control-on-the-wire.toml", 6, "meter/readings");
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/control-on-the-wire.toml");
    let (_, report) = json(&arguments(&network));
    let port = report["ports"].as_array().unwrap().iter().find(|port| port["port"] == "s1 to sink").unwrap();
    assert_eq!(port["backlog_octets"], 19_777 + 1_538 - 166, "{port}");
}

/// The largest frame on the link has 1,568 bytes, and not the 1,538 of the switch that sends it: 24 us more at 10 Mb/s.
#[test]
fn a_frame_of_best_effort_has_the_tag_of_its_link() {
    let (worst, bound) = worst("longer-tags.toml", 2, "meter/readings");
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/longer-tags.toml");
    let (_, report) = json(&arguments(&network));
    let hop = &flow(&report, "meter/readings")["hops"][1];
    assert_eq!(hop["port"], "s1 to s2");
    // Itself, with header, tag, preamble and gap, and what is on the wire before it.
    assert_eq!(hop["bound_ps"], (1_000 + 66 + 30 + 1_568) * 800_000, "{hop}");
    assert!(worst > bound - 24_000_000 && worst <= bound, "{worst} {bound}");
}

/// What a babbler sends in the smallest frames grows by a tag of each where the switch pads them before it tags them.
#[test]
fn small_frames_of_a_babbler_are_padded_without_their_tags() {
    let (worst, bound) = worst("small-frames.toml", 8, "clock/tick");
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/small-frames.toml");
    let (_, report) = json(&arguments(&network));
    let bytes = flow(&report, "chatter/letters")["enforcement"]["octets"].as_u64().unwrap();
    let own = flow(&report, "clock/tick")["enforcement"]["octets"].as_u64().unwrap();
    // As if a frame of the least size had no more behind the switch than before it.
    let unpadded = (bytes + own) * 800_000 + own * 8_000;
    assert!(worst > unpadded && worst <= bound, "{worst}, bound {bound}, without padding {unpadded}");
}

/// The clocks of publishers and gates run apart: with those of one clock, 50 frames come while an image waits, and now 54.
#[test]
fn clocks_that_run_apart_bring_more() {
    let (worst, bound) = worst("clocks.toml", 3, "camera/image");
    let folder = Folder::new();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/clocks.toml"));
    let one = folder.file("one.toml", &text.unwrap().replace("\"2 %\"", "\"0 ppm\""));
    let (_, report) = json(&arguments(&one));
    let of_one = flow(&report, "camera/image")["subscribers"][0]["bound_ps"].as_u64().unwrap();
    assert!(of_one < worst && worst <= bound, "{of_one} {worst} {bound}");
}

/// What hosts send besides, links that wake, and what a card has taken: without any one of them the bound would be too small.
#[test]
fn ordinary_ports_are_slower_than_ideal_ones() {
    let folder = Folder::new();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/ordinary.toml"));
    let text = text.unwrap();
    let silent = "name = \"sensor\"\nbest-effort = false\n";
    for (topic, right, wrong) in [
        ("sensor/pulse", "name = \"sensor\"\n", silent),
        ("sensor/pulse", "buffer = 20_000\n", "buffer = 20_000\nenergy-efficient = false\n"),
        ("camera/image", "queues = 8\n\n[[host]]", "queues = 8\nring = 0\n\n[[host]]"),
    ] {
        let (worst, bound) = worst("ordinary.toml", 2, topic);
        assert!(text.contains(right), "{right}");
        let ideal = folder.file("ideal.toml", &text.replace(right, wrong));
        let (code, report) = json(&arguments(&ideal));
        assert_eq!(code, ADMITTED, "{report}");
        let of_ideal = flow(&report, topic)["subscribers"][0]["bound_ps"].as_u64().unwrap();
        assert!(of_ideal < worst && worst <= bound, "{wrong}: {of_ideal} {worst} {bound}");
    }
}

/// Frames of 84 bytes take cells of 256: a buffer that would hold the bytes of all of them loses some, and is refused.
#[test]
fn small_frames_take_whole_cells() {
    let folder = Folder::new();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/ordinary.toml"));
    // 200 frames of 84 bytes each are 16,800, and 40,000 bytes hold 13,104 of them in cells.
    let small = text.unwrap().replace("size = 100\n", "size = 3_600\ndatagram = 18\n");
    let small =
        small.replace("ends = [\"sink\", \"s1\"]\n", "ends = [\"sink\", \"s1\"]\nrate = \"100 Mb/s\"\n");
    let small = small.replace("buffer = 20_000\n", "buffer = 40_000\n");
    let plan = |name: &str, text: &str| {
        let file = folder.file(name, text);
        json(&Arguments { certify: true, simulate: Some(1), ..arguments(&file) })
    };
    let (code, report) = plan("cells.toml", &small);
    let reason = flow(&report, "sensor/pulse")["reason"].as_str().unwrap();
    assert!(code == REFUSED && reason.contains("bytes of buffer and has 13104"), "{reason}");
    let bytes = small.replace("buffer = 40_000\n", "buffer = 40_000\ncell = 1\n");
    let (code, report) = plan("octets.toml", &bytes);
    assert_eq!((code, &report["simulation"]["violations"]), (ADMITTED, &0.into()), "{report}");
    let shared = bytes.replace("buffer = 40_000\n", "shared-buffer = 50_000\n");
    let (code, report) = plan("shared.toml", &shared);
    let reason = flow(&report, "sensor/pulse")["reason"].as_str().unwrap();
    assert!(code == REFUSED && reason.contains("bytes of buffer and has 16666"), "{reason}");
}

/// Nothing is promised along a link that PAUSE frames may stop; if one end does not take part, they stop nothing.
#[test]
fn pause_is_refused_where_both_ends_have_it() {
    let folder = Folder::new();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/ordinary.toml"));
    let on = text.unwrap().replace("buffer = 20_000\n", "buffer = 20_000\npause = \"on\"\n");
    let (code, report) = json(&arguments(&folder.file("on.toml", &on)));
    assert_eq!((code, report["admitted"].as_u64()), (REFUSED, Some(0)));
    let reason = flow(&report, "camera/image")["reason"].as_str().unwrap();
    assert!(reason.starts_with("PAUSE frames may stop camera to s1"), "{reason}");
    let off = format!("host-defaults = {{ pause = \"off\" }}\n{on}");
    let (code, report) = json(&arguments(&folder.file("off.toml", &off)));
    assert_eq!((code, report["admitted"].as_u64()), (ADMITTED, Some(2)), "{report}");
}
