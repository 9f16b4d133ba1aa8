//! A link to a place in a document, `page.md#place`, leads to a heading that is there.
use std::collections::BTreeMap;

use crate::documents::{links, target_of};
use crate::report::Problem;
use crate::tree::Tree;

const FENCE: &str = "```";

/// Checks the places in all links between documents.
pub(crate) fn check(tree: &Tree, problems: &mut Vec<Problem>) {
    for path in tree.files.keys().filter(|path| path.ends_with(".md")) {
        for (index, line) in prose(tree.text(path).unwrap_or_default()) {
            for link in links(line) {
                let Some((_, place)) = link.split_once('#') else { continue };
                let document = target_of(path, link);
                let Some(text) = tree.text(&document).filter(|_| document.ends_with(".md")) else { continue };
                if !places(text).contains_key(place) {
                    problems.push(Problem::new(
                        format!("{path}:{}", index + 1),
                        format!("`{document}` has no heading for `#{place}`"),
                        "name a heading that is there: small letters, a hyphen for each space, no other signs",
                    ));
                }
            }
        }
    }
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with(FENCE);
        code ^= fence;
        !code && !fence
    })
}

/// What the headings of a document are called in links, as hosts of Git and mdBook derive it.
fn places(text: &str) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (_, line) in prose(text) {
        let words = line.trim_start_matches('#');
        if words.len() == line.len() || !words.starts_with(' ') {
            continue;
        }
        let name: String = shown(words.trim())
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                '-' | '_' => Some(c),
                c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        let times = places.get(&name).map_or(0, |times| times + 1);
        if times > 0 {
            places.insert(format!("{name}-{times}"), 0);
        }
        places.insert(name, times);
    }
    places
}

/// A heading without the targets of its links.
fn shown(heading: &str) -> String {
    let mut parts = heading.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documents, sample};

    #[test]
    fn headings_are_called_as_hosts_call_them() {
        let text = "# What a *host* is, `eth0`\n## A-b_c (d)\n```\n# no\n```\n## Same\n## Same\n#not\n## [Link](x.md) on\n";
        let names: Vec<String> = places(text).into_keys().collect();
        assert_eq!(names, ["a-b_c-d", "link-on", "same", "same-1", "what-a-host-is-eth0"]);
    }

    #[test]
    fn links_to_places_that_are_not_there_are_caught() {
        let with =
            |line: &str| documents::check(&sample::with("ARCHITECTURE.md", |text| format!("{text}{line}\n")));
        with("See [it](docs/decisions/0001-first.md#statuses).")
            .assert_one(&["ARCHITECTURE.md:10", "#statuses"]);
        with("See [it](#arrows).").assert_one(&["`ARCHITECTURE.md`", "#arrows"]);
        for good in ["[a](docs/decisions/0001-first.md#status)", "[a](#architecture)", "[a](LICENSE#x)"] {
            assert_eq!(with(good).problems, [], "{good}");
        }
    }
}
