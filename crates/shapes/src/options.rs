//! The command line: the options that all vendors' programs of this name have.
use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgGroup, CommandFactory, FromArgMatches, Parser, ValueEnum};

/// Publishes or subscribes to coloured shapes that move about.
///
/// Both sides are RELIABLE unless -b is given. The publisher writes from the start, whether anybody listens or not; Ctrl-C ends either.
#[derive(Parser, Debug)]
#[command(name = "shape_main", about, long_about)]
#[command(group(ArgGroup::new("role").required(true).args(["publish", "subscribe"])))]
pub(crate) struct Options {
    /// Publish
    #[arg(short = 'P')]
    publish: bool,
    /// Subscribe
    #[arg(short = 'S')]
    subscribe: bool,
    /// Name of the topic, as Square, Circle or Triangle
    #[arg(short = 't', value_name = "TOPIC")]
    pub(crate) topic: String,
    /// Domain id, 0 to 232
    #[arg(short = 'd', value_name = "ID", default_value_t = 0)]
    pub(crate) domain: u32,
    /// RELIABILITY: best effort
    #[arg(short = 'b', overrides_with = "reliable")]
    pub(crate) best_effort: bool,
    /// RELIABILITY: reliable (the default)
    #[arg(short = 'r', overrides_with = "best_effort")]
    reliable: bool,
    /// HISTORY depth; 0 keeps all [default: that of the standard, 1]
    #[arg(short = 'k', value_name = "DEPTH", default_value_t = -1, hide_default_value = true,
          value_parser = clap::value_parser!(i32).range(-1..), allow_negative_numbers = true)]
    pub(crate) history_depth: i32,
    /// DEADLINE period in milliseconds; 0 is none
    #[arg(short = 'f', value_name = "MS", default_value_t = 0, value_parser = milliseconds())]
    pub(crate) deadline: i64,
    /// OWNERSHIP: -1 is SHARED, 0 and more is EXCLUSIVE with this strength
    #[arg(short = 's', value_name = "STRENGTH", default_value_t = -1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-1..))]
    pub(crate) strength: i32,
    /// Publisher: the colour, which is the key [default: BLUE]. Subscriber: only shapes of this colour
    #[arg(short = 'c', value_name = "COLOR")]
    pub(crate) color: Option<String>,
    /// PARTITION
    #[arg(short = 'p', value_name = "NAME")]
    pub(crate) partition: Option<String>,
    /// DURABILITY: v volatile, l transient local, t transient, p persistent
    #[arg(short = 'D', value_name = "KIND", value_enum, default_value_t = DurabilityKind::V)]
    pub(crate) durability: DurabilityKind,
    /// DATA_REPRESENTATION: 1 XCDR, 2 XCDR2
    #[arg(short = 'x', value_name = "VERSION", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) representation: u8,
    /// Print what is published
    #[arg(short = 'w')]
    pub(crate) print_writes: bool,
    /// Size of the shapes; 0 begins with 1 and grows in each iteration
    #[arg(short = 'z', value_name = "SIZE", default_value_t = 20, value_parser = clap::value_parser!(i32).range(0..))]
    pub(crate) shapesize: i32,
    /// Read instead of take
    #[arg(short = 'R')]
    pub(crate) read: bool,
    /// Verbosity: e errors, d everything
    #[arg(short = 'v', value_name = "LEVEL", value_enum, default_value_t = Verbosity::E)]
    verbosity: Verbosity,
    /// Pause between two iterations of the publisher, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 33)]
    pub(crate) write_period: u64,
    /// Pause between two iterations of the subscriber, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100)]
    pub(crate) read_period: u64,
    /// TIME_BASED_FILTER minimum separation of the subscriber, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = milliseconds())]
    pub(crate) time_filter: i64,
    /// LIFESPAN of what is published, in milliseconds; 0 is for ever
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = milliseconds())]
    pub(crate) lifespan: i64,
    /// End after this many iterations [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) num_iterations: Option<u64>,
    /// Instances to publish: the colour, then the colour with 1, 2 and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) num_instances: u32,
    /// Topics: the topic, then the topic with 1, 2 and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) num_topics: u32,
    /// What becomes of the instances before the end: u they are unregistered, d disposed [default: they lose their writer]
    #[arg(long, value_name = "STATE", value_enum)]
    pub(crate) final_instance_state: Option<FinalState>,
    /// PRESENTATION access scope, with --coherent or --ordered: i instance, t topic, g group
    #[arg(long, value_name = "SCOPE", value_enum)]
    access_scope: Option<Scope>,
    /// PRESENTATION coherent access
    #[arg(long)]
    coherent: bool,
    /// PRESENTATION ordered access
    #[arg(long)]
    ordered: bool,
    /// Iterations in a coherent set
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    coherent_sample_count: Option<u32>,
    /// Bytes of 255 in each sample besides
    #[arg(long, value_name = "OCTETS", default_value_t = 0)]
    pub(crate) additional_payload_size: usize,
    /// Use take() or read() instead of take_next_instance() or read_next_instance()
    #[arg(long)]
    pub(crate) take_read: bool,
    /// Period of announcements in milliseconds; 0 is the default of the product
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = milliseconds())]
    pub(crate) periodic_announcement: i64,
    /// Largest datagram, in bytes; what does not fit is sent in fragments. 0 is the default of the product
    #[arg(long, value_name = "OCTETS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub(crate) datafrag_size: u32,
    /// Subscriber: filter expression
    #[arg(long, value_name = "EXPRESSION")]
    cft: Option<String>,
    /// With -z 0: sizes begin again at 1 after this one; 0 is never
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..))]
    pub(crate) size_modulo: i32,
}

