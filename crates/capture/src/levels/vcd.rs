//! Value Change Dump. (IEEE 1364-2005, clause 18)
//!
//! The levels at a moment are those after all changes with its time.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use super::port::Port;
use super::signals::Signals;
use crate::plain::line;

/// The greatest length of a word, and of the names of all scopes around a variable.
const MAX_WORD: usize = 1 << 12;
/// The greatest number of bits of a variable that can have signals of a port.
const MAX_BITS: u32 = 1 << 10;

/// Selects signals of a recording.
pub(super) trait Select {
    /// The numbers from 0 that a signal can have in a vector with the name `name`; 0 for another.
    fn vector(&self, scope: &str, name: &str) -> u32;

    /// The bit of levels of the signal with the name `name`, and with the number `index` where it
    /// is one of several. `None` for another signal.
    fn find(&mut self, scope: &str, name: &str, index: Option<u32>) -> Result<Option<u8>, String>;
}

impl Select for Signals {
    fn vector(&self, scope: &str, name: &str) -> u32 {
        Signals::vector(self, scope, name)
    }

    fn find(&mut self, scope: &str, name: &str, index: Option<u32>) -> Result<Option<u8>, String> {
        Signals::find(self, scope, name, index)
    }
}

/// Reads the recording of a port.
pub(super) fn read(file: impl Read, signals: &mut Signals, port: &mut Port) -> Result<(), String> {
    let mut dump = Dump::open(file, signals)?;
    if let Some(width) = signals.check()? {
        port.set_width(width);
    }
    dump.each(&mut |_, levels, unknown| port.levels(levels, unknown))
}

/// A recording after its header.
pub(super) struct Dump<R> {
    words: Words<BufReader<R>>,
    variables: Variables,
    /// Units of time in a second, if they are stated.
    pub(super) rate: Option<u64>,
}

/// Receives the time of levels, the levels, and those that are not known.
pub(super) type Take<'a> = dyn FnMut(u64, u128, u128) -> Result<(), String> + 'a;

impl<R: Read> Dump<R> {
    /// Reads the header, and selects the signals.
    pub(super) fn open(file: R, signals: &mut impl Select) -> Result<Dump<R>, String> {
        let mut words = Words { file: BufReader::with_capacity(1 << 16, file), word: Vec::new() };
        let (variables, rate) = header(&mut words, signals)?;
        Ok(Dump { words, variables, rate })
    }

    /// Passes the levels after all changes of each time to `take`.
    pub(super) fn each(&mut self, take: &mut Take<'_>) -> Result<(), String> {
        let Dump { words, variables, .. } = self;
        let (mut levels, mut unknown) = (0u128, 0u128);
        for bit in variables.values().flatten().flatten() {
            unknown |= 1 << bit;
        }
        let (mut changed, mut time) = (false, 0);
        while words.next()? {
            let (kind, rest) = match words.word.split_first() {
                Some((kind, rest)) => (*kind, rest),
                None => continue,
            };
            match kind {
                b'#' => {
                    if changed {
                        take(time, levels, unknown)?;
                    }
                    changed = false;
                    let digits = std::str::from_utf8(rest).ok().and_then(|text| text.parse().ok());
                    time = digits.unwrap_or(time);
                }
                b'0' | b'1' | b'x' | b'X' | b'z' | b'Z' => {
                    let bit = variables.get(rest).and_then(|bits| *bits.first()?);
                    if let Some(bit) = bit {
                        set(&mut levels, &mut unknown, bit, kind);
                        changed = true;
                    }
                }
                b'b' | b'B' => {
                    let value = rest.to_vec();
                    words.need("the identifier of a vector")?;
                    let Some(bits) = variables.get(words.word.as_slice()) else { continue };
                    let extension = match value.first() {
                        Some(b'0' | b'1') | None => b'0',
                        Some(other) => *other,
                    };
                    for (n, bit) in bits.iter().enumerate() {
                        let Some(bit) = bit else { continue };
                        let digit = value.iter().rev().nth(n).copied().unwrap_or(extension);
                        set(&mut levels, &mut unknown, *bit, digit);
                    }
                    changed = true;
                }
                b'r' | b'R' | b's' | b'S' => words.need("the identifier of a value")?,
                b'$' if rest == b"comment" => words.skip()?,
                b'$' => {}
                _ => return Err(format!("`{}` is not a change of a value", words.text())),
            }
        }
        // The recording lasts up to its last time.
        take(time, levels, unknown)
    }
}

fn set(levels: &mut u128, unknown: &mut u128, bit: u8, digit: u8) {
    let mask = 1u128 << bit;
    *levels &= !mask;
    *unknown &= !mask;
    match digit {
        b'0' => {}
        b'1' => *levels |= mask,
        _ => *unknown |= mask,
    }
}

/// The bits of levels of each variable with signals of the port, its least significant bit first.
type Variables = HashMap<Vec<u8>, Vec<Option<u8>>>;

