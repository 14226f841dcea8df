//! Parameters as text: `name = value` lines, as a TOML file of one table or an `.scf` file has them.

use alloc::string::String;
use core::fmt::{self, Write};

use super::{PARAMETERS, Parameter, Params, Profile, Version, table};

/// Why a parameter could not be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The line is not `name = value`.
    NotAssignment,
    /// No parameter has this name.
    Unknown(String),
    /// The parameter cannot have this value.
    Value(&'static Parameter, String),
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Parameter {}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::NotAssignment => f.write_str("not `name = value`"),
            Wrong::Unknown(name) => {
                write!(f, "no parameter is called `{name}`; there are")?;
                PARAMETERS.iter().try_for_each(|p| write!(f, " {}", p.name()))
            }
            Wrong::Value(known, value) => {
                write!(f, "`{}` cannot be `{value}`; it is ", known.name())?;
                match known.words() {
                    [] => write!(f, "a number from {} to {}", known.least, known.most),
                    words => {
                        f.write_str("one of")?;
                        words.iter().try_for_each(|(_, word)| write!(f, " {word}"))
                    }
                }
            }
        }
    }
}

/// A line that is not a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Its number, from 1.
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
    /// The number of parameter `name` when it is `value`: a word of its own, `true` or `false`, or a
    /// number, decimal or hexadecimal.
    ///
    /// # Errors
    /// [`Wrong`] where there is no such parameter, or it cannot have that value.
    pub fn number(name: &str, value: &str) -> Result<(&'static Parameter, u64), Wrong> {
        let known = table::named(name).ok_or_else(|| Wrong::Unknown(name.into()))?;
        let word = known.words().iter().find(|(_, word)| word.eq_ignore_ascii_case(value));
        let number = match word {
            Some((number, _)) => Some(*number),
            None => parse(value),
        };
        let number = number.filter(|number| known.takes(*number));
        number.map(|number| (known, number)).ok_or_else(|| Wrong::Value(known, value.into()))
    }

    /// Sets one parameter. [`from_text`](Self::from_text) knows the defaults of versions and profiles.
    ///
    /// # Errors
    /// [`Wrong`] where there is no such parameter, or it cannot have that value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        let (known, number) = Params::number(name, value)?;
        (known.set)(self, number);
        Ok(())
    }

    /// The assignments of a text, each with its line: a TOML file of one table, or an `.scf` file.
    /// `[section]`s and what follows `#` are passed over; a value may be in quotes.
    pub fn assignments(text: &str) -> impl Iterator<Item = (usize, Option<(&str, &str)>)> {
        (1..).zip(text.lines()).filter_map(|(n, line)| {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('[') {
                return None;
            }
            let pair = line.split_once('=').map(|(name, value)| {
                (name.trim().trim_matches('"'), value.trim().trim_matches(['"', '\'']))
            });
            Some((n, pair))
        })
    }

    /// Reads a text of `name = value` lines, in whatever order.
    ///
    /// # Errors
    /// [`Malformed`] for the first line that is none, with its number. Names that only an `.scf` file
    /// has, and that say nothing of a trace, are passed over.
    pub fn from_text(text: &str) -> Result<Params, Malformed> {
        let mut numbers = [None; PARAMETERS.len()];
        for (line, pair) in Params::assignments(text) {
            let at = |why| Malformed { line, why };
            let (name, value) = pair.ok_or_else(|| at(Wrong::NotAssignment))?;
            if Params::passes_over(name) {
                continue;
            }
            let (known, number) = Params::number(name, value).map_err(at)?;
            let place = PARAMETERS.iter().position(|p| p == known);
            if let Some(slot) = place.and_then(|at| numbers.get_mut(at)) {
                *slot = Some(number);
            }
        }
        let find = |name: &str| {
            let place = PARAMETERS.iter().position(|p| p.name() == name)?;
            *numbers.get(place)?
        };
        let params = Params::from_registers(&find);
        Ok(params.unwrap_or_else(|_| Params::new(Version::V2_0, Profile::Spec, true)))
    }

    /// Only an `.scf` file has this name, and it says nothing of a trace.
    pub fn passes_over(name: &str) -> bool {
        PASSED_OVER.contains(&name)
    }

    /// Writes them so that [`from_text`](Self::from_text) reads the same.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for parameter in PARAMETERS {
            let Some(value) = (parameter.get)(self) else { continue };
            let word = parameter.words().iter().find(|(number, _)| *number == value);
            let _ = match word {
                Some((_, word @ ("true" | "false"))) => {
                    writeln!(text, "{} = {word}", parameter.name())
                }
                Some((number, word)) if parse(word) == Some(*number) => {
                    writeln!(text, "{} = {word}", parameter.name())
                }
                Some((_, word)) => writeln!(text, "{} = \"{word}\"", parameter.name()),
                None if value > 0xffff => writeln!(text, "{} = {value:#x}", parameter.name()),
                None => writeln!(text, "{} = {value}", parameter.name()),
            };
        }
        text
    }
}

/// Names in the reference flow's `.scf` files that no packet depends on.
const PASSED_OVER: &[&str] = &["arch_p", "filter_time_p", "retires_p"];

/// A number, as TOML writes it.
fn parse(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}
