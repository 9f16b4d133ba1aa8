//! What is played with `shape_main`, which writes on its own account as soon as it runs.
use crate::program::Program;
use crate::stage::Stage;

/// Samples that are enough to see that they keep coming.
const ENOUGH: usize = 10;

/// What `shape_main` writes arrives whole and in order, without gaps.
pub(crate) fn from_shape_main(stage: &Stage) {
    let mut reader = stage.start_reader();
    let mut writer = stage.start_shape_writer(&["-c", "RED", "-w", "--write-period", "10"]);
    writer.expect("on_publication_matched()");
    reader.expect("matched 1");
    let heard: Vec<_> = (0..ENOUGH).map(|_| position(&reader.wait("sample", is_sample))).collect();
    let written = positions_until(&mut writer, heard.last().unwrap());
    assert!(written.windows(ENOUGH).any(|some| some == heard), "written {written:?}, but read {heard:?}");
    stop(writer);
    reader.expect("matched 0");
    reader.finish();
}

/// Large samples likewise; all bytes of `shape_main` are 255.
pub(crate) fn large_from_shape_main(stage: &Stage) {
    let mut reader = stage.start_reader();
    let mut writer = stage.start_shape_writer(&["-c", "RED", "--additional-payload-size", "100000"]);
    writer.expect("on_publication_matched()");
    reader.expect("matched 1");
    let sum = crate::stage::adler32(std::iter::repeat_n(255, 100_000));
    for _ in 0..3 {
        let heard = reader.wait("sample", is_sample);
        assert!(heard.ends_with(&format!(" 100000 {sum}")), "{heard}");
    }
    stop(writer);
    reader.expect("matched 0");
    reader.finish();
}

/// All that a writer which keeps its samples has written before there was a reader.
pub(crate) fn late_after_shape_main(stage: &Stage) {
    let mut writer = stage.start_shape_writer(&["-c", "RED", "-w", "--write-period", "10"]);
    let early: Vec<_> = (0..ENOUGH).map(|_| shown(&writer.wait("a sample", is_shown))).collect();
    let mut reader = stage.start_reader();
    let heard: Vec<_> = (0..ENOUGH).map(|_| position(&reader.wait("sample", is_sample))).collect();
    assert_eq!(heard, early);
    reader.expect("matched 1");
    stop(writer);
    reader.expect("matched 0");
    reader.finish();
}

/// A disposal by `shape_main`, at its end.
pub(crate) fn disposed_by_shape_main(stage: &Stage) {
    let mut reader = stage.start_reader();
    // It does not wait for readers: two seconds have to be enough to be found.
    let ending = ["--write-period", "10", "--num-iterations", "200", "--final-instance-state", "d"];
    let writer = stage.start_shape_writer(&[&["-c", "RED"][..], &ending[..]].concat());
    reader.wait("sample", is_sample);
    reader.expect("disposed RED");
    writer.finish();
}

/// `shape_main` reads what is written, small and large, and sees the end of an instance.
pub(crate) fn to_shape_main(stage: &Stage) {
    let mut writer = stage.start_writer();
    let mut reader = stage.start_shape_reader();
    writer.expect("matched 1");
    reader.expect("on_subscription_matched()");
    for number in 1..=ENOUGH {
        writer.order(&format!("write RED {number} 0"));
        reader.expect(&format!("Square     RED        {number:03} {:03} [20]", 3 * number));
    }
    if stage.terms.reliable {
        // The last byte of the sample is shown in braces.
        writer.order("write GREEN 11 100000");
        let last = (99_999 + 11) % 251;
        reader.expect(&format!("Square     GREEN      011 033 [20] {{{last}}}"));
        writer.order("acknowledged");
        writer.order("dispose RED");
        reader.expect("Disposed key \"RED\"");
    }
    stop(reader);
    writer.expect("matched 0");
    writer.finish();
}

/// A writer that has no more to say is silent, whatever `shape_main` answers.
pub(crate) fn idle_before_shape_main(stage: &Stage) {
    let mut writer = stage.start_writer();
    let mut reader = stage.start_shape_reader();
    writer.expect("matched 1");
    reader.expect("on_subscription_matched()");
    for number in 1..=3 {
        writer.order(&format!("write RED {number} 0"));
        reader.expect(&format!("Square     RED        {number:03} {:03} [20]", 3 * number));
    }
    writer.order("acknowledged");
    stage.must_be_idle();
    stop(reader);
    writer.expect("matched 0");
    writer.finish();
}

/// `shape_main` comes late and gets what was kept for it.
pub(crate) fn late_shape_main(stage: &Stage) {
    let mut writer = stage.start_writer();
    for number in 1..=ENOUGH {
        writer.order(&format!("write RED {number} 0"));
    }
    let mut reader = stage.start_shape_reader();
    for number in 1..=ENOUGH {
        reader.expect(&format!("Square     RED        {number:03} {:03} [20]", 3 * number));
    }
    writer.expect("matched 1");
    stop(reader);
    writer.expect("matched 0");
    writer.finish();
}

/// Ctrl-C is how it ends.
fn stop(mut shape_main: Program) {
    shape_main.interrupt();
    shape_main.expect("Done.");
    shape_main.finish();
}

fn is_sample(line: &str) -> bool {
    line.starts_with("sample RED ")
}

/// Whether this is a sample as `shape_main` shows it.
fn is_shown(line: &str) -> bool {
    line.starts_with("Square     RED")
}

/// Where the shape is, in a line of the reader.
fn position(line: &str) -> [i32; 2] {
    let mut words = line.split(' ').skip(2).map(|word| word.parse().unwrap());
    [words.next().unwrap(), words.next().unwrap()]
}

/// Where the shape is, in a line of `shape_main`.
fn shown(line: &str) -> [i32; 2] {
    let mut words = line.split_whitespace().skip(2).map(|word| word.parse().unwrap());
    [words.next().unwrap(), words.next().unwrap()]
}

fn positions_until(writer: &mut Program, last: &[i32; 2]) -> Vec<[i32; 2]> {
    let mut positions = Vec::new();
    while positions.last() != Some(last) || positions.len() < ENOUGH {
        positions.push(shown(&writer.wait("a sample", is_shown)));
    }
    positions
}
