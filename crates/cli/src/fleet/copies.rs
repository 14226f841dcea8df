//! A copy of a capture among several: its sum would count the trace twice.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tracewright::analysis::coverage_runs::{Digest, Digester};
use tracewright_fleet::CaptureIdentity;

use super::reading::{Opened, Reading};
use crate::args::UseIndexArgs;
use crate::fail::Fail;

/// The bytes at the start of a buffer that are compared first.
const HEAD: usize = 1 << 16;

/// What is compared of the captures of a job.
#[derive(Default)]
pub struct Copies(BTreeMap<Digest, Vec<PathBuf>>);

impl Copies {
    /// Adds a capture.
    pub fn add(&mut self, opened: &Opened) {
        if let Some(key) = key(opened) {
            self.0.entry(key).or_default().push(opened.input.path.clone());
        }
    }

    /// Fails where two captures have the same trace, whether they have an index or not.
    pub fn refuse(self, reading: Reading<'_>) -> Result<(), Fail> {
        // The digest of an index has its segments: it is not used.
        let index = UseIndexArgs { no_index: true, ..UseIndexArgs::default() };
        let reading = Reading { index: &index, quiet: true, ..reading };
        for all in self.0.into_values().filter(|all| all.len() > 1) {
            let mut known: BTreeMap<Digest, PathBuf> = BTreeMap::new();
            for path in all {
                let CaptureIdentity { data, .. } = reading.open(&path)?.identity;
                if let Some(other) = known.insert(data, path.clone()) {
                    return Err(Fail::text(&format!(
                        "{} and {} have the same trace: their sum would count it twice; name one of \
                         them",
                        other.display(),
                        path.display()
                    )));
                }
            }
        }
        Ok(())
    }
}

/// A digest of what copies have in common, of each buffer that has bytes: its number, its length,
/// its start. `None` where there is none.
fn key(own: &Opened) -> Option<Digest> {
    let mut digester = Digester::default();
    let mut buffers = own.identity.buffers.iter().filter(|own| own.bytes > 0).peekable();
    buffers.peek()?;
    for buffer in buffers {
        digester.number(buffer.number as u64);
        digester.number(buffer.bytes);
        if let Some(own) = own.input.capture().buffers.get(buffer.number) {
            digester.add(&own.head(HEAD));
        }
    }
    Some(digester.finish())
}
