//! A walk through the code names stops that exist: in a table row that begins with a number, the second cell names a file and the
//! third one the functions there, as `Type::function` or `function`.
use crate::report::Problem;
use crate::tree::Tree;

/// Checks the rows of every document that are stops.
pub(crate) fn check(tree: &Tree, problems: &mut Vec<Problem>) {
    for path in tree.files.keys().filter(|path| path.ends_with(".md")) {
        let Some(text) = tree.text(path) else { continue };
        for (index, line) in text.lines().enumerate() {
            let Some((file, functions)) = stop(line) else { continue };
            let Some(source) = tree.text(file) else { continue };
            for function in functions.filter(|function| !has_function(source, function)) {
                problems.push(Problem::new(
                    format!("{path}:{}", index + 1),
                    format!("`{function}` is not in {file}"),
                    "follow the sample through the code again, and name the stop as it is now",
                ));
            }
        }
    }
}

/// The file and the functions of a row that is a stop.
fn stop(line: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let _: u32 = cells.next()?.parse().ok()?;
    let file = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
    let functions = cells.next()?.split('`').skip(1).step_by(2);
    file.ends_with(".rs").then_some((file, functions))
}

/// True if the source has the function, in an `impl` or a `trait` of the type if one is named.
fn has_function(source: &str, name: &str) -> bool {
    let (of, function) = name.rsplit_once("::").map_or((None, name), |(of, function)| (Some(of), function));
    let mut block = None;
    source.lines().any(|line| {
        if !line.starts_with([' ', '}', '/', '#']) && !line.is_empty() {
            block = Some(line).filter(|line| words(line).any(|word| word == "impl" || word == "trait"));
        }
        let is_there =
            words(line).zip(words(line).skip(1)).any(|(word, next)| word == "fn" && next == function);
        is_there && of.is_none_or(|of| block.is_some_and(|block| words(block).any(|word| word == of)))
    })
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents;
    use crate::sample;

    const SOURCE: &str = "\
//! fn gone() in a comment
impl<T: Into<u8>> Writer<T> {
    pub(crate) fn write(&self) {}
}

impl Encode for Sample<'_> {
    fn encode<W>(&self, out: W) {}
}

trait Sink {
    fn sink(&self);
}

const fn free() {}
";

    #[test]
    fn functions_are_found_in_their_type() {
        for name in ["write", "Writer::write", "Sample::encode", "Encode::encode", "Sink::sink", "free"] {
            assert!(has_function(SOURCE, name), "{name}");
        }
        for name in ["gone", "Writer::encode", "Sample::write", "Writer::free", "writ"] {
            assert!(!has_function(SOURCE, name), "{name}");
        }
    }

    #[test]
    fn a_stop_that_is_gone_is_caught() {
        let with =
            |row: &str| documents::check(&sample::with("ARCHITECTURE.md", |text| format!("{text}\n{row}\n")));
        assert_eq!(with("| 1 | `crates/socket/src/lib.rs` | `f` | none |").problems, []);
        with("| 1 | `crates/socket/src/lib.rs` | `f`, then `g` | none |")
            .assert_one(&["`g`", "crates/socket"]);
        with("| 1 | `crates/socket/src/gone.rs` | `f` | none |").assert_one(&["gone.rs"]);
        assert_eq!(with("| one | `crates/socket/src/lib.rs` | `g` | none |").problems, []);
    }
}