/// Which side it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Publisher,
    Subscriber,
}

/// `-D`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DurabilityKind {
    V,
    L,
    T,
    P,
}

/// `-v`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Verbosity {
    E,
    D,
}

/// `--final-instance-state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FinalState {
    U,
    D,
}

/// `--access-scope`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Scope {
    I,
    T,
    G,
}

/// What the command line asks for.
pub(crate) enum Asked {
    For(Box<Options>),
    /// This text.
    Help(String),
    /// Nothing that can be done; this text says why.
    Wrong(String),
}

fn milliseconds() -> impl clap::builder::TypedValueParser<Value = i64> {
    clap::value_parser!(i64).range(0..=i64::from(i32::MAX))
}

impl Options {
    /// Reads the command line.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Asked {
        // An option that is given twice counts as it was given last, as with getopt.
        let mut command = Self::command().args_override_self(true);
        let parsed = command.try_get_matches_from_mut(arguments);
        let options = match parsed.and_then(|matches| Self::from_arg_matches(&matches)) {
            Ok(options) => options,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                return Asked::Help(error.render().to_string());
            }
            Err(error) => return Asked::Wrong(with_usage(error.render().to_string(), &mut command)),
        };
        if options.cft.is_some() && options.color.is_some() && options.subscribe {
            let text = "error: a subscriber has either -c or --cft\n".to_owned();
            return Asked::Wrong(with_usage(text, &mut command));
        }
        Asked::For(Box::new(options))
    }

    pub(crate) const fn role(&self) -> Role {
        if self.publish { Role::Publisher } else { Role::Subscriber }
    }

    pub(crate) const fn is_verbose(&self) -> bool {
        matches!(self.verbosity, Verbosity::D)
    }

    /// The first thing among those that are asked for which does not exist here.
    pub(crate) fn unsupported(&self) -> Option<&'static str> {
        [
            (self.coherent || self.coherent_sample_count.is_some(), "PRESENTATION coherent access"),
            (self.ordered, "PRESENTATION ordered access"),
            (self.durability == DurabilityKind::T, "DURABILITY transient"),
            (self.durability == DurabilityKind::P, "DURABILITY persistent"),
            (self.subscribe && (self.color.is_some() || self.cft.is_some()), "a content-filtered topic"),
        ]
        .into_iter()
        .find_map(|(asked, what)| asked.then_some(what))
    }

    /// The names of the topics.
    pub(crate) fn topics(&self) -> Vec<String> {
        numbered(&self.topic, self.num_topics)
    }

    /// The colours to publish; the second is a line for people if one was chosen for them.
    pub(crate) fn colors(&self) -> (Vec<String>, Option<&'static str>) {
        match &self.color {
            Some(color) => (numbered(color, self.num_instances), None),
            None => {
                (numbered("BLUE", self.num_instances), Some("warning: no color (-c) was given: it is BLUE"))
            }
        }
    }
}

