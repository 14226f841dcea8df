//! What the unit observes.

/// An instruction that reaches the Execute stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Address of its first byte.
    pub address: u32,
    /// The condition passed.
    pub passed: bool,
    /// An exception cancels it.
    pub cancelled: bool,
    /// The context ID. `None` is unknown.
    pub context: Option<u32>,
    /// The virtual machine ID. `None` is unknown.
    pub vmid: Option<u8>,
    /// The processor is in Non-secure state.
    pub non_secure: bool,
    /// The privilege level of the processor: 0 in User mode, 2 in Hyp mode, 1 or 3 in other modes.
    /// `None` is unknown.
    pub level: Option<u8>,
    /// Tracing is prohibited.
    pub prohibited: bool,
    /// The instruction is a DBG hint for the instrumentation resources: its option, 0 to 15.
    pub hint: Option<u8>,
    /// It executes while the last data instruction before it has transfers left. (2.11.2)
    pub under: bool,
}

/// A data transfer of the last instruction: at most a word. A doubleword is two transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Address of its first byte.
    pub address: u32,
    /// Size in bytes: 1, 2 or 4.
    pub size: u8,
    /// The value as the processor transfers it, right-justified. `None` is unknown.
    pub value: Option<u32>,
    /// The most significant byte of the value has the lowest address.
    pub big_endian: bool,
    /// A store; otherwise a load. `None` is unknown.
    pub store: Option<bool>,
    /// A synchronous data abort, or a store-exclusive that fails.
    pub failed: bool,
    /// The value comes later, out of order.
    pub out_of_order: bool,
    /// It is a transfer of the data instruction under which the last instructions executed.
    /// (2.11.2)
    pub earlier: bool,
}

impl Transfer {
    /// The byte at `address`, where it is known and part of the transfer.
    pub fn byte(&self, address: u32) -> Option<u8> {
        let at = address.wrapping_sub(self.address);
        if at >= u32::from(self.size) {
            return None;
        }
        let at = if self.big_endian { u32::from(self.size) - 1 - at } else { at };
        Some((self.value? >> (8 * at)) as u8)
    }
}

/// One item of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An instruction.
    Instruction(Instruction),
    /// A data transfer of the last instruction.
    Data(Transfer),
    /// The value of an out-of-order transfer returns.
    Returned(Transfer),
    /// A coprocessor register transfer of the last instruction.
    Coprocessor,
}

/// Inputs in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// External inputs: bit n is input n + 1.
    pub external: u8,
    /// The extended external input bus: bit n of word m is input 64m + n.
    pub bus: [u64; 4],
    /// EmbeddedICE inputs: bit n is input n + 1.
    pub ice: u8,
    /// EmbeddedICE inputs that are not sampled in this cycle. (7.6.3)
    pub ice_waits: u8,
    /// Free bytes of the FIFO. `None` is unknown.
    pub free: Option<u8>,
    /// Memory map decodes of instruction addresses: bit n is decode n + 1.
    pub memory_map: u16,
    /// Memory map decodes of data addresses.
    pub memory_map_data: u16,
}
