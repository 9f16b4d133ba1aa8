//! The network with its loads as a picture, in a page that needs nothing else.
use std::fmt::Write as _;

use crate::planning::Plan;
use crate::quantity::microseconds;
use crate::report::Report;
use crate::text::percent;

/// The most nodes that are drawn: with more there is nothing to see.
const DRAWN: usize = 200;
const WIDTH: f64 = 960.0;
/// How often forces move the nodes.
const STEPS: u32 = 400;

/// The page.
pub(crate) fn page(plan: &Plan<'_>, report: &Report) -> String {
    let name = if report.network.is_empty() { "Network plan" } else { &report.network };
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>",
        escaped(name)
    );
    out.push_str(STYLE);
    let _ = write!(
        out,
        "</head><body><h1>{}</h1><p>{} flows admitted, {} refused.</p>",
        escaped(name),
        report.admitted,
        report.refused
    );
    if plan.network.nodes.len() <= DRAWN {
        drawing(&mut out, plan, report);
    } else {
        let _ = write!(out, "<p>{} nodes are too many for a picture.</p>", plan.network.nodes.len());
    }
    flows(&mut out, report);
    ports(&mut out, report);
    out.push_str("</body></html>\n");
    out
}

const STYLE: &str = "<style>body{font:15px/1.45 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 1rem;\
color:#1c2430;background:#fff}table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;\
padding:.3rem .6rem;border-bottom:1px solid #dde3ea;vertical-align:top}th{font-weight:600}td.n,th.n{text-align:right;\
font-variant-numeric:tabular-nums}.no{color:#b3261e;font-weight:600}.yes{color:#17692f}svg{width:100%;height:auto;\
border:1px solid #dde3ea;border-radius:8px}small{color:#5b6675}</style>";

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// The colour of a load: grey without flows, from green over amber to red.
fn colour(ppm: u64) -> &'static str {
    match ppm {
        0 => "#b8c1cc",
        1..250_000 => "#2e9e5b",
        250_000..500_000 => "#8aa62a",
        500_000..750_000 => "#d99000",
        _ => "#c8372d",
    }
}

fn drawing(out: &mut String, plan: &Plan<'_>, report: &Report) {
    let (places, height) = layout(plan);
    let mut loads = vec![0; plan.network.ports.len()];
    for port in &report.ports {
        if let Some(load) = loads.get_mut(port.index) {
            *load = port.load_ppm;
        }
    }
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"The network and the loads of its links\" \
         font-family=\"system-ui,sans-serif\" font-size=\"12\">"
    );
    let mut labels = String::new();
    for (index, (from, to)) in plan.network.links.iter().enumerate() {
        let (Some(a), Some(b), Some(load)) = (places.get(*from), places.get(*to), loads.get(index)) else {
            continue;
        };
        // Each direction on its own side.
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length = dx.hypot(dy).max(1.0);
        let (ox, oy) = (-dy / length * 4.0, dx / length * 4.0);
        let width = 1.5 + *load as f64 / 1_000_000.0 * 5.0;
        let _ = write!(
            out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{}\" stroke-width=\"{width:.1}\">\
             <title>{}: {}</title></line>",
            a.0 + ox,
            a.1 + oy,
            b.0 + ox,
            b.1 + oy,
            colour(*load),
            escaped(&plan.network.port_name(index)),
            percent(*load)
        );
        // Where there is no room, the tooltip says it.
        let room = length > 110.0 || plan.network.nodes.len() <= 16;
        if *load > 0 && (room || *load >= 500_000) {
            // Nearer to where it leaves, so that the two directions do not meet.
            let (x, y) = (a.0 + dx * 0.38 + ox * 3.5, a.1 + dy * 0.38 + oy * 3.5);
            let _ = write!(
                labels,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" dominant-baseline=\"middle\" fill=\"#3a4656\" \
                 stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
                percent(*load)
            );
        }
    }
    out.push_str(&labels);
    for (node, (x, y)) in plan.network.nodes.iter().zip(&places) {
        let _ = match &node.model {
            Some(model) => write!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"26\" height=\"20\" rx=\"4\" fill=\"#27548a\"><title>{}</title></rect>",
                x - 13.0,
                y - 10.0,
                escaped(model)
            ),
            None => write!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"#fff\" stroke=\"#27548a\" stroke-width=\"2.5\"/>"
            ),
        };
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"600\" stroke=\"#fff\" stroke-width=\"3\" \
             paint-order=\"stroke\">{}</text>",
            y + 25.0,
            escaped(&node.name)
        );
    }
    out.push_str("</svg><p><small>Squares are switches, circles are hosts. The lines of a link are its two directions, \
        with the part of its time that admitted flows may take.</small></p>");
}