/// What was wrong, and how it would be right.
fn with_usage(mut text: String, command: &mut clap::Command) -> String {
    if !text.contains("Usage:") {
        text.push_str(&format!("\n{}\n", command.render_usage()));
    }
    text
}

/// A name, then the name with 1, 2 and so on.
fn numbered(name: &str, count: u32) -> Vec<String> {
    (0..count).map(|number| if number == 0 { name.to_owned() } else { format!("{name}{number}") }).collect()
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        match Options::parse(line.split(' ')) {
            Asked::For(options) => *options,
            Asked::Help(text) | Asked::Wrong(text) => panic!("{line}: {text}"),
        }
    }

    fn wrong(line: &str) -> String {
        match Options::parse(line.split(' ')) {
            Asked::Wrong(text) => text,
            _ => panic!("{line} was accepted"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_all_vendors() {
        let found = options("shape_main -S -t Square");
        assert_eq!(found.role(), Role::Subscriber);
        assert_eq!(
            (found.domain, found.best_effort, found.history_depth, found.strength),
            (0, false, -1, -1)
        );
        assert_eq!(
            (found.representation, found.shapesize, found.write_period, found.read_period),
            (1, 20, 33, 100)
        );
        assert_eq!(
            (found.durability, found.num_iterations, found.unsupported()),
            (DurabilityKind::V, None, None)
        );
    }

    #[test]
    fn values_may_be_written_as_getopt_takes_them() {
        let found = options("shape_main -P -tSquare -d7 -s -1 -k0 -x2 -b -r -d 8");
        assert_eq!((found.topic.as_str(), found.domain, found.strength), ("Square", 8, -1));
        assert_eq!((found.history_depth, found.representation, found.best_effort), (0, 2, false));
        assert!(options("shape_main -Pt Square -r -b").best_effort);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_usage() {
        for line in [
            "shape_main",
            "shape_main -t Square",
            "shape_main -P -S -t Square",
            "shape_main -P",
            "shape_main -P -t Square -Q",
            "shape_main -P -t Square -x 3",
            "shape_main -P -t Square -f -1",
            "shape_main -P -t Square --coherent-sample-count 1",
            "shape_main -S -t Square -c RED --cft x",
            "shape_main -P -t Square --num-iterations 0",
        ] {
            assert!(wrong(line).contains("Usage:"), "{line}: {}", wrong(line));
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        let named = |rest: &str| options(&format!("shape_main {rest} -t Square")).unsupported();
        assert_eq!(named("-S --coherent"), Some("PRESENTATION coherent access"));
        assert_eq!(named("-S --ordered --access-scope g"), Some("PRESENTATION ordered access"));
        assert_eq!(named("-P --access-scope t"), None);
        assert_eq!(named("-P -D t"), Some("DURABILITY transient"));
        assert_eq!(named("-P -D p"), Some("DURABILITY persistent"));
        assert_eq!(named("-P -D l"), None);
        assert_eq!(named("-S -c RED"), Some("a content-filtered topic"));
        assert_eq!(named("-S --cft color='RED'"), Some("a content-filtered topic"));
        assert_eq!(named("-P -c RED"), None);
    }

    #[test]
    fn names_are_numbered_from_the_second_on() {
        let found = options("shape_main -P -t Square --num-topics 2 --num-instances 3");
        assert_eq!(found.topics(), ["Square", "Square1"]);
        let (colors, warning) = found.colors();
        assert_eq!(colors, ["BLUE", "BLUE1", "BLUE2"]);
        assert!(warning.is_some_and(|line| line.contains("BLUE")));
        assert_eq!(options("shape_main -P -t Square -c RED").colors(), (vec!["RED".to_owned()], None));
    }
}
