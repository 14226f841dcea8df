//! What the values of a stimulus port or of a comparator mean.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tracewright_base::Channel;

/// Where the values of a signal come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A stimulus port of an ITM; its page counts 32 ports.
    Port(u16),
    /// A channel of a master of an STM.
    Master(u16, u16),
    /// A comparator of the DWT: the values that are read and written where it matches.
    Comparator(u8),
}

impl Origin {
    /// The origin of what is written to `channel`. A page that is not known is 0. `None` for an STM
    /// of which the master or the channel is not known.
    pub fn of(channel: Channel) -> Option<Origin> {
        match channel {
            Channel::Port { page, port } => {
                Some(Origin::Port(u16::from(page.unwrap_or(0)) * 32 + u16::from(port)))
            }
            Channel::Master { master, channel } => Some(Origin::Master(master?, channel?)),
        }
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        origin(text.trim())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Port(port) => write!(f, "port{port}"),
            Origin::Master(master, channel) => write!(f, "m{master}c{channel}"),
            Origin::Comparator(number) => write!(f, "dwt{number}"),
        }
    }
}

/// A number of a size in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Unsigned, of 8, 16, 32 or 64 bits.
    Unsigned(u8),
    /// Signed.
    Signed(u8),
    /// Floating point, of 32 or 64 bits. (IEEE 754)
    Float(u8),
    /// Signed fixed point, of `whole + fraction` bits: 16 or 32.
    Fixed {
        /// Bits before the point, with the sign.
        whole: u8,
        /// Bits after the point.
        fraction: u8,
    },
}

impl Scalar {
    /// The number of bits.
    pub const fn bits(self) -> u8 {
        match self {
            Scalar::Unsigned(bits) | Scalar::Signed(bits) | Scalar::Float(bits) => bits,
            Scalar::Fixed { whole, fraction } => whole + fraction,
        }
    }

    /// Whether its values are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, Scalar::Unsigned(_) | Scalar::Signed(_))
    }
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its type.
    pub scalar: Scalar,
    /// Its name; `None` for one with a constant value.
    pub name: Option<String>,
    /// The value that it always has: it finds the beginning of the structure.
    pub constant: Option<u64>,
}

/// The type of a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalType {
    /// Text, whatever its bytes are.
    Text,
    /// Numbers as they were written, whatever they look like.
    Raw,
    /// Numbers.
    Number(Scalar),
    /// Numbers with names.
    Enumeration(BTreeMap<i128, String>),
    /// Addresses.
    Pointer,
    /// Structures without padding, whose bytes are written one after the other.
    Structure(Vec<Member>),
}

/// What the values of a port or a comparator mean:
/// `PORT|dwtN|MASTER:CHANNEL=TYPE[,name=N][,scale=S][,offset=O][,unit=U]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Where its values come from.
    pub origin: Origin,
    /// Their type.
    pub kind: SignalType,
    /// The name; without one, that of the origin.
    pub name: String,
    /// A value is the number multiplied by `scale`, plus `offset`.
    pub scale: f64,
    /// See `scale`.
    pub offset: f64,
    /// The unit of the values; may be empty.
    pub unit: String,
}

impl Signal {
    /// A signal with values as they are sent.
    pub fn new(origin: Origin, kind: SignalType, name: String) -> Signal {
        Signal { origin, kind, name, scale: 1.0, offset: 0.0, unit: String::new() }
    }

    /// The names of its values: one, or that of each member of a structure.
    pub fn columns(&self) -> Vec<String> {
        match &self.kind {
            SignalType::Text => Vec::new(),
            SignalType::Structure(members) => {
                let names = members.iter().filter_map(|member| member.name.as_deref());
                names.map(|name| format!("{}.{name}", self.name)).collect()
            }
            _ => vec![self.name.clone()],
        }
    }
}

impl FromStr for Signal {
    type Err = String;

