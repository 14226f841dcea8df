//! The element that a program in C receives, `ocsd_generic_trace_elem`.

use std::ffi::c_void;
use std::ptr;

use tracewright_base::{
    Channel, Context, Element, Gap, Inconsistency, Instruction, Isa, Kind, Last, Range, Role,
    Security, Software, Space, Start, TimeDelay, Transaction,
};

use crate::reported::Reported;

/// An element. One layout serves clients that were compiled for 1.0 to 1.8: fields up to offset 80
/// are the same in all of them, and the pointer to a payload is at offset 80, where releases before
/// 1.4 have it, and at 88.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TraceElement {
    /// The kind: a number of [`kind`].
    pub kind: u32,
    /// The instruction set.
    pub isa: u32,
    /// Start of a range, or an address that cannot be read.
    pub start: u64,
    /// End of a range, exclusive, or the return address of an exception.
    pub end: u64,
    /// The context.
    pub context: PeContext,
    /// A timestamp.
    pub timestamp: u64,
    /// Cycles, if [`flag::CYCLES`] is set.
    pub cycles: u32,
    /// The type of the last instruction of a range.
    pub last_type: u32,
    /// Its subtype.
    pub last_subtype: u32,
    /// Bits of [`flag`]; \[3:1] the size of the last instruction in bytes.
    pub flags: u32,
    /// What depends on the kind.
    pub payload: Payload,
    /// The payload of an STM or of a client's decoder.
    pub extended: *const c_void,
}

/// The part of an element that depends on its kind: for most a number in the first half of the
/// first word; see [`SoftwareInfo`] and [`ItmInfo`]. A value that the program wrote is its
/// exception level and the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Payload {
    /// All bytes.
    pub words: [u64; 2],
}

impl Payload {
    /// The first number: instructions of a range, number of an exception, reason.
    pub const fn number(self) -> u32 {
        self.words[0] as u32
    }
}

/// Master and channel of an STM packet.
#[derive(Clone, Copy, Debug)]
pub struct SoftwareInfo {
    /// The master.
    pub master: u16,
    /// The channel.
    pub channel: u16,
    /// Bits of [`software`].
    pub bits: u32,
}

/// A packet of an ITM.
#[derive(Clone, Copy, Debug)]
pub struct ItmInfo {
    /// 0 software write, 1 DWT, 2 to 5 local timestamp, 6 global timestamp.
    pub kind: u32,
    /// Port or discriminator.
    pub source: u8,
    /// Size of the value in bytes.
    pub size: u8,
    /// The value, or ticks since the last local timestamp.
    pub value: u32,
    /// Packets were lost before this one.
    pub overflow: u8,
}

/// The context of the processor, `ocsd_pe_context`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PeContext {
    /// 0 Secure, 1 Non-secure, 2 Root, 3 Realm.
    pub security: u32,
    /// The exception level; -1 is unknown.
    pub el: i32,
    /// The context ID.
    pub context_id: u32,
    /// The VMID.
    pub vmid: u32,
    /// Bit 0 AArch64, 1 context ID known, 2 VMID known, 3 exception level known.
    pub bits: u32,
}

const _: () = {
    assert!(size_of::<PeContext>() == 20);
    assert!(size_of::<usize>() != 8 || size_of::<TraceElement>() == 96);
    assert!(std::mem::offset_of!(TraceElement, context) == 24);
    assert!(std::mem::offset_of!(TraceElement, timestamp) == 48);
    assert!(std::mem::offset_of!(TraceElement, flags) == 68);
    assert!(std::mem::offset_of!(TraceElement, payload) == 72);
    assert!(std::mem::offset_of!(TraceElement, extended) == 88);
};

