//! Flows and times as people type them.
use diagnostics::{nearest, number, parts_per_million, picoseconds};

use crate::domain_file::class;
use crate::protocol::Flow;

const NAMES: [&str; 14] = [
    "kind",
    "direction",
    "class",
    "rate",
    "least",
    "packet",
    "burst",
    "limit",
    "most-loss",
    "protocol",
    "from-port",
    "to-port",
    "copies",
    "asking",
];

/// Nanoseconds of a time, rounded down.
///
/// # Errors
/// It is none.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    let time = picoseconds(text).map(|time| time / 1_000).filter(|time| *time > 0);
    time.ok_or_else(|| format!("\"{text}\" is no time: write one such as \"25 ms\" or \"10 min\""))
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = number(text, &[("B", 1), ("kB", 1_000), ("MB", 1_000_000)]);
    bytes.ok_or_else(|| format!("\"{text}\" is no size: write one such as \"1000 B\" or \"20 kB\""))
}

/// Packets of a million.
///
/// # Errors
/// It is no share of whole packets of a million.
fn loss(text: &str) -> Result<u32, String> {
    let loss = parts_per_million(text);
    loss.ok_or_else(|| format!("most-loss={text}: write a loss such as 0.1 % or 10 ppm"))
}

fn small<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name}={text}: it is no such number"))
}

/// A flow such as `class=ef, rate=1 Mbit/s, limit=25 ms`.
///
/// # Errors
/// What is wrong, and what to do.
pub fn parse(text: &str) -> Result<Flow, String> {
    let mut said = std::collections::BTreeMap::new();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("\"{part}\" is no name=value"))?;
        let (name, value) = (name.trim(), value.trim());
        if !NAMES.contains(&name) {
            let near = nearest(name, NAMES).map_or_else(|| NAMES.join(", "), str::to_owned);
            return Err(format!("a flow has no \"{name}\": did you mean {near}?"));
        }
        if said.insert(name, value).is_some() {
            return Err(format!("{name} is there twice"));
        }
    }
    let needed = |name: &str| said.get(name).copied().ok_or_else(|| format!("a flow needs {name}=…"));
    let class_name = needed("class")?;
    class(class_name).ok_or_else(|| format!("class={class_name}: write ef, af4 or af1"))?;
    let rate = network::rate(needed("rate")?)?;
    let largest = bytes(said.get("packet").unwrap_or(&"1000 B"))?;
    let largest_packet = u32::try_from(largest).ok().filter(|size| (1..=65_535).contains(size));
    let largest_packet = largest_packet.ok_or("a packet has 1 to 65535 bytes")?;
    let bucket = said.get("burst").map_or(Ok(largest), |text| bytes(text))?;
    if bucket < largest {
        return Err("the burst is smaller than the largest packet".to_owned());
    }
    let copies = said.get("copies").map_or(Ok(1), |text| small("copies", text))?;
    if !matches!(copies, 1 | 2) {
        return Err(format!("copies={copies}: a flow has 1 or 2 copies"));
    }
    let asking = *said.get("asking").unwrap_or(&"hop-by-hop");
    if !matches!(asking, "hop-by-hop" | "direct") {
        return Err(format!("asking={asking}: write hop-by-hop or direct"));
    }
    let port = |name: &str, otherwise: u16| said.get(name).map_or(Ok(otherwise), |text| small(name, text));
    Ok(Flow {
        kind: (*said.get("kind").unwrap_or(&"data")).to_owned(),
        direction: (*said.get("direction").unwrap_or(&"forward")).to_owned(),
        protocol: said.get("protocol").map_or(Ok(17), |text| small("protocol", text))?,
        source_port: port("from-port", 0)?,
        destination_port: port("to-port", 7_400)?,
        class: class_name.to_owned(),
        rate,
        bucket,
        largest_packet,
        least_rate: said.get("least").map_or(Ok(rate), |text| network::rate(text))?,
        limit: parse_time(needed("limit")?)?,
        most_loss: said.get("most-loss").map_or(Ok(wan::ANY_LOSS), |text| loss(text))?,
        copies,
        asking: asking.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_read_with_what_they_leave_out() {
        let flow = parse("class=ef, rate=1 Mbit/s, limit=25 ms").unwrap();
        let expected = Flow {
            kind: "data".to_owned(),
            direction: "forward".to_owned(),
            protocol: 17,
            source_port: 0,
            destination_port: 7_400,
            class: "ef".to_owned(),
            rate: 1_000_000,
            bucket: 1_000,
            largest_packet: 1_000,
            least_rate: 1_000_000,
            limit: 25_000_000,
            most_loss: wan::ANY_LOSS,
            copies: 1,
            asking: "hop-by-hop".to_owned(),
        };
        assert_eq!(flow, expected);
        let flow = parse("class=af1,rate=2 kbit/s,least=1 kbit/s,packet=100 B,burst=1 kB,limit=1.5 ns,kind=acknack,direction=reverse,protocol=6,from-port=1,to-port=2").unwrap();
        assert_eq!((flow.least_rate, flow.bucket, flow.limit), (1_000, 1_000, 1), "limits are rounded down");
        assert_eq!(parse("class=ef, rate=1 kbit/s, limit=1 ms, copies=2").unwrap().copies, 2);
        assert_eq!(parse("class=ef, rate=1 kbit/s, limit=1 ms, asking=direct").unwrap().asking, "direct");
        for (text, what) in [
            ("class=ef, rate=1 kbit/s, limit=1 ms, asking=all", "hop-by-hop or direct"),
            ("class=ef, rate=1 kbit/s, limit=1 ms, copies=3", "1 or 2"),
            ("class=ef, rate=1 kbit/s, limit=1 ms, copies=0", "1 or 2"),
            ("class=ef, rate=1 kbit/s, limit=1 ms, copies=two", "no such number"),
            ("", "name=value"),
            ("class=ef", "needs rate"),
            ("class=be, rate=1 kbit/s, limit=1 ms", "class=be"),
            ("class=ef, class=ef", "twice"),
            ("clas=ef", "mean class"),
            ("class=ef, rate=1 kbit/s, limit=0 ms", "no time"),
            ("class=ef, rate=1 kbit/s, limit=1 ms, packet=70 kB", "65535"),
            ("class=ef, rate=1 kbit/s, limit=1 ms, burst=10 B", "smaller"),
            ("class=ef, rate=1 kbit/s, limit=1 ms, to-port=65536", "to-port=65536"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(what), "{text}: {said}");
        }
    }
}
