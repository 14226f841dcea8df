//! Checksums of the code of program files.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tracewright::analysis::coverage_runs::Digester;
use tracewright::capture::{Capture, Stamp};
use tracewright::image::ModuleFile;
use tracewright::index::Checksum;
use tracewright::index::build::fill;

use crate::error::FleetError;

/// Bytes that are read at a time.
const READ: usize = 1 << 16;

/// The state of a file, and where its code is in it.
type Key = (PathBuf, u64, Option<i128>, Option<(u64, u64)>);

/// Checksums of the code of program files that were read: those of thousands of captures are the
/// same files. A build identifier does not stand for the code, as a file may have that of another
/// one.
#[derive(Debug, Default)]
pub struct ProgramSums(Mutex<BTreeMap<Key, u64>>);

impl ProgramSums {
    /// Adds the checksums of the code of the files that are mapped in `capture`, and were found by
    /// their build identifiers: the executable segments, or the whole file where it has none.
    pub(crate) fn add(&self, capture: &Capture, to: &mut Digester) -> io::Result<()> {
        let modules = capture.linux.iter().flat_map(|linux| linux.spaces.modules());
        for module in modules.filter(|own| own.build_id.is_some()) {
            if module.content.is_some() {
                to.number(self.sum(capture, module)?);
            }
        }
        Ok(())
    }

    /// Adds the code of the same files to `to`, by build identifier and path.
    ///
    /// # Errors
    /// [`FleetError::Program`] where a file is there with other code.
    pub fn put(&self, capture: &Capture, to: &mut Codes) -> Result<(), FleetError> {
        let modules = capture.linux.iter().flat_map(|linux| linux.spaces.modules());
        for module in modules.filter(|own| own.content.is_some()) {
            if let Some(id) = &module.build_id {
                let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                put((id, module.path.clone()), self.sum(capture, module)?, to)?;
            }
        }
        Ok(())
    }

    fn sum(&self, capture: &Capture, module: &ModuleFile) -> io::Result<u64> {
        let key = module.found.as_ref().and_then(|path| key(&capture.stamps, path));
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = key.as_ref().and_then(|key| known().get(key).copied()) {
            return Ok(sum);
        }
        let sum = read(module)?;
        if let Some(key) = key {
            known().insert(key, sum);
        }
        Ok(sum)
    }
}

/// Checksums of code, by the build identifier and the path of its file.
pub type Codes = BTreeMap<(String, String), u64>;

/// Adds the code of a file.
pub(crate) fn put(file: (String, String), code: u64, to: &mut Codes) -> Result<(), FleetError> {
    let known = *to.entry(file.clone()).or_insert(code);
    match known == code {
        true => Ok(()),
        false => Err(FleetError::Program { id: file.0, path: file.1, codes: [known, code] }),
    }
}

/// What identifies the file at `path`, if its time of change is known, which programs cannot set.
fn key(stamps: &[Stamp], path: &PathBuf) -> Option<Key> {
    let own = stamps.iter().find(|own| own.path == *path)?;
    own.changed?;
    Some((own.path.clone(), own.len, own.changed, own.identity))
}

fn read(module: &ModuleFile) -> io::Result<u64> {
    let Some(content) = &module.content else { return Ok(0) };
    let code = module.segments.iter().filter(|own| own.executable);
    let mut code: Vec<(u64, u64)> = code.map(|own| (own.offset, own.file_size)).collect();
    if code.is_empty() {
        code.push((0, content.size()));
    }
    let (mut sum, mut space) = (Checksum::default(), vec![0; READ]);
    for (offset, len) in code {
        sum.add(&len.to_le_bytes());
        let mut reader = content.part(offset, len).reader();
        loop {
            // All bytes but the last ones are a multiple of eight.
            let bytes = fill(&mut reader, &mut space)?;
            let (words, rest) = bytes.split_at(bytes.len() / 8 * 8);
            sum.add(words);
            if !rest.is_empty() {
                let mut word = [0; 8];
                word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                sum.add(&word);
            }
            if bytes.len() < READ {
                break;
            }
        }
    }
    Ok(sum.value())
}
