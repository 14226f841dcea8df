//! Custom opcodes of a processor, as a table of plain values.
//!
//! `mask` and `match` identify an opcode, as in opcode listings. Decoding needs its effect on
//! control flow: see [`Flow`].

use core::fmt;
use core::str::FromStr;

use tracewright_base::{Instruction, Isa, Kind, Role};

use crate::Make;

/// Capacity of a table.
pub const MAX_OPCODES: usize = 24;

/// The most ranges of bits in an offset.
const MAX_PARTS: usize = 8;

/// The most characters in a name.
const MAX_NAME: usize = 15;

/// A table of custom opcodes. The first matching entry applies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Opcodes {
    opcodes: [Opcode; MAX_OPCODES],
    len: u8,
}

impl Opcodes {
    /// The empty table.
    pub const NONE: Opcodes = Opcodes { opcodes: [Opcode::NONE; MAX_OPCODES], len: 0 };

    /// Adds an opcode.
    ///
    /// # Errors
    /// [`WrongOpcode::TooMany`] if the table has [`MAX_OPCODES`].
    pub fn push(&mut self, opcode: Opcode) -> Result<(), WrongOpcode> {
        let entry = self.opcodes.get_mut(usize::from(self.len)).ok_or(WrongOpcode::TooMany)?;
        *entry = opcode;
        self.len += 1;
        Ok(())
    }

    /// The opcodes, in the order of precedence.
    #[inline]
    pub fn as_slice(&self) -> &[Opcode] {
        self.opcodes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether the table is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first opcode that matches `bits`.
    #[inline]
    pub fn find(&self, bits: u64) -> Option<&Opcode> {
        self.as_slice().iter().find(|opcode| opcode.fits(bits))
    }
}

impl Default for Opcodes {
    fn default() -> Self {
        Opcodes::NONE
    }
}

impl fmt::Debug for Opcodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// A custom opcode, or a group of opcodes with equal effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Name of the instruction; empty for none.
    pub name: Name,
    /// The bits that identify the opcode.
    pub mask: u64,
    /// The values of these bits.
    pub bits: u64,
    /// Size in bytes: 2, 4, 6 or 8.
    pub size: u8,
    /// The effect on control flow.
    pub flow: Flow,
    /// The encoding of the offset to the target, for direct branches.
    pub offset: Option<Offset>,
}

/// The effect of a custom instruction on control flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// None: execution continues with the next instruction.
    #[default]
    Plain,
    /// A conditional branch, whose outcome is traced.
    Branch,
    /// An unconditional jump.
    Jump,
    /// A jump that writes its return address to a link register.
    Call,
    /// A jump that writes its return address to another register.
    Link,
    /// A return.
    Return,
    /// A jump through one link register that writes its return address to the other.
    Swap,
    /// A return from a trap.
    TrapReturn,
}

impl Flow {
    /// All effects, with their names.
    pub const WORDS: &'static [(Flow, &'static str)] = &[
        (Flow::Plain, "plain"),
        (Flow::Branch, "branch"),
        (Flow::Jump, "jump"),
        (Flow::Call, "call"),
        (Flow::Link, "link"),
        (Flow::Return, "return"),
        (Flow::Swap, "swap"),
        (Flow::TrapReturn, "trap-return"),
    ];

    /// The name of the effect.
    pub fn word(self) -> &'static str {
        Flow::WORDS.iter().find(|(flow, _)| *flow == self).map_or("", |(_, word)| word)
    }
}

/// The encoding of an offset in an opcode. The offset counts from the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Ranges of bits, high and low, the most significant range first.
    parts: [(u8, u8); MAX_PARTS],
    len: u8,
    /// The unit of the offset in bytes, a power of two. The most significant bit is the sign.
    scale: u8,
}

impl Offset {
    /// BEQ and the other branches: `31,7,30:25,11:8`.
    pub const B: Offset = Offset::of([(31, 31), (7, 7), (30, 25), (11, 8)]);
    /// JAL: `31,19:12,20,30:21`.
    pub const J: Offset = Offset::of([(31, 31), (19, 12), (20, 20), (30, 21)]);
    /// C.BEQZ and C.BNEZ: `12,6:5,2,11:10,4:3`.
    pub const CB: Offset = Offset::of([(12, 12), (6, 5), (2, 2), (11, 10), (4, 3)]);
    /// C.J and C.JAL: `12,8,10:9,6,7,2,11,5:3`.
    pub const CJ: Offset =
        Offset::of([(12, 12), (8, 8), (10, 9), (6, 6), (7, 7), (2, 2), (11, 11), (5, 3)]);

