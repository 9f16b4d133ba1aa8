//! The report as a page that needs nothing else: no script, no font, no other file.
use std::fmt::Write as _;

use crate::plot::Plot;
use crate::report::{Conclusion, Phase, Report, Row};
use crate::text::cells;

const STYLE: &str = "<style>:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#dde3ea;--paper:#fff;--card:#f7f9fb;\
--point:#2563a8;--bad:#b3261e;--good:#17692f;--odd:#b26a00}\
@media(prefers-color-scheme:dark){:root{--ink:#e4e9f0;--soft:#9aa6b5;--line:#323b47;--paper:#14181d;--card:#1b2128;--point:#6fb0f5;\
--bad:#ff8a80;--good:#7ed49a;--odd:#f0b45c}}\
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;max-width:1280px;margin:0 auto;padding:1.5rem 1rem 4rem;color:var(--ink);\
background:var(--paper)}h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0}h2{font-size:1.15rem;margin:2.6rem 0 .2rem}p{margin:.4rem 0;max-width:75ch}\
.soft{color:var(--soft)}.verdict{border-left:4px solid;border-radius:4px;background:var(--card);padding:.6rem 1rem;margin:1rem 0;font-weight:600}\
.verdict ul{font-weight:400;margin:.3rem 0;padding-left:1.2rem}.good{color:var(--good)}.bad{color:var(--bad)}.odd{color:var(--odd)}\
.verdict *{color:var(--ink)}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;margin:.6rem 0}\
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}th{font-weight:600;color:var(--soft)}td.bad{font-weight:700}\
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:.8rem}\
figure{margin:0;border:1px solid var(--line);border-radius:8px;background:var(--card);padding:.6rem}figcaption{font-weight:600;padding:0 .3rem .3rem}\
figcaption span{font-weight:400;color:var(--soft)}svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}\
svg text.b{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}svg .g{stroke:var(--line);fill:none}svg .p,svg .d,svg .l{fill:none;stroke-linecap:round;stroke-width:2.4}\
svg .p{stroke:var(--point)}svg .d{stroke:var(--odd)}svg .l{stroke:var(--bad);stroke-width:1.2;stroke-linecap:butt}\
svg path.b{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:5 4;fill:none}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.6rem 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\
.said{border:1px solid var(--line);border-radius:8px;background:var(--card);padding:.6rem 1rem;margin:.6rem 0}.said p{max-width:none}</style>";

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,\
         initial-scale=1\"><title>The MIDAS experiment</title>{STYLE}</head><body><h1>The MIDAS experiment, measured</h1>\
         <p class=\"soft\">{}</p>",
        escaped(&report.place)
    );
    conclusion(&mut out, &report.conclusion());
    promises(&mut out, report);
    for (index, phase) in report.phases.iter().enumerate() {
        let _ = write!(
            out,
            "<h2>{}. {}</h2><p>{} <span class=\"soft\">{:.1} s.</span></p>",
            index + 1,
            escaped(phase.title),
            escaped(&phase.about),
            phase.seconds
        );
        table(&mut out, phase, report);
        plots(&mut out, phase, report);
        for note in &phase.notes {
            let _ = write!(out, "<p class=\"soft\">{}</p>", escaped(note));
        }
    }
    refusals(&mut out, report);
    out.push_str("<h2>How to read it</h2><p>A point is a sample: when it was sent, and how long it took from the publisher's send call \
        until the kernel of the subscriber's host had its last datagram. The dashed line is the bound that was promised, or, where nothing \
        is promised, what the subscriber asked for. Red ticks below are samples that did not arrive. \
        <span class=\"odd\">Amber</span> points are samples during which the machine itself stood still, as probes on each core saw; they \
        are counted apart (\u{201c}d.\u{201d}) and are not in the percentiles.</p><dl>");
    for (what, said) in &report.machine {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escaped(what), escaped(said));
    }
    out.push_str("</dl>");
    for remark in &report.remarks {
        let _ = write!(out, "<p>{}</p>", escaped(remark));
    }
    out.push_str("</body></html>\n");
    out
}

fn conclusion(out: &mut String, conclusion: &Conclusion) {
    let class = match conclusion {
        Conclusion::Held(_) => "good",
        Conclusion::Broken(_) => "bad",
        Conclusion::Void(_) => "odd",
    };
    let said = crate::text::conclusion(conclusion);
    let mut lines = said.lines();
    let _ =
        write!(out, "<div class=\"verdict {class}\"><span>{}</span>", escaped(lines.next().unwrap_or("")));
    let items: String = lines.map(|line| format!("<li>{}</li>", escaped(line.trim()))).collect();
    if !items.is_empty() {
        let _ = write!(out, "<ul>{items}</ul>");
    }
    out.push_str("</div>");
}

