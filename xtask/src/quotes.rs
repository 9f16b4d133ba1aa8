//! A document that prints a file prints it as it is. A line `<!-- file: PATH -->` before a block of code says which file it is, and
//! `<!-- part of: PATH -->` that the block's lines are in the file, one after the other, whatever their indentation.
use crate::report::Problem;
use crate::tree::Tree;

const BEGIN: &str = "<!-- file: ";
const BEGIN_OF_PART: &str = "<!-- part of: ";
const END: &str = " -->";
const FENCE: &str = "```";

/// Compares every block that says which file it is.
pub(crate) fn check(tree: &Tree, problems: &mut Vec<Problem>) {
    for path in tree.files.keys().filter(|path| path.ends_with(".md")) {
        let Some(text) = tree.text(path) else { continue };
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let named = |begin| line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(END));
            let is_part = named(BEGIN_OF_PART).is_some();
            let Some(file) = named(BEGIN).or_else(|| named(BEGIN_OF_PART)) else { continue };
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
            if is_part {
                let quoted: Vec<&str> = quoted.map(str::trim).collect();
                let wanted: Vec<&str> = wanted.lines().map(str::trim).collect();
                if quoted.is_empty() || !wanted.windows(quoted.len()).any(|part| part == quoted) {
                    report(format!("the block is no part of `{file}`"), "copy the lines into the block");
                }
            } else if !quoted.eq(wanted.lines()) {
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
    fn a_part_of_a_file_is_in_it() {
        let quote =
            |code: &str| format!("<!-- part of: crates/socket/src/lib.rs -->\n```rust,ignore\n{code}```\n");
        for right in ["pub fn f() { unsafe {} }\n", "//! Sockets.\n  pub fn f() { unsafe {} }\n"] {
            assert_eq!(quoting(&quote(right)).problems, []);
        }
        for wrong in ["", "pub fn f() { unsafe {}\n", "pub fn f() { unsafe {} }\n//! Sockets.\n"] {
            quoting(&quote(wrong)).assert_one(&["no part of `crates/socket/src/lib.rs`"]);
        }
    }

    #[test]
    fn a_quote_without_file_or_block_is_caught() {
        quoting("<!-- file: crates/gone.rs -->\n```\n```\n").assert_one(&["crates/gone.rs"]);
        quoting("<!-- file: crates/socket/src/lib.rs -->\n\n```\n```\n").assert_one(&["no block"]);
    }
}