/// Kinds of elements, `ocsd_gen_trc_elem_t` of 1.8.0. Those before [`INSTRUMENTATION`](kind::INSTRUMENTATION) are the same from
/// 1.0 on.
#[allow(missing_docs, reason = "the names are those of the elements")]
pub mod kind {
    pub const NO_SYNC: u32 = 1;
    pub const TRACE_ON: u32 = 2;
    pub const END: u32 = 3;
    pub const CONTEXT: u32 = 4;
    pub const RANGE: u32 = 5;
    pub const NO_PATH: u32 = 6;
    pub const NO_CODE: u32 = 7;
    pub const EXCEPTION: u32 = 9;
    pub const EXCEPTION_RETURN: u32 = 10;
    pub const TIMESTAMP: u32 = 11;
    pub const CYCLES: u32 = 12;
    pub const EVENT: u32 = 13;
    pub const SOFTWARE: u32 = 14;
    pub const MARKER: u32 = 15;
    pub const TRANSACTION: u32 = 16;
    pub const INSTRUMENTATION: u32 = 17;
    pub const ITM: u32 = 18;
}

/// Flags of an element.
pub mod flag {
    /// The last instruction took effect.
    pub const EXECUTED: u32 = 1 << 0;
    /// The position of the size of the last instruction.
    pub const SIZE_SHIFT: u32 = 1;
    /// The element has a cycle count.
    pub const CYCLES: u32 = 1 << 4;
    /// `end` is the return address of the exception.
    pub const RETURN_ADDRESS: u32 = 1 << 6;
    /// The element has a payload.
    pub const EXTENDED: u32 = 1 << 8;
    /// The element has a timestamp.
    pub const TIMESTAMP: u32 = 1 << 9;
    /// The last instruction is conditional.
    pub const CONDITIONAL: u32 = 1 << 10;
    /// The return address is the target of the last branch, too.
    pub const ALSO_TARGET: u32 = 1 << 11;
    /// A tail-chained exception of the M profile.
    pub const TAIL_CHAIN: u32 = 1 << 12;
}

/// Bits of an STM packet, `ocsd_swt_info_t`; \[7:0] bits of the payload, \[15:8] number of packets.
pub mod software {
    /// A marker.
    pub const MARKER: u32 = 1 << 16;
    /// It has a timestamp.
    pub const TIMESTAMP: u32 = 1 << 17;
    /// The master reports an error.
    pub const MASTER_ERROR: u32 = 1 << 19;
    /// A global error.
    pub const GLOBAL_ERROR: u32 = 1 << 20;
    /// A trigger.
    pub const TRIGGER: u32 = 1 << 21;
    /// A frequency.
    pub const FREQUENCY: u32 = 1 << 22;
    /// Master and channel are known.
    pub const ID_VALID: u32 = 1 << 23;
}

impl TraceElement {
    /// An element without content.
    pub const fn new(kind: u32) -> Self {
        TraceElement {
            kind,
            isa: 6,
            start: 0,
            end: 0,
            context: PeContext { security: 0, el: -1, context_id: 0, vmid: 0, bits: 0 },
            timestamp: 0,
            cycles: 0,
            last_type: 0,
            last_subtype: 0,
            flags: 0,
            payload: Payload { words: [0; 2] },
            extended: ptr::null(),
        }
    }

    fn number(mut self, number: u32) -> Self {
        self.payload = Payload { words: [number.into(), 0] };
        self
    }

    fn cycles(mut self, count: u32) -> Self {
        (self.cycles, self.flags) = (count, self.flags | flag::CYCLES);
        self
    }

    fn flag(mut self, flag: u32, set: bool) -> Self {
        if set {
            self.flags |= flag;
        }
        self
    }

    /// Master, channel and bits of an STM packet.
    pub fn software(&self) -> SoftwareInfo {
        let [first, _] = self.payload.words;
        SoftwareInfo {
            master: first as u16,
            channel: (first >> 16) as u16,
            bits: (first >> 32) as u32,
        }
    }

    /// The packet of an ITM.
    pub fn itm(&self) -> ItmInfo {
        let [first, second] = self.payload.words;
        ItmInfo {
            kind: first as u32,
            source: (first >> 32) as u8,
            size: (first >> 40) as u8,
            value: second as u32,
            overflow: (second >> 32) as u8,
        }
    }

    fn of_itm(kind: u32, source: u8, size: u8, value: u32, overflow: bool) -> Self {
        let mut made = TraceElement::new(kind::ITM);
        let first = u64::from(kind) | u64::from(source) << 32 | u64::from(size) << 40;
        made.payload = Payload { words: [first, u64::from(value) | u64::from(overflow) << 32] };
        made
    }
}

