//! Notes about a capture. Problems of one kind that are repeated have a limited number of notes.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use crate::limits::MAX_NOTES;
use crate::origin::Origin;
use crate::problem::{Note, Problem};

/// The notes that reading a capture makes.
#[derive(Default)]
pub(crate) struct Notes {
    notes: Vec<Note>,
    kinds: HashMap<Discriminant<Problem>, Kind>,
}

/// The problems of one kind.
#[derive(Default)]
struct Kind {
    count: usize,
    /// The first problem without a note.
    first: Option<Note>,
}

impl Notes {
    /// Notes a problem, or counts it.
    pub(crate) fn add(&mut self, origin: Origin, problem: Problem) {
        let kind = self.kinds.entry(discriminant(&problem)).or_default();
        kind.count += 1;
        let note = Note { origin, problem };
        if kind.count <= MAX_NOTES {
            self.notes.push(note);
        } else if kind.first.is_none() {
            kind.first = Some(note);
        }
    }

    /// All notes. The counts of problems without a note are at the end, by the text of the first.
    pub(crate) fn finish(self) -> Vec<Note> {
        let mut notes = self.notes;
        let repeated = self.kinds.into_values().filter_map(|Kind { count, first }| {
            let Note { origin, problem } = first?;
            let (count, first) = (count - MAX_NOTES, Box::new(problem));
            Some(Note { origin, problem: Problem::Repeated { count, first } })
        });
        let mut repeated: Vec<_> = repeated.collect();
        repeated.sort_by_cached_key(ToString::to_string);
        notes.append(&mut repeated);
        notes
    }
}
