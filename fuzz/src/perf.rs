//! What must hold of any `perf.data` file.

use tracewright::Trace;
use tracewright::capture::perf::{self, Layout, PerfData};
use tracewright::capture::{Bytes, Severity};
use tracewright::decode::Tally;

/// Reads `bytes` as a file, decodes its trace, and writes it again. Nothing panics, no buffer has
/// more bytes than the file, every message is one line, and what was read without damage is read
/// again as the same.
pub fn file(bytes: &[u8]) {
    let size = bytes.len() as u64;
    let bytes = Bytes::from(bytes.to_vec());
    if let Ok(data) = PerfData::read(&bytes)
        && data.problems.is_empty()
    {
        let again = PerfData::read(&Bytes::from(data.write(Layout::default())));
        let again = again.expect("what was written");
        assert_eq!(again.records, data.records);
        assert_eq!(again.trace, data.trace);
    }
    let capture = match perf::from_bytes(&bytes) {
        Ok(capture) => capture,
        Err(error) => return assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    };
    for note in &capture.notes {
        assert_eq!(note.to_string().lines().count(), 1, "{note}");
    }
    // Records that were not read are reported; what was read is in buffers, or reported.
    let most = capture.buffers.iter().map(|buffer| buffer.len()).max();
    assert!(most.unwrap_or(0) <= size, "{most:?} of {size} bytes");
    let warnings = capture.notes.iter().filter(|n| n.severity() >= Severity::Warning).count();
    let announced = PerfData::read(&bytes).map_or(0, |data| {
        let records = data.records.iter();
        let aux = records.filter(|r| matches!(&r.body, perf::Body::Aux(aux) if aux.size > 0));
        aux.count()
    });
    assert!(announced <= capture.buffers.len() || warnings > 0, "a loss without a note");
    // Without a source there is nothing to decode.
    let _ = Trace::new(capture).partial().decode(&mut Tally::default());
}