/// What an element needs in addition to what is reported: the context of its source, and memory for
/// its payload.
#[derive(Clone, Debug)]
pub struct Maker {
    context: PeContext,
    isa: Isa,
    has_context: bool,
    /// The payload of the last STM packet.
    payload: u64,
    /// Timestamps always have a cycle count.
    timestamp_cycles: bool,
    /// The last range in the current context, of which the next one changes some fields.
    last_range: TraceElement,
    /// The last cycle count in the current context.
    last_count: TraceElement,
    /// The fields of the last instructions of ranges.
    last_fields: LastCache,
    /// The last element of any kind.
    made: TraceElement,
}

impl Maker {
    /// For a source that has had no context, which reports the last instruction of a range as
    /// `last` makes it.
    pub fn new(timestamp_cycles: bool, last: fn(Last) -> Last) -> Self {
        Maker {
            context: PeContext::default(),
            isa: Isa::default(),
            has_context: false,
            payload: 0,
            timestamp_cycles,
            last_range: TraceElement::new(kind::RANGE),
            last_count: TraceElement::new(kind::CYCLES).cycles(0),
            last_fields: LastCache::new(last),
            made: TraceElement::new(0),
        }
    }

    /// The element of a cycle count, as [`make`](Self::make) makes it. It is valid until the next
    /// call.
    #[inline]
    pub fn count(&mut self, count: Option<u32>) -> &TraceElement {
        self.last_count.cycles = count.unwrap_or(0);
        &self.last_count
    }

    /// The element of a range, as [`make`](Self::make) makes it. It is valid until the next call.
    #[inline]
    pub fn range(&mut self, range: &Range) -> &TraceElement {
        let made = &mut self.last_range;
        let last = self.last_fields.get(range.last);
        made.payload = Payload { words: [range.instructions.into(), 0] };
        (made.start, made.end, made.isa) = (range.start, range.end(), last.isa);
        (made.cycles, made.flags) = (0, last.flags);
        (made.last_type, made.last_subtype) = (last.last_type, last.last_subtype);
        if let Some(cycles) = range.cycles.get() {
            (made.cycles, made.flags) = (cycles, made.flags | flag::CYCLES);
        }
        made
    }

    /// The element that a client receives. `None` where OpenCSD has no such element. It is valid
    /// until the next call.
    pub fn make(&mut self, reported: &Reported) -> Option<&TraceElement> {
        self.made = self.element(&reported.element)?;
        let made = &mut self.made;
        if reported.after_overflow && made.kind == kind::END {
            *made = made.number(3);
        }
        if let Some(count) = reported.cycles {
            *made = made.cycles(count);
        }
        if self.has_context {
            made.context = self.context;
            if made.kind != kind::RANGE {
                made.isa = isa_number(self.isa);
            }
        }
        Some(made)
    }

