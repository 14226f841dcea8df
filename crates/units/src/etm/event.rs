//! Events: a Boolean function of two resources in 17 bits. (IHI 0014, 2.3 and 3.6)

use std::fmt;

use super::resources::Resources;
use super::version::Version;

/// A resource, numbered from 1 as the specification does. (IHI 0014, Table 3-81)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A single address comparator.
    Address(u8),
    /// An address range comparator.
    Range(u8),
    /// An instrumentation resource.
    Instrumentation(u8),
    /// An EmbeddedICE watchpoint comparator.
    Ice(u8),
    /// A memory map decode.
    MemoryMap(u8),
    /// A counter is at zero.
    Counter(u8),
    /// The sequencer is in this state.
    Sequencer(u8),
    /// A context ID comparator.
    Context(u8),
    /// The virtual machine ID comparator, from ETMv3.5.
    Vmid,
    /// The start/stop resource.
    StartStop,
    /// An external input.
    Input(u8),
    /// An extended external input selector.
    Extended(u8),
    /// The processor is in Non-secure state.
    NonSecure,
    /// Tracing is prohibited.
    Prohibited,
    /// Always active.
    True,
    /// A reserved encoding.
    Reserved(u8),
}

impl Resource {
    /// The resource with the 7-bit encoding `bits`.
    pub const fn of(bits: u8) -> Resource {
        let index = bits & 0xf;
        match (bits >> 4 & 0b111, index) {
            (0b000, _) => Resource::Address(index + 1),
            (0b001, 0..=7) => Resource::Range(index + 1),
            (0b001, 8..=11) => Resource::Instrumentation(index - 7),
            (0b010, 0..=7) => Resource::Ice(index + 1),
            (0b011, _) => Resource::MemoryMap(index + 1),
            (0b100, 0..=3) => Resource::Counter(index + 1),
            (0b101, 0..=2) => Resource::Sequencer(index + 1),
            (0b101, 8..=10) => Resource::Context(index - 7),
            (0b101, 11) => Resource::Vmid,
            (0b101, 15) => Resource::StartStop,
            (0b110, 0..=3) => Resource::Input(index + 1),
            (0b110, 8..=11) => Resource::Extended(index - 7),
            (0b110, 13) => Resource::NonSecure,
            (0b110, 14) => Resource::Prohibited,
            (0b110, 15) => Resource::True,
            _ => Resource::Reserved(bits & 0x7f),
        }
    }

    /// The 7-bit encoding.
    pub const fn bits(self) -> u8 {
        match self {
            Resource::Address(n) => n - 1,
            Resource::Range(n) => 0x10 + n - 1,
            Resource::Instrumentation(n) => 0x18 + n - 1,
            Resource::Ice(n) => 0x20 + n - 1,
            Resource::MemoryMap(n) => 0x30 + n - 1,
            Resource::Counter(n) => 0x40 + n - 1,
            Resource::Sequencer(n) => 0x50 + n - 1,
            Resource::Context(n) => 0x58 + n - 1,
            Resource::Vmid => 0x5b,
            Resource::StartStop => 0x5f,
            Resource::Input(n) => 0x60 + n - 1,
            Resource::Extended(n) => 0x68 + n - 1,
            Resource::NonSecure => 0x6d,
            Resource::Prohibited => 0x6e,
            Resource::True => 0x6f,
            Resource::Reserved(bits) => bits,
        }
    }

    /// The first version with the resource. `None` for a reserved encoding.
    pub const fn first(self) -> Option<Version> {
        Some(match self {
            Resource::Address(_)
            | Resource::Range(_)
            | Resource::Ice(1 | 2)
            | Resource::MemoryMap(_)
            | Resource::Counter(_)
            | Resource::Sequencer(_)
            | Resource::Input(_)
            | Resource::True => Version::V1_0,
            Resource::Context(_) | Resource::StartStop => Version::V2_0,
            Resource::Extended(_) => Version::V3_1,
            Resource::NonSecure | Resource::Prohibited => Version::V3_2,
            Resource::Instrumentation(_) => Version::V3_3,
            Resource::Ice(_) => Version::V3_4,
            Resource::Vmid => Version::V3_5,
            Resource::Reserved(_) => return None,
        })
    }

