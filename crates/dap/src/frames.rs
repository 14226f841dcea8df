//! Frames that were shown to the client.

use crate::message::{Refused, refused};

/// Numbers of frames are below it.
const MOST_ID: usize = 1 << 27;

/// A frame that is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) source: usize,
    /// The number of the frame in the stack of the source, from the innermost one. `None` of a line
    /// that states that trace was lost.
    pub(crate) frame: Option<usize>,
    /// Functions that are inlined in the frame and called from this one.
    pub(crate) inlined: usize,
    /// Where it executes, and the address at which its line is looked up.
    pub(crate) address: Option<u64>,
    pub(crate) looked_up: Option<u64>,
    pub(crate) name: String,
    pub(crate) is_uncertain: bool,
    pub(crate) can_restart: bool,
    /// It is one of a task that waits.
    pub(crate) waits: bool,
}

/// The frames that were shown since the position has changed.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The number of the first one.
    pub(crate) first: usize,
    pub(crate) all: Vec<Shown>,
    /// The source, and the places of its frames in `all`.
    pub(crate) stacks: Vec<(usize, std::ops::Range<usize>)>,
    /// The same of threads that wait, by their numbers.
    pub(crate) waiting: Vec<(u32, std::ops::Range<usize>)>,
}

impl Frames {
    /// Forgets the frames: their numbers are not used again.
    pub(crate) fn clear(&mut self) {
        self.first += self.all.len();
        if self.first > MOST_ID {
            self.first = 0;
        }
        self.all.clear();
        self.stacks.clear();
        self.waiting.clear();
    }

    /// The frame with a number of the protocol.
    pub(crate) fn get(&self, id: usize) -> Result<&Shown, Refused> {
        let n = id.checked_sub(1).and_then(|n| n.checked_sub(self.first));
        match n.and_then(|n| self.all.get(n)) {
            Some(shown) => Ok(shown),
            None => refused("the frame is one of an earlier stop"),
        }
    }
}

impl Shown {
    /// States that the frames beneath are not certain.
    pub(crate) fn lost(source: usize) -> Shown {
        Shown {
            source,
            frame: None,
            inlined: 0,
            address: None,
            looked_up: None,
            name: "[trace was lost here]".into(),
            is_uncertain: true,
            can_restart: false,
            waits: false,
        }
    }
}