    fn from_str(text: &str) -> Result<Signal, String> {
        let (origin, rest) = text.split_once('=').ok_or_else(|| {
            format!("`{text}` is not ORIGIN=TYPE, such as 3=f32,name=speed or dwt0=i16")
        })?;
        let origin = self::origin(origin.trim())?;
        let mut parts = top_level(rest, ',').into_iter();
        let kind = parts.next().unwrap_or_default();
        let mut signal = Signal::new(origin, kind.parse()?, origin.to_string());
        let number = |key: &str, value: &str| {
            let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("{key}: `{value}` is not a number"))
        };
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is not name=, scale=, offset= or unit="))?;
            let value = value.trim();
            match key.trim() {
                "name" if !value.is_empty() => signal.name = value.to_owned(),
                "scale" => signal.scale = number("scale", value)?,
                "offset" => signal.offset = number("offset", value)?,
                "unit" => signal.unit = value.to_owned(),
                other => {
                    return Err(format!(
                        "`{other}` is not name (of one character at least), scale, offset or unit"
                    ));
                }
            }
        }
        let is_scaled = signal.scale != 1.0 || signal.offset != 0.0;
        let has_scale = matches!(signal.kind, SignalType::Number(_) | SignalType::Structure(_));
        if is_scaled && !has_scale {
            return Err(format!("scale and offset are for numbers, not for `{kind}`"));
        }
        Ok(signal)
    }
}

fn origin(text: &str) -> Result<Origin, String> {
    let wrong = || {
        format!(
            "`{text}` is not a port from 0 to 8191, a comparator from dwt0 to dwt3, or \
             MASTER:CHANNEL of an STM"
        )
    };
    if let Some((master, channel)) = text.split_once(':') {
        let number = |text: &str| text.trim().parse().map_err(|_| wrong());
        return Ok(Origin::Master(number(master)?, number(channel)?));
    }
    if let Some(number) = text.strip_prefix("dwt").or_else(|| text.strip_prefix("DWT")) {
        let number = number.parse().ok().filter(|number| *number < 4);
        return number.map(Origin::Comparator).ok_or_else(wrong);
    }
    let port = text.parse().ok().filter(|port| *port < 256 * 32);
    port.map(Origin::Port).ok_or_else(wrong)
}

/// The parts of `text` between separators outside of braces.
fn top_level(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if c == separator && depth == 0 => {
                parts.push(text.get(from..at).unwrap_or_default().trim());
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text.get(from..).unwrap_or_default().trim());
    parts
}

/// The names of types, for messages.
const TYPES: &str = "text, raw, ptr, u8 to u64, i8 to i64, f32, f64, qM.N, enum{0=idle,1=run} or struct{u16 a; i16 b}";

impl FromStr for SignalType {
    type Err = String;

    fn from_str(text: &str) -> Result<SignalType, String> {
        let inside = |name: &str| {
            let rest = text.strip_prefix(name)?.trim_start();
            rest.strip_prefix('{')?.strip_suffix('}')
        };
        match text {
            "text" => return Ok(SignalType::Text),
            "raw" => return Ok(SignalType::Raw),
            "ptr" => return Ok(SignalType::Pointer),
            _ => {}
        }
        if let Some(list) = inside("enum") {
            return enumeration(list).map(SignalType::Enumeration);
        }
        if let Some(list) = inside("struct") {
            return structure(list).map(SignalType::Structure);
        }
        let scalar = text.parse().map_err(|()| format!("`{text}` is not a type: {TYPES}"))?;
        Ok(SignalType::Number(scalar))
    }
}

impl FromStr for Scalar {
    type Err = ();

    fn from_str(text: &str) -> Result<Scalar, ()> {
        let bits = |text: &str| match text {
            "8" => Some(8),
            "16" => Some(16),
            "32" => Some(32),
            "64" => Some(64),
            _ => None,
        };
        let (kind, rest) = text.split_at_checked(1).ok_or(())?;
        match kind {
            "u" => bits(rest).map(Scalar::Unsigned).ok_or(()),
            "i" => bits(rest).map(Scalar::Signed).ok_or(()),
            "f" => bits(rest).filter(|bits| *bits >= 32).map(Scalar::Float).ok_or(()),
            "q" => {
                let (whole, fraction) = rest.split_once('.').ok_or(())?;
                let (whole, fraction) = (whole.parse::<u8>(), fraction.parse::<u8>());
                let (whole, fraction) = (whole.map_err(|_| ())?, fraction.map_err(|_| ())?);
                match whole.checked_add(fraction) {
                    Some(8 | 16 | 32 | 64) if whole > 0 => Ok(Scalar::Fixed { whole, fraction }),
                    _ => Err(()),
                }
            }
            _ => Err(()),
        }
    }
}

