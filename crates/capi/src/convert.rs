//! An element as the client receives it.

use tracewright::base::element::{Exception, Start, Transaction};
use tracewright::base::{
    Access, Channel, Context, Direction, Fault, Gap, Inconsistency, Isa, Kind, Range, Role,
    Security, Software, TimeDelay,
};
use tracewright::Element;

use crate::element::*;
use crate::plain::zeroed;

impl TwElement {
    /// `element` of source `source`, from the packet at `offset`.
    #[inline]
    pub(crate) fn new(source: u32, offset: u64, element: &Element) -> TwElement {
        let mut own = TwElement { source, offset, ..zeroed() };
        own.size = std::mem::size_of::<TwElement>() as u32;
        match element {
            Element::Range(range) => own.range(range),
            other => own.other(other),
        }
        own
    }

    /// The last `ranges` ranges were executed `times` times more.
    pub(crate) fn repeat(source: u32, offset: u64, ranges: usize, times: u64) -> TwElement {
        let mut own = TwElement { source, offset, ..zeroed() };
        own.size = std::mem::size_of::<TwElement>() as u32;
        own.kind = TW_ELEMENT_REPEAT;
        own.number = ranges as u32;
        own.value = times;
        own.known = TW_KNOWN_NUMBER | TW_KNOWN_VALUE;
        own
    }

    #[inline]
    fn range(&mut self, range: &Range) {
        self.kind = TW_ELEMENT_RANGE;
        self.address = range.start;
        self.end = range.end();
        self.length = range.bytes;
        self.instructions = range.instructions;
        self.isa = isa(range.last.isa);
        self.last_kind = kind(range.last.kind);
        self.last_role = role(range.last.role);
        self.last_size = range.last.size();
        self.flags = if range.taken() { TW_FLAG_TAKEN } else { 0 };
        if range.last.conditional() {
            self.flags |= TW_FLAG_CONDITIONAL;
        }
        self.known = TW_KNOWN_ADDRESS
            | TW_KNOWN_END
            | TW_KNOWN_LENGTH
            | TW_KNOWN_INSTRUCTIONS
            | TW_KNOWN_ISA
            | TW_KNOWN_LAST;
        self.maybe_cycles(range.cycles.get());
    }

