//! The data bytes of an instruction in the FIFO output. (IHI 0014, 5.7)

use tracewright_base::{Access, BlockCache, Direction, Element, Inconsistency, Pc, Range, Sink};
use tracewright_isa::{Transfer, With, transfer};

use super::Decoder;
use super::window::Short;
use crate::data::DataPacket;
use crate::etmv1::Config;
use crate::flow::Next;

/// The data of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstructionData {
    transfer: Option<Transfer>,
    /// The data address as it was sent: the bits and their number.
    address: Option<(u32, u8)>,
    /// The completed data address.
    complete: Option<u32>,
    /// The values, in FIFO order.
    bytes: [u8; MOST],
    /// Number of value bytes; `None` where it is not known.
    len: Option<usize>,
    /// Some bytes are missing or cannot be distinguished from other data.
    cut: bool,
    /// The trace ended before all bytes came.
    ended: bool,
}

/// The most bytes that an instruction transfers: 32 words by VLDM. LDC transfers at most 15.
const MOST: usize = 128;

impl Default for InstructionData {
    fn default() -> Self {
        let (transfer, address, complete) = (None, None, None);
        InstructionData {
            transfer,
            address,
            complete,
            bytes: [0; MOST],
            len: None,
            cut: false,
            ended: false,
        }
    }
}

/// Reads a data address: 7-bit groups, the fifth byte with four bits. (5.7.3)
fn read_address(byte: &mut impl FnMut() -> Option<u8>) -> Option<(u32, u8)> {
    let (mut bits, mut count) = (0, 0);
    while count < 28 {
        let byte = byte()?;
        bits |= u32::from(byte & 0x7f) << count;
        count += 7;
        if byte & 0x80 == 0 {
            return Some((bits, count));
        }
    }
    Some((bits | u32::from(byte()?) << 28, 32))
}

/// The number that the bytes encode.
fn word(bytes: &[u8], big_endian: bool) -> u32 {
    let add = |word: u32, &byte: &u8| word << 8 | u32::from(byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

impl Decoder {
    /// The transfer of the next instruction, where its opcode is known.
    fn next_transfer<K: BlockCache>(&self, code: &mut K, config: &Config) -> Option<Transfer> {
        let Next::At(address, isa) = self.flow.next() else { return None };
        let pc = Pc { address: address.into(), isa, space: self.context.space() };
        let opcode = code.opcode(pc)?;
        let found = transfer(isa, opcode)?;
        match found.count {
            // LDC and STC: the number of words depends on the coprocessor.
            None if found.size > 0 => {
                let count = config.core.words(opcode >> 8 & 0xf);
                Some(Transfer { count, ..found })
            }
            _ => Some(found),
        }
    }

    /// Reads the data of the next instruction. `None` where more bytes are needed and may come.
    /// `end`: no more bytes come.
    pub(super) fn read_data<K: BlockCache>(
        &mut self,
        end: bool,
        code: &mut K,
        config: &Config,
    ) -> Option<InstructionData> {
        let transfer = self.next_transfer(code, config);
        let mut data = InstructionData { transfer, ..InstructionData::default() };
        if self.lost_data {
            return Some(InstructionData { cut: true, ..data });
        }
        let coprocessor = transfer.is_some_and(|t| t.with == With::Coprocessor);
        // Without the opcode it may be a coprocessor transfer, which has no data address.
        let unclear = transfer.is_none() && config.control.coprocessor();
        let address = config.control.addresses() && !coprocessor && !unclear;
        let values = config.control.values() || coprocessor;
        let len = match transfer {
            _ if !values && !unclear => Some(0),
            Some(Transfer { size: size @ 1.., count: Some(count), .. }) => {
                Some(usize::from(size) * usize::from(count))
            }
            _ => None,
        };
        let read = self.window.read(
            |reader| {
                if address {
                    data.address = Some(read_address(&mut || reader.byte())?);
                }
                for k in 0..len.unwrap_or(0) {
                    let byte = reader.byte()?;
                    if let Some(place) = data.bytes.get_mut(k) {
                        *place = byte;
                    }
                }
                data.len = len;
                Some(())
            },
            config,
        );
        match read {
            Ok(()) => {}
            Err(Short::Wait) if !end => return None,
            // The trace ends here.
            Err(Short::Wait) => return Some(InstructionData { ended: true, ..data }),
            Err(Short::Cut) => data.cut = true,
        }
        if let Some((bits, count)) = data.address {
            data.complete = self.history.data(bits, count);
        }
        if len.is_none() || data.cut {
            self.lose_data();
        }
        Some(data)
    }

    /// Reports the accesses of the instruction at `range`.
    pub(super) fn report_data<S: Sink>(
        &mut self,
        at: u64,
        range: Option<Range>,
        data: &InstructionData,
        config: &Config,
        sink: &mut S,
    ) {
        if data.ended {
            return;
        }
        let (Some(range), Some(transfer)) = (range, data.transfer) else {
            if range.is_some() && data.transfer.is_none() {
                // The program has no data instruction here.
                sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
            } else if let Some(address) = data.complete {
                let access = Access::new(Direction::Unknown, 0, 0).at(address.into());
                sink.element(at, Element::DataAccess(access));
            }
            return;
        };
        self.data.instruction(range.start as u32, transfer, false, &mut self.pending);
        if data.cut {
            self.data.suppressed(at, &mut self.pending);
            return self.pending.commit(sink);
        }
        let size = usize::from(transfer.size);
        let coprocessor = transfer.with == With::Coprocessor;
        let values =
            (config.control.values() || coprocessor) && data.len.is_some_and(|len| len > 0);
        for k in 0..transfer.count.unwrap_or(1) {
            let first = k == 0;
            let packet = DataPacket {
                at,
                first,
                address: (first && data.address.is_some()).then_some(data.complete),
                big_endian: config.core.big_endian,
                data_only: false,
                pc_first: false,
            };
            let from = usize::from(k) * size;
            let bytes = data.bytes.get(from..from + size).filter(|_| values);
            let value = bytes.map(|bytes| word(bytes, config.core.big_endian));
            self.data.access(packet, value, &mut self.pending);
        }
        self.pending.commit(sink);
    }
}
