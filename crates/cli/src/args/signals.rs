//! Options for the values of ports and comparators, and for clocks.

use clap::Args;
use tracewright::analysis::itm::{Origin, Scalar, Signal, SignalType, Signals};
use tracewright::capture::Capture;
use tracewright::symbols::{Variable, VariableType};

use crate::fail::Fail;

#[derive(Clone, Debug, Default, Args)]
pub struct SignalArgs {
    /// Type of the values of a stimulus port, a DWT comparator or an STM channel (repeatable):
    /// text, raw, ptr, u8 to u64, i8 to i64, f32, f64, qM.N, enum{0=idle,1=run},
    /// struct{u16 t; i16 x}, with ,name= ,scale= ,offset= ,unit=. Default: text where writes look
    /// like it, and numbers.
    #[arg(long = "type", value_name = "PORT|dwtN|MASTER:CHANNEL=TYPE[,KEY=VALUE]...")]
    pub types: Vec<Signal>,
    /// Variable of --image that a DWT comparator watches: its name and type, from DWARF, are those
    /// of the comparator's values (repeatable). Default of N: the comparator that has its address.
    #[arg(long = "watch", value_name = "[dwtN=]VARIABLE")]
    pub watched: Vec<String>,
}

impl SignalArgs {
    /// The signals: those of variables are in `programs`. `comparators`: the addresses in DWT_COMP0
    /// to DWT_COMP3, where they are known.
    pub fn signals(
        &self,
        programs: &Capture,
        comparators: [Option<u32>; 4],
    ) -> Result<Signals, Fail> {
        let mut signals = Vec::new();
        for text in &self.watched {
            let failed = |why: String| Fail::option("--watch", text, &why);
            let (given, name) = match text.split_once('=') {
                Some((origin, name)) => (Some(comparator(origin).map_err(failed)?), name),
                None => (None, text.as_str()),
            };
            let variable = find(programs, name).map_err(failed)?;
            let comparator = match given {
                Some(given) => given,
                None => watching(&variable, comparators)
                    .map_err(|why| failed(format!("{why}; give it with --watch dwtN={name}")))?,
            };
            let origin = Origin::Comparator(comparator);
            signals.push(Signal::new(origin, kind_of(variable.kind), name.to_owned()));
        }
        signals.extend(self.types.iter().cloned());
        Ok(Signals::new(signals).with_comparators(comparators))
    }
}

fn comparator(text: &str) -> Result<u8, String> {
    let number = text.trim().strip_prefix("dwt").and_then(|number| number.parse().ok());
    let number = number.filter(|number| *number < 4);
    number.ok_or_else(|| format!("`{text}` is not a comparator, dwt0 to dwt3"))
}

/// The variable `name` of the ELF files of `programs`.
fn find(programs: &Capture, name: &str) -> Result<Variable, String> {
    let mut why = "it is in no ELF file of --image".to_owned();
    for dump in &programs.memory {
        let Some(bytes) = dump.bytes.as_ref() else { continue };
        match Variable::of_elf(bytes, name) {
            Ok(Some(variable)) => {
                let address = variable.address.wrapping_add(dump.address);
                return Ok(Variable { address, ..variable });
            }
            Ok(None) => why = format!("{} has no such variable in its DWARF", dump.file),
            Err(error) => why = format!("{}: {error}", dump.file),
        }
    }
    Err(why)
}

/// The comparator whose address is in the variable.
fn watching(variable: &Variable, comparators: [Option<u32>; 4]) -> Result<u8, String> {
    let end = variable.address.saturating_add(variable.kind.size().unwrap_or(1).max(1));
    let is_inside = |known: Option<u32>| {
        known.is_some_and(|known| (variable.address..end).contains(&u64::from(known)))
    };
    let mut found = (0..).zip(comparators).filter(|(_, known)| is_inside(*known));
    match (found.next(), found.next()) {
        (Some((only, _)), None) => Ok(only),
        (Some(_), Some(_)) => Err("several comparators have an address in it".to_owned()),
        (None, _) if comparators.iter().all(Option::is_none) => Err(format!(
            "it is at {:#010x}, and the addresses of the comparators (DWT_COMP0 to DWT_COMP3) are not \
             known",
            variable.address
        )),
        (None, _) => Err(format!("no comparator has its address, {:#010x}", variable.address)),
    }
}

/// How the values of a variable are read.
fn kind_of(kind: VariableType) -> SignalType {
    let bits = |size: u64| u8::try_from(size * 8).ok().filter(|_| matches!(size, 1 | 2 | 4 | 8));
    let number = |scalar: fn(u8) -> Scalar, size| {
        bits(size).map_or(SignalType::Raw, |bits| SignalType::Number(scalar(bits)))
    };
    match kind {
        VariableType::Unsigned(size) => number(Scalar::Unsigned, size),
        VariableType::Signed(size) => number(Scalar::Signed, size),
        VariableType::Float(size @ (4 | 8)) => number(Scalar::Float, size),
        VariableType::Pointer(_) => SignalType::Pointer,
        VariableType::Enumeration(_, names) if !names.is_empty() => {
            SignalType::Enumeration(names.into_iter().collect())
        }
        VariableType::Float(_) | VariableType::Enumeration(..) | VariableType::Other(_) => {
            SignalType::Raw
        }
    }
}

/// A frequency: `72000000`, `72M`, `1.5 MHz`, `32768`.
pub fn hertz(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a frequency, such as 72000000, 72M or 32.768k");
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_suffix("hz").unwrap_or(&lower).trim_end();
    let (digits, factor) = match rest.char_indices().next_back() {
        Some((at, 'k')) => (&rest[..at], 1_000),
        Some((at, 'm')) => (&rest[..at], 1_000_000),
        Some((at, 'g')) => (&rest[..at], 1_000_000_000),
        _ => (rest, 1u64),
    };
    let digits = digits.trim_end().replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let scale = 10u64.pow(fraction.len() as u32);
    let part: u64 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| wrong())? };
    let all = whole.checked_mul(factor).ok_or_else(wrong)?;
    let all = all.checked_add(part.checked_mul(factor).ok_or_else(wrong)? / scale);
    all.filter(|hertz| *hertz > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies() {
        for (text, want) in [
            ("72000000", 72_000_000),
            ("72M", 72_000_000),
            ("72m", 72_000_000),
            ("1.5 MHz", 1_500_000),
            ("32.768k", 32_768),
            ("2GHz", 2_000_000_000),
            ("72_000_000", 72_000_000),
            ("1 Hz", 1),
        ] {
            assert_eq!(hertz(text), Ok(want), "{text}");
        }
        for wrong in ["", "0", "M", "72T", "-1", "1.2.3", "1e6", "99999999999999G", ".5M", "é"] {
            assert!(hertz(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_comparator_watches_the_variable_with_its_address() {
        let variable = Variable { address: 0x2000_0010, kind: VariableType::Unsigned(4) };
        let known = |n: usize, address| {
            let mut all = [None; 4];
            all[n] = Some(address);
            all
        };
        assert_eq!(watching(&variable, known(2, 0x2000_0012)), Ok(2));
        assert!(watching(&variable, known(2, 0x2000_0014)).unwrap_err().contains("no comparator"));
        assert!(watching(&variable, [None; 4]).unwrap_err().contains("not known"));
        assert!(watching(&variable, [Some(0x2000_0010); 4]).unwrap_err().contains("several"));
    }
}
