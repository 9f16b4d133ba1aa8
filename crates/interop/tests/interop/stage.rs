//! A test: two implementations, the terms they talk under, and what they do.
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::place::{Link, Place};
use crate::program::Program;
use crate::transcript::Transcript;
use crate::vendor::Vendor;

/// The type of the topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `ShapeType`: appendable, with a string for a key.
    Keyed,
    /// `Reading`: final, with a double, which XCDR 1 and 2 align differently.
    Keyless,
    /// `Track`: final, with a number for a key, which is its own hash.
    Numbered,
    /// `Report`: mutable, with a string for a key and an optional member.
    Mutable,
    /// `Log`: appendable, with a number for a key; other vendors have a later version, with one member more.
    Grown,
    /// `Log`, with a member of another type at other vendors.
    Clashing,
}

/// What both sides agree on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) kind: Kind,
    /// Version of XCDR; 0 is what each implementation does by itself.
    pub(crate) xcdr: u8,
    pub(crate) reliable: bool,
    pub(crate) transient_local: bool,
    pub(crate) link: Link,
    /// The expression of the reader's content filter, and its parameters.
    pub(crate) filter: &'static [&'static str],
}

/// Keyed, XCDR1, reliable, volatile, on loopback: what a test changes where it is about something else.
pub(crate) const TERMS: Terms = Terms {
    kind: Kind::Keyed,
    xcdr: 1,
    reliable: true,
    transient_local: false,
    link: Link::Loopback,
    filter: &[],
};

