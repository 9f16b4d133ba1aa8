//! The arrow table of ARCHITECTURE.md, and that the crates keep to it.
use std::collections::BTreeSet;

use crate::report::{Outcome, Problem};
use crate::tree::{Need, Tree};

/// The document that holds the table.
pub(crate) const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: [&str; 5] = ["crate", "kind", "may depend on", "tests may use", "one line"];

/// What a crate may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Below the purity line: `no_std`, no `unsafe`, depends on pure crates only.
    Pure,
    /// May say `unsafe`, and is small for that reason.
    LeafUnsafe,
    /// Generates code.
    Macro,
    /// Joins the pure crates with sockets, clocks and threads.
    Shell,
    /// Runs for the user.
    Product,
    /// Runs for the developer or the evaluator.
    Tool,
    /// Support for tests: nothing may depend on it but tests and other support for tests.
    Test,
}

impl Kind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "pure" => Self::Pure,
            "leaf-unsafe" => Self::LeafUnsafe,
            "macro" => Self::Macro,
            "shell" => Self::Shell,
            "product" => Self::Product,
            "tool" => Self::Tool,
            "test" => Self::Test,
            _ => return None,
        })
    }
}

/// A row of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) depends_on: BTreeSet<String>,
    pub(crate) tests_use: BTreeSet<String>,
}

/// Reads the table out of the document.
pub(crate) fn table(document: &str) -> Result<Vec<Row>, Problem> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = document.lines().enumerate().skip_while(|(_, line)| cells(line) != HEADING);
    if lines.next().is_none() {
        let heading = HEADING.join(" | ");
        return Err(Problem::new(
            DOCUMENT,
            "the arrow table is missing",
            format!("write a table with the heading `{heading}`"),
        ));
    }
    let mut rows = Vec::new();
    for (index, line) in lines.skip(1).take_while(|(_, line)| line.trim_start().starts_with('|')) {
        let wrong = |what: String| {
            Problem::new(format!("{DOCUMENT}:{}", index + 1), what, "see the text above the table")
        };
        let cells = cells(line);
        let [name, kind, depends_on, tests_use, one_line] = cells.as_slice() else {
            return Err(wrong(format!("a row of {} cells, not {}", cells.len(), HEADING.len())));
        };
        if one_line.is_empty() {
            return Err(wrong("the crate has no description".to_owned()));
        }
        rows.push(Row {
            name: name.trim_matches('`').to_owned(),
            kind: Kind::parse(kind).ok_or_else(|| wrong(format!("unknown kind `{kind}`")))?,
            depends_on: names(depends_on).map_err(wrong)?,
            tests_use: names(tests_use).map_err(wrong)?,
        });
    }
    Ok(rows)
}

/// The kind of a crate; `None` if the table cannot be read or does not name it.
pub(crate) fn kind_of(tree: &Tree, name: &str) -> Option<Kind> {
    let rows = table(tree.text(DOCUMENT)?).ok()?;
    rows.iter().find(|row| row.name == name).map(|row| row.kind)
}

/// Crates and table name each other, and no crate depends on what its row does not allow.
pub(crate) fn check(tree: &Tree) -> Outcome {
    let rows = match table(tree.text(DOCUMENT).unwrap_or_default()) {
        Ok(rows) => rows,
        Err(problem) => return Outcome { problems: vec![problem], ..Outcome::default() },
    };
    let mut problems = table_problems(tree, &rows);
    let mut edges = 0;
    for member in &tree.crates {
        let Some(row) = rows.iter().find(|row| row.name == member.name) else {
            problems.push(Problem::new(
                &member.name,
                format!("the crate is not in the arrow table of {DOCUMENT}"),
                "add its row, or remove the crate",
            ));
            continue;
        };
        for dependency in member.dependencies.iter().filter(|dependency| dependency.in_workspace) {
            edges += 1;
            let for_tests = dependency.need == Need::Tests;
            let allowed = row.depends_on.contains(&dependency.name)
                || for_tests && row.tests_use.contains(&dependency.name);
            if !allowed {
                let whose = if for_tests { "its tests use" } else { "it depends on" };
                problems.push(Problem::new(
                    &member.name,
                    format!("{whose} `{}`, an arrow that the table in {DOCUMENT} does not allow", dependency.name),
                    "take the dependency out, or change the table and say in the commit why the design is better",
                ));
            }
        }
    }
    Outcome {
        looked_at: format!("{} crates, {edges} arrows", tree.crates.len()),
        problems,
        warnings: Vec::new(),
    }
}

