//! How samples are written as text.
use clap::{Args, ValueEnum};

/// What a line of text is.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Format {
    /// One sample a line, as JSON.
    #[default]
    Json,
    /// One member a line; a line --- after each sample.
    Text,
}

/// The option that chooses.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FormatOption {
    /// How samples are written as text.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with = "hex")]
    pub(crate) format: Format,
}

/// The line after a sample, with [`Format::Text`].
pub(crate) const END: &str = "---";

/// Puts samples together from the lines of standard input.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    format: Format,
    /// The number of the last line, from 1.
    line: u64,
    /// The lines of the sample that is not at its end, and the number of the first of them.
    open: String,
    first: u64,
}

impl Samples {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, ..Self::default() }
    }

    /// Takes a line; gives the text of a sample that it ends, with the number of its first line.
    pub(crate) fn line(&mut self, line: String) -> Option<(u64, String)> {
        self.line += 1;
        if self.format == Format::Json {
            return (!line.trim().is_empty()).then_some((self.line, line));
        }
        if line.trim_end() == END {
            return self.end();
        }
        if self.open.is_empty() {
            self.first = self.line;
        }
        // What `punctual echo` says besides samples. The line stays, so that places are right.
        if !line.starts_with('#') {
            self.open.push_str(&line);
        }
        self.open.push('\n');
        None
    }

    /// The sample that the end of the input ends.
    pub(crate) fn end(&mut self) -> Option<(u64, String)> {
        let text = std::mem::take(&mut self.open);
        (!text.trim().is_empty()).then_some((self.first, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(format: Format, text: &str) -> Vec<(u64, String)> {
        let mut samples = Samples::new(format);
        let mut found: Vec<_> = text.lines().filter_map(|line| samples.line(line.to_owned())).collect();
        found.extend(samples.end());
        found
    }

    #[test]
    fn lines_become_samples() {
        assert_eq!(
            all(Format::Json, "{x: 1}\n\n# no sample\n"),
            [(1, "{x: 1}".to_owned()), (3, "# no sample".to_owned())]
        );
        assert_eq!(
            all(
                Format::Text,
                "# when\nx: 1\nin: {\n  y: #\n}\n---\n---\n# disposed: {}\n---\n\n{}\n---\nx: 2"
            ),
            [
                (1, "\nx: 1\nin: {\n  y: #\n}\n".to_owned()),
                (10, "\n{}\n".to_owned()),
                (13, "x: 2\n".to_owned())
            ]
        );
    }
}
