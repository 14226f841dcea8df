//! The lines around the packets and elements of a buffer, which scripts wait for.

use std::fmt::Write;

use tracewright_decode::Plan;
use tracewright_frames::{Framing, dstream};

/// A buffer among those that are listed.
#[derive(Clone, Copy, Debug)]
pub struct ListedBuffer<'a> {
    /// What is decoded of it.
    pub plan: &'a Plan,
    /// Its number, from 1.
    pub number: usize,
    /// The number of buffers that are listed.
    pub count: usize,
    /// Its name.
    pub name: &'a str,
    /// Packets are listed.
    pub packets: bool,
}

impl ListedBuffer<'_> {
    /// The lines before the buffer: none where it is the only one.
    pub fn head(&self) -> String {
        let ListedBuffer { number, count, name, .. } = self;
        if *count < 2 {
            return String::new();
        }
        format!(
            "####### Multi Session decode: Buffer {number} of {count}; Source name = {name}.\n\n"
        )
    }

    /// The lines after the buffer, of which `bytes` bytes were read.
    pub fn end(&self, bytes: u64) -> String {
        let ListedBuffer { plan, number, count, name, packets } = self;
        let bytes = match plan.framing {
            Framing::Dstream => bytes - bytes / dstream::BLOCK * dstream::FOOTER,
            _ => bytes,
        };
        let mut lines =
            format!("Trace Packet Lister : Trace buffer done, processed {bytes} bytes.\n");
        if *count < 2 {
            return lines;
        }
        if *packets {
            for id in ids(plan) {
                let _ = writeln!(lines, "ID:{id:x}\tRESET operation on trace decode path");
            }
        }
        let _ = writeln!(lines, "####### Buffer {number} : {name} Complete\n");
        lines
    }
}

/// The trace IDs of `plan` as they are listed, in ascending order.
fn ids(plan: &Plan) -> Vec<u16> {
    let mut ids: Vec<_> =
        plan.sources.iter().map(|planned| listed_id(plan.framed(), planned.id)).collect();
    ids.sort_unstable();
    ids
}

/// The trace ID of a source in the lines of its packets: 0 without framing.
pub(super) const fn listed_id(framed: bool, id: u16) -> u16 {
    if framed { id } else { 0 }
}
