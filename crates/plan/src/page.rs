//! The report as a page that needs nothing else: no script, no font, no other file.
use std::fmt::Write as _;

use crate::picture::drawing;
use crate::planning::Plan;
use crate::quantity::microseconds;
use crate::report::{FlowReport, LevelReport, Report, SubscriberReport};
use crate::sections::Section;
use crate::text::{counted, percent};

/// The most nodes that are drawn: with more there is nothing to see.
const DRAWN: usize = 200;

/// The page.
pub(crate) fn page(plan: &Plan<'_>, report: &Report, sections: &[Section]) -> String {
    let name = if report.network.is_empty() { "Network plan" } else { &report.network };
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{}</title>{STYLE}</head><body>\
         <h1>{}</h1><p>{} admitted, {} refused.</p>",
        escaped(name),
        escaped(name),
        counted(report.admitted, "flow"),
        report.refused
    );
    for section in sections {
        let lines: String = section.lines.iter().map(|line| format!("<li>{}</li>", escaped(line))).collect();
        let list = if lines.is_empty() { lines } else { format!("<ul>{lines}</ul>") };
        let _ = write!(out, "<h2>{}</h2>{list}", escaped(&section.title));
    }
    if plan.network.nodes.len() <= DRAWN {
        drawing(&mut out, plan, report);
    } else {
        let _ = write!(out, "<p>{} nodes are too many for a picture.</p>", plan.network.nodes.len());
    }
    flows(&mut out, report);
    ports(&mut out, report);
    assumptions(&mut out, report);
    out.push_str("</body></html>\n");
    out
}

const STYLE: &str = "<style>:root{--ink:#1c2430;--dim:#566173;--line:#dde3ea;--paper:#fff;--node:#27548a;--bad:#b3261e;\
--good:#17692f;--l0:#b8c1cc;--l1:#2e9e5b;--l2:#8aa62a;--l3:#d99000;--l4:#c8372d;color-scheme:light dark}\
@media (prefers-color-scheme:dark){:root{--ink:#e4e9f0;--dim:#a3adba;--line:#39424f;--paper:#171c23;--node:#7fb0ea;\
--bad:#ff8a80;--good:#6fd08c;--l0:#566173;--l1:#3fb56f;--l2:#a9c545;--l3:#f0ad2e;--l4:#f0665a}}\
body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;color:var(--ink);\
background:var(--paper)}.wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}\
th{font-weight:600;white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
td.w{white-space:nowrap}.no{color:var(--bad);font-weight:600}.yes{color:var(--good)}small,.dim{color:var(--dim)}\
.wide>svg{display:block;width:100%;margin:0 auto}text{font:600 12px system-ui,sans-serif;fill:var(--ink);\
stroke:var(--paper);stroke-width:3;paint-order:stroke}text.dim{font-weight:400;fill:var(--dim)}\
.node{fill:var(--paper);stroke:var(--node);stroke-width:2.5}.full{fill:var(--node)}.key{width:24px;height:8px}\
.l0{stroke:var(--l0)}.l1{stroke:var(--l1)}.l2{stroke:var(--l2)}.l3{stroke:var(--l3)}.l4{stroke:var(--l4)}</style>";

/// Text as text in a page.
pub(crate) fn escaped(text: &str) -> String {
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

fn flows(out: &mut String, report: &Report) {
    out.push_str(
        "<h2>Flows</h2><div class=\"wide\"><table><tr><th>Flow</th><th>From, to</th><th>Verdict</th>\
         <th class=\"n\">Bound, us</th><th class=\"n\">Limit, us</th><th class=\"n\">Margin, us</th><th>Links</th></tr>",
    );
    for flow in &report.flows {
        for (index, subscriber) in flow.subscribers.iter().enumerate() {
            let rows = flow.subscribers.len();
            let whole = |content: String| {
                if index == 0 { format!("<td rowspan=\"{rows}\">{content}</td>") } else { String::new() }
            };
            let hop = |hop: &crate::report::HopReport| {
                format!("<small>{}, level {}</small>", escaped(&hop.port), hop.level)
            };
            let hops: Vec<String> = flow.hops.iter().map(hop).collect();
            let _ = write!(
                out,
                "<tr>{}<td>{} to {}</td>{}{}{}</tr>",
                whole(escaped(&flow.name)),
                escaped(&flow.publisher),
                escaped(&subscriber.host),
                verdict(flow),
                times(subscriber),
                whole(hops.join("<br>"))
            );
        }
        if let Some(reason) = &flow.reason {
            let _ = write!(
                out,
                "<tr><td></td><td colspan=\"6\"><small>{}{}</small></td></tr>",
                escaped(reason),
                flow.offer().map_or(String::new(), |offer| format!("<br>would be admitted with {offer}"))
            );
        }
        if !flow.assumptions.is_empty() {
            let ids = flow.assumptions.join(", ");
            let _ = write!(out, "<tr><td></td><td colspan=\"6\"><small>rests on {ids}</small></td></tr>");
        }
    }
    out.push_str("</table></div>");
}

fn verdict(flow: &FlowReport) -> &'static str {
    if flow.admitted { "<td class=\"yes\">admitted</td>" } else { "<td class=\"no\">refused</td>" }
}

fn times(subscriber: &SubscriberReport) -> String {
    let shown = |time: Option<u64>| time.map_or(String::new(), microseconds);
    format!(
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
        shown(subscriber.bound_ps),
        microseconds(subscriber.limit_ps),
        shown(subscriber.margin_ps)
    )
}

fn ports(out: &mut String, report: &Report) {
    out.push_str(
        "<h2>Ports</h2><div class=\"wide\"><table><tr><th>Port</th><th class=\"n\">Load</th>\
         <th class=\"n\">Backlog, octets</th><th class=\"n\">Buffer, octets</th><th>Levels</th></tr>",
    );
    for port in &report.ports {
        let level = |level: &LevelReport| {
            let bound = level.bound_ps.map_or("no bound".to_owned(), microseconds);
            format!(
                "level {}: {}, delay {bound} us of {} promised",
                level.level,
                counted(level.flows.len(), "flow"),
                microseconds(level.least_share_ps)
            )
        };
        let levels: Vec<String> = port.levels.iter().map(level).collect();
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"w\">{}</td></tr>",
            escaped(&port.port),
            percent(port.load_ppm),
            port.backlog_octets.map_or("no bound".to_owned(), |octets| octets.to_string()),
            port.buffer_octets.map_or("memory".to_owned(), |octets| octets.to_string()),
            levels.join("<br>")
        );
    }
    out.push_str("</table></div>");
}

fn assumptions(out: &mut String, report: &Report) {
    out.push_str("<h2>Assumptions</h2><div class=\"wide\"><table><tr><th>Name</th><th>What is taken for true</th></tr>");
    for assumption in &report.assumptions {
        let shown = escaped(&assumption.shown());
        let _ = write!(out, "<tr><td class=\"w\">{}</td><td>{shown}</td></tr>", assumption.id);
    }
    out.push_str("</table></div>");
    if !report.warnings.is_empty() {
        let lines: String =
            report.warnings.iter().map(|line| format!("<li>{}</li>", escaped(line))).collect();
        let _ = write!(out, "<h2>Warnings</h2><ul>{lines}</ul>");
    }
}
