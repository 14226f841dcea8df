//! What the frames of a link hold, by trace id.

use tracewright_frames::{Event, FRAME, Split};

/// Counts bytes by trace id, and what else there is.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    /// Bytes of each id; 0 to 0x7f.
    bytes: Vec<u64>,
    /// Bytes of padding.
    pub padding: u64,
    /// Bytes that are no frame.
    pub bad: u64,
    /// Bytes before the first id.
    pub no_source: u64,
    /// Full and half synchronisation packets.
    pub syncs: u64,
    /// Barriers between two stretches of trace.
    pub barriers: u64,
    /// Triggers.
    pub triggers: u64,
    /// Flush responses.
    pub flushes: u64,
    /// Bytes of reserved ids.
    pub reserved: u64,
}

impl Ids {
    /// The ids of sources that are there and their bytes, in order.
    pub fn sources(&self) -> Vec<(u8, u64)> {
        (0..).zip(&self.bytes).filter(|(_, bytes)| **bytes > 0).map(|(id, b)| (id, *b)).collect()
    }

    /// Bytes of `id`.
    pub fn of(&self, id: u8) -> u64 {
        self.bytes.get(usize::from(id)).copied().unwrap_or(0)
    }

    fn add(&mut self, id: u8, bytes: u64) {
        if self.bytes.is_empty() {
            self.bytes.resize(256, 0);
        }
        if let Some(count) = self.bytes.get_mut(usize::from(id)) {
            *count += bytes;
        }
    }
}

impl Split for Ids {
    fn piece(&mut self, id: u8, _at: u64, _fragment: bool, bytes: &[u8]) {
        self.add(id, bytes.len() as u64);
    }

    fn plain(&mut self, id: u8, _at: u64, frames: &[[u8; FRAME]], _data: &[[u8; FRAME]]) {
        self.add(id, (frames.len() * (FRAME - 1)) as u64);
    }

    fn event(&mut self, _at: u64, event: Event) {
        match event {
            Event::FullSync | Event::HalfSync => self.syncs += 1,
            Event::Barrier => self.barriers += 1,
            Event::Trigger(_) => self.triggers += 1,
            Event::Flush(_) => self.flushes += 1,
            Event::Null { len } => self.padding += u64::from(len),
            Event::Reserved { len, .. } => self.reserved += u64::from(len),
            Event::NoSource { len } => self.no_source += u64::from(len),
            Event::Bad { len, .. } => self.bad += u64::from(len),
            Event::Footer(_) => {}
        }
    }
}