    fn other(&mut self, element: &Element) {
        match element {
            Element::Range(range) => self.range(range),
            Element::Gap(gap) => self.with_reason(TW_ELEMENT_GAP, gap_reason(*gap)),
            Element::TraceOn(start) => self.with_reason(TW_ELEMENT_TRACE_ON, start_reason(*start)),
            Element::Context(context) => self.context(context),
            Element::Unknown { start, next, instructions } => {
                self.kind = TW_ELEMENT_UNKNOWN;
                (self.address, self.end) = (*start, *next);
                self.known = TW_KNOWN_ADDRESS | TW_KNOWN_END;
                if let Some(count) = instructions.get() {
                    self.instructions = count;
                    self.known |= TW_KNOWN_INSTRUCTIONS;
                }
            }
            Element::Corrected { taken } => {
                self.kind = TW_ELEMENT_CORRECTED;
                self.flag(*taken, TW_FLAG_TAKEN);
            }
            Element::NoCode { address, space } => {
                self.kind = TW_ELEMENT_NO_CODE;
                self.maybe_address(Some(*address));
                self.maybe_level(space.el());
                self.maybe_security(space.security());
            }
            Element::Exception(exception) => self.exception(exception),
            Element::TrapValue(value) => self.with_value(TW_ELEMENT_TRAP_VALUE, *value),
            Element::ExceptionReturn => self.kind = TW_ELEMENT_EXCEPTION_RETURN,
            Element::Timestamp { value, cycles } => {
                self.with_value(TW_ELEMENT_TIMESTAMP, *value);
                self.maybe_cycles(*cycles);
            }
            Element::Cycles(cycles) => {
                self.kind = TW_ELEMENT_CYCLES;
                self.maybe_cycles(*cycles);
            }
            Element::Events(events) => self.with_value(TW_ELEMENT_EVENTS, (*events).into()),
            Element::Trigger => self.kind = TW_ELEMENT_TRIGGER,
            Element::Marker => self.kind = TW_ELEMENT_MARKER,
            Element::Transaction(step) => {
                let reason = match step {
                    Transaction::Inside => TW_TRANSACTION_INSIDE,
                    Transaction::Start => TW_TRANSACTION_START,
                    Transaction::Commit => TW_TRANSACTION_COMMIT,
                    Transaction::Failure => TW_TRANSACTION_FAILURE,
                    Transaction::Cancelled => TW_TRANSACTION_CANCELLED,
                };
                self.with_reason(TW_ELEMENT_TRANSACTION, reason);
            }
            Element::Instrumentation { el, value } => {
                self.with_value(TW_ELEMENT_INSTRUMENTATION, *value);
                self.maybe_level(Some(*el));
            }
            Element::SoftwareWrite(write) => self.software_write(write),
            Element::DwtEvent(event) => {
                self.with_value(TW_ELEMENT_DWT_EVENT, event.value.into());
                self.with_number(event.discriminator.into());
                self.with_length(event.size.into());
                self.flag(event.after_overflow, TW_FLAG_AFTER_OVERFLOW);
            }
            Element::LocalTimestamp(time) => {
                self.with_value(TW_ELEMENT_LOCAL_TIMESTAMP, time.delta.into());
                self.maybe_time(Some(time.total));
                self.reason = match time.delay {
                    TimeDelay::None => TW_DELAY_NONE,
                    TimeDelay::Timestamp => TW_DELAY_TIMESTAMP,
                    TimeDelay::Packet => TW_DELAY_PACKET,
                    TimeDelay::Both => TW_DELAY_BOTH,
                };
                self.flag(time.after_overflow, TW_FLAG_AFTER_OVERFLOW);
            }
            Element::GlobalTimestamp { value, clock_changed, after_overflow } => {
                self.with_value(TW_ELEMENT_GLOBAL_TIMESTAMP, *value);
                self.flag(*clock_changed, TW_FLAG_CLOCK_CHANGED);
                self.flag(*after_overflow, TW_FLAG_AFTER_OVERFLOW);
            }
            Element::DataAccess(access) => self.access(access),
            Element::Undecodable { len, fault } => {
                let (reason, header) = fault_reason(*fault);
                self.with_reason(TW_ELEMENT_UNDECODABLE, reason);
                self.with_length(*len);
                if let Some(header) = header {
                    self.with_number(header.into());
                }
            }
            Element::Inconsistency(inconsistency) => {
                let reason = inconsistency_reason(*inconsistency);
                self.with_reason(TW_ELEMENT_INCONSISTENCY, reason);
                self.flag(inconsistency.is_ambiguity(), TW_FLAG_AMBIGUITY);
                if let Inconsistency::Misaligned { address, space } = inconsistency {
                    self.maybe_address(Some(*address));
                    self.maybe_level(space.el());
                    self.maybe_security(space.security());
                }
            }
            Element::Custom(custom) => {
                self.kind = TW_ELEMENT_CUSTOM;
                self.with_length(custom.len);
            }
            Element::End => self.kind = TW_ELEMENT_END,
            _ => self.kind = TW_ELEMENT_OTHER,
        }
    }

    fn context(&mut self, context: &Context) {
        self.kind = TW_ELEMENT_CONTEXT;
        if let Some(id) = context.context_id {
            self.context_id = id;
            self.known |= TW_KNOWN_CONTEXT_ID;
        }
        if let Some(id) = context.vmid {
            self.vmid = id;
            self.known |= TW_KNOWN_VMID;
        }
        self.maybe_level(context.el);
        self.maybe_security(context.security);
        if let Some(known) = context.known_isa() {
            self.isa = isa(known);
            self.known |= TW_KNOWN_ISA;
        }
        self.flag(context.bits64, TW_FLAG_64_BIT);
    }

    fn exception(&mut self, exception: &Exception) {
        self.kind = TW_ELEMENT_EXCEPTION;
        self.with_number(exception.number.into());
        self.maybe_address(exception.return_address);
        self.flag(exception.also_target, TW_FLAG_ALSO_TARGET);
        self.flag(exception.tail_chain, TW_FLAG_TAIL_CHAIN);
    }