    const WORDS: [(Offset, &'static str); 4] =
        [(Offset::B, "B"), (Offset::J, "J"), (Offset::CB, "CB"), (Offset::CJ, "CJ")];

    const fn of<const N: usize>(given: [(u8, u8); N]) -> Offset {
        let mut parts = [(0, 0); MAX_PARTS];
        let mut n = 0;
        while n < N {
            parts[n] = given[n];
            n += 1;
        }
        Offset { parts, len: N as u8, scale: 2 }
    }

    fn parts(&self) -> &[(u8, u8)] {
        self.parts.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The offset in bytes.
    fn distance(&self, bits: u64) -> i64 {
        let (value, width) = self.parts().iter().fold((0, 0), |(value, width), &(high, low)| {
            let more = u32::from(high - low) + 1;
            let part = bits >> low & (!0 >> (64 - more));
            (value << more | part, width + more)
        });
        let unused = 64 - width;
        ((value << unused) as i64 >> unused).wrapping_mul(self.scale.into())
    }

    /// The highest bit of the encoding.
    fn highest(&self) -> u8 {
        self.parts().iter().map(|(high, _)| *high).max().unwrap_or(0)
    }

    fn parse(text: &str) -> Option<Offset> {
        if let Some((known, _)) = Offset::WORDS.iter().find(|(_, w)| w.eq_ignore_ascii_case(text)) {
            return Some(*known);
        }
        let mut offset = Offset { parts: [(0, 0); MAX_PARTS], len: 0, scale: 2 };
        let mut width = 0;
        for part in text.split(',') {
            let (high, low) = part.split_once(':').unwrap_or((part, part));
            let (high, low) = (bit(high)?, bit(low)?);
            if low > high {
                return None;
            }
            *offset.parts.get_mut(usize::from(offset.len))? = (high, low);
            offset.len += 1;
            width += high - low + 1;
        }
        // An offset wider than an address is invalid.
        (width < 62).then_some(offset)
    }
}

/// The number of a bit.
fn bit(text: &str) -> Option<u8> {
    text.parse().ok().filter(|bit| *bit < 64)
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unscaled = Offset { scale: 2, ..*self };
        if let Some((_, word)) = Offset::WORDS.iter().find(|(known, _)| *known == unscaled) {
            return f.write_str(word);
        }
        for (n, (high, low)) in self.parts().iter().enumerate() {
            f.write_str(if n > 0 { "," } else { "" })?;
            match high == low {
                true => write!(f, "{high}")?,
                false => write!(f, "{high}:{low}")?,
            }
        }
        Ok(())
    }
}

/// A name of limited length.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Name([u8; MAX_NAME]);

impl Name {
    /// The name `text`, or `None` if it is too long or has characters other than printable ASCII.
    pub fn new(text: &str) -> Option<Name> {
        let mut name = Name::default();
        let room = name.0.get_mut(..text.len())?;
        room.copy_from_slice(text.as_bytes());
        text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=').then_some(name)
    }

    /// The text; empty for no name.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&byte| byte == 0).unwrap_or(MAX_NAME);
        self.0.get(..len).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Opcode {
    const NONE: Opcode = Opcode {
        name: Name([0; MAX_NAME]),
        mask: 0,
        bits: 0,
        size: 0,
        flow: Flow::Plain,
        offset: None,
    };

    /// Whether `bits` begin with the opcode.
    #[inline]
    pub const fn fits(&self, bits: u64) -> bool {
        bits & self.mask == self.bits
    }

    /// The instruction with these bits at `address`.
    pub fn instruction(&self, isa: Isa, bits: u64, address: u64) -> Instruction {
        let make = Make { isa, size: self.size };
        let to = self
            .offset
            .map(|offset| address.wrapping_add_signed(offset.distance(bits)) & isa.address_mask());
        let role = match self.flow {
            Flow::Plain => return make.plain(),
            Flow::Branch | Flow::Jump => Role::Jump,
            Flow::Call => Role::Call,
            Flow::Link => Role::Link,
            Flow::Return => Role::Return,
            Flow::Swap => Role::Swap,
            Flow::TrapReturn => Role::ExceptionReturn,
        };
        Instruction {
            kind: if to.is_some() { Kind::Branch } else { Kind::Indirect },
            conditional: self.flow == Flow::Branch,
            target: to,
            ..make.indirect(role)
        }
    }

    /// An opcode from keys and values, as in [`FromStr`].
    ///
    /// # Errors
    /// [`WrongOpcode`] for the first invalid or missing key.
    pub fn of<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Opcode, WrongOpcode> {
        let (mut name, mut mask, mut bits) = (None, None, None);
        let (mut size, mut flow, mut offset) = (None, None, None);
        let mut scale = None;
        for (key, value) in pairs {
            let first = match key {
                "name" => set(&mut name, Key::Name, Name::new(value))?,
                "mask" => set(&mut mask, Key::Mask, number(value))?,
                "match" => set(&mut bits, Key::Match, number(value))?,
                "length" => {
                    let sizes = [2, 4, 6, 8];
                    set(&mut size, Key::Length, number(value).filter(|n| sizes.contains(n)))?
                }
                "kind" => {
                    let known = Flow::WORDS.iter().find(|(_, word)| *word == value);
                    set(&mut flow, Key::Kind, known.map(|(flow, _)| *flow))?
                }
                "offset" => set(&mut offset, Key::Offset, Offset::parse(value))?,
                "scale" => {
                    let scales = [1, 2, 4, 8];
                    set(&mut scale, Key::Scale, number(value).filter(|n| scales.contains(n)))?
                }
                _ => return Err(WrongOpcode::Unknown),
            };
            if !first {
                return Err(WrongOpcode::Twice);
            }
        }
        let (Some(mask), Some(bits)) = (mask, bits) else {
            let key = if mask.is_none() { Key::Mask } else { Key::Match };
            return Err(WrongOpcode::Missing(key));
        };
        let flow = flow.ok_or(WrongOpcode::Missing(Key::Kind))?;
        let size = size.map_or(super::size(bits as u16), |size| size as u8);
        let beyond = |bit: u8| bit >= size * 8;
        if bits & !mask != 0 {
            return Err(WrongOpcode::Unmasked);
        }
        if mask == 0 || mask.checked_shr(u32::from(size) * 8).unwrap_or(0) != 0 {
            return Err(WrongOpcode::Wrong(Key::Mask));
        }
        let targets = matches!(flow, Flow::Branch | Flow::Jump | Flow::Call | Flow::Link);
        match offset {
            None if flow == Flow::Branch => return Err(WrongOpcode::Missing(Key::Offset)),
            Some(_) if !targets => return Err(WrongOpcode::NoOffset),
            Some(offset) if beyond(offset.highest()) => {
                return Err(WrongOpcode::Wrong(Key::Offset));
            }
            None if scale.is_some() => return Err(WrongOpcode::Missing(Key::Offset)),
            _ => {}
        }
        let scaled = |offset| Offset { scale: scale.map_or(2, |scale| scale as u8), ..offset };
        Ok(Opcode {
            name: name.unwrap_or_default(),
            mask,
            bits,
            size,
            flow,
            offset: offset.map(scaled),
        })
    }
}

/// Sets a value. `false` if it is set already.
fn set<T>(place: &mut Option<T>, key: Key, value: Option<T>) -> Result<bool, WrongOpcode> {
    let value = value.ok_or(WrongOpcode::Wrong(key))?;
    Ok(place.replace(value).is_none())
}

/// A decimal, hexadecimal or binary number.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.get(..2) {
        Some("0x") => (text.get(2..)?, 16),
        Some("0b") => (text.get(2..)?, 2),
        _ => (text, 10),
    };
    // Single underscores may separate digits.
    let mut value = Some(0u64);
    let mut last = '_';
    for digit in digits.chars() {
        if digit != '_' {
            let digit = u64::from(digit.to_digit(radix)?);
            value = value.and_then(|v| v.checked_mul(radix.into())?.checked_add(digit));
        } else if last == '_' {
            return None;
        }
        last = digit;
    }
    value.filter(|_| last != '_')
}

/// Parses `name=cv.beqimm mask=0x707f match=0x600b kind=branch offset=B`. `name`, `length`,
/// `offset` and
/// `scale` are optional. The default length follows from the lowest bits.
impl FromStr for Opcode {
    type Err = WrongOpcode;

