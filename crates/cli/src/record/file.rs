//! The file that is recorded into.
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use recording::{Channel, End, Recorder};

use crate::exit::Failure;

/// A file that is recorded into.
pub(super) struct File {
    path: PathBuf,
    recorder: Recorder<BufWriter<fs::File>>,
    /// The same file, to know how much of it is whole.
    file: fs::File,
    /// Bytes and samples that are in the file for sure.
    whole: (u64, u64),
    samples: u64,
}

impl File {
    pub(super) fn create(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let refused = |error: &io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::Usage(format!(
                "--output {}: there is such a file; give another name, or --overwrite",
                path.display()
            )),
            _ => Failure::Usage(format!("--output {}: {error}", path.display())),
        };
        let mut options = fs::OpenOptions::new();
        options.write(true).create(overwrite).truncate(overwrite).create_new(!overwrite);
        let file = options.open(path).map_err(|error| refused(&error))?;
        let both = file.try_clone().map_err(|error| refused(&error))?;
        let path = path.to_path_buf();
        let recorder = Recorder::new(BufWriter::new(both)).map_err(|error| failed(&path, &error, 0))?;
        let mut made = Self { path, recorder, file, whole: (0, 0), samples: 0 };
        made.flush()?;
        Ok(made)
    }

    pub(super) const fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) fn channel(&mut self, of: &Channel) -> Result<u16, Failure> {
        let channel = self.recorder.channel(of);
        channel.map_err(|error| self.failed(&error))
    }

    pub(super) fn sample(
        &mut self,
        channel: u16,
        time: u64,
        published: u64,
        data: &[u8],
    ) -> Result<(), Failure> {
        let written = self.recorder.sample(channel, time, published, data);
        written.map_err(|error| self.failed(&error))?;
        self.samples += 1;
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        channel: u16,
        time: u64,
        published: u64,
        end: End,
        key: &[u8],
    ) -> Result<(), Failure> {
        let written = self.recorder.end(channel, time, published, end, key);
        written.map_err(|error| self.failed(&error))
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.recorder.flush();
        flushed.map_err(|error| self.failed(&error))?;
        let bytes = self.file.metadata().map_or(self.whole.0, |metadata| metadata.len());
        self.whole = (bytes, self.samples);
        Ok(())
    }

    /// Ends the recording; how many samples it has.
    pub(super) fn finish(&mut self) -> Result<u64, Failure> {
        let finished = self.recorder.finish();
        finished.map_err(|error| self.failed(&error))?;
        Ok(self.samples)
    }

    /// What cannot be written whole is taken away again.
    fn failed(&self, error: &io::Error) -> Failure {
        let (bytes, samples) = self.whole;
        // Of something else than a file nothing can be taken away.
        let _ = self.file.set_len(bytes);
        failed(&self.path, error, samples)
    }
}

fn failed(path: &Path, error: &io::Error, samples: u64) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => error.to_string(),
    };
    let path = path.display();
    Failure::System(format!(
        "{path}: {why}. The recording ends here; its first {samples} samples are in the file, and `punctual replay` reads them"
    ))
}