    fn element(&mut self, element: &Element) -> Option<TraceElement> {
        let new = TraceElement::new;
        Some(match element {
            Element::Range(range) => *self.range(range),
            Element::Gap(gap) => new(kind::NO_SYNC).number(reason(*gap)),
            Element::TraceOn(start) => new(kind::TRACE_ON).number(match start {
                Start::Normal => 0,
                Start::Overflow => 1,
                Start::Debug => 2,
            }),
            Element::End => new(kind::END).number(7),
            Element::Context(context) => {
                (self.context, self.isa, self.has_context) =
                    (pe_context(context), context.isa, true);
                self.last_range.context = self.context;
                (self.last_count.context, self.last_count.isa) =
                    (self.context, isa_number(self.isa));
                new(kind::CONTEXT)
            }
            Element::Unknown { start, next, instructions } => {
                let mut made = new(kind::NO_PATH).number(instructions.get().unwrap_or(0));
                (made.start, made.end) = (*start, *next);
                made
            }
            Element::NoCode { address, space }
            | Element::Inconsistency(Inconsistency::Misaligned { address, space }) => {
                let mut made = new(kind::NO_CODE).number(memory_space(*space));
                made.start = *address;
                made
            }
            Element::Exception(exception) => {
                let mut made = new(kind::EXCEPTION)
                    .number(exception.number.into())
                    .flag(flag::RETURN_ADDRESS, exception.return_address.is_some())
                    .flag(flag::ALSO_TARGET, exception.also_target)
                    .flag(flag::TAIL_CHAIN, exception.tail_chain);
                made.end = exception.return_address.unwrap_or(0);
                made
            }
            Element::ExceptionReturn => new(kind::EXCEPTION_RETURN),
            Element::Timestamp { value, cycles } => {
                let mut made = new(kind::TIMESTAMP);
                (made.timestamp, made.flags) = (*value, flag::TIMESTAMP);
                match cycles.or(self.timestamp_cycles.then_some(0)) {
                    Some(cycles) => made.cycles(cycles),
                    None => made,
                }
            }
            Element::Cycles(count) => *self.count(*count),
            Element::Events(mask) => new(kind::EVENT).number(2 | u32::from(*mask) << 16),
            Element::Trigger => new(kind::EVENT).number(1),
            Element::Marker => new(kind::MARKER),
            Element::Transaction(step) => new(kind::TRANSACTION).number(match step {
                Transaction::Inside => 0,
                Transaction::Start => 1,
                // OpenCSD has no such element. Here, too, what was delayed has an effect.
                Transaction::Commit | Transaction::Cancelled => 2,
                Transaction::Failure => 3,
            }),
            Element::Instrumentation { el, value } => {
                let mut made = new(kind::INSTRUMENTATION);
                made.payload = Payload { words: [u64::from(*el), *value] };
                made
            }
            Element::SoftwareWrite(write) => self.software_write(write),
            Element::DwtEvent(event) => {
                let (id, size) = (event.discriminator, event.size);
                TraceElement::of_itm(1, id, size, event.value, event.after_overflow)
            }
            Element::LocalTimestamp(time) => {
                let delay = match time.delay {
                    TimeDelay::None => 2,
                    TimeDelay::Timestamp => 3,
                    TimeDelay::Packet => 4,
                    TimeDelay::Both => 5,
                };
                // The bytes of its packet, which have 7 bits each: 1 where it is in the header.
                let size = (u32::BITS - time.delta.leading_zeros()).div_ceil(7).clamp(1, 4) as u8;
                let mut made =
                    TraceElement::of_itm(delay, 0, size, time.delta, time.after_overflow);
                (made.timestamp, made.flags) = (time.total, flag::TIMESTAMP);
                made
            }
            Element::GlobalTimestamp { value, after_overflow, .. } => {
                let mut made = TraceElement::of_itm(6, 0, 0, 0, *after_overflow);
                (made.timestamp, made.flags) = (*value, flag::TIMESTAMP);
                made
            }
            _ => return None,
        })
    }

    fn software_write(&mut self, write: &Software) -> TraceElement {
        match write.channel {
            Channel::Port { page, port } => {
                let port = (u32::from(page.unwrap_or(0)) * 32 + u32::from(port)) as u8;
                let overflow = write.has(Software::AFTER_OVERFLOW);
                let value = write.value() as u32;
                TraceElement::of_itm(0, port, write.bits / 8, value, overflow)
            }
            Channel::Master { master, channel } => {
                let mut made = TraceElement::new(kind::SOFTWARE);
                let mut bits = u32::from(write.bits);
                let mut flag = |flag: u32, set: bool| bits |= if set { flag } else { 0 };
                flag(1 << 8, write.bits > 0);
                let marker = write.has(Software::MARKER) || write.has(Software::FLAG);
                flag(software::MARKER, marker);
                flag(software::TIMESTAMP, write.time().is_some());
                flag(software::MASTER_ERROR, write.has(Software::MASTER_ERROR));
                flag(software::GLOBAL_ERROR, write.has(Software::GLOBAL_ERROR));
                flag(software::TRIGGER, write.has(Software::TRIGGER));
                flag(software::FREQUENCY, write.has(Software::FREQUENCY));
                flag(software::ID_VALID, master.is_some() && channel.is_some());
                if let Some(time) = write.time() {
                    (made.timestamp, made.flags) = (time, flag::TIMESTAMP);
                }
                let (master, channel) = (master.unwrap_or(0), channel.unwrap_or(0));
                let first = u64::from(master) | u64::from(channel) << 16 | u64::from(bits) << 32;
                let mut address = 0;
                if write.bits > 0 {
                    self.payload = write.value();
                    made.extended = ptr::from_ref(&self.payload).cast();
                    made.flags |= flag::EXTENDED;
                    address = made.extended.addr() as u64;
                }
                made.payload = Payload { words: [first, address] };
                made
            }
        }
    }
}

