//! What a recording contains as a whole: what a rule about one access has to know of later ones.

use super::access::Part;
use crate::program::{BusAccess, BusKind};

/// What a recording contains as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overview {
    /// The last access that enables a sink.
    pub(super) last_sink: Option<usize>,
    /// The last access that disables the trace buffer.
    pub(super) last_sink_off: Option<usize>,
    /// The number of the first write that unlocks the OS Lock, if none locks it before.
    pub(super) unlock: Option<usize>,
    /// Address translation changes: processes are switched.
    pub(super) switch: bool,
    /// There is an access to the trace buffer.
    pub(super) buffer: bool,
}

impl Overview {
    pub(super) fn new(accesses: &[BusAccess], parts: &[Part]) -> Overview {
        let mut all = Overview::default();
        let mut locked = false;
        for (n, (access, part)) in accesses.iter().zip(parts).enumerate() {
            let used = matches!(part, Part::Buffer | Part::BufferEnable | Part::Contents);
            all.buffer |= used;
            if access.kind != BusKind::Write {
                continue;
            }
            let bit = access.value.unwrap_or(0) & 1 != 0;
            match (part, bit) {
                (Part::SinkEnable | Part::BufferEnable, true) => all.last_sink = Some(n),
                (Part::SinkEnable | Part::BufferEnable, false) => all.last_sink_off = Some(n),
                (Part::OsLock, true) => locked = true,
                (Part::OsLock, false) if !locked => all.unlock = all.unlock.or(Some(n)),
                (Part::Translation, _) => all.switch = true,
                _ => {}
            }
        }
        all
    }
}
