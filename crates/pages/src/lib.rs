//! What the pages that commands write share: one document that needs no other file, its style, tables that sort and search,
//! and scales of plots. Text gets into a page through [`maud`], which escapes it: names come from files and from the network.
#![forbid(unsafe_code)]

pub mod layout;
pub mod scale;

use maud::{Markup, PreEscaped, html};

/// Colours by their names, light and dark.
pub const COLOURS: &str = include_str!("colours.css");
/// Text, tables and plots of all pages, on screens from 360 pixels on and in print.
pub const STYLE: &str = include_str!("style.css");
/// Tables with the class `sorted` sort by the column whose head is pressed and show the rows that have what is searched for.
/// Without it a page has the same content.
const SCRIPT: &str = include_str!("table.js");

/// A whole page with that title and content. It loads nothing, and its policy forbids it.
///
/// ```
/// let page = pages::document("<b>", maud::html! { p { "1 < 2" } });
/// assert!(page.contains("<title>&lt;b&gt;</title>") && page.contains("<p>1 &lt; 2</p>"));
/// ```
pub fn document(title: &str, content: Markup) -> String {
    html! {
        (maud::DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(COLOURS)) (PreEscaped(STYLE)) }
            }
            body {
                (content)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// A picture of so many pixels as a file of its own, on paper of the page's colour; `style` is about its content.
pub fn picture(width: f64, height: f64, label: &str, style: &str, content: &Markup) -> String {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format_args!("0 0 {width} {height}"))
            width=(width) height=(height) role="img" aria-label=(label) {
            style { (PreEscaped(COLOURS)) "text{font:12px system-ui,sans-serif;fill:var(--soft)}.ink{fill:var(--ink)}.grid{stroke:var(--line);fill:none}" (PreEscaped(style)) }
            rect width=(width) height=(height) fill="var(--paper)" {}
            (content)
        }
    }
    .into_string()
}

/// What a command says first, as a coloured box: a sentence, and lines below it.
pub fn verdict(mood: Mood, sentence: &str, lines: &[String]) -> Markup {
    html! {
        div class=(format_args!("verdict {}", mood.class())) {
            p { (sentence) }
            @if !lines.is_empty() { ul { @for line in lines { li { (line) } } } }
        }
    }
}

/// How what is said is meant; each has a colour of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mood {
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// Nothing follows from it.
    Odd,
}

impl Mood {
    /// The class of the style sheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Odd => "odd",
        }
    }
}

/// Names with values, such as the facts of a machine.
pub fn facts<'f>(facts: impl IntoIterator<Item = (&'f str, &'f str)>) -> Markup {
    html! { dl { @for (name, value) in facts { dt { (name) } dd { (value) } } } }
}

/// The head of a table that sorts: of each column its words, whether it sorts as numbers, the greatest first, and its classes.
pub fn heads(columns: &[(&str, bool, &str)]) -> Markup {
    html! {
        thead {
            tr {
                @for (head, number, class) in columns {
                    th data-key=[number.then_some("number")] data-first=[number.then_some("down")] class=[(!class.is_empty()).then_some(class)] { (head) }
                }
            }
        }
    }
}

/// A number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text_and_nothing_is_loaded() {
        let hostile = "</title><script>alert(1)</script>\" onload=x &";
        let page = document(
            hostile,
            html! { (verdict(Mood::Bad, hostile, &[hostile.to_owned()])) (facts([(hostile, hostile)])) },
        );
        assert_eq!(page.matches("&lt;script&gt;alert(1)").count(), 5);
        assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
        for other in ["http:", "https:", "src=", "href=", "@import", "url(", "\" onload"] {
            assert!(!page.contains(other), "{other}");
        }
    }

    #[test]
    fn the_style_and_the_script_do_not_end_their_elements() {
        for text in [COLOURS, STYLE, SCRIPT] {
            assert!(!text.contains("</"));
        }
    }

    #[test]
    fn thousands_have_commas() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (100_000, "100,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(thousands(number), text);
        }
    }
}