/// What the plan promises.
fn promises(out: &mut String, report: &Report) {
    out.push_str(
        "<div class=\"scroll\"><table><tr><th>topic</th><th>from</th><th>octets</th><th>every, ms</th><th>asked for, ms</th>\
         <th>worst case by the plan, ms</th></tr>",
    );
    let time = |nanoseconds: u64| crate::text::milliseconds(nanoseconds.cast_signed());
    for topic in &report.topics {
        let planned =
            topic.planned.as_ref().map_or_else(|reason| format!("refused: {reason}"), |bound| time(*bound));
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&topic.name),
            escaped(&topic.publisher),
            topic.size,
            time(topic.separation),
            time(topic.limit),
            escaped(&planned)
        );
    }
    out.push_str("</table></div>");
}

fn table(out: &mut String, phase: &Phase, report: &Report) {
    out.push_str("<div class=\"scroll\"><table><tr>");
    for head in crate::text::HEADS {
        let _ = write!(out, "<th>{head}</th>");
    }
    out.push_str("</tr>");
    for row in &phase.rows {
        match row {
            Row::Measured { judged, .. } => {
                let bad = [(8, judged.misses.lost > 0), (9, judged.misses.late > 0)];
                out.push_str("<tr>");
                for (column, cell) in cells(phase, row, &report.topics).iter().enumerate() {
                    let class = if bad.contains(&(column, true)) { " class=\"bad\"" } else { "" };
                    let _ = write!(out, "<td{class}>{}</td>", escaped(cell));
                }
                out.push_str("</tr>");
            }
            Row::Babbler { topic, said } => {
                let _ = write!(
                    out,
                    "<tr><td>{}</td><td colspan=\"{}\" style=\"text-align:left;white-space:normal\">babbles: {}</td></tr>",
                    escaped(report.name(*topic)),
                    crate::text::HEADS.len() - 1,
                    escaped(said)
                );
            }
        }
    }
    out.push_str("</table></div>");
}

fn plots(out: &mut String, phase: &Phase, report: &Report) {
    out.push_str("<div class=\"plots\">");
    for row in &phase.rows {
        let Row::Measured { topic, limit, judged } = row else { continue };
        let (name, arrived) = (report.name(*topic), judged.arrived_permille());
        let label = format!("{name}: {} samples, {}.{} % arrived", judged.sent, arrived / 10, arrived % 10);
        let line = if phase.promised { "promised" } else { "asked for" };
        let plot = Plot { judged, limit: *limit, line, seconds: phase.seconds, label };
        let _ = write!(
            out,
            "<figure><figcaption>{} <span>{} samples, {}.{} % arrived</span></figcaption>{}</figure>",
            escaped(name),
            judged.sent,
            arrived / 10,
            arrived % 10,
            plot.svg()
        );
    }
    out.push_str("</div>");
}

fn refusals(out: &mut String, report: &Report) {
    if report.refusals.is_empty() {
        return;
    }
    let _ = write!(out, "<h2>{}. Subscribers that ask for too much</h2>", report.phases.len() + 1);
    for refusal in &report.refusals {
        let (class, verdict) = match &refusal.verdict {
            Some(verdict) => ("", verdict.as_str()),
            None => (" class=\"bad\"", "not refused"),
        };
        let _ = write!(
            out,
            "<div class=\"said\"><p><b>{}</b></p><p{class}>{}</p></div>",
            escaped(&refusal.asked),
            escaped(verdict)
        );
    }
}

/// Text that is only text in a page.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character if character.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report as made;

    #[test]
    fn the_page_shows_every_sample_and_needs_nothing_else() {
        let mut latencies = [4; 2_000];
        (latencies[0], latencies[1], latencies[1_999]) = (90, 0, 6);
        let page = page(&made(&latencies, 5));
        assert_eq!(page.matches("h0").count(), 1_999);
        assert_eq!(page.matches("v4\"").count(), 1);
        assert!(page.contains("A PROMISE WAS BROKEN") && page.contains("<td class=\"bad\">1 + 1 d.</td>"));
        assert!(page.contains("&lt;much&gt; &amp; more") && !page.contains("<much>"));
        for other in ["<script", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(other), "{other}");
        }
        assert!(page.len() < 2_000 * 16 + 10_000, "{} octets", page.len());
    }
}