    fn from_str(text: &str) -> Result<Self, WrongOpcode> {
        let pair = |word: &'_ str| word.contains('=');
        if !text.split_whitespace().all(pair) {
            return Err(WrongOpcode::NoPair);
        }
        Opcode::of(text.split_whitespace().filter_map(|word| word.split_once('=')))
    }
}

/// The form that [`FromStr`] parses.
impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => {}
            name => write!(f, "name={name} ")?,
        }
        write!(f, "mask={:#x} match={:#x}", self.mask, self.bits)?;
        if self.size != super::size(self.bits as u16) {
            write!(f, " length={}", self.size)?;
        }
        write!(f, " kind={}", self.flow.word())?;
        match self.offset {
            Some(offset) if offset.scale != 2 => {
                write!(f, " offset={offset} scale={}", offset.scale)
            }
            Some(offset) => write!(f, " offset={offset}"),
            None => Ok(()),
        }
    }
}

/// A key of the description of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `name`.
    Name,
    /// `mask`.
    Mask,
    /// `match`.
    Match,
    /// `length`.
    Length,
    /// `kind`.
    Kind,
    /// `offset`.
    Offset,
    /// `scale`.
    Scale,
}

impl Key {
    /// All keys.
    const ALL: [Key; 7] =
        [Key::Name, Key::Mask, Key::Match, Key::Length, Key::Kind, Key::Offset, Key::Scale];

