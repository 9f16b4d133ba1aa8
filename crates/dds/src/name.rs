//! The name that a participant announces if its configuration gives none: program, process id and host.
use std::ffi::OsStr;
use std::path::Path;

/// Most bytes of the program's name, and of the host's: announcements are answered by at most as many bytes as they have, and two that
/// differ much in length would find each other later.
const LONGEST: usize = 24;

/// `camera (4711 at robot)`.
pub(crate) fn default_name() -> String {
    let arguments = std::env::args_os().next();
    let program = arguments.as_deref().map(Path::new).and_then(Path::file_name).map(OsStr::to_string_lossy);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name(program.as_deref().unwrap_or_default(), std::process::id(), &host)
}

fn name(program: &str, process: u32, host: &str) -> String {
    let (program, host) = (short(program), short(host));
    let program = if program.is_empty() { "process" } else { &program };
    if host.is_empty() {
        format!("{program} ({process})")
    } else {
        format!("{program} ({process} at {host})")
    }
}

/// The beginning, without characters that no name has.
fn short(text: &str) -> String {
    let mut short = String::new();
    for letter in text.trim().chars().filter(|letter| !letter.is_control()) {
        if short.len() + letter.len_utf8() > LONGEST {
            break;
        }
        short.push(letter);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_say_program_process_and_host() {
        assert_eq!(name("camera", 4711, "robot\n"), "camera (4711 at robot)");
        assert_eq!(name("", 7, ""), "process (7)");
        let long = name(&"é".repeat(99), u32::MAX, &"h\0".repeat(99));
        assert!(long.len() <= 2 * LONGEST + 17 && !long.contains('\0'), "{long}");
        assert!(default_name().contains(&std::process::id().to_string()));
    }
}