/// The fields of a range that depend on its last instruction only.
#[derive(Clone, Copy, Debug)]
struct LastFields {
    last: Last,
    isa: u32,
    last_type: u32,
    last_subtype: u32,
    flags: u32,
}

impl LastFields {
    /// Those of a range whose last instruction is `key`.
    fn of(key: Last, reported: fn(Last) -> Last) -> Self {
        let last = reported(key);
        let Last { kind, role, isa, .. } = last;
        let last_type = match kind {
            Kind::Plain | Kind::Undefined => 0,
            Kind::Branch => 1,
            Kind::Indirect => 2,
            Kind::Isb => 3,
            Kind::Barrier => 4,
            Kind::Wait | Kind::TimedWait => 5,
            Kind::TransactionStart => 6,
        };
        let last_subtype = match role {
            Role::Call => 1,
            Role::Return if isa == Isa::A64 => 2,
            Role::ExceptionReturn if isa == Isa::A64 => 3,
            Role::ImpliedReturn => 4,
            _ => 0,
        };
        // OpenCSD does not treat loop and compare instructions as conditional.
        let conditional = last.conditional() && !matches!(role, Role::Loop | Role::Compare);
        let set = |flag: u32, set: bool| if set { flag } else { 0 };
        let flags = u32::from(last.size() & 7) << flag::SIZE_SHIFT
            | set(flag::EXECUTED, last.taken())
            | set(flag::CONDITIONAL, conditional);
        LastFields { last: key, isa: isa_number(isa), last_type, last_subtype, flags }
    }
}

/// The [`LastFields`] of a few last instructions: a program has few kinds of them. To compare one
/// number costs less than to make the fields of each range.
#[derive(Clone, Debug)]
struct LastCache {
    /// What is reported for a last instruction.
    reported: fn(Last) -> Last,
    fields: [LastFields; LAST_CACHE],
}

/// A power of two.
const LAST_CACHE: usize = 32;

impl LastCache {
    fn new(reported: fn(Last) -> Last) -> Self {
        let fields = LastFields::of(Last::new(&Instruction::default(), false), reported);
        LastCache { reported, fields: [fields; LAST_CACHE] }
    }

    #[inline]
    fn get(&mut self, last: Last) -> LastFields {
        let slot = last.word().wrapping_mul(0x9e37_79b9) >> (u32::BITS - LAST_CACHE.ilog2());
        let fields = &mut self.fields[slot as usize % LAST_CACHE];
        if fields.last != last {
            LastCache::replace(fields, last, self.reported);
        }
        *fields
    }

    #[cold]
    #[inline(never)]
    fn replace(fields: &mut LastFields, last: Last, reported: fn(Last) -> Last) {
        *fields = LastFields::of(last, reported);
    }
}

const fn reason(gap: Gap) -> u32 {
    match gap {
        Gap::Start => 1,
        Gap::Reset => 2,
        Gap::Overflow | Gap::Data => 3,
        Gap::Discard => 4,
        _ => 5,
    }
}

/// The number of an instruction set, `ocsd_isa`.
pub const fn isa_number(isa: Isa) -> u32 {
    match isa {
        Isa::A32 => 0,
        Isa::T32 => 1,
        Isa::A64 => 2,
        Isa::ThumbEe => 3,
        Isa::Jazelle => 4,
        Isa::Rv32 | Isa::Rv64 => 5,
    }
}

