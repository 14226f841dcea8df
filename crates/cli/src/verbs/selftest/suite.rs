//! The captures of the suite, in one file: for each file a line with its path and its size, then
//! its bytes.

use tracewright::capture::{Bytes, Files};
use tracewright::{Trace, open_files};

const CAPTURES: &[u8] = include_bytes!("captures.bin");

/// The files: the path and the bytes of each.
fn files(mut rest: &'static [u8]) -> Option<Vec<(&'static str, &'static [u8])>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let head = str::from_utf8(rest.get(..end)?).ok()?;
        let (path, size) = head.rsplit_once(' ')?;
        let size: usize = size.parse().ok()?;
        let from = end + 1;
        all.push((path, rest.get(from..from.checked_add(size)?)?));
        rest = rest.get(from + size..)?;
    }
    Some(all)
}

/// The trace of the capture in this folder.
pub(super) fn trace(folder: &str) -> Result<Trace, String> {
    let all = files(CAPTURES).ok_or("the built-in captures are damaged")?;
    let begin = format!("{folder}/capture");
    let own = all.into_iter().filter(|(path, _)| path.starts_with(&format!("{begin}/")));
    let own = own.map(|(path, bytes)| (path, Bytes::from(bytes.to_vec())));
    open_files(&Files::named(own), &begin).map_err(|error| error.to_string())
}