    /// Whether `unit` has the resource.
    pub fn exists(self, unit: &Resources) -> bool {
        if self.first().is_none_or(|first| unit.version < first) {
            return false;
        }
        match self {
            Resource::Address(n) => n <= unit.comparators(),
            Resource::Range(n) => n <= unit.pairs,
            Resource::Instrumentation(n) => n <= unit.instrumentation,
            Resource::Ice(n) => n <= unit.ice_inputs,
            Resource::MemoryMap(n) => n <= unit.memory_map,
            Resource::Counter(n) => n <= unit.counters,
            Resource::Sequencer(_) => unit.sequencer,
            Resource::Context(n) => n <= unit.context_comparators,
            Resource::Vmid => unit.virtualization,
            Resource::StartStop => unit.start_stop,
            Resource::Input(n) => n <= unit.inputs,
            Resource::Extended(n) => n <= unit.selectors,
            Resource::NonSecure | Resource::Prohibited | Resource::True => true,
            Resource::Reserved(_) => false,
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Address(n) => write!(f, "address comparator {n}"),
            Resource::Range(n) => write!(f, "address range {n}"),
            Resource::Instrumentation(n) => write!(f, "instrumentation resource {n}"),
            Resource::Ice(n) => write!(f, "EmbeddedICE input {n}"),
            Resource::MemoryMap(n) => write!(f, "memory map decode {n}"),
            Resource::Counter(n) => write!(f, "counter {n} at zero"),
            Resource::Sequencer(n) => write!(f, "sequencer in state {n}"),
            Resource::Context(n) => write!(f, "context ID comparator {n}"),
            Resource::Vmid => f.write_str("virtual machine ID comparator"),
            Resource::StartStop => f.write_str("start/stop resource"),
            Resource::Input(n) => write!(f, "external input {n}"),
            Resource::Extended(n) => write!(f, "extended external input {n}"),
            Resource::NonSecure => f.write_str("Non-secure state"),
            Resource::Prohibited => f.write_str("tracing prohibited"),
            Resource::True => f.write_str("true"),
            Resource::Reserved(bits) => write!(f, "reserved resource {bits:#04x}"),
        }
    }
}

/// The Boolean function of an event. (IHI 0014, Table 3-83)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// A
    A,
    /// NOT A
    NotA,
    /// A AND B
    And,
    /// NOT A AND B
    NotAAndB,
    /// NOT A AND NOT B
    Neither,
    /// A OR B
    Or,
    /// NOT A OR B
    NotAOrB,
    /// NOT A OR NOT B
    NotBoth,
}

impl Function {
    /// All functions in the order of their encodings.
    pub const ALL: [Function; 8] = [
        Function::A,
        Function::NotA,
        Function::And,
        Function::NotAAndB,
        Function::Neither,
        Function::Or,
        Function::NotAOrB,
        Function::NotBoth,
    ];

    /// Whether the function uses resource B.
    pub const fn uses_b(self) -> bool {
        !matches!(self, Function::A | Function::NotA)
    }

    /// The value for the states `a` and `b` of the resources.
    pub const fn of(self, a: bool, b: bool) -> bool {
        match self {
            Function::A => a,
            Function::NotA => !a,
            Function::And => a && b,
            Function::NotAAndB => !a && b,
            Function::Neither => !a && !b,
            Function::Or => a || b,
            Function::NotAOrB => !a || b,
            Function::NotBoth => !a || !b,
        }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The function, bits \[16:14].
    pub function: Function,
    /// Resource B, bits \[13:7].
    pub b: Resource,
    /// Resource A, bits \[6:0].
    pub a: Resource,
}

impl Event {
    /// Always active: 0x0006f.
    pub const TRUE: Event = Event::one(Resource::True);
    /// Never active: 0x0406f.
    pub const FALSE: Event =
        Event { function: Function::NotA, b: Resource::Address(1), a: Resource::True };

    /// Active where `resource` is.
    pub const fn one(resource: Resource) -> Event {
        Event { function: Function::A, b: Resource::Address(1), a: resource }
    }

