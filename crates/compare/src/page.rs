//! The report as a page that needs nothing else: no script, no font, no other file.
use std::fmt::Write as _;

use crate::cell::Kind;
use crate::report::{Report, Row};
use crate::text::{cells, heads, megabytes, number, reason};

const STYLE: &str = "<style>:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#dde3ea;--paper:#fff;--dot:#2563a8;--own:#b3261e}\
@media(prefers-color-scheme:dark){:root{--ink:#e4e9f0;--soft:#9aa6b5;--line:#323b47;--paper:#14181d;--dot:#6fb0f5;--own:#ff8a80}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:0 auto;padding:1.5rem 1rem 4rem;color:var(--ink);background:var(--paper)}\
h1{font-size:1.6rem}h2{font-size:1.1rem;margin:2.4rem 0 .2rem}.soft{color:var(--soft)}.scroll{overflow-x:auto}\
table{border-collapse:collapse;width:100%;margin:.6rem 0}th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;\
font-variant-numeric:tabular-nums;white-space:nowrap}th:first-child,td:first-child,td[colspan],.text{text-align:left}td[colspan]{white-space:normal}\
th{color:var(--soft);font-weight:600}tr.own td:first-child{color:var(--own);font-weight:700}svg{width:100%;max-width:760px;height:auto;display:block}\
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg text.s{fill:var(--soft)}svg path.g{stroke:var(--line);fill:none}\
svg .d{fill:var(--dot);stroke:var(--dot)}svg .o{fill:var(--own);stroke:var(--own)}svg path.d,svg path.o{stroke-width:3}</style>";

/// Who is shown in another colour.
const OWN: &str = "punctual";

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,\
         initial-scale=1\"><title>Comparison</title>{STYLE}</head><body><h1>Latency and throughput, measured side by side</h1>"
    );
    for remark in &report.remarks {
        let _ = write!(out, "<p class=\"soft\">{}</p>", escaped(remark));
    }
    out.push_str(
        "<div class=\"scroll\"><table><tr><th>who</th><th class=\"text\">what</th><th>program, MB</th></tr>",
    );
    for who in &report.contenders {
        let size = who.bytes.map_or_else(|| "-".to_owned(), megabytes);
        let _ = write!(
            out,
            "{}<td class=\"text\">{}</td><td>{size}</td></tr>",
            first(&who.name),
            escaped(&who.about)
        );
    }
    out.push_str("</table></div>");
    for row in &report.rows {
        let _ = write!(out, "<h2>{}</h2>{}", escaped(row.cell.title), picture(report, row));
        table(&mut out, report, row);
    }
    out.push_str("<h2>Measured on</h2><div class=\"scroll\"><table>");
    for (name, value) in &report.machine {
        let _ = write!(out, "<tr><td>{}</td><td>{}</td></tr>", escaped(name), escaped(value));
    }
    out.push_str("</table></div></body></html>\n");
    out
}

/// The beginning of a row of a table.
fn first(name: &str) -> String {
    let class = if name == OWN { " class=\"own\"" } else { "" };
    format!("<tr{class}><td>{}</td>", escaped(name))
}

fn table(out: &mut String, report: &Report, row: &Row) {
    let heads = heads(row.cell.kind);
    out.push_str("<div class=\"scroll\"><table><tr><th></th>");
    for head in heads.iter().filter(|head| !head.is_empty()) {
        let _ = write!(out, "<th>{}</th>", if *head == "ratio" { "ratio to raw-udp" } else { head });
    }
    out.push_str("</tr>");
    for (who, entry) in row.concerned(&report.contenders) {
        out.push_str(&first(&who.name));
        match cells(row.cell.kind, entry) {
            Some(columns) => {
                for (column, _) in columns.iter().zip(heads).filter(|(_, head)| !head.is_empty()) {
                    let _ = write!(out, "<td>{}</td>", escaped(column));
                }
            }
            None => {
                let _ = write!(
                    out,
                    "<td colspan=\"7\" class=\"soft\">not measured: {}</td>",
                    escaped(reason(entry))
                );
            }
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>");
}

/// Width of the picture, of the names, and height of a line of it.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 120.0;
const RIGHT: f64 = 70.0;
const LINE: f64 = 22.0;

/// A dot for each median, a bar for its interval, on a logarithmic scale.
fn picture(report: &Report, row: &Row) -> String {
    let shown: Vec<_> = row
        .concerned(&report.contenders)
        .filter_map(|(who, entry)| Some((who.name.as_str(), entry.figure.filter(|figure| figure.low > 0.0)?)))
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let least = shown.iter().map(|(_, figure)| figure.low).fold(f64::INFINITY, f64::min).log10().floor();
    let most =
        shown.iter().map(|(_, figure)| figure.high).fold(0.0, f64::max).log10().ceil().max(least + 1.0);
    let x = |value: f64| LEFT + (value.log10() - least) / (most - least) * (WIDTH - LEFT - RIGHT);
    let height = LINE * (1.0 + lines_of(shown.len()));
    let better = if row.cell.kind == Kind::Rate { "more is better" } else { "less is better" };
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}, {better}\">",
        escaped(row.cell.title)
    );
    let mut decade = least;
    while decade <= most {
        let value = 10f64.powf(decade);
        let _ = write!(
            out,
            "<path class=\"g\" d=\"M{0:.1} 0V{1:.1}\"/><text class=\"s\" x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3} {4}</text>",
            x(value),
            height - LINE,
            height - 6.0,
            tick(value),
            row.cell.kind.unit()
        );
        decade += 1.0;
    }
    let _ = write!(out, "<text class=\"s\" x=\"0\" y=\"{:.1}\">{better}</text>", height - 6.0);
    for (index, (name, figure)) in shown.iter().enumerate() {
        let y = LINE * (lines_of(index) + 0.5);
        let class = if *name == OWN { "o" } else { "d" };
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{0:.1}\">{1}</text><path class=\"{class}\" d=\"M{2:.1} {y:.1}H{3:.1}\"/>\
             <circle class=\"{class}\" cx=\"{4:.1}\" cy=\"{y:.1}\" r=\"4\"/><text x=\"{5:.1}\" y=\"{0:.1}\">{6}</text>",
            y + 4.0,
            escaped(name),
            x(figure.low),
            x(figure.high),
            x(figure.median),
            x(figure.high) + 9.0,
            number(figure.median)
        );
    }
    out.push_str("</svg>");
    out
}

/// A power of ten, with as many digits as it has.
fn tick(value: f64) -> String {
    let digits = usize::from(value < 1.0) * 3;
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').to_owned() }
}

fn lines_of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Text that is only text in a page.
fn escaped(text: &str) -> String {
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
    use crate::contender::REFERENCE;
    use crate::report::tests::report;

    #[test]
    fn ticks_are_powers_of_ten() {
        for (value, text) in
            [(0.001, "0.001"), (0.1, "0.1"), (1.0, "1"), (10.0, "10"), (100.0, "100"), (1e4, "10000")]
        {
            assert_eq!(tick(value), text);
        }
    }

    #[test]
    fn the_page_shows_all_and_needs_nothing_else() {
        let page = page(&report());
        assert_eq!((page.matches("<svg").count(), page.matches("<circle").count()), (2, 3));
        assert!(page.contains("not measured: no &lt;rate&gt;") && page.contains("a &lt;remark&gt;"));
        assert!(page.contains(&format!("<td>{REFERENCE}</td>")) && !page.contains("NaN"));
        for other in ["<script", "http://", "https://", "src=", "@import", "url(", "<rate>", "<it>"] {
            assert!(!page.contains(other), "{other}");
        }
    }
}