    const fn word(self) -> &'static str {
        match self {
            Key::Name => "name",
            Key::Mask => "mask",
            Key::Match => "match",
            Key::Length => "length",
            Key::Kind => "kind",
            Key::Offset => "offset",
            Key::Scale => "scale",
        }
    }
}

/// The reason that a description of an opcode is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongOpcode {
    /// The text is not a list of `name=value` pairs.
    NoPair,
    /// An unknown key.
    Unknown,
    /// A duplicate key.
    Twice,
    /// A key is missing.
    Missing(Key),
    /// An invalid value of a key.
    Wrong(Key),
    /// `match` has bits outside `mask`.
    Unmasked,
    /// An offset for a kind without a direct target.
    NoOffset,
    /// More than [`MAX_OPCODES`] opcodes.
    TooMany,
}

impl fmt::Display for WrongOpcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongOpcode::NoPair => f.write_str("it must be NAME=VALUE pairs with blanks between"),
            WrongOpcode::Unknown => {
                f.write_str("unknown key; the keys are")?;
                Key::ALL.iter().try_for_each(|key| write!(f, " {}", key.word()))
            }
            WrongOpcode::Twice => f.write_str("a key occurs twice"),
            WrongOpcode::Missing(key) => write!(f, "`{}` is missing", key.word()),
            WrongOpcode::Wrong(Key::Name) => {
                write!(f, "`name` must have 1 to {MAX_NAME} characters, without blanks and `=`")
            }
            WrongOpcode::Wrong(Key::Mask) => f.write_str(
                "`mask` must be a number, not 0, with no bits beyond the opcode's length",
            ),
            WrongOpcode::Wrong(Key::Match) => f.write_str("`match` must be a number"),
            WrongOpcode::Wrong(Key::Length) => {
                f.write_str("`length` must be 2, 4, 6 or 8, in bytes")
            }
            WrongOpcode::Wrong(Key::Kind) => {
                f.write_str("`kind` must be one of")?;
                Flow::WORDS.iter().try_for_each(|(_, word)| write!(f, " {word}"))
            }
            WrongOpcode::Wrong(Key::Offset) => write!(
                f,
                "`offset` must be B, J, CB, CJ, or at most {MAX_PARTS} ranges of the opcode's bits, the most \
                 significant first, as 31,7,30:25,11:8"
            ),
            WrongOpcode::Wrong(Key::Scale) => f.write_str("`scale` must be 1, 2, 4 or 8, in bytes"),
            WrongOpcode::Unmasked => f.write_str("`match` has bits that `mask` has not"),
            WrongOpcode::NoOffset => {
                f.write_str("`offset` is valid for branch, jump, call and link only; other kinds have no direct target")
            }
            WrongOpcode::TooMany => write!(f, "there are more than {MAX_OPCODES} opcodes"),
        }
    }
}

impl core::error::Error for WrongOpcode {}
