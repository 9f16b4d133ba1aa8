//! A document that prints a file prints it as it is. A line `<!-- file: PATH -->` before a block of code says which file it is.
use crate::report::Problem;
use crate::tree::Tree;

const BEGIN: &str = "<!-- file: ";
const END: &str = " -->";
const FENCE: &str = "```";

/// Compares every block that says which file it is.
pub(crate) fn check(tree: &Tree, problems: &mut Vec<Problem>) {
    for path in tree.files.keys().filter(|path| path.ends_with(".md")) {
        let Some(text) = tree.text(path) else { continue };
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let Some(file) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) else {
                continue;
            };
            let mut report = |what: String, remedy: &str| {
                problems.push(Problem::new(format!("{path}:{}", index + 1), what, remedy));
            };
            let Some(wanted) = tree.text(file) else {
                report(format!("`{file}` is not in the repository"), "name a file that exists");
                continue;
            };
            if !lines.next().is_some_and(|(_, fence)| fence.starts_with(FENCE)) {
                report("no block of code follows".to_owned(), "put the block on the next line");
                continue;
            }
            let quoted = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != FENCE);
            if !quoted.eq(wanted.lines()) {
                report(format!("the block is not `{file}` as it is"), "copy the file into the block");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::report::Outcome;
    use crate::sample;

    fn quoting(block: &str) -> Outcome {
        documents::check(&sample::with("ARCHITECTURE.md", |text| format!("{text}{block}")))
    }

    #[test]
    fn a_quoted_file_is_quoted_as_it_is() {
        let quote = |code: &str| {
            format!(
                "<!-- file: crates/socket/src/lib.rs -->\n```rust\n{code}```\n<!-- other -->\n```\nx\n```\n"
            )
        };
        let right = "//! Sockets.\npub fn f() { unsafe {} }\n";
        assert_eq!(quoting(&quote(right)).problems, []);
        quoting(&quote("//! Sockets.\n")).assert_one(&["ARCHITECTURE.md:10", "as it is"]);
        quoting(&quote(&format!("{right}\n"))).assert_one(&["as it is"]);
    }

    #[test]
    fn a_quote_without_file_or_block_is_caught() {
        quoting("<!-- file: crates/gone.rs -->\n```\n```\n").assert_one(&["crates/gone.rs"]);
        quoting("<!-- file: crates/socket/src/lib.rs -->\n\n```\n```\n").assert_one(&["no block"]);
    }
}