impl Terms {
    /// Arguments of a program, after its role.
    fn arguments(self, role: &'static str) -> Vec<&'static str> {
        let mut arguments = vec![
            role,
            "Square",
            match self.kind {
                Kind::Keyed => "keyed",
                Kind::Keyless => "keyless",
                Kind::Numbered => "numbered",
                Kind::Mutable => "mutable",
                Kind::Grown => "grown",
                Kind::Clashing => "clashing",
            },
            ["default", "1", "2"][usize::from(self.xcdr)],
            if self.reliable { "reliable" } else { "best-effort" },
            if self.transient_local { "transient-local" } else { "volatile" },
        ];
        if role == "sub" {
            arguments.extend(self.filter);
        }
        arguments
    }

    /// Arguments of `shape_main`, after its role.
    fn shape_arguments(self, role: &'static str) -> Vec<&'static str> {
        let mut arguments =
            vec![role, "-t", "Square", "-x", if self.xcdr == 1 { "1" } else { "2" }, "-k", "0"];
        arguments.push(if self.reliable { "-r" } else { "-b" });
        arguments.extend(["-D", if self.transient_local { "l" } else { "v" }]);
        arguments
    }

    /// What instances are called: each string at another offset, so that what follows it is aligned differently.
    pub(crate) fn keys(self) -> [&'static str; 3] {
        match self.kind {
            Kind::Numbered | Kind::Grown | Kind::Clashing => ["1", "-2", "305419896"],
            Kind::Keyed | Kind::Keyless | Kind::Mutable => ["RED", "GREEN", "ULTRAMARINE"],
        }
    }

    /// The line that a reader prints for a sample that was written as `write key number size`.
    pub(crate) fn sample(self, key: &str, number: u32, size: u32) -> String {
        let value = match self.kind {
            Kind::Keyed => format!("{}", 3 * number),
            Kind::Mutable if number % 2 == 1 => "none".to_owned(),
            _ => format!("{number}.25"),
        };
        let bytes = (0..size).map(|at| (at + number) % 251);
        format!("sample {key} {number} {value} {size} {}", adler32(bytes))
    }
}

/// The Adler-32 sum, as `zlib` has it.
pub(crate) fn adler32(bytes: impl Iterator<Item = u32>) -> u32 {
    let (low, high) = bytes.fold((1, 0), |(low, high), octet| {
        let low = (low + octet) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// Who writes, who reads, where.
pub(crate) struct Stage {
    writer: Vendor,
    reader: Vendor,
    pub(crate) terms: Terms,
    places: [Place; 2],
    transcript: Transcript,
}

impl Stage {
    /// Plays a script and prints what was said.
    pub(crate) fn play(writer: Vendor, reader: Vendor, terms: Terms, script: fn(&Self)) {
        let Some(places) = terms.link.places() else { return };
        if writer.command(&places[0]).is_none() || reader.command(&places[1]).is_none() {
            return;
        }
        let stage = Self { writer, reader, terms, places, transcript: Transcript::new() };
        let played = catch_unwind(AssertUnwindSafe(|| script(&stage)));
        // Shown if the test fails, or with `--show-output`.
        println!("{writer:?} writes, {reader:?} reads, {terms:?}\n{}", stage.transcript.text());
        if let Err(panic) = played {
            resume_unwind(panic);
        }
    }

    pub(crate) fn start_writer(&self) -> Program {
        self.start_writer_with(self.terms)
    }

    /// A `shape_main` that writes, with further arguments.
    pub(crate) fn start_shape_writer(&self, more: &[&str]) -> Program {
        let mut arguments = self.terms.shape_arguments("-P");
        arguments.extend(more);
        self.run("writer", self.writer, &self.places[0], &arguments)
    }

    /// A `shape_main` that reads.
    pub(crate) fn start_shape_reader(&self) -> Program {
        self.run("reader", self.reader, &self.places[1], &self.terms.shape_arguments("-S"))
    }

    /// With other terms than the reader's.
    pub(crate) fn start_writer_with(&self, terms: Terms) -> Program {
        self.start("writer", self.writer, &self.places[0], "pub", terms)
    }

    pub(crate) fn start_reader(&self) -> Program {
        self.start("reader", self.reader, &self.places[1], "sub", self.terms)
    }

    fn start(&self, who: &str, vendor: Vendor, place: &Place, role: &'static str, terms: Terms) -> Program {
        let mut program = self.run(who, vendor, place, &terms.arguments(role));
        program.expect("ready");
        program
    }

    fn run(&self, who: &str, vendor: Vendor, place: &Place, arguments: &[&str]) -> Program {
        let mut command = vendor.command(place).expect("it was there when the test began");
        command.args(arguments);
        Program::start(&format!("{vendor:?} {who}"), command, &self.transcript)
    }

    /// Both, matched with each other.
    pub(crate) fn start_both(&self) -> (Program, Program) {
        let (mut writer, mut reader) = (self.start_writer(), self.start_reader());
        writer.expect("matched 1");
        reader.expect("matched 1");
        (writer, reader)
    }

    /// Does something beside the reader's program.
    pub(crate) fn in_readers_place<T: Send>(&self, task: impl FnOnce() -> T + Send) -> T {
        self.places[1].inside(task)
    }

    /// Lets nothing pass on a cable, or all again.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.places.iter().for_each(|place| place.cut(is_cut));
    }

    /// Packets of the writer's side that were lost on a narrow cable.
    pub(crate) fn lost(&self) -> u64 {
        self.places[0].lost()
    }

    /// Packets that the writer's side has sent on a cable.
    pub(crate) fn sent(&self) -> u64 {
        self.places[0].sent()
    }

    /// The writer takes its leave, the reader notices; neither has said anything that was not expected.
    pub(crate) fn end(&self, writer: Program, mut reader: Program) {
        nothing_left(writer);
        reader.expect("matched 0");
        // With its writer an instance loses its last one, which a reader may report or not.
        nothing_left_but(reader, "no-writers");
    }
}

/// Ends a program that has said nothing but what was expected.
pub(crate) fn nothing_left(program: Program) {
    nothing_left_but(program, "");
}

fn nothing_left_but(program: Program, allowed: &str) {
    const EVENTS: [&str; 6] = ["matched", "incompatible", "sample", "disposed", "no-writers", "failed"];
    for line in program.finish() {
        let word = line.split(' ').next().unwrap_or_default();
        assert!(word == allowed || !EVENTS.contains(&word), "nobody expected `{line}`");
    }
}
