//! The FIFO between the encoder and the transport, the timestamps and the count of messages.

use tracewright_base::Wire;

use crate::bits::Count;
use crate::ntrace::config::{Config, Times};
use crate::ntrace::names;
use crate::ntrace::packet::{MAX_LEN, Message, Packet};
use crate::trace_fifo::{FifoSettings, FillLevel};

/// Bytes of the longest message of 1.0.
const LONGEST: u32 = 38;

/// The way of messages to the transport.
#[derive(Clone, Debug)]
pub(super) struct Outlet {
    pub(super) fifo: FillLevel,
    /// Messages are lost.
    pub(super) lost: bool,
    /// Messages have timestamps.
    timed: bool,
    /// The time of the next message.
    pub(super) time: u64,
    /// The last time that a message reported.
    reported: u64,
    /// Messages since the last synchronisation.
    pub(super) messages: u64,
}

impl Outlet {
    pub(super) fn new(fifo: FifoSettings, timed: bool) -> Outlet {
        Outlet {
            fifo: FillLevel::new(fifo, 4 * LONGEST),
            lost: false,
            timed,
            time: 0,
            reported: 0,
            messages: 0,
        }
    }

    /// The number of cycles for which the processor has to wait, so that the messages of a cycle
    /// fit: history, repetitions, a branch and its context.
    pub(super) fn stalls(&self) -> u64 {
        self.fifo.stalls(4 * LONGEST)
    }

    /// Whether trace that was lost resumes.
    pub(super) const fn resumes(&self) -> bool {
        self.lost && self.fifo.has_room()
    }

    /// Sends a message. `None` if it is lost.
    pub(super) fn send(&mut self, message: Message, config: &Config) -> Option<Packet> {
        if self.lost {
            return None;
        }
        let time = self.time & (u64::MAX >> (64 - u32::from(config.time_bits.clamp(1, 64))));
        let field = match (names::has_absolute_time(message.tcode()), config.times) {
            (true, _) => time,
            (false, Times::Delta) => time.wrapping_sub(self.reported),
            (false, Times::Xor) => time ^ self.reported,
        };
        let packet = Packet::sent(message, self.timed.then_some(field), config);
        if !self.fifo.is_unlimited() {
            let mut bytes = 0;
            packet.emit(config, &mut Count(&mut bytes));
            debug_assert!(bytes <= MAX_LEN as u32);
            if !self.fifo.fits(bytes) {
                self.lost = true;
                return None;
            }
            self.fifo.push(bytes);
        }
        self.reported = time;
        self.messages += 1;
        Some(packet)
    }
}
