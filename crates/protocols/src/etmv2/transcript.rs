//! Describes cycles as text, in order: the meaning of each status and the FIFO output. It needs no
//! program image.

use core::fmt::{self, Write};

use super::fifo::{Fifo, Out};
use super::packet::{Item, Offset, Status};
use super::{Config, History, Packet};

/// The state that cycles leave for the description of the next one. By default no cycle has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    fifo: Fifo,
    history: History,
}

impl Transcript {
    /// Appends the description of the next cycle, at offset `at`: its status, and the packets that
    /// end in it.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn cycle(
        &mut self,
        at: u64,
        packet: &Packet,
        config: &Config,
        out: &mut impl Write,
    ) -> fmt::Result {
        let was_synced = self.fifo.synced();
        let outs = self.fifo.cycle(at, packet, config);
        match *packet {
            Packet::Cycle { status, .. } => describe(status, out)?,
            Packet::Trigger { pins } => {
                out.write_str("trigger, replaces: ")?;
                match Status::of_pipestat(pins as u8 & 0xf) {
                    Some(status) => describe(status, out)?,
                    None => out.write_str("trace FIFO offset, which follows")?,
                }
            }
            Packet::Disabled { pins } => out.write_str(match Offset::of_pins(pins as u8) {
                Offset::Nothing => "trace disabled",
                Offset::Filler => "trace disabled, the cycle counts",
                Offset::Bytes(_) => "trace FIFO offset",
                Offset::Reserved => "trace disabled, reserved offset",
            })?,
        }
        for (of, what) in outs.into_iter().flatten() {
            self.output(&what, out)?;
            if let Out::Item(_) | Out::Tfo(_) = what {
                write!(out, " (of {of})")?;
            }
        }
        match packet {
            Packet::Cycle { .. } if !was_synced => out.write_str("; no offset so far"),
            _ => Ok(()),
        }
    }

    fn output(&mut self, what: &Out, out: &mut impl Write) -> fmt::Result {
        match what {
            Out::Offset(1) => out.write_str("; 1 byte before the TFO packet"),
            Out::Offset(bytes) => write!(out, "; {bytes} bytes before the TFO packet"),
            Out::Stray => out.write_str("; a byte of an earlier status"),
            Out::Restart | Out::Lost => out.write_str("; status and FIFO are inconsistent"),
            Out::Tfo(tfo) => {
                self.history.tfo(tfo);
                if tfo.reason.start().is_some() {
                    self.history.forget_data();
                }
                if let Some(current) = &tfo.current {
                    self.history.branch(current);
                }
                write!(out, "; {tfo}")
            }
            Out::Item(item) => {
                write!(out, "; {item}")?;
                match item {
                    Item::Branch(branch) => {
                        let target = self.history.branch(branch);
                        if branch.state.is_some() {
                            return Ok(());
                        }
                        match target.known {
                            32.. => write!(out, ": {:#010x} {}", target.address, target.isa),
                            _ => out.write_str(": its upper bits are not known yet"),
                        }
                    }
                    Item::Data { address: Some(address), .. }
                    | Item::Miss { address: Some(address), .. } => {
                        match (self.history.data(address), address.count) {
                            (_, 32) => Ok(()),
                            (Some(whole), _) => write!(out, ", address {whole:#010x}"),
                            (None, _) => out.write_str(", its upper bits are not known yet"),
                        }
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Appends the description of a status. (Table 6-1)
fn describe(status: Status, out: &mut impl Write) -> fmt::Result {
    out.write_str(match status.phantom {
        None => "",
        Some(true) => "branch phantom taken, ",
        Some(false) => "branch phantom not taken, ",
    })?;
    out.write_str(match status.passed {
        Some(true) => "instruction executed",
        Some(false) => "instruction not executed",
        None => "wait",
    })?;
    out.write_str(if status.data { ", packets in the FIFO" } else { "" })
}