    fn software_write(&mut self, write: &Software) {
        match write.bits {
            0 => self.kind = TW_ELEMENT_SOFTWARE_WRITE,
            _ => self.with_value(TW_ELEMENT_SOFTWARE_WRITE, write.value()),
        }
        self.maybe_time(write.time());
        self.bits = write.bits;
        self.known |= TW_KNOWN_BITS;
        match write.channel {
            Channel::Port { page, port } => {
                self.port = port;
                self.known |= TW_KNOWN_PORT;
                if let Some(page) = page {
                    self.page = page;
                    self.known |= TW_KNOWN_PAGE;
                }
            }
            Channel::Master { master, channel } => {
                if let Some(master) = master {
                    self.master = master;
                    self.known |= TW_KNOWN_MASTER;
                }
                if let Some(channel) = channel {
                    self.channel = channel;
                    self.known |= TW_KNOWN_CHANNEL;
                }
            }
        }
        for (has, flag) in [
            (Software::AFTER_OVERFLOW, TW_FLAG_AFTER_OVERFLOW),
            (Software::MARKER, TW_WRITE_MARKER),
            (Software::TRIGGER, TW_WRITE_TRIGGER),
            (Software::FREQUENCY, TW_WRITE_FREQUENCY),
            (Software::MASTER_ERROR, TW_WRITE_MASTER_ERROR),
            (Software::GLOBAL_ERROR, TW_WRITE_GLOBAL_ERROR),
            (Software::FLAG, TW_WRITE_FLAG),
            (Software::USER, TW_WRITE_USER),
            (Software::CHANNEL_ERROR, TW_WRITE_CHANNEL_ERROR),
            (Software::CROSS_SYNC, TW_WRITE_CROSS_SYNC),
        ] {
            self.flag(write.has(has), flag);
        }
    }

    fn access(&mut self, access: &Access) {
        self.kind = TW_ELEMENT_DATA_ACCESS;
        self.maybe_address(access.address());
        if let Some(value) = access.value() {
            self.value = value;
            self.known |= TW_KNOWN_VALUE;
        }
        if let Some(by) = access.by() {
            self.by = by;
            self.known |= TW_KNOWN_BY;
        }
        if access.size != 0 {
            self.with_length(access.size.into());
        }
        let direction = match access.direction {
            Direction::Unknown => None,
            Direction::Read => Some(TW_DIRECTION_READ),
            Direction::Write => Some(TW_DIRECTION_WRITE),
        };
        if let Some(direction) = direction {
            self.direction = direction;
            self.known |= TW_KNOWN_DIRECTION;
        }
        for (has, flag) in [
            (Access::COPROCESSOR, TW_ACCESS_COPROCESSOR),
            (Access::CONTINUED, TW_ACCESS_CONTINUED),
            (Access::LATE, TW_ACCESS_LATE),
            (Access::STORE_FAILED, TW_ACCESS_STORE_FAILED),
            (Access::VALUE_NOT_TRACED, TW_ACCESS_VALUE_NOT_TRACED),
            (Access::SUPPRESSED, TW_ACCESS_SUPPRESSED),
            (Access::BIG_ENDIAN, TW_ACCESS_BIG_ENDIAN),
            (Access::EXCEPTION, TW_ACCESS_EXCEPTION),
        ] {
            self.flag(access.flags & has != 0, flag);
        }
    }

    fn with_reason(&mut self, kind: u32, reason: u32) {
        (self.kind, self.reason) = (kind, reason);
    }

    fn with_value(&mut self, kind: u32, value: u64) {
        (self.kind, self.value) = (kind, value);
        self.known |= TW_KNOWN_VALUE;
    }

    fn with_number(&mut self, number: u32) {
        self.number = number;
        self.known |= TW_KNOWN_NUMBER;
    }

    fn with_length(&mut self, length: u32) {
        self.length = length;
        self.known |= TW_KNOWN_LENGTH;
    }

    fn flag(&mut self, is_set: bool, flag: u32) {
        if is_set {
            self.flags |= flag;
        }
    }

    #[inline]
    fn maybe_cycles(&mut self, cycles: Option<u32>) {
        if let Some(cycles) = cycles {
            self.cycles = cycles;
            self.known |= TW_KNOWN_CYCLES;
        }
    }

    fn maybe_address(&mut self, address: Option<u64>) {
        if let Some(address) = address {
            self.address = address;
            self.known |= TW_KNOWN_ADDRESS;
        }
    }

    fn maybe_time(&mut self, time: Option<u64>) {
        if let Some(time) = time {
            self.time = time;
            self.known |= TW_KNOWN_TIME;
        }
    }

    fn maybe_level(&mut self, level: Option<u8>) {
        if let Some(level) = level {
            self.level = level;
            self.known |= TW_KNOWN_LEVEL;
        }
    }

    fn maybe_security(&mut self, state: Option<Security>) {
        if let Some(state) = state {
            self.security = security(state);
            self.known |= TW_KNOWN_SECURITY;
        }
    }
}

const fn gap_reason(gap: Gap) -> u32 {
    match gap {
        Gap::Start => TW_GAP_START,
        Gap::Reset => TW_GAP_RESET,
        Gap::Overflow => TW_GAP_OVERFLOW,
        Gap::Discard => TW_GAP_DISCARD,
        Gap::BadPacket => TW_GAP_BAD_PACKET,
        Gap::BadImage => TW_GAP_BAD_IMAGE,
        Gap::Data => TW_GAP_DATA,
        _ => TW_REASON_OTHER,
    }
}