fn integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(i128::from),
        None => text.parse::<i64>().ok().map(i128::from),
    }
}

fn enumeration(list: &str) -> Result<BTreeMap<i128, String>, String> {
    let mut names = BTreeMap::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let pair = part.split_once('=').map(|(value, name)| (value.trim(), name.trim()));
        let found = pair.and_then(|(value, name)| Some((integer(value)?, name)));
        let (value, name) = found.filter(|(_, name)| !name.is_empty()).ok_or_else(|| {
            format!("`{part}` is not a number and its name, such as 1=run, in `enum`")
        })?;
        names.insert(value, name.to_owned());
    }
    if names.is_empty() { Err("`enum` has no names".to_owned()) } else { Ok(names) }
}

/// The most bytes of a structure.
const MAX_STRUCTURE: usize = 1 << 10;

fn structure(list: &str) -> Result<Vec<Member>, String> {
    let mut members = Vec::new();
    for part in list.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = || {
            format!(
                "`{part}` is not a type and a name, such as i16 x, or a constant, such as u8=0xa5, in \
                 `struct`"
            )
        };
        let member = match part.split_once('=') {
            Some((kind, value)) => {
                let scalar: Scalar = kind.trim().parse().map_err(|()| wrong())?;
                let value = integer(value.trim()).and_then(|value| u64::try_from(value).ok());
                let fits = |value: &u64| scalar.bits() == 64 || *value >> scalar.bits() == 0;
                let constant = value.filter(fits).ok_or_else(wrong)?;
                Member { scalar, name: None, constant: Some(constant) }
            }
            None => {
                let (kind, name) = part.split_once(char::is_whitespace).ok_or_else(wrong)?;
                let scalar = kind.parse().map_err(|()| wrong())?;
                Member { scalar, name: Some(name.trim().to_owned()), constant: None }
            }
        };
        members.push(member);
    }
    let bytes: usize = members.iter().map(|member| usize::from(member.scalar.bits() / 8)).sum();
    if members.iter().all(|member| member.name.is_none()) {
        return Err("`struct` has no members".to_owned());
    }
    if bytes > MAX_STRUCTURE {
        return Err(format!("`struct` has more than {MAX_STRUCTURE} bytes"));
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_parsed() {
        let signal: Signal = "3=f32,name=speed,scale=0.5,offset=-1,unit=m/s".parse().unwrap();
        assert_eq!(signal.origin, Origin::Port(3));
        assert_eq!(signal.kind, SignalType::Number(Scalar::Float(32)));
        assert_eq!((signal.name.as_str(), signal.unit.as_str()), ("speed", "m/s"));
        assert_eq!((signal.scale, signal.offset), (0.5, -1.0));
        let signal: Signal = "dwt2=enum{0=idle, 0x10=run},name=state".parse().unwrap();
        assert_eq!(signal.origin, Origin::Comparator(2));
        let names = [(0, "idle".to_owned()), (16, "run".to_owned())];
        assert_eq!(signal.kind, SignalType::Enumeration(BTreeMap::from(names)));
        let signal: Signal = "40=struct{u8=0xa5; u16 t; q8.8 x},name=imu".parse().unwrap();
        assert_eq!(signal.columns(), ["imu.t", "imu.x"]);
        let signal: Signal = "65:2=raw".parse().unwrap();
        assert_eq!(
            (signal.origin, signal.columns()),
            (Origin::Master(65, 2), vec!["m65c2".into()])
        );
    }

    #[test]
    fn wrong_signals_are_refused() {
        for (text, why) in [
            ("3", "is not ORIGIN=TYPE"),
            ("9000=u8", "is not a port"),
            ("dwt4=u8", "is not a port"),
            ("3=u7", "is not a type"),
            ("3=f16", "is not a type"),
            ("3=q16.17", "is not a type"),
            ("3=é", "is not a type"),
            ("3=u8,colour=red", "is not name"),
            ("3=u8,red", "is not name="),
            ("3=u8,scale=nan", "is not a number"),
            ("3=text,scale=2", "are for numbers"),
            ("3=enum{}", "has no names"),
            ("3=enum{a=1}", "is not a number and its name"),
            ("3=struct{u8=1}", "has no members"),
            ("3=struct{u8=256;u8 a}", "is not a type and a name"),
        ] {
            let error = text.parse::<Signal>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
