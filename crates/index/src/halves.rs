//! An index in two halves, which can be made at the same time without common memory: its segments,
//! and its view. Each is a file in the format of an index, without the sections of the other half.

use std::ops::Range;

use crate::bytes::Reader;
use crate::error::IndexError;
use crate::format::{Batch, Head, Section};

/// What of an index is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Half {
    /// All of it.
    #[default]
    Both,
    /// The segments. It is no index: [`join`] makes one of it.
    Segments,
    /// The [view](crate::view).
    View,
}

/// The index of two halves that were made of the same trace in the same way.
///
/// # Errors
/// Where one of them is damaged, or they are not halves of one index.
pub fn join(segments: &[u8], view: &[u8]) -> Result<Vec<u8>, IndexError> {
    let (head, mut batches) = batches(segments)?;
    let (other, views) = self::batches(view)?;
    if head != other || batches.len() != views.len() {
        return Err(IndexError::OtherConfiguration);
    }
    let mut out = head.to_vec();
    out.reserve(segments.len() + view.len());
    for (own, other) in batches.iter_mut().zip(views) {
        let place = (own.batch.buffer, own.batch.last, own.batch.first, own.batch.begin);
        let its = (other.batch.buffer, other.batch.last, other.batch.first, other.batch.begin);
        let joined = own.batch.with_view(&other.batch).head();
        let joined = joined.filter(|_| place == its && own.batch.count == other.batch.count);
        out.extend(joined.ok_or(IndexError::OtherConfiguration)?);
        out.extend_from_slice(own.of(Section::Totals, Section::Records));
        out.extend_from_slice(other.of(Section::Names, Section::Stacks));
    }
    Ok(out)
}

/// A batch, and its bytes.
struct Part<'a> {
    batch: Batch,
    bytes: &'a [u8],
}

impl<'a> Part<'a> {
    /// The bytes of sections that follow one another.
    fn of(&self, first: Section, last: Section) -> &'a [u8] {
        let Range { start, .. } = self.batch.section(first);
        let Range { end, .. } = self.batch.section(last);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        range.and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }
}

/// The head of a file, and its batches.
fn batches(bytes: &[u8]) -> Result<(&[u8], Vec<Part<'_>>), IndexError> {
    let damaged = |rest: &[u8]| IndexError::Damaged { at: (bytes.len() - rest.len()) as u64 };
    let len = usize::try_from(Head::length(bytes.get(..16).unwrap_or_default())?);
    let split = len.ok().and_then(|len| bytes.split_at_checked(len));
    let (head, rest) = split.ok_or(damaged(bytes))?;
    let batch_head = Head::read(head)?.batch_head();
    let mut from = Reader(rest);
    let mut all = Vec::new();
    while !from.0.is_empty() {
        let rest = from.0;
        let batch = rest.get(..batch_head).and_then(Batch::read).ok_or(damaged(rest))?;
        let len = usize::try_from(batch.len()).ok();
        let bytes = len.and_then(|len| from.bytes(len)).ok_or(damaged(rest))?;
        all.push(Part { batch, bytes });
    }
    Ok((head, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{captures, making};
    use crate::writer::Making;

    #[test]
    fn halves_of_other_indexes_are_refused() {
        let mut cases = captures().into_iter();
        let (case, other) = (cases.next().expect("a capture"), cases.next().expect("another"));
        let making = Making { view: true, ..making(&case, false) };
        let of = |half| case.index_bytes(&Making { half, ..making });
        let (segments, view) = (of(Half::Segments), of(Half::View));
        assert!(join(&segments, &view).is_ok());
        let foreign = other.index_bytes(&Making { half: Half::View, ..making });
        assert_eq!(join(&segments, &foreign), Err(IndexError::OtherConfiguration));
        let shape = crate::Shape { chunk: 2 * making.shape.chunk, ..making.shape };
        let longer = case.index_bytes(&Making { half: Half::View, shape, ..making });
        assert_eq!(join(&segments, &longer), Err(IndexError::OtherConfiguration));
        for len in (0..view.len()).step_by(97) {
            assert!(join(&segments, &view[..len]).is_err(), "{len} bytes");
        }
        assert_eq!(join(&[], &view), Err(IndexError::NotAnIndex));
    }
}
