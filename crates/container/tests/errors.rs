//! What the compiler says of components that are not complete: the compiler itself is run, with the crate as this test has it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

/// A component whose port `fix` is on line 6.
fn program(handler: &str, attribute: &str) -> String {
    format!(
        "use container::*;\n#[derive(Clone)] struct Fix;\nimpl Event for Fix {{}}\ntrait Tuning {{}}\n#[derive(Component)] {attribute} struct Airframe {{\n    \
         fix: Consumer<Fix>,\n}}\nimpl Lifecycle for Airframe {{}}\n{handler}\nfn main() {{}}\n"
    )
}

/// Compiles a program as far as its types are checked; gives what is said, a line for each error.
fn compile(name: &str, source: &str) -> Vec<String> {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_crate = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libcontainer-") && name.ends_with(".rlib")
    };
    let libraries = std::fs::read_dir(&folder).unwrap().flatten().map(|file| file.path()).filter(is_crate);
    // The one that this test was linked with is the newest.
    let age =
        |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let library = libraries.max_by_key(age).expect("the crate was built for this test");
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.rs"));
    std::fs::write(&place, source).unwrap();
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.args([
        "--edition=2024",
        "--emit=metadata",
        "--error-format=short",
        "--crate-name",
        name,
        "--out-dir",
    ]);
    compiler.arg(env!("CARGO_TARGET_TMPDIR")).arg("-L").arg(format!("dependency={}", folder.display()));
    compiler.arg("--extern").arg(format!("container={}", library.display())).arg(&place);
    let output = compiler.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let errors: Vec<_> = said.lines().filter(|line| line.contains(" error[")).map(str::to_owned).collect();
    assert_eq!(output.status.success(), errors.is_empty(), "{said}");
    errors
}

const HANDLER: &str = "fn handle(&mut self, _: &Fix, _: &Context) -> Outcome { Ok(()) } }";

#[test]
fn a_complete_component_compiles() {
    let handler = format!("impl Handle<airframe::Fix> for Airframe {{ {HANDLER}");
    assert!(compile("complete", &program(&handler, "")).is_empty());
    let parallel = handler.replace("Handle<", "HandleParallel<").replace("&mut self", "&self");
    assert!(compile("parallel", &program(&parallel, "#[component(parallel)]")).is_empty());
}

#[test]
fn a_missing_handler_is_an_error_at_the_port() {
    for (name, attribute, handler) in [
        ("missing", "", String::new()),
        (
            "missing_parallel",
            "#[component(parallel)]",
            format!("impl Handle<airframe::Fix> for Airframe {{ {HANDLER}"),
        ),
    ] {
        let errors = compile(name, &program(&handler, attribute));
        let [error] = errors.as_slice() else { panic!("one error, not {errors:?}") };
        assert!(error.contains(&format!("{name}.rs:6:5: error[E0277]")), "{error}");
        assert!(error.contains("has no handler for this port"), "{error}");
    }
}

#[test]
fn a_facet_without_its_trait_is_an_error_at_the_port() {
    let source = program("", "").replace("fix: Consumer<Fix>", "tuning: Facet<dyn Tuning>");
    let errors = compile("facet", &source);
    let [error] = errors.as_slice() else { panic!("one error, not {errors:?}") };
    assert!(error.contains("facet.rs:6:5: error[E0277]") && error.contains("Tuning"), "{error}");
}
