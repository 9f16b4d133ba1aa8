//! The page about plans says what there is; its examples are right.
use assembly::{Manifest, Plan};
use diagnostics::Source;

const PAGE: &str = include_str!("../../../../docs/deploy-plan.md");
const PLAN_SCHEMA: &str = include_str!("../../../../docs/deploy-plan.schema.json");
const MANIFEST_SCHEMA: &str = include_str!("../../../../docs/manifest.schema.json");

/// Files that are made, and what they are made of. `PUNCTUAL_WRITE=1` writes them.
#[test]
fn made_files_are_up_to_date() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    let schema = |text: String| {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        serde_json::to_string_pretty(&value).unwrap() + "\n"
    };
    let (prose, _) = PAGE.split_once("## Keys of a plan").expect("the page has the keys at its end");
    for (name, is, should) in [
        ("deploy-plan.md", PAGE, [prose, &assembly::reference()].concat()),
        ("deploy-plan.schema.json", PLAN_SCHEMA, schema(Plan::schema())),
        ("manifest.schema.json", MANIFEST_SCHEMA, schema(Manifest::schema())),
    ] {
        if std::env::var_os("PUNCTUAL_WRITE").is_some() {
            std::fs::write([folder, name].concat(), &should).unwrap();
        } else {
            assert!(is == should, "docs/{name} is made by this test: run it with PUNCTUAL_WRITE=1");
        }
    }
}

#[test]
fn examples_of_the_page_are_right() {
    let blocks: Vec<&str> = PAGE.split("```").skip(1).step_by(2).collect();
    let of = |kind: &str| blocks.iter().filter_map(|block| block.strip_prefix(kind)).collect::<Vec<_>>();
    let (plans, manifests) = (of("toml\n"), of("json\n"));
    assert!(plans.len() == 1 && manifests.len() == 1);
    let types = crate::catalogue(manifests[0]);
    let source = Source { file: "page", text: plans[0] };
    let (plan, places) = crate::plan(plans[0]);
    let problems = plan.check(source, &places, &types);
    assert!(problems.is_empty(), "{problems:#?}");
    // What the page shows of it is what there is: what is wrong first, what is explained after it.
    let shown: Vec<&str> = of("text\n").into_iter().filter(|block| !block.starts_with("punctual ")).collect();
    let explained: Vec<String> = plan.explain(&types, Some("fix")).iter().map(ToString::to_string).collect();
    assert_eq!(shown[1].trim_end(), explained.join("\n"));
    let wrong = plans[0].replace("to = [\"display.position\"]", "to = [\"display.positon\"]");
    let source = Source { file: "flight.toml", text: &wrong };
    let (plan, places) = crate::plan(&wrong);
    let told = source.show(&plan.check(source, &places, &types)[0]);
    assert_eq!(shown[0].trim_end(), told);
}
