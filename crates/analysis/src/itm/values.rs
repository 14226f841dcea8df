//! Typed values of software writes and of watched data.

use std::collections::BTreeMap;
use std::fmt;

use tracewright_base::Dwt;

use super::signal::{Member, Origin, Scalar, Signal, SignalType};

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// An integer.
    Integer(i128),
    /// A number with a fraction.
    Real(f64),
    /// A number with a fraction, of single precision.
    Single(f32),
    /// A number with a name.
    Named(i128, String),
    /// An address.
    Address(u64),
}

impl Reading {
    /// The number.
    pub fn number(&self) -> f64 {
        match self {
            Reading::Integer(number) | Reading::Named(number, _) => *number as f64,
            Reading::Real(number) => *number,
            Reading::Single(number) => f64::from(*number),
            Reading::Address(address) => *address as f64,
        }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reading::Integer(number) => write!(f, "{number}"),
            Reading::Real(number) => write!(f, "{number}"),
            Reading::Single(number) => write!(f, "{number}"),
            Reading::Named(_, name) => f.write_str(name),
            Reading::Address(address) => write!(f, "0x{address:08x}"),
        }
    }
}

/// A value of a signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Where it comes from.
    pub origin: Origin,
    /// The name of the signal, with that of the member of a structure.
    pub name: String,
    /// The value.
    pub reading: Reading,
    /// Its unit; may be empty.
    pub unit: String,
    /// The number of bits, where all values are whole and not negative.
    pub width: Option<u8>,
}

/// What a write is to the signal of its port.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// The port has no signal.
    Unknown,
    /// Text, whatever its bytes are.
    Text,
    /// Its values follow. There is none where bytes of a structure or of a wide number are missing.
    Values(Vec<Value>),
    /// It has another size than the type, or is a number as written.
    Raw,
}

/// The signals of a source, and the bytes of structures that are not complete.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    signals: BTreeMap<Origin, (Signal, Vec<u8>)>,
    /// The addresses in the comparators of the DWT (DWT_COMPn), where they are known.
    comparators: [Option<u32>; 4],
}

impl Signals {
    /// The signals. The last one of an origin counts.
    pub fn new(signals: impl IntoIterator<Item = Signal>) -> Signals {
        let signals = signals.into_iter().map(|signal| (signal.origin, (signal, Vec::new())));
        Signals { signals: signals.collect(), ..Signals::default() }
    }

    /// The same with the addresses in the comparators of the DWT.
    pub fn with_comparators(self, comparators: [Option<u32>; 4]) -> Signals {
        Signals { comparators, ..self }
    }

    /// An event with the whole address of data, where only its low bytes were traced and the
    /// comparator is known. (Armv8-M ARM, "Data trace packets": the upper bits are those of
    /// DWT_COMPn)
    pub fn completed(&self, event: Dwt) -> Dwt {
        let whole = |comparator: u8, size: u8, low: u32| {
            let known = self.comparators.get(usize::from(comparator)).copied().flatten();
            let mask = 1u32.checked_shl(u32::from(size) * 8).map_or(u32::MAX, |bit| bit - 1);
            known.filter(|_| size < 4).map(|known| known & !mask | low & mask)
        };
        match event {
            Dwt::DataAddress { comparator, size, address } => whole(comparator, size, address)
                .map_or(event, |address| Dwt::DataAddress { comparator, size: 4, address }),
            // The comparator of a PC may have the address of the data.
            event => event,
        }
    }

    /// What the signals are of.
    pub fn origins(&self) -> impl Iterator<Item = Origin> {
        self.signals.keys().copied()
    }

    /// The names of all values.
    pub fn columns(&self) -> Vec<String> {
        self.signals.values().flat_map(|(signal, _)| signal.columns()).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty()
    }

    /// Packets were lost: structures that are not complete will not be.
    pub fn lose(&mut self) {
        self.signals.values_mut().for_each(|(_, bytes)| bytes.clear());
    }

    /// What `value` of `bits` bits is, which `origin` has sent.
    pub fn meaning(&mut self, origin: Origin, bits: u8, value: u64) -> Meaning {
        let Some((signal, bytes)) = self.signals.get_mut(&origin) else { return Meaning::Unknown };
        let scalar = match &signal.kind {
            SignalType::Text => return Meaning::Text,
            SignalType::Raw => return Meaning::Raw,
            SignalType::Pointer => {
                return Meaning::Values(vec![signal.value("", Reading::Address(value))]);
            }
            SignalType::Enumeration(names) => {
                // A name may be that of a negative number.
                let signed = extended(value, bits);
                let number = if names.contains_key(&signed) { signed } else { value.into() };
                let reading = match names.get(&number) {
                    Some(name) => Reading::Named(number, name.clone()),
                    None => Reading::Integer(number),
                };
                return Meaning::Values(vec![signal.value("", reading)]);
            }
            SignalType::Structure(members) => {
                push(bytes, bits, value);
                let values = structures(members, bytes);
                let values = values.into_iter().map(|(name, reading)| signal.value(&name, reading));
                return Meaning::Values(values.collect());
            }
            SignalType::Number(scalar) => *scalar,
        };
        if scalar.bits() > 32 && bits <= 32 {
            push(bytes, bits, value);
            let size = usize::from(scalar.bits() / 8);
            let Some(whole) = bytes.get(..size) else { return Meaning::Values(Vec::new()) };
            let reading = scalar.reading(number(whole), scalar.bits());
            bytes.drain(..size);
            return Meaning::Values(
                reading.map(|reading| signal.value("", reading)).into_iter().collect(),
            );
        }
        match scalar.reading(value, bits) {
            Some(reading) => Meaning::Values(vec![signal.value("", reading)]),
            None => Meaning::Raw,
        }
    }
}

