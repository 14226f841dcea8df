//! Parameters as text: `name = value` lines, as a TOML file of one table, an `.scf` file, or a list
//! of `SCF[name]=value` and `UCF[name]=value` lines has them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use tracewright_isa::rv::Opcode;
use tracewright_isa::rv::opcodes::WrongOpcode;

use super::{PARAMETERS, Parameter, Params, UnknownUnit};

/// The parameters that are text.
pub const TEXTS: &[(&str, &str)] =
    &[(CUSTOM, "a custom opcode, as name=cv.beqimm mask=0x707f match=0x600b kind=branch offset=B")];

/// The name of the parameter for custom opcodes.
const CUSTOM: &str = "custom";

/// Why a parameter is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The line is not `name = value`.
    NotAssignment,
    /// No parameter has this name.
    Unknown(String),
    /// The parameter cannot have this value.
    Value(&'static Parameter, String),
    /// The text is not an opcode.
    Opcode(String, WrongOpcode),
    /// No trace unit has the version and the profile.
    Unit(UnknownUnit),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::NotAssignment => f.write_str("not `name = value`"),
            Wrong::Unknown(name) => {
                write!(f, "no parameter is called `{name}`; there are")?;
                PARAMETERS.iter().try_for_each(|p| write!(f, " {}", p.name()))?;
                TEXTS.iter().try_for_each(|(name, _)| write!(f, " {name}"))
            }
            Wrong::Opcode(opcode, why) => write!(f, "`{opcode}`: {why}"),
            Wrong::Unit(unit) => unit.fmt(f),
            Wrong::Value(known, value) => {
                write!(f, "`{}` cannot be `{value}`; it is {}", known.name(), known.values())
            }
        }
    }
}

/// A line that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The line number, from 1.
    pub line: usize,
    /// Why.
    pub why: Wrong,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl Params {
    /// Sets one parameter, and no other: only [`from_text`](Self::from_text) applies the defaults
    /// of versions and profiles.
    ///
    /// # Errors
    /// [`Wrong`] if there is no such parameter, or it does not have that value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        let (known, number) = Params::number(name, value)?;
        (known.set)(self, number);
        Ok(())
    }

    /// Sets a parameter with a text: one of [`TEXTS`]. `None` if there is no such parameter.
    ///
    /// # Errors
    /// [`Wrong`] if the text is malformed.
    pub fn set_text(&mut self, name: &str, text: &str) -> Option<Result<(), Wrong>> {
        if !name.eq_ignore_ascii_case(CUSTOM) {
            return None;
        }
        let taken = text.parse().and_then(|opcode| self.extensions.opcodes.push(opcode));
        Some(taken.map_err(|why| Wrong::Opcode(text.into(), why)))
    }

    /// Reads `name = value` lines in any order: a TOML file of one table, an `.scf` file, or a list
    /// of `SCF[name]=value` and `UCF[name]=value` lines.
    /// `[section]`s and comments after `#` are ignored. A value may be in quotes. The lines after
    /// `[[custom]]` are a custom opcode.
    ///
    /// Names of `.scf` files that no packet depends on are ignored.
    ///
    /// # Errors
    /// [`Malformed`] for the first line that is refused.
    pub fn from_text(text: &str) -> Result<Params, Malformed> {
        // The value of each parameter, and its line.
        let mut numbers = [None; PARAMETERS.len()];
        let mut texts: Vec<(usize, &str, String)> = Vec::new();
        // Whether the lines belong to the last of the texts.
        let mut inside = false;
        for (line, words) in (1..).zip(text.lines()) {
            let at = |why| Malformed { line, why };
            let words = words.split('#').next().unwrap_or_default().trim();
            if words.starts_with('[') {
                let name = words.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
                inside = name.is_some();
                texts.extend(name.map(|name| (line, name.trim(), String::new())));
                continue;
            }
            if words.is_empty() {
                continue;
            }
            let pair = words.split_once('=').ok_or_else(|| at(Wrong::NotAssignment))?;
            let name = pair.0.trim().trim_matches('"');
            let value = pair.1.trim().trim_matches(['"', '\'']);
            if inside && let Some((.., text)) = texts.last_mut() {
                let _ = write!(text, " {name}=");
                text.extend(value.split_whitespace());
                continue;
            }
            if TEXTS.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                texts.push((line, name, value.into()));
                continue;
            }
            if Params::ignores(name) {
                continue;
            }
            let (known, number) = Params::number(name, value).map_err(at)?;
            let index = PARAMETERS.iter().position(|p| p == known);
            if let Some(slot) = index.and_then(|at| numbers.get_mut(at)) {
                *slot = Some((line, number));
            }
        }
        let find = |name: &str| {
            let index = PARAMETERS.iter().position(|p| p.name() == name)?;
            *numbers.get(index)?
        };
        let params = Params::from_registers(&|name| find(name).map(|(_, number)| number));
        let mut params = params.map_err(|unit| Malformed {
            line: find("version").map_or(0, |(line, _)| line),
            why: Wrong::Unit(unit),
        })?;
        for (line, name, text) in texts {
            let set = params.set_text(name, text.trim());
            let set = set.unwrap_or_else(|| Err(Wrong::Unknown(name.into())));
            set.map_err(|why| Malformed { line, why })?;
        }
        Ok(params)
    }

    /// Writes the parameters in the form that [`from_text`](Self::from_text) reads.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for parameter in PARAMETERS {
            let Some(value) = (parameter.get)(self) else { continue };
            let word = parameter.words().iter().find(|(number, _)| *number == value);
            let _ = match word {
                Some((_, word @ ("true" | "false"))) => {
                    writeln!(text, "{} = {word}", parameter.name())
                }
                Some((number, word)) if crate::parameter::parse_number(word) == Some(*number) => {
                    writeln!(text, "{} = {word}", parameter.name())
                }
                Some((_, word)) => writeln!(text, "{} = \"{word}\"", parameter.name()),
                None if value > 0xffff => writeln!(text, "{} = {value:#x}", parameter.name()),
                None => writeln!(text, "{} = {value}", parameter.name()),
            };
        }
        for opcode in self.extensions.opcodes.as_slice() {
            let _ = write!(text, "\n[[{CUSTOM}]]\n{}", Lines(*opcode));
        }
        text
    }
}

/// An opcode in the form of a TOML table.
struct Lines(Opcode);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = alloc::format!("{}", self.0);
        let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
        pairs.clone().try_for_each(|(key, value)| {
            let number = value.starts_with(|c: char| c.is_ascii_digit()) && key != "offset";
            let quote = if number { "" } else { "\"" };
            writeln!(f, "{key} = {quote}{value}{quote}")
        })
    }
}