    /// The event with the encoding `bits`, of which the low 17 count.
    pub fn of(bits: u32) -> Event {
        let function = Function::ALL.get((bits >> 14 & 0b111) as usize);
        Event {
            function: function.copied().unwrap_or(Function::A),
            b: Resource::of((bits >> 7 & 0x7f) as u8),
            a: Resource::of((bits & 0x7f) as u8),
        }
    }

    /// The encoding.
    pub const fn bits(self) -> u32 {
        (self.function as u32) << 14 | (self.b.bits() as u32) << 7 | self.a.bits() as u32
    }

    /// The resources that the event depends on.
    pub fn resources(self) -> impl Iterator<Item = Resource> {
        [Some(self.a), Some(self.b).filter(|_| self.function.uses_b())].into_iter().flatten()
    }

    /// The value for the states that `active` gives.
    pub fn value(self, active: impl Fn(Resource) -> bool) -> bool {
        self.function.of(active(self.a), self.function.uses_b() && active(self.b))
    }

    /// The value where it does not depend on a resource that changes.
    pub fn constant(self) -> Option<bool> {
        let known = |resource| matches!(resource, Resource::True);
        let of = |a: bool, b: bool| self.function.of(a, b);
        match (known(self.a), !self.function.uses_b() || known(self.b)) {
            (true, true) => Some(of(true, true)),
            (true, false) => {
                let value = of(true, false);
                (value == of(true, true)).then_some(value)
            }
            (false, true) if self.function.uses_b() => {
                let value = of(false, true);
                (value == of(true, true)).then_some(value)
            }
            _ => None,
        }
    }

    /// The event in words, with `name` for the resources.
    pub fn text(self, name: &dyn Fn(Resource) -> String) -> String {
        match self.constant() {
            Some(true) => return "always".into(),
            Some(false) => return "never".into(),
            None => {}
        }
        let a = name(self.a);
        let b = if self.function.uses_b() { name(self.b) } else { String::new() };
        match self.function {
            Function::A => a,
            Function::NotA => format!("not ({a})"),
            Function::And => format!("({a}) and ({b})"),
            Function::NotAAndB => format!("not ({a}) and ({b})"),
            Function::Neither => format!("not ({a}) and not ({b})"),
            Function::Or => format!("({a}) or ({b})"),
            Function::NotAOrB => format!("not ({a}) or ({b})"),
            Function::NotBoth => format!("not ({a}) or not ({b})"),
        }
    }