impl Signal {
    fn value(&self, member: &str, reading: Reading) -> Value {
        let reading = match reading {
            Reading::Integer(_) | Reading::Real(_) | Reading::Single(_)
                if self.scale != 1.0 || self.offset != 0.0 =>
            {
                Reading::Real(reading.number() * self.scale + self.offset)
            }
            reading => reading,
        };
        let name = match member {
            "" => self.name.clone(),
            member => format!("{}.{member}", self.name),
        };
        let (origin, unit, width) = (self.origin, self.unit.clone(), self.width(member));
        Value { origin, name, reading, unit, width }
    }

    /// The number of bits of the values of `member`, where all are whole and not negative.
    fn width(&self, member: &str) -> Option<u8> {
        let of = |scalar: &Scalar| match scalar {
            Scalar::Unsigned(bits) if self.scale == 1.0 && self.offset == 0.0 => Some(*bits),
            _ => None,
        };
        match &self.kind {
            SignalType::Pointer => Some(32),
            SignalType::Enumeration(names) => {
                names.keys().next().is_some_and(|least| *least >= 0).then_some(32)
            }
            SignalType::Number(scalar) => of(scalar),
            SignalType::Structure(members) => {
                let named = |other: &&Member| other.name.as_deref() == Some(member);
                members.iter().find(named).and_then(|member| of(&member.scalar))
            }
            SignalType::Text | SignalType::Raw => None,
        }
    }
}

impl Scalar {
    /// The number that was sent as `value` of `bits` bits. `None` where it cannot be one of this
    /// type: a wider one, or a part of a floating-point or fixed-point number. The sign of an
    /// integer is that of the width that was sent.
    fn reading(self, value: u64, bits: u8) -> Option<Reading> {
        let own = self.bits();
        match self {
            Scalar::Unsigned(_) => {
                (own >= bits || value >> own == 0).then_some(Reading::Integer(value.into()))
            }
            Scalar::Signed(_) => {
                let number = extended(value, bits.min(64));
                let limit = 1i128 << (own - 1);
                (-limit..limit).contains(&number).then_some(Reading::Integer(number))
            }
            Scalar::Float(32) if bits == 32 => Some(Reading::Single(f32::from_bits(value as u32))),
            Scalar::Float(64) if bits == 64 => Some(Reading::Real(f64::from_bits(value))),
            Scalar::Float(_) => None,
            Scalar::Fixed { fraction, .. } => {
                let number = extended(value, bits.min(64));
                let limit = 1i128 << (own - 1);
                let fits = bits >= own && (-limit..limit).contains(&number);
                fits.then(|| Reading::Real(number as f64 / 2f64.powi(fraction.into())))
            }
        }
    }
}

/// `value` of `bits` bits, with its sign.
fn extended(value: u64, bits: u8) -> i128 {
    let unused = 128 - u32::from(bits.clamp(1, 64));
    (i128::from(value) << unused) >> unused
}

fn push(bytes: &mut Vec<u8>, bits: u8, value: u64) {
    let size = usize::from(bits / 8).min(8);
    bytes.extend(value.to_le_bytes().iter().take(size));
}