const fn start_reason(start: Start) -> u32 {
    match start {
        Start::Normal => TW_START_NORMAL,
        Start::Overflow => TW_START_OVERFLOW,
        Start::Debug => TW_START_DEBUG,
    }
}

/// The reason, and the header.
const fn fault_reason(fault: Fault) -> (u32, Option<u8>) {
    match fault {
        Fault::Unsynchronised => (TW_FAULT_UNSYNCHRONISED, None),
        Fault::Reserved(header) => (TW_FAULT_RESERVED, Some(header)),
        Fault::ReservedForConfig(header) => (TW_FAULT_RESERVED_FOR_CONFIG, Some(header)),
        Fault::NoSuchPins => (TW_FAULT_NO_SUCH_PINS, None),
        Fault::Sequence => (TW_FAULT_SEQUENCE, None),
        Fault::Overlong => (TW_FAULT_OVERLONG, None),
        Fault::BytesAfterFields => (TW_FAULT_BYTES_AFTER_FIELDS, None),
        Fault::FieldsAfterBytes => (TW_FAULT_FIELDS_AFTER_BYTES, None),
        Fault::Opaque(header) => (TW_FAULT_OPAQUE, Some(header)),
        Fault::Truncated => (TW_FAULT_TRUNCATED, None),
        Fault::Frame => (TW_FAULT_FRAME, None),
        _ => (TW_REASON_OTHER, None),
    }
}

const fn inconsistency_reason(inconsistency: Inconsistency) -> u32 {
    match inconsistency {
        Inconsistency::NoAddress => TW_INCONSISTENCY_NO_ADDRESS,
        Inconsistency::CommitOfNothing => TW_INCONSISTENCY_COMMIT_OF_NOTHING,
        Inconsistency::CancelOfNothing => TW_INCONSISTENCY_CANCEL_OF_NOTHING,
        Inconsistency::MispredictOfNothing => TW_INCONSISTENCY_MISPREDICT_OF_NOTHING,
        Inconsistency::ReturnStackEmpty => TW_INCONSISTENCY_RETURN_STACK_EMPTY,
        Inconsistency::UnconditionalNotTaken => TW_INCONSISTENCY_UNCONDITIONAL_NOT_TAKEN,
        Inconsistency::AddressNotReached => TW_INCONSISTENCY_ADDRESS_NOT_REACHED,
        Inconsistency::InvalidOpcode => TW_INCONSISTENCY_INVALID_OPCODE,
        Inconsistency::UnsupportedIsa => TW_INCONSISTENCY_UNSUPPORTED_ISA,
        Inconsistency::Unexpected => TW_INCONSISTENCY_UNEXPECTED,
        Inconsistency::Unresolved => TW_INCONSISTENCY_UNRESOLVED,
        Inconsistency::Ambiguous => TW_INCONSISTENCY_AMBIGUOUS,
        Inconsistency::TrappedOrRetired => TW_INCONSISTENCY_TRAPPED_OR_RETIRED,
        Inconsistency::ContextOrException => TW_INCONSISTENCY_CONTEXT_OR_EXCEPTION,
        Inconsistency::TooManyBranches => TW_INCONSISTENCY_TOO_MANY_BRANCHES,
        Inconsistency::ExpansionLimit => TW_INCONSISTENCY_EXPANSION_LIMIT,
        Inconsistency::Misaligned { .. } => TW_INCONSISTENCY_MISALIGNED,
        _ => TW_REASON_OTHER,
    }
}

#[inline]
/// The instruction set of a `TW_ISA_*`.
pub(crate) fn isa_of(number: u32) -> Option<Isa> {
    let all = [Isa::A64, Isa::A32, Isa::T32, Isa::ThumbEe, Isa::Jazelle, Isa::Rv32, Isa::Rv64];
    all.into_iter().find(|own| u32::from(isa(*own)) == number)
}

pub(crate) const fn isa(isa: Isa) -> u8 {
    match isa {
        Isa::A64 => TW_ISA_A64,
        Isa::A32 => TW_ISA_A32,
        Isa::T32 => TW_ISA_T32,
        Isa::ThumbEe => TW_ISA_THUMB_EE,
        Isa::Jazelle => TW_ISA_JAZELLE,
        Isa::Rv32 => TW_ISA_RV32,
        Isa::Rv64 => TW_ISA_RV64,
    }
}