fn names(cell: &str) -> Result<BTreeSet<String>, String> {
    if cell == "nothing" {
        return Ok(BTreeSet::new());
    }
    cell.split(',')
        .map(|name| {
            let name = name.trim();
            let inner = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
            inner
                .map(str::to_owned)
                .ok_or_else(|| format!("`{name}` is neither `nothing` nor a name in backticks"))
        })
        .collect()
}

/// What is wrong with the table itself.
fn table_problems(tree: &Tree, rows: &[Row]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let kind = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.kind);
    for (index, row) in rows.iter().enumerate() {
        let mut wrong = |what: String, remedy: &str| {
            problems.push(Problem::new(format!("{DOCUMENT}, row `{}`", row.name), what, remedy));
        };
        if rows.iter().take(index).any(|earlier| earlier.name == row.name) {
            wrong("the crate has two rows".to_owned(), "join them");
        }
        if !tree.crates.iter().any(|member| member.name == row.name) {
            wrong(
                "there is no such crate".to_owned(),
                "remove the row: the table names what exists, plans stand in the text",
            );
        }
        for name in row.depends_on.union(&row.tests_use) {
            let Some(other) = kind(name) else {
                wrong(format!("`{name}` has no row of its own"), "remove it, or add its row");
                continue;
            };
            let builds_on = row.depends_on.contains(name);
            if builds_on && other == Kind::Test && row.kind != Kind::Test {
                wrong(format!("it may depend on `{name}`, which is for tests"), "move it to `tests may use`");
            }
            if builds_on && row.kind == Kind::Pure && !matches!(other, Kind::Pure | Kind::Macro) {
                wrong(
                    format!("a pure crate may depend on `{name}`, which is not pure"),
                    "hand in what it needs as a value or a trait",
                );
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::tree::{Crate, Dependency};

    #[test]
    fn the_sample_holds() {
        assert_eq!(check(&sample::tree()).problems, []);
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_caught() {
        let mut tree = sample::tree();
        tree.crates[0].dependencies.push(Dependency {
            name: "brain".to_owned(),
            need: Need::Build,
            in_workspace: true,
            versioned: true,
        });
        check(&tree).assert_one(&["bytes", "depends on `brain`"]);
    }

    #[test]
    fn an_arrow_for_tests_does_not_allow_a_dependency() {
        let mut tree = sample::tree();
        for dependency in tree.crates.iter_mut().flat_map(|member| &mut member.dependencies) {
            dependency.need = Need::Build;
        }
        check(&tree).assert_one(&["brain", "`support`"]);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_caught() {
        let mut tree = sample::tree();
        tree.crates.push(Crate {
            name: "new".to_owned(),
            folder: "crates/new".to_owned(),
            dependencies: Vec::new(),
            published: false,
            untold: Vec::new(),
        });
        check(&tree).assert_one(&["new", "not in the arrow table"]);

        let tree = sample::with(DOCUMENT, |text| {
            text.replace(
                "| `bytes` | pure",
                "| `ghost` | pure | nothing | nothing | a promise |\n| `bytes` | pure",
            )
        });
        check(&tree).assert_one(&["ghost", "no such crate"]);
    }

    #[test]
    fn a_table_that_lets_a_pure_crate_depend_on_another_kind_is_caught() {
        let tree = sample::with(DOCUMENT, |text| {
            text.replace("| `bytes` | pure | nothing", "| `bytes` | pure | `socket`")
        });
        check(&tree).assert_one(&["bytes", "`socket`", "not pure"]);
    }

    #[test]
    fn a_table_that_lets_a_crate_depend_on_test_support_is_caught() {
        let tree = sample::with(DOCUMENT, |text| {
            text.replace("| `socket` | leaf-unsafe | nothing", "| `socket` | leaf-unsafe | `support`")
        });
        check(&tree).assert_one(&["socket", "`support`", "for tests"]);
    }

    #[test]
    fn a_missing_table_an_unknown_kind_and_a_short_row_are_caught() {
        check(&sample::with(DOCUMENT, |_| "# Nothing\n".to_owned())).assert_one(&["missing"]);
        check(&sample::with(DOCUMENT, |text| text.replace("| leaf-unsafe |", "| magic |")))
            .assert_one(&["ARCHITECTURE.md:", "magic"]);
        check(&sample::with(DOCUMENT, |text| text.replace("| words |", "|")))
            .assert_one(&["a row of 4 cells"]);
    }
}
