//! Environment variables: `PUNCTUAL_DOMAIN`, `PUNCTUAL_NETWORK_MULTICAST` and so on.
use std::collections::BTreeMap;

use dds::config::Config;

use crate::file;
use crate::problem::{Origin, Problem};

/// The variable that names a file.
pub const CONFIG: &str = "PUNCTUAL_CONFIG";

const PREFIX: &str = "PUNCTUAL_";
/// What has variables besides the parts of a participant's configuration.
const SHORT: [&str; 3] = ["domain", "interfaces", "peers"];

/// All variables but [`CONFIG`], each with the path in a file of what it says.
pub fn variables() -> Vec<(String, String)> {
    let upper = |key: &str| key.to_ascii_uppercase().replace('-', "_");
    let mut variables: Vec<(String, String)> =
        SHORT.iter().map(|key| (format!("{PREFIX}{}", upper(key)), (*key).to_owned())).collect();
    let config = serde_json::to_value(Config::default()).unwrap_or_default();
    for (section, keys) in config.as_object().into_iter().flatten() {
        for key in keys.as_object().into_iter().flat_map(|keys| keys.keys()) {
            let name = format!("{PREFIX}{}_{}", upper(section), upper(key));
            variables.push((name, format!("participant.{section}.{key}")));
        }
    }
    variables
}

/// Lays what variables say over what a file says.
pub(crate) fn lay_over(
    given: &[(String, String)],
    table: &mut toml::Table,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<(), Problem> {
    let known = variables();
    let sections: Vec<&str> =
        known.iter().filter_map(|(name, _)| name.rsplit_once('_').map(|(of, _)| of)).collect();
    for (name, value) in given.iter().filter(|(name, _)| name.starts_with(PREFIX)) {
        let wrong = |what: String| Problem { origin: Origin::Variable(name.clone()), what };
        let Some((_, path)) = known.iter().find(|(known, _)| known == name) else {
            // Other variables of that prefix are for others; one that looks like these is a mistake.
            let section =
                sections.iter().find(|of| of.len() > PREFIX.len() && name.starts_with(&format!("{of}_")));
            if let Some(section) = section {
                let like: Vec<&str> = known
                    .iter()
                    .map(|(known, _)| known.as_str())
                    .filter(|known| known.starts_with(section))
                    .collect();
                return Err(wrong(format!("there is no such variable; there are {}", like.join(", "))));
            }
            continue;
        };
        let said = said(path, value).map_err(wrong)?;
        // Nothing is left of what a file says of it.
        let inside = format!("{path}.");
        origins.retain(|known, _| known != path && !known.starts_with(&inside));
        origins.insert(path.clone(), Origin::Variable(name.clone()));
        put(table, path, said);
    }
    Ok(())
}

/// The value of a variable: TOML, or a text, or several texts with commas between them, whichever of these fits.
fn said(path: &str, text: &str) -> Result<toml::Value, String> {
    let whole = toml::from_str::<toml::Table>(&format!("x = {text}")).ok().filter(|table| table.len() == 1);
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let list = toml::Value::Array(parts.map(|part| toml::Value::String(part.to_owned())).collect());
    let mut first = None;
    let candidates = [
        whole.and_then(|mut table| table.remove("x")),
        Some(toml::Value::String(text.to_owned())),
        Some(list),
    ];
    for candidate in candidates.into_iter().flatten() {
        let mut alone = toml::Table::new();
        put(&mut alone, path, candidate.clone());
        match file::typed(alone) {
            Ok(_) => return Ok(candidate),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    Err(format!("{text:?}: {}", first.unwrap_or_default()))
}

/// Puts a value where its path leads.
fn put(table: &mut toml::Table, path: &str, value: toml::Value) {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let inner = table.entry(first).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(inner) = inner {
        put(inner, rest, value);
    }
}