    /// The event with the table of values `table` of `a` and `b`: bit 0 is its value where both are
    /// inactive, bit 1 where `a` is active, bit 2 where `b` is, bit 3 where both are. `None` for
    /// the two functions that no event has: A and B are different, and A and B are equal.
    pub fn with_table(table: u8, a: Resource, b: Resource) -> Option<Event> {
        match table & 0xf {
            0b0000 => return Some(Event::FALSE),
            0b1111 => return Some(Event::TRUE),
            _ => {}
        }
        let has = |function: Function, swapped: bool| {
            (0..4u8).all(|row| {
                let (a, b) = (row & 1 != 0, row & 2 != 0);
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                function.of(a, b) == (table >> row & 1 != 0)
            })
        };
        Function::ALL.into_iter().find_map(|function| match () {
            () if has(function, false) => Some(Event { function, a, b }),
            () if has(function, true) => Some(Event { function, a: b, b: a }),
            () => None,
        })
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|resource| resource.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, Examples 3-1 and 3-2, and the constants of 3.5.
    #[test]
    fn examples() {
        // Range comparator 3 and counter 2 at zero.
        let event =
            Event { function: Function::And, a: Resource::Range(3), b: Resource::Counter(2) };
        let swapped =
            Event { function: Function::And, a: Resource::Counter(2), b: Resource::Range(3) };
        assert_eq!(swapped.bits(), 0x0_8941);
        assert_eq!(Event::of(0x0_8941), swapped);
        assert_eq!(event.bits() & !0x3fff, 2 << 14);
        assert_eq!(Event::one(Resource::Sequencer(3)).bits(), 0x52);
        assert_eq!((Event::TRUE.bits(), Event::FALSE.bits()), (0x6f, 0x406f));
    }

    /// IHI 0014, Table 3-83: all 131072 encodings, whose fields are at bits \[16:14], \[13:7] and
    /// \[6:0].
    #[test]
    fn both_ways() {
        for bits in 0..1 << 17 {
            let event = Event::of(bits);
            assert_eq!(event.bits(), bits);
            let function = Function::ALL.iter().position(|f| *f == event.function);
            assert_eq!(function, Some((bits >> 14) as usize));
            let fields = (u32::from(event.b.bits()), u32::from(event.a.bits()));
            assert_eq!(fields, (bits >> 7 & 0x7f, bits & 0x7f));
        }
    }

    /// IHI 0014, Table 3-81: type, first and last index, and the first version.
    #[test]
    fn resources() {
        let rows: [(u8, u8, u8, &str, Version); 15] = [
            (0b000, 0, 15, "address comparator 1", Version::V1_0),
            (0b001, 0, 7, "address range 1", Version::V1_0),
            (0b001, 8, 11, "instrumentation resource 1", Version::V3_3),
            (0b010, 0, 1, "EmbeddedICE input 1", Version::V1_0),
            (0b010, 2, 7, "EmbeddedICE input 3", Version::V3_4),
            (0b011, 0, 15, "memory map decode 1", Version::V1_0),
            (0b100, 0, 3, "counter 1 at zero", Version::V1_0),
            (0b101, 0, 2, "sequencer in state 1", Version::V1_0),
            (0b101, 8, 10, "context ID comparator 1", Version::V2_0),
            (0b101, 15, 15, "start/stop resource", Version::V2_0),
            (0b110, 0, 3, "external input 1", Version::V1_0),
            (0b110, 8, 11, "extended external input 1", Version::V3_1),
            (0b110, 13, 13, "Non-secure state", Version::V3_2),
            (0b110, 14, 14, "tracing prohibited", Version::V3_2),
            (0b110, 15, 15, "true", Version::V1_0),
        ];
        let mut known = Vec::new();
        for (kind, first, last, name, version) in rows {
            assert_eq!(Resource::of(kind << 4 | first).to_string(), name);
            for index in first..=last {
                let bits = kind << 4 | index;
                let resource = Resource::of(bits);
                assert_eq!((resource.bits(), resource.first()), (bits, Some(version)));
                known.push(bits);
            }
        }
        // The virtual machine ID comparator is of a later issue.
        known.push(0x5b);
        for bits in 0..0x80 {
            let reserved = matches!(Resource::of(bits), Resource::Reserved(_));
            assert_eq!(reserved, !known.contains(&bits), "{bits:#x}");
        }
    }

    /// IHI 0014, Table 3-82: the columns are A B = 00, 10, 01, 11.
    #[test]
    fn functions() {
        let rows = ["0101", "1010", "0001", "0010", "1000", "0111", "1011", "1110"];
        for (function, row) in Function::ALL.into_iter().zip(rows) {
            for (at, (a, b)) in
                [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate()
            {
                assert_eq!(function.of(a, b), row.as_bytes()[at] == b'1', "{function:?} {a} {b}");
            }
        }
    }

    /// Of the 16 functions of two resources, events have all but two.
    #[test]
    fn functions_that_no_event_has() {
        let (a, b) = (Resource::Counter(1), Resource::Input(2));
        for table in 0..16u8 {
            let event = Event::with_table(table, a, b);
            assert_eq!(event.is_none(), matches!(table, 0b0110 | 0b1001), "{table:04b}");
            let Some(event) = event else { continue };
            for row in 0..4u8 {
                let value = event.value(|resource| match resource {
                    Resource::True => true,
                    Resource::Counter(_) => row & 1 != 0,
                    _ => row & 2 != 0,
                });
                assert_eq!(value, table >> row & 1 != 0, "{table:04b} {row}");
            }
        }
    }

    #[test]
    fn constants() {
        for (bits, value) in [
            (0x6f, Some(true)),
            (0x406f, Some(false)),
            (0x37df, None),
            (2 << 14 | 0x6f << 7 | 0x6f, Some(true)),
            (5 << 14 | 0x6f << 7 | 0x40, Some(true)),
            (4 << 14 | 0x40 << 7 | 0x6f, Some(false)),
            (2 << 14 | 0x40 << 7 | 0x6f, None),
        ] {
            assert_eq!(Event::of(bits).constant(), value, "{bits:#x}");
        }
    }
}