fn header(
    words: &mut Words<impl BufRead>,
    signals: &mut impl Select,
) -> Result<(Variables, Option<u64>), String> {
    let (mut variables, mut rate) = (Variables::new(), None);
    let mut scopes: Vec<usize> = Vec::new();
    let mut scope = String::new();
    loop {
        words.need("$enddefinitions")?;
        match words.word.as_slice() {
            b"$enddefinitions" => {
                words.skip()?;
                return Ok((variables, rate));
            }
            b"$scope" => {
                words.need("the type of a scope")?;
                words.need("the name of a scope")?;
                scopes.push(scope.len());
                scope.push_str(&words.text());
                scope.push('.');
                if scope.len() > MAX_WORD {
                    return Err(format!("names of scopes have more than {MAX_WORD} bytes"));
                }
                words.skip()?;
            }
            b"$upscope" => {
                scope.truncate(scopes.pop().unwrap_or(0));
                words.skip()?;
            }
            b"$var" => variable(words, signals, &scope, &mut variables)?,
            b"$timescale" => {
                let mut text = String::new();
                loop {
                    words.need("the end of $timescale")?;
                    if words.word == b"$end" || text.len() > MAX_WORD {
                        break;
                    }
                    text.push_str(&words.text());
                }
                rate = timescale(&text);
            }
            [b'$', ..] => words.skip()?,
            _ => {
                return Err(format!(
                    "`{}` is no section of a Value Change Dump; use a .vcd or .sr file",
                    words.text()
                ));
            }
        }
    }
}

/// The units in a second of a time scale: `10 ns`, `1us`.
fn timescale(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let in_second: u64 = match unit.trim() {
        "s" => 1,
        "ms" => 1_000,
        "us" => 1_000_000,
        "ns" => 1_000_000_000,
        "ps" => 1_000_000_000_000,
        "fs" => 1_000_000_000_000_000,
        _ => return None,
    };
    in_second.checked_div(number.parse().ok()?).filter(|rate| *rate > 0)
}

/// Reads a `$var` section after its first word.
fn variable(
    words: &mut Words<impl BufRead>,
    signals: &mut impl Select,
    scope: &str,
    variables: &mut Variables,
) -> Result<(), String> {
    words.need("the type of a variable")?;
    words.need("the size of a variable")?;
    let size: u32 = words
        .text()
        .parse()
        .map_err(|_| format!("`{}` is not the size of a variable", words.text()))?;
    words.need("the identifier of a variable")?;
    let id = words.word.clone();
    let mut name = String::new();
    loop {
        words.need("$end of a variable")?;
        if words.word == b"$end" {
            break;
        }
        name.push_str(&words.text());
        if name.len() > MAX_WORD {
            return Err(format!("the name of a variable has more than {MAX_WORD} bytes"));
        }
    }
    // A signal has the same identifier in all scopes that it is in.
    if size == 0 || size > MAX_BITS || variables.contains_key(&id) {
        return Ok(());
    }
    let range = name.strip_suffix(']').and_then(|name| {
        let (base, range) = name.rsplit_once('[')?;
        let (high, low) = range.split_once(':')?;
        Some((base, high.parse::<u32>().ok()?, low.parse::<u32>().ok()?))
    });
    let base = range.map_or(name.as_str(), |(base, _, _)| base);
    let most = signals.vector(scope, base);
    let mut bits = Vec::new();
    for n in 0..size {
        let index = match range {
            Some((_, high, low)) if high >= low => Some(low.saturating_add(n)),
            Some((_, _, low)) => Some(low.saturating_sub(n)),
            None if size > 1 => Some(n),
            None => None,
        };
        // Most variables are none of the port.
        bits.push(match index {
            Some(index) if index >= most => None,
            index => signals.find(scope, base, index)?,
        });
    }
    if bits.iter().any(Option::is_some) {
        variables.insert(id, bits);
    }
    Ok(())
}

/// The words of a file.
struct Words<R> {
    file: R,
    word: Vec<u8>,
}

impl<R: BufRead> Words<R> {
    /// Reads the next word. Whether there is one.
    fn next(&mut self) -> Result<bool, String> {
        self.word.clear();
        loop {
            let block = self.file.fill_buf().map_err(|error| error.to_string())?;
            if block.is_empty() {
                return Ok(!self.word.is_empty());
            }
            let blank = u8::is_ascii_whitespace;
            if self.word.is_empty() {
                let skipped = block.iter().take_while(|byte| blank(byte)).count();
                if skipped != 0 {
                    self.file.consume(skipped);
                    continue;
                }
            }
            let len = block.iter().position(blank);
            let (part, ends) = (block.get(..len.unwrap_or(block.len())), len.is_some());
            let part = part.unwrap_or_default();
            if self.word.len() + part.len() > MAX_WORD {
                return Err(format!("a word has more than {MAX_WORD} bytes"));
            }
            self.word.extend_from_slice(part);
            let read = part.len();
            self.file.consume(read);
            if ends {
                return Ok(true);
            }
        }
    }

    /// Reads the next word, which must exist.
    fn need(&mut self, what: &str) -> Result<(), String> {
        if self.next()? { Ok(()) } else { Err(format!("it ends before {what}")) }
    }

    /// Reads up to the end of a section.
    fn skip(&mut self) -> Result<(), String> {
        while self.word != b"$end" {
            self.need("the end of a section")?;
        }
        Ok(())
    }

    fn text(&self) -> String {
        line(&String::from_utf8_lossy(&self.word)).into_owned()
    }
}
