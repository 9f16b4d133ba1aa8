//! The component server of the plan beside it: sites that tell each other words, each numbered. See docs/federation.md.
use std::fs::{File, OpenOptions};
use std::io::Write;

use container::{
    Component, Consumer, Context, Event, Handle, Lifecycle, ListedField, Outcome, Publisher, Tick, Timer,
    filter,
};
use dds::DdsType;

/// A word of a site.
#[derive(DdsType, Clone, Debug)]
struct Word {
    /// The process id of the site: another one each time that it begins.
    run: u32,
    number: u32,
    /// The last digit of the number.
    digit: u32,
}

struct WordFields;

impl filter::Schema for WordFields {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "digit").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }
    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

impl Event for Word {
    fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Unsigned(self.digit.into()))
    }
    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&WordFields)
    }
    fn fields() -> Option<&'static [ListedField]> {
        Some(&[("digit", &[])])
    }
}

/// Says a word each period, and writes what it hears to a file: its own process id, that of the other site, the number of the word.
#[derive(Component)]
struct Site {
    tick: Timer,
    word: Publisher<Word>,
    words: Consumer<Word>,
    /// Without a file it writes nothing.
    #[setting(default = "")]
    file: String,
    count: u32,
    out: Option<File>,
}

impl Lifecycle for Site {
    fn activate(&mut self, at: &Context) -> Outcome {
        if !self.file.is_empty() {
            let opened = OpenOptions::new().create(true).append(true).open(&self.file);
            self.out = Some(opened.map_err(|_| at.broken("its file cannot be opened"))?);
        }
        Ok(())
    }
}

impl Handle<site::Tick> for Site {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.count += 1;
        let word = Word { run: std::process::id(), number: self.count, digit: self.count % 10 };
        self.word.push(at, &word)
    }
}

impl Handle<site::Words> for Site {
    fn handle(&mut self, word: &Word, at: &Context) -> Outcome {
        let Some(out) = &mut self.out else { return Ok(()) };
        let line = format!("{} {} {}\n", std::process::id(), word.run, word.number);
        out.write_all(line.as_bytes()).map_err(|_| at.broken("its file is full"))
    }
}

component_server::serve! { components: [Site], topics: [Word] }
