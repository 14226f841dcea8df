//! The header of a Value Change Dump: the variables that are signals of RVFI.

use std::collections::BTreeMap;

use tracewright_base::Isa;

use super::{FIELDS, MAX_BITS};
use crate::text::{Expected, Words, decimal};

/// The names of clocks.
const CLOCKS: [&str; 7] = ["clk", "clk_i", "clock", "rvfi_clk", "core_clk", "i_clk", "clock_i"];

/// The most characters of the name of a variable and of its scopes.
const MAX_NAME: usize = 1 << 12;

/// A signal.
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    /// The identifier of its variable.
    pub id: Vec<u8>,
    /// Its width in bits.
    pub bits: usize,
    /// The index of its value.
    pub value: usize,
}

/// The signals of a hart.
#[derive(Clone, Debug, Default)]
pub(super) struct Hart {
    prefix: String,
    /// The signals in the order of [`FIELDS`].
    pub signals: [Option<Signal>; FIELDS.len()],
    /// The order of the last instruction, for a dump without a clock.
    pub last: Option<Option<u64>>,
    /// The last instruction trapped.
    pub trapped: bool,
}

impl Hart {
    /// The signal of a field.
    pub fn signal(&self, field: &str) -> Option<&Signal> {
        let n = FIELDS.iter().position(|known| *known == field)?;
        self.signals.get(n)?.as_ref()
    }

    /// Instructions that retire at the same time at most.
    pub fn channels(&self) -> usize {
        self.signal("valid").map_or(1, |signal| signal.bits.max(1))
    }

    /// The instruction set by the width of addresses.
    pub fn isa(&self) -> Isa {
        let bits = self.signal("pc_rdata").map_or(0, |signal| signal.bits / self.channels());
        if bits > 32 { Isa::Rv64 } else { Isa::Rv32 }
    }

    fn is_whole(&self) -> bool {
        ["valid", "insn", "pc_rdata"].iter().all(|field| self.signal(field).is_some())
    }

    /// The scope of the signals, and the rest of their prefix.
    fn scope(&self) -> (&str, &str) {
        self.prefix.rsplit_once('.').unwrap_or(("", &self.prefix))
    }
}

/// Reads the declarations of a dump.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    /// The words of a declaration that has not ended.
    words: Vec<Vec<u8>>,
    scopes: Vec<String>,
    /// Signals by their prefix.
    harts: BTreeMap<String, Hart>,
    clocks: Vec<(String, Signal)>,
}

impl Header {
    /// Reads a line. Returns whether the header ends.
    pub fn line(&mut self, line: &[u8]) -> bool {
        let mut words = Words(line);
        while !words.is_empty() {
            let word = words.word();
            let word = word.strip_suffix(b"\r").unwrap_or(word);
            if word != b"$end" {
                self.words.push(word.to_vec());
                continue;
            }
            let declaration = std::mem::take(&mut self.words);
            let text = |n: usize| declaration.get(n).map(|word| String::from_utf8_lossy(word));
            match declaration.first().map(Vec::as_slice) {
                Some(b"$enddefinitions") => return true,
                Some(b"$scope") => self.scopes.push(text(2).unwrap_or_default().into_owned()),
                Some(b"$upscope") => drop(self.scopes.pop()),
                Some(b"$var") => {
                    let bits = declaration.get(2).and_then(|word| decimal(word));
                    let bits = bits.and_then(|bits| usize::try_from(bits).ok()).unwrap_or(0);
                    let id = declaration.get(3).cloned().unwrap_or_default();
                    let name = text(4).unwrap_or_default();
                    let name = name.split('[').next().unwrap_or_default().to_owned();
                    self.variable(&name, Signal { id, bits, value: 0 });
                }
                _ => {}
            }
        }
        false
    }

    fn variable(&mut self, name: &str, signal: Signal) {
        let scope = self.scopes.join(".");
        if scope.len() + name.len() > MAX_NAME || signal.bits == 0 || signal.bits > MAX_BITS {
            return;
        }
        if signal.bits == 1 && CLOCKS.contains(&name) {
            self.clocks.push((scope.clone(), signal.clone()));
        }
        for (n, field) in FIELDS.iter().enumerate() {
            let Some(local) = name.strip_suffix(field) else { continue };
            let prefix = format!("{scope}.{local}");
            let hart = self.harts.entry(prefix.clone()).or_default();
            hart.prefix = prefix;
            if let Some(slot) = hart.signals.get_mut(n) {
                slot.get_or_insert_with(|| signal.clone());
            }
        }
    }

    /// The harts of the dump, or those whose signals have `prefix`.
    ///
    /// # Errors
    /// There is none, or which signals are meant is not known.
    pub fn harts(&self, prefix: Option<&str>) -> Result<Vec<Hart>, Expected> {
        let whole = self.harts.values().filter(|hart| hart.is_whole());
        if let Some(prefix) = prefix {
            let named = whole.filter(|hart| {
                hart.prefix == prefix || hart.prefix.starts_with(&format!("{prefix}."))
            });
            let harts: Vec<Hart> = outermost(named.cloned().collect());
            return if harts.is_empty() {
                Err(Expected(
                    "signals `valid`, `insn` and `pc_rdata` whose names begin with the prefix",
                ))
            } else {
                Ok(harts)
            };
        }
        let mut harts: Vec<Hart> = whole.cloned().collect();
        // Internal signals of a core have other prefixes, such as `rvfi_stage_`.
        for usual in ["rvfi_", "rvvi_"] {
            if harts.iter().any(|hart| hart.scope().1 == usual) {
                harts.retain(|hart| hart.scope().1 == usual);
                break;
            }
        }
        let harts = outermost(harts);
        let names = harts.iter().map(|hart| without_numbers(&hart.prefix));
        let mut names: Vec<String> = names.collect();
        names.dedup();
        match names.len() {
            0 => Err(Expected(
                "signals of RVFI: `valid`, `insn` and `pc_rdata` with a common prefix, such as `rvfi_`",
            )),
            1 => Ok(harts),
            _ => Err(Expected(
                "the signals of one RVFI; there are several, and the prefix of their names selects one",
            )),
        }
    }

    /// The clock in the scope of a hart's signals, or in the nearest scope around it.
    pub fn clock(&self, hart: &Hart) -> Option<Signal> {
        let mut scope = hart.scope().0;
        loop {
            let here = self.clocks.iter().find(|(its, _)| its == scope);
            if let Some((_, signal)) = here {
                return Some(signal.clone());
            }
            scope = scope.rsplit_once('.')?.0;
        }
    }
}

/// Those of `harts` whose signals are not those of another one: the same variables, or such in a
/// scope inside of the other one's.
fn outermost(harts: Vec<Hart>) -> Vec<Hart> {
    let mut found: Vec<Hart> = Vec::new();
    let id = |hart: &Hart| hart.signal("pc_rdata").map(|signal| signal.id.clone());
    let mut harts = harts;
    harts.sort_by_key(|hart| hart.prefix.matches('.').count());
    for hart in harts {
        let is_inside = |outer: &Hart| {
            let (inner, outer) = (hart.scope().0, outer.scope().0);
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if !found.iter().any(|outer| is_inside(outer) || id(outer) == id(&hart)) {
            found.push(hart);
        }
    }
    found
}

fn without_numbers(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}
