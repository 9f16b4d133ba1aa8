//! Files of users, as TOML. `docs/aaa.md` says what they look like.
use std::path::Path;

use diagnostics::{Problem, Source};
use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;
use wan::{Class, Prefix};

use crate::text::{self, load, prefix, read_toml};
use crate::users::{Contract, User, Users};

/// Most users of a file, and most entries of a list.
const MOST_USERS: usize = 100_000;
const MOST_ENTRIES: usize = 1_024;
/// What to read where a file is wrong.
const MANUAL: &str = "docs/aaa.md says what files of users look like";

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    #[serde(default, rename = "user")]
    users: Vec<Spanned<Stated>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Stated {
    id: u32,
    name: Spanned<String>,
    #[serde(default)]
    secret_sha256: Option<Spanned<String>>,
    #[serde(default)]
    certificate: Option<Spanned<String>>,
    contract: Spanned<StatedContract>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StatedContract {
    begins: Spanned<Datetime>,
    ends: Spanned<Datetime>,
    classes: Spanned<Vec<Spanned<String>>>,
    destinations: Spanned<Vec<Spanned<String>>>,
    quota: Spanned<String>,
    most_sessions: Spanned<u32>,
}

/// Reads a file of users.
///
/// # Errors
/// What is wrong, with its place in the file, the line and a caret.
pub fn open_users(path: &Path) -> Result<Users, String> {
    let text = load(path, MANUAL)?;
    let name = path.display().to_string();
    read_users(&name, &text).map_err(|problem| Source { file: &name, text: &text }.show(&problem))
}

/// Users from the text of a file.
///
/// # Errors
/// What is wrong, with its place.
pub fn read_users(name: &str, text: &str) -> Result<Users, Problem> {
    let source = Source { file: name, text };
    let document: Document = read_toml(source, MANUAL)?;
    if document.users.len() > MOST_USERS {
        return Err(source.problem(
            0,
            format!("more than {MOST_USERS} users"),
            "give some to another server",
        ));
    }
    let mut users = Users::default();
    for stated in &document.users {
        let user = read_user(source, stated)?;
        users.add(user).map_err(|what| {
            source.problem(
                stated.span().start,
                format!("another user has the same {what}"),
                format!("give each user {} of its own", if what == "id" { "an id" } else { what }),
            )
        })?;
    }
    Ok(users)
}

fn read_user(source: Source<'_>, stated: &Spanned<Stated>) -> Result<User, Problem> {
    let at = stated.span().start;
    let stated = stated.get_ref();
    for (said, what) in
        [(Some(&stated.name), "a name"), (stated.certificate.as_ref(), "the name of a certificate")]
    {
        if let Some(said) = said
            && !text::is_plain_name(said.get_ref())
        {
            return Err(source.problem(
                said.span().start,
                format!("\"{}\" is not {what}", said.get_ref().escape_default()),
                "write 1 to 128 letters, digits, `.`, `-`, `_` and `@`",
            ));
        }
    }
    let secret_sha256 = stated.secret_sha256.as_ref().map(|said| {
        text::from_hex(said.get_ref()).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            source.problem(
                said.span().start,
                "this is no SHA-256: it has 64 hexadecimal digits",
                "`punctual aaa secret` makes a secret and prints its SHA-256",
            )
        })
    });
    let secret_sha256 = secret_sha256.transpose()?;
    if secret_sha256.is_none() && stated.certificate.is_none() {
        return Err(source.problem(
            at,
            format!("user \"{}\" has no way to show who it is", stated.name.get_ref()),
            "add secret-sha256 or certificate",
        ));
    }
    let contract = read_contract(source, &stated.contract)?;
    Ok(User {
        id: stated.id,
        name: stated.name.get_ref().clone(),
        secret_sha256,
        certificate: stated.certificate.as_ref().map(|said| said.get_ref().clone()),
        contract,
    })
}

fn read_contract(source: Source<'_>, stated: &Spanned<StatedContract>) -> Result<Contract, Problem> {
    let stated = stated.get_ref();
    let begins = instant(source, &stated.begins)?;
    let ends = instant(source, &stated.ends)?;
    if ends <= begins {
        return Err(source.problem(
            stated.ends.span().start,
            "the contract ends before it begins",
            "write a later time",
        ));
    }
    let classes = entries(source, &stated.classes, read_class)?;
    let destinations = entries(source, &stated.destinations, read_destination)?;
    let quota = diagnostics::bits_per_second(stated.quota.get_ref()).filter(|rate| *rate > 0);
    let quota = quota.ok_or_else(|| {
        source.problem(
            stated.quota.span().start,
            format!("\"{}\" is no rate", stated.quota.get_ref().escape_default()),
            "write one such as \"10 Mb/s\"",
        )
    })?;
    if *stated.most_sessions.get_ref() == 0 {
        return Err(source.problem(
            stated.most_sessions.span().start,
            "most-sessions is 0: this user could have none",
            "write 1 or more, or remove the user",
        ));
    }
    Ok(Contract {
        begins,
        ends,
        classes,
        destinations,
        quota,
        most_sessions: *stated.most_sessions.get_ref() as usize,
    })
}