/// A little-endian number of at most 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Takes whole structures from the beginning of `bytes`. Bytes that cannot begin one are removed.
fn structures(members: &[Member], bytes: &mut Vec<u8>) -> Vec<(String, Reading)> {
    let size: usize = members.iter().map(|member| usize::from(member.scalar.bits() / 8)).sum();
    let mut values = Vec::new();
    while let Some(whole) = bytes.get(..size).filter(|_| size > 0) {
        let (mut rest, mut found, mut fits) = (whole, Vec::new(), true);
        for member in members {
            let bits = member.scalar.bits();
            let Some((own, after)) = rest.split_at_checked(usize::from(bits / 8)) else { break };
            rest = after;
            match (member.constant, &member.name) {
                (Some(constant), _) => fits &= number(own) == constant,
                (None, Some(name)) => {
                    let reading = member.scalar.reading(number(own), bits);
                    found.extend(reading.map(|reading| (name.clone(), reading)));
                }
                (None, None) => {}
            }
        }
        if fits {
            values.extend(found);
        }
        bytes.drain(..if fits { size } else { 1 });
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of writes to port 1: width and value of each.
    fn values(kind: &str, writes: &[(u8, u64)]) -> Vec<String> {
        let mut signals = Signals::new([format!("1={kind}").parse::<Signal>().unwrap()]);
        let mut out = Vec::new();
        for &(bits, value) in writes {
            match signals.meaning(Origin::Port(1), bits, value) {
                Meaning::Values(values) => out.extend(values.into_iter().map(|value| {
                    let reading = match value.reading {
                        Reading::Real(number) => format!("{number:?}"),
                        Reading::Named(number, name) => format!("{name} ({number})"),
                        other => other.to_string(),
                    };
                    format!("{} {reading}{}", value.name, value.unit)
                })),
                other => out.push(format!("{other:?}")),
            }
        }
        out
    }

    #[test]
    fn numbers_have_the_sign_of_their_width() {
        let name = |text: &str| text.replace("=", " ");
        for (kind, bits, value, want) in [
            ("u8", 8, 0xff, "port1=255"),
            ("u8", 32, 0x41, "port1=65"),
            ("u8", 32, 0x141, "Raw"),
            ("i32", 8, 0xff, "port1=-1"),
            ("i32", 32, 0x8000_0000, "port1=-2147483648"),
            ("i16", 32, 0xffff_8000, "port1=-32768"),
            ("i16", 32, 0x8000, "Raw"),
            ("u64", 64, u64::MAX, "port1=18446744073709551615"),
            ("f32", 32, 0x4141_3f7d, "port1=12.078"),
            ("f32", 16, 0x3f80, "Raw"),
            ("q8.8", 16, 0xff80, "port1=-0.5"),
            ("q8.8", 32, 0x180, "port1=1.5"),
            ("q16.16", 16, 0x180, "Raw"),
            ("ptr", 32, 0x2000_0000, "port1=0x20000000"),
            ("raw", 8, 0x41, "Raw"),
            ("text", 8, 0, "Text"),
            ("i16,scale=0.5,offset=1,unit=V", 16, 0xfffe, "port1=0.0V"),
            ("enum{0=idle,-1=error}", 8, 0xff, "port1=error (-1)"),
            ("enum{255=full}", 8, 0xff, "port1=full (255)"),
            ("enum{0=idle}", 8, 7, "port1=7"),
        ] {
            assert_eq!(values(kind, &[(bits, value)]), [name(want)], "{kind} {value:#x}");
        }
    }

    #[test]
    fn structures_and_wide_numbers_are_joined() {
        let writes = [(8, 1), (16, 0x0203), (8, 4), (32, 0x0403_0201)];
        let want = ["port1.a 513", "port1.b 1027", "port1.a 513", "port1.b 1027"];
        let bytes = [(16, 0x0201), (8, 3), (8, 4), (32, 0x0403_0201)];
        assert_eq!(values("struct{u16 a; u16 b}", &bytes), want);
        assert_eq!(values("struct{u16 a; u16 b}", &writes).len(), 4);
        let want = [format!("port1 {:?}", 1.5)];
        assert_eq!(values("f64", &[(32, 0), (32, 0x3ff8_0000)]), want);
        // The constant finds the beginning.
        let writes = [(8, 9), (8, 0xa5), (8, 1), (8, 0xa5), (8, 2), (8, 3)];
        assert_eq!(values("struct{u8=0xa5; i8 x}", &writes), ["port1.x 1", "port1.x 2"]);
    }

    /// The upper bytes of an address are those of the comparator.
    #[test]
    fn comparators_complete_addresses() {
        let known = [Some(0x2000_1044), None, None, None];
        let signals = Signals::default().with_comparators(known);
        for (comparator, size, address, want) in [
            (0, 1, 0x40, (4, 0x2000_1040)),
            (0, 2, 0x1042, (4, 0x2000_1042)),
            (0, 4, 0x3000_0000, (4, 0x3000_0000)),
            (1, 2, 0x1042, (2, 0x1042)),
        ] {
            let event = Dwt::DataAddress { comparator, size, address };
            let (size, address) = want;
            let want = Dwt::DataAddress { comparator, size, address };
            assert_eq!(signals.completed(event), want);
        }
        let pc = |size, pc| Dwt::DataPc { comparator: 0, size, pc };
        assert_eq!(signals.completed(pc(1, 0x34)), pc(1, 0x34));
    }

    #[test]
    fn a_loss_ends_a_structure() {
        let mut signals = Signals::new(["1=struct{u16 a}".parse::<Signal>().unwrap()]);
        signals.meaning(Origin::Port(1), 8, 1);
        signals.lose();
        signals.meaning(Origin::Port(1), 8, 2);
        let found = signals.meaning(Origin::Port(1), 8, 3);
        let Meaning::Values(values) = found else { panic!("{found:?}") };
        assert_eq!(values[0].reading, Reading::Integer(0x0302));
        assert_eq!(signals.meaning(Origin::Port(2), 8, 2), Meaning::Unknown);
    }
}