fn pe_context(context: &Context) -> PeContext {
    PeContext {
        security: match context.security {
            Some(Security::Secure) | None => 0,
            Some(Security::NonSecure) => 1,
            Some(Security::Root) => 2,
            Some(Security::Realm) => 3,
        },
        el: context.el.map_or(-1, i32::from),
        context_id: context.context_id.unwrap_or(0),
        vmid: context.vmid.unwrap_or(0),
        bits: u32::from(context.bits64)
            | u32::from(context.context_id.is_some()) << 1
            | u32::from(context.vmid.is_some()) << 2
            | u32::from(context.el.is_some()) << 3,
    }
}

/// The number of a memory space, `ocsd_mem_space_acc_t`.
pub const fn memory_space(space: Space) -> u32 {
    match (space.security(), space.el()) {
        (Some(Security::Secure), Some(0 | 1)) => 0x01,
        (Some(Security::NonSecure), Some(0 | 1)) => 0x02,
        (Some(Security::Realm), Some(0 | 1)) => 0x20,
        (Some(Security::Secure), Some(2)) => 0x10,
        (Some(Security::NonSecure), Some(2)) => 0x04,
        (Some(Security::Realm), Some(2)) => 0x40,
        (Some(Security::Root), _) => 0x80,
        (_, Some(3)) => 0x08,
        (Some(Security::NonSecure), _) => 0x06,
        (Some(Security::Realm), _) => 0x60,
        // OpenCSD takes a core without security states to be secure.
        (Some(Security::Secure) | None, _) => 0x19,
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::Counted;

    use super::*;

    /// Whatever ranges were before: some of the instructions share a place in the cache.
    #[test]
    fn fields_of_the_last_instruction() {
        let (kinds, roles) = (
            [Kind::Plain, Kind::Branch, Kind::Indirect, Kind::Isb, Kind::Barrier, Kind::Wait],
            [Role::Jump, Role::Call, Role::Return, Role::ExceptionReturn, Role::ImpliedReturn],
        );
        let mut all = Vec::new();
        for (kind, role) in kinds.into_iter().flat_map(|kind| roles.map(|role| (kind, role))) {
            for (isa, size, conditional, taken) in
                [(Isa::A64, 4, false, true), (Isa::T32, 2, true, true), (Isa::T32, 2, true, false)]
            {
                let last =
                    Instruction { kind, role, isa, size, conditional, ..Instruction::default() };
                all.push((Last::new(&last, taken), kind as u32, role as u32));
            }
        }
        let mut maker = Maker::new(false, |last| last);
        for (n, &(last, kind, role)) in all.iter().chain(&all).chain(all.iter().rev()).enumerate() {
            let cycles = if n % 3 == 0 { Counted::of(n as u32) } else { Counted::UNKNOWN };
            let start = 0x1000 + n as u64;
            let range = Range { start, bytes: 8, instructions: n as u32, cycles, last };
            let made = *maker.range(&range);
            let in_a64 = last.isa == Isa::A64;
            let subtype = match role {
                6 => 4,
                2 | 3 if !in_a64 => 0,
                role => role,
            };
            let flags = u32::from(last.size()) << 1
                | u32::from(last.taken())
                | u32::from(n % 3 == 0) << 4
                | u32::from(last.conditional()) << 10;
            let count = if n % 3 == 0 { n as u32 } else { 0 };
            assert_eq!((made.isa, made.start, made.end), (1 + u32::from(in_a64), start, start + 8));
            assert_eq!((made.last_type, made.last_subtype), (kind, subtype), "{last:?}");
            assert_eq!((made.flags, made.cycles), (flags, count), "{last:?}");
            assert_eq!(made.payload.number(), n as u32);
        }
    }

    /// A range has the context before it.
    #[test]
    fn ranges_have_a_context() {
        let mut maker = Maker::new(false, |last| last);
        let last = Last::new(&Instruction::default(), true);
        let range = Range { start: 0, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last };
        assert_eq!(maker.range(&range).context.el, -1);
        for el in [1, 2] {
            let context = Context { el: Some(el), ..Context::default() };
            let element = Element::Context(context);
            let reported = Reported { at: 0, element, cycles: None, after_overflow: false };
            assert_eq!(maker.make(&reported).map(|made| made.context.el), Some(el.into()));
            assert_eq!(maker.range(&range).context.el, el.into());
        }
    }
}
