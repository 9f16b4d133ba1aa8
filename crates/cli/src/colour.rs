//! Colours: of the help, of what went wrong, and of what `why` and `grm status` find. In a terminal only, and not if NO_COLOR says so.
use anstream::ColorChoice;
use clap::Command;
use clap::builder::styling::{AnsiColor, Style};
use clap::builder::{StyledStr, Styles};

const HEADING: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Yellow.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// What a text says, which is what decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Good,
    Note,
    Bad,
}

/// A text for standard output, in the colour of its tone if colours are shown there.
pub(crate) fn out(tone: Tone, text: &str) -> String {
    coloured(anstream::AutoStream::choice(&std::io::stdout()), tone, text)
}

/// A text for standard error, likewise.
pub(crate) fn err(tone: Tone, text: &str) -> String {
    coloured(anstream::AutoStream::choice(&std::io::stderr()), tone, text)
}

fn coloured(choice: ColorChoice, tone: Tone, text: &str) -> String {
    let style = match tone {
        Tone::Good => GOOD,
        Tone::Note => NOTE,
        Tone::Bad => BAD,
    };
    match choice {
        ColorChoice::Never => text.to_owned(),
        _ => format!("{style}{text}{style:#}"),
    }
}

/// The command with colours in its help; clap leaves them out where there are none.
pub(crate) fn of_help(command: Command) -> Command {
    let styles = Styles::styled()
        .header(HEADING)
        .usage(HEADING)
        .literal(LITERAL)
        .placeholder(AnsiColor::Cyan.on_default())
        .error(BAD)
        .valid(GOOD)
        .invalid(NOTE);
    examples(command.styles(styles))
}

/// Colours of what stands after the options, in this command and all below it.
fn examples(command: Command) -> Command {
    let after = command.get_after_help().map(|text| text.to_string());
    let command = match after {
        Some(text) => command.after_help(StyledStr::from(lines(&text))),
        None => command,
    };
    command.mut_subcommands(examples)
}

/// `Examples:` as other headings are, and command lines as what is typed.
fn lines(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("  ") {
        None if matches!(line, "Examples:" | "Example:") => format!("{HEADING}{line}{HEADING:#}"),
        Some(example) => {
            let (typed, said) = example.split_at(example.find("  ").unwrap_or(example.len()));
            format!("  {LITERAL}{typed}{LITERAL:#}{said}")
        }
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_shown_where_they_are_wanted() {
        assert_eq!(coloured(ColorChoice::Never, Tone::Bad, "!"), "!");
        assert_eq!(coloured(ColorChoice::Always, Tone::Bad, "!"), "\u{1b}[1m\u{1b}[31m!\u{1b}[0m");
    }

    #[test]
    fn what_is_typed_is_coloured_and_what_is_said_of_it_is_not() {
        let text = lines("Examples:\n  punctual ls    who is there\n\nMore.");
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "Examples:\n  punctual ls    who is there\n\nMore.");
        assert!(text.contains(&format!("{LITERAL}punctual ls{LITERAL:#}    who")), "{text:?}");
    }
}