const fn security(security: Security) -> u8 {
    match security {
        Security::Secure => TW_SECURITY_SECURE,
        Security::NonSecure => TW_SECURITY_NON_SECURE,
        Security::Root => TW_SECURITY_ROOT,
        Security::Realm => TW_SECURITY_REALM,
    }
}

#[inline]
const fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::Plain => TW_KIND_PLAIN,
        Kind::Branch => TW_KIND_BRANCH,
        Kind::Indirect => TW_KIND_INDIRECT,
        Kind::Isb => TW_KIND_ISB,
        Kind::Barrier => TW_KIND_BARRIER,
        Kind::Wait => TW_KIND_WAIT,
        Kind::TimedWait => TW_KIND_TIMED_WAIT,
        Kind::TransactionStart => TW_KIND_TRANSACTION_START,
        Kind::Undefined => TW_KIND_UNDEFINED,
    }
}

#[inline]
const fn role(role: Role) -> u8 {
    match role {
        Role::Jump => TW_ROLE_JUMP,
        Role::Call => TW_ROLE_CALL,
        Role::Return => TW_ROLE_RETURN,
        Role::ExceptionReturn => TW_ROLE_EXCEPTION_RETURN,
        Role::Loop => TW_ROLE_LOOP,
        Role::Compare => TW_ROLE_COMPARE,
        Role::ImpliedReturn => TW_ROLE_IMPLIED_RETURN,
        Role::Swap => TW_ROLE_SWAP,
        Role::Link => TW_ROLE_LINK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright::base::{Counted, Last};

    #[test]
    fn unknown_is_a_bit() {
        let range = Range {
            start: 0x1000,
            bytes: 8,
            instructions: 2,
            cycles: Counted::UNKNOWN,
            last: Last::new(
                &tracewright::base::Instruction { size: 4, ..Default::default() },
                true,
            ),
        };
        let own = TwElement::new(3, 77, &Element::Range(range));
        assert_eq!((own.kind, own.source, own.offset), (TW_ELEMENT_RANGE, 3, 77));
        assert_eq!((own.address, own.end, own.instructions), (0x1000, 0x1008, 2));
        assert_eq!((own.known & TW_KNOWN_CYCLES, own.flags), (0, TW_FLAG_TAKEN));
        let own = TwElement::new(0, 0, &Element::Range(Range { cycles: Counted::of(0), ..range }));
        assert_eq!((own.known & TW_KNOWN_CYCLES, own.cycles), (TW_KNOWN_CYCLES, 0));
        let own = TwElement::new(0, 0, &Element::Cycles(None));
        assert_eq!((own.kind, own.known), (TW_ELEMENT_CYCLES, 0));
        let context = Context { context_id: Some(0), ..Context::default() };
        let own = TwElement::new(0, 0, &Element::Context(context));
        assert_eq!(own.known, TW_KNOWN_CONTEXT_ID);
        let access = Access::new(Direction::Write, 0, Access::LATE).of(5);
        let own = TwElement::new(0, 0, &Element::DataAccess(access));
        assert_eq!(own.known, TW_KNOWN_VALUE | TW_KNOWN_DIRECTION);
        assert_eq!((own.flags, own.direction), (TW_ACCESS_LATE, TW_DIRECTION_WRITE));
        let channel = Channel::Master { master: None, channel: None };
        for (bits, known) in [(0, TW_KNOWN_BITS), (8, TW_KNOWN_BITS | TW_KNOWN_VALUE)] {
            let own =
                TwElement::new(0, 0, &Element::SoftwareWrite(Software::new(channel, bits, 0)));
            assert_eq!(own.known, known, "{bits} bits");
        }
    }

    /// The names are those of the library.
    #[test]
    fn names_of_kinds() {
        for element in [
            Element::Gap(Gap::Start),
            Element::TraceOn(Start::Debug),
            Element::Corrected { taken: true },
            Element::TrapValue(1),
            Element::ExceptionReturn,
            Element::Timestamp { value: 1, cycles: None },
            Element::Events(3),
            Element::Transaction(Transaction::Commit),
            Element::Instrumentation { el: 1, value: 2 },
            Element::Undecodable { len: 1, fault: Fault::Overlong },
            Element::Inconsistency(Inconsistency::NoAddress),
            Element::End,
        ] {
            let own = TwElement::new(0, 0, &element);
            // SAFETY: the text is a constant.
            let name = unsafe { std::ffi::CStr::from_ptr(tw_element_kind_name(own.kind)) };
            assert_eq!(name.to_str().unwrap(), element.kind());
        }
        assert!(tw_element_kind_name(0).is_null());
    }
}
