//! What an element of a launch file sees: arguments, namespaces, remaps and variables, and how they are replaced in texts.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Values of a scope, and bytes of a text with all replaced.
const MOST_VALUES: usize = 256;
/// Remaps, and variables, for all nodes of a scope: each node gets them.
const MOST_FOR_ALL: usize = 64;
const LONGEST_TEXT: usize = 1_024;
/// How deep what stands for something is in each other.
const DEEPEST: usize = 8;

/// What is not known of a text, and what to do.
pub(super) type Unknown = (String, &'static str);

/// What an element sees. What a group adds ends with it.
#[derive(Default)]
pub(super) struct Scope {
    values: Vec<(String, String)>,
    namespaces: Vec<String>,
    /// Names that all nodes are given other names for.
    pub(super) remaps: Vec<(String, String)>,
    /// Variables of the environment.
    pub(super) variables: Vec<(String, String)>,
}

/// How much was in a scope.
#[derive(Clone, Copy)]
pub(super) struct Mark([usize; 4]);

impl Scope {
    pub(super) fn mark(&self) -> Mark {
        Mark([self.values.len(), self.namespaces.len(), self.remaps.len(), self.variables.len()])
    }

    pub(super) fn back_to(&mut self, Mark(mark): Mark) {
        let [values, namespaces, remaps, variables] = mark;
        self.values.truncate(values);
        self.namespaces.truncate(namespaces);
        self.remaps.truncate(remaps);
        self.variables.truncate(variables);
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Further values than so many are not kept: what uses them is told.
    pub(super) fn set(&mut self, name: &str, value: String) {
        if self.values.len() < MOST_VALUES {
            self.values.push((name.to_string(), value));
        }
    }

    /// A remap or variable for all that comes; false if there are too many.
    pub(super) fn add(list: &mut Vec<(String, String)>, entry: (String, String)) -> bool {
        let has_room = list.len() < MOST_FOR_ALL;
        if has_room {
            list.push(entry);
        }
        has_room
    }

    pub(super) fn push_namespace(&mut self, namespace: &str) {
        self.namespaces.push(self.namespace(namespace));
    }

    /// A namespace within those that hold.
    pub(super) fn namespace(&self, own: &str) -> String {
        let outer = self.namespaces.last().map_or("", String::as_str);
        let own = own.trim_end_matches('/');
        let whole = match own {
            "" => outer.to_string(),
            own if own.starts_with('/') => own.to_string(),
            own => format!("{outer}/{own}"),
        };
        whole.chars().take(LONGEST_TEXT).collect()
    }

    /// A text with all replaced that is known, and the first that is not.
    pub(super) fn replaced(&self, text: &str, folder: &str) -> (String, Option<Unknown>) {
        self.replace(text, folder, 0)
    }

    fn replace(&self, text: &str, folder: &str, depth: usize) -> (String, Option<Unknown>) {
        let (mut made, mut unknown, mut rest) = (String::new(), None, text);
        while let Some((before, inside, after)) = next(rest) {
            made.push_str(before);
            let (value, missing) = if depth < DEEPEST {
                self.stands_for(inside, folder, depth)
            } else {
                (None, Some((format!("more than {DEEPEST} in each other: $({inside})"), "write it out")))
            };
            unknown = unknown.or(missing);
            match value {
                Some(value) => made.push_str(&value),
                None => made.push_str(&format!("$({inside})")),
            }
            rest = after;
            if made.len() > LONGEST_TEXT {
                break;
            }
        }
        made.push_str(rest);
        if made.len() > LONGEST_TEXT {
            let end = (0..=LONGEST_TEXT).rev().find(|end| made.is_char_boundary(*end)).unwrap_or(0);
            made.truncate(end);
            let what = format!("a text of more than {LONGEST_TEXT} bytes");
            unknown = unknown.or(Some((what, "what is more is left out")));
        }
        (made, unknown)
    }

    /// The value of what is between the parentheses, if it is known.
    fn stands_for(&self, inside: &str, folder: &str, depth: usize) -> (Option<String>, Option<Unknown>) {
        let (inside, unknown) = self.replace(inside, folder, depth + 1);
        let (word, rest) = inside.trim().split_once(char::is_whitespace).unwrap_or((inside.trim(), ""));
        let name = rest.trim().trim_matches(['\'', '"']);
        match word {
            "var" => match self.get(name) {
                Some(value) => (Some(value.to_string()), unknown),
                None => {
                    let what = format!("\"{name}\" has no value");
                    (None, unknown.or(Some((what, "give it one: --arg NAME=VALUE"))))
                }
            },
            "dirname" => (
                Some(format!("./{}", folder.trim_end_matches('/')).trim_end_matches('/').to_string()),
                unknown,
            ),
            _ => {
                let what = format!("$({inside}) is known only when it is launched");
                (None, unknown.or(Some((what, "write out what it stands for"))))
            }
        }
    }
}

/// The text before the first `$(`, what is between that and its end, and the rest.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("$(")?;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some((text.get(..start)?, text.get(start + 2..at)?, text.get(at + 1..)?));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_replaced_and_the_rest_is_told() {
        let mut scope = Scope::default();
        scope.set("a", "1".to_string());
        scope.set("which", "a".to_string());
        for (text, made, is_known) in [
            ("plain $ ( ) $(", "plain $ ( ) $(", true),
            ("<$(var a)|$(var 'a')>", "<1|1>", true),
            ("$(var $(var which))", "1", true),
            ("$(dirname)/x", "./in/x", true),
            ("$(var b)-$(var a)", "$(var b)-1", false),
            ("$(find-pkg-share $(var a))", "$(find-pkg-share $(var a))", false),
        ] {
            let (found, unknown) = scope.replaced(text, "in/");
            assert_eq!((found.as_str(), unknown.is_none()), (made, is_known), "{text}");
        }
        // Each is twice as long as the one before.
        for step in 0..40 {
            let (value, _) = scope.replaced(&format!("x$(var v{step})$(var v{step})"), "");
            scope.set(&format!("v{}", step + 1), value);
        }
        assert!(scope.values.iter().all(|(_, value)| value.len() <= LONGEST_TEXT));
        let deep = "$(var ".repeat(2_000) + &")".repeat(2_000);
        assert!(scope.replaced(&deep, "").1.is_some());
    }

    #[test]
    fn what_a_group_adds_ends_with_it() {
        let mut scope = Scope::default();
        scope.push_namespace("robot");
        let mark = scope.mark();
        scope.push_namespace("arm/");
        scope.set("a", String::new());
        assert_eq!(scope.namespace("left"), "/robot/arm/left");
        assert_eq!(scope.namespace("/other"), "/other");
        scope.back_to(mark);
        assert_eq!(scope.namespace(""), "/robot");
        assert!(!scope.has("a"));
    }
}
