//! A copy of a capture among several: its sum would count the trace twice.

use std::collections::BTreeMap;

use tracewright_fleet::CaptureIdentity;

use super::Opened;
use crate::fail::Fail;
use crate::index;

/// The bytes at the start of a buffer that are compared first.
const HEAD: usize = 1 << 16;

/// What copies have in common, of each buffer that has bytes: its number, its length, its start.
type Key = Vec<(usize, u64, Vec<u8>)>;

/// Fails where two captures have the same trace, whether they have an index or not.
pub fn refuse(captures: &[Opened]) -> Result<(), Fail> {
    let mut alike: BTreeMap<Key, Vec<&Opened>> = BTreeMap::new();
    for own in captures.iter().filter(|_| captures.len() > 1) {
        let key = key(own);
        if !key.is_empty() {
            alike.entry(key).or_default().push(own);
        }
    }
    for all in alike.into_values().filter(|all| all.len() > 1) {
        let mut known = BTreeMap::new();
        for own in all {
            // The digest of an index has its segments: the bytes are read here.
            let plans = index::plans(&own.input);
            let identity = CaptureIdentity::of(&own.input.trace, &plans, None)
                .map_err(|error| Fail::input(&own.input.path, &error.to_string()))?;
            if let Some(other) = known.insert(identity.data, own) {
                return Err(Fail::text(&format!(
                    "{} and {} have the same trace: their sum would count it twice; name one of \
                     them",
                    other.input.path.display(),
                    own.input.path.display()
                )));
            }
        }
    }
    Ok(())
}

fn key(own: &Opened) -> Key {
    let buffers = own.identity.buffers.iter().filter(|own| own.bytes > 0);
    let all = &own.input.capture().buffers;
    let head = |number: usize| all.get(number).map(|own| own.head(HEAD).into_owned());
    buffers.map(|own| (own.number, own.bytes, head(own.number).unwrap_or_default())).collect()
}