/// Where the nodes are drawn, and the height: forces push nodes apart and links pull them together, from a circle on,
/// always the same way.
fn layout(plan: &Plan<'_>) -> (Vec<(f64, f64)>, f64) {
    let count = plan.network.nodes.len();
    let height = (220.0 + 14.0 * count as f64).clamp(260.0, 900.0);
    let turn = |index: usize| std::f64::consts::TAU * index as f64 / count.max(1) as f64;
    let mut places: Vec<(f64, f64)> =
        (0..count).map(|index| (turn(index).cos(), turn(index).sin())).collect();
    let ideal = 1.6 / (count.max(1) as f64).sqrt();
    for step in 0..STEPS {
        let reach = 0.15 * (1.0 - f64::from(step) / f64::from(STEPS));
        let mut forces = vec![(0.0, 0.0); count];
        for (index, (force, a)) in forces.iter_mut().zip(&places).enumerate() {
            for (_, b) in places.iter().enumerate().filter(|(other, _)| *other != index) {
                let (dx, dy) = (a.0 - b.0, a.1 - b.1);
                let square = (dx * dx + dy * dy).max(1e-6);
                force.0 += dx * ideal * ideal / square;
                force.1 += dy * ideal * ideal / square;
            }
        }
        for (from, to) in &plan.network.links {
            let (Some(a), Some(b)) = (places.get(*from).copied(), places.get(*to).copied()) else { continue };
            let (dx, dy) = (b.0 - a.0, b.1 - a.1);
            let pull = dx.hypot(dy) / ideal / 2.0;
            for (node, sign) in [(*from, 1.0), (*to, -1.0)] {
                if let Some(force) = forces.get_mut(node) {
                    force.0 += sign * dx * pull;
                    force.1 += sign * dy * pull;
                }
            }
        }
        for (place, force) in places.iter_mut().zip(&forces) {
            let size = force.0.hypot(force.1).max(1e-9);
            let by = size.min(reach) / size;
            *place = (place.0 + force.0 * by, place.1 + force.1 * by);
        }
    }
    let least = |axis: fn(&(f64, f64)) -> f64| places.iter().map(axis).fold(f64::INFINITY, f64::min);
    let most = |axis: fn(&(f64, f64)) -> f64| places.iter().map(axis).fold(f64::NEG_INFINITY, f64::max);
    let (left, right, top, bottom) = (least(|p| p.0), most(|p| p.0), least(|p| p.1), most(|p| p.1));
    let fit = |value: f64, low: f64, high: f64, size: f64| {
        if high - low < 1e-6 { size / 2.0 } else { 70.0 + (value - low) / (high - low) * (size - 140.0) }
    };
    let placed = places.iter().map(|(x, y)| (fit(*x, left, right, WIDTH), fit(*y, top, bottom, height)));
    (placed.collect(), height)
}

fn flows(out: &mut String, report: &Report) {
    out.push_str(
        "<h2>Flows</h2><table><tr><th>Flow</th><th>From, to</th><th>Verdict</th><th class=\"n\">Bound, us</th>\
         <th class=\"n\">Limit, us</th><th class=\"n\">Margin, us</th><th>Hops</th></tr>",
    );
    for flow in &report.flows {
        for subscriber in &flow.subscribers {
            let verdict = if flow.admitted {
                "<span class=\"yes\">admitted</span>".to_owned()
            } else {
                let reason = flow.reason.as_deref().unwrap_or("");
                format!("<span class=\"no\">refused</span><br><small>{}</small>", escaped(reason))
            };
            let hops: Vec<String> =
                flow.hops.iter().map(|hop| format!("{} (level {})", escaped(&hop.port), hop.level)).collect();
            let shown = |time: Option<u64>| time.map_or(String::new(), microseconds);
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{} to {}</td><td>{verdict}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td>{}</td></tr>",
                escaped(&flow.name),
                escaped(&flow.publisher),
                escaped(&subscriber.host),
                shown(subscriber.bound_ps),
                microseconds(subscriber.limit_ps),
                shown(subscriber.margin_ps),
                hops.join("<br>")
            );
        }
    }
    out.push_str("</table>");
}

fn ports(out: &mut String, report: &Report) {
    out.push_str(
        "<h2>Ports</h2><table><tr><th>Port</th><th class=\"n\">Load</th><th class=\"n\">Backlog, octets</th>\
         <th class=\"n\">Buffer, octets</th><th>Levels</th></tr>",
    );
    for port in &report.ports {
        let level = |level: &crate::report::LevelReport| {
            let bound = level.bound_ps.map_or("no bound".to_owned(), microseconds);
            format!("level {}: {} flows, delay {bound} us", level.level, level.flows.len())
        };
        let levels: Vec<String> = port.levels.iter().map(level).collect();
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
            escaped(&port.port),
            percent(port.load_ppm),
            port.backlog_octets.map_or("no bound".to_owned(), |octets| octets.to_string()),
            port.buffer_octets.map_or("memory".to_owned(), |octets| octets.to_string()),
            levels.join("<br>")
        );
    }
    out.push_str("</table>");
}
