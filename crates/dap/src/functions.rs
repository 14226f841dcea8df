//! Where functions begin, and the instruction sets of code.

use tracewright::analysis::Code;
use tracewright::base::Isa;
use tracewright::symbols::CodeStates;

/// The instruction sets of code, as the mapping symbols of program files state them.
#[derive(Debug, Default)]
pub(crate) struct States(Vec<(CodeStates, u64)>);

impl States {
    pub(crate) fn of(capture: &tracewright::Capture) -> States {
        let files = tracewright::analysis::coverage::program_files(capture);
        let files = files.iter().filter(|file| file.module.is_none());
        States(files.map(|file| (CodeStates::of_elf(&file.bytes), file.bias)).collect())
    }

    pub(crate) fn at(&self, address: u64) -> Option<Isa> {
        self.0.iter().find_map(|(states, bias)| states.at(address.wrapping_sub(*bias)))
    }
}

/// The functions of the program that have fixed addresses, in order: the first address, the end,
/// and the number of the function.
#[derive(Debug, Default)]
pub(crate) struct Starts(Vec<(u64, u64, u32)>);

impl Starts {
    pub(crate) fn of(code: &Code) -> Starts {
        let all = (0..).zip(code.functions()).filter(|(_, known)| known.module.is_none());
        let own = all.map(|(n, known)| (known.function.start & !1, known.function.end, n));
        let mut own: Vec<_> = own.collect();
        own.sort_unstable();
        Starts(own)
    }

    /// The function that begins at an address.
    pub(crate) fn at(&self, address: u64) -> Option<u32> {
        let first = self.0.partition_point(|(start, ..)| *start < address);
        self.0.get(first).filter(|(start, ..)| *start == address).map(|(.., number)| *number)
    }

    /// The first address and the end of those that begin before `base`: the last ones, from one
    /// that begins at `lowest` or before on.
    pub(crate) fn before(&self, lowest: u64, base: u64) -> Vec<(u64, u64)> {
        let first = self.0.partition_point(|(start, ..)| *start <= lowest).saturating_sub(1);
        let own = self.0.get(first..).unwrap_or_default().iter();
        own.take_while(|(start, ..)| *start < base).map(|(start, end, _)| (*start, *end)).collect()
    }
}