fn entries<T>(
    source: Source<'_>,
    said: &Spanned<Vec<Spanned<String>>>,
    read: impl Fn(&str) -> Result<T, &'static str>,
) -> Result<Vec<T>, Problem> {
    let list = said.get_ref();
    if list.is_empty() || list.len() > MOST_ENTRIES {
        let what = format!("a list has 1 to {MOST_ENTRIES} entries");
        return Err(source.problem(said.span().start, what, "name what is allowed: nothing else is"));
    }
    let one = |said: &Spanned<String>| {
        read(said.get_ref()).map_err(|remedy| {
            let what = format!("\"{}\" is not known here", said.get_ref().escape_default());
            source.problem(said.span().start, what, remedy)
        })
    };
    list.iter().map(one).collect()
}

fn read_class(text: &str) -> Result<Class, &'static str> {
    match text {
        "ef" => Ok(Class::Ef),
        "af4" => Ok(Class::Af4),
        "af1" => Ok(Class::Af1),
        _ => Err("write \"ef\", \"af4\" or \"af1\""),
    }
}

fn read_destination(text: &str) -> Result<Prefix, &'static str> {
    prefix(text).ok_or("write an address, or a network such as \"203.0.113.0/24\"")
}

/// Seconds of Unix time; a date alone is its first second, and a time without offset is UTC.
fn instant(source: Source<'_>, said: &Spanned<Datetime>) -> Result<u64, Problem> {
    let wrong = |what: &str| {
        source.problem(said.span().start, what, "write a time from 1970 on, such as 2026-12-31T23:59:59Z")
    };
    let datetime = said.get_ref();
    let date = datetime.date.ok_or_else(|| wrong("this is a time of day, without a date"))?;
    let seconds = datetime.time.map_or(0, |time| {
        i64::from(time.hour) * 3_600 + i64::from(time.minute) * 60 + i64::from(time.second.min(59))
    });
    let offset = match datetime.offset {
        Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes) * 60,
        _ => 0,
    };
    let days = days_from_1970(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    u64::try_from(days * 86_400 + seconds - offset).map_err(|_| wrong("this is before 1970"))
}

/// Days of the Gregorian calendar, years beginning with March.
const fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months = (month + 9) % 12;
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days + (153 * months + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"[[user]]
id = 1
name = "alice"
certificate = "user-alice"
contract.begins = 2026-01-01
contract.ends = 2027-01-01T00:00:00+01:00
contract.classes = ["ef", "af4"]
contract.destinations = ["203.0.113.0/24", "2001:db8::/32"]
contract.quota = "10 Mb/s"
contract.most-sessions = 4
"#;

    #[test]
    fn a_file_says_who_may_do_what() {
        let users = read_users("u.toml", GOOD).unwrap();
        let user = users.authenticate("user-alice", None).unwrap();
        assert_eq!((user.id, user.contract.begins, user.contract.ends), (1, 1_767_225_600, 1_798_758_000));
        assert_eq!((user.contract.quota, user.contract.classes.len()), (10_000_000, 2));
        assert!(
            users.authenticate("alice", None).is_none() && users.authenticate("alice", Some(b"")).is_none()
        );
    }

    #[test]
    fn what_is_wrong_has_a_place_and_a_remedy() {
        for (from, to, line, words) in [
            ("name = \"alice\"", "name = \"al ice\"", 3, "128 letters"),
            ("certificate = \"user-alice\"\n", "", 1, "secret-sha256 or certificate"),
            ("certificate = \"user-alice\"", "secret-sha256 = \"12\"", 4, "64 hexadecimal"),
            ("\"ef\"", "\"gold\"", 7, "\"af4\""),
            ("[\"ef\", \"af4\"]", "[]", 7, "1 to 1024"),
            ("203.0.113.0/24", "203.0.113.0/33", 8, "a network such as"),
            ("10 Mb/s", "many", 9, "such as \"10 Mb/s\""),
            ("2027-01-01T00:00:00+01:00", "2025-01-01", 6, "later"),
            ("2026-01-01", "1969-01-01", 5, "1970"),
            ("2026-01-01", "12:00:00", 5, "without a date"),
            ("most-sessions = 4", "most-sessions = 0", 10, "1 or more"),
            ("most-sessions = 4", "most-session = 4", 10, "most-session"),
            ("id = 1", "id = -1", 2, "-1"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let text = GOOD.replacen(from, to, 1);
            let problem = read_users("u.toml", &text).unwrap_err();
            let shown = Source { file: "u.toml", text: &text }.show(&problem);
            assert_eq!(problem.place.map(|(line, _)| line), Some(line), "{shown}");
            assert!(shown.contains(words) && shown.contains('^'), "{shown}");
        }
        for (from, to, what) in [("alice", "bob", "id"), ("id = 1", "id = 2", "name")] {
            let twice = format!("{GOOD}{}", GOOD.replace(from, to));
            let problem = read_users("u.toml", &twice).unwrap_err();
            assert!(problem.what.ends_with(what) && problem.place == Some((11, 1)), "{problem}");
        }
    }
}
