//! The instruction sets of the code of a program file. (ELF for the Arm Architecture, "Mapping
//! symbols")

use object::{Architecture, Object, ObjectSymbol};
use tracewright_base::Isa;
use tracewright_image::Bytes;

/// Which instruction set the code at each address of a program file has.
#[derive(Clone, Debug, Default)]
pub struct CodeStates {
    /// That of all code, where the architecture has only one.
    only: Option<Isa>,
    /// The mapping symbols in order of their addresses: the instruction set from there on, none for
    /// data.
    symbols: Vec<(u64, Option<Isa>)>,
}

impl CodeStates {
    /// Those of an ELF file. Nothing is known of a file that cannot be read, and of AArch32 code
    /// without mapping symbols.
    pub fn of_elf(file: &Bytes) -> CodeStates {
        let data: &[u8] = file;
        let Ok(file) = object::File::parse(data) else { return CodeStates::default() };
        let only = match file.architecture() {
            Architecture::Aarch64 => Some(Isa::A64),
            Architecture::Riscv32 => Some(Isa::Rv32),
            Architecture::Riscv64 => Some(Isa::Rv64),
            _ => None,
        };
        let code = |name: &str| {
            let kind = name.get(..2)?;
            // On RISC-V, the extensions may follow.
            let whole = name.len() == 2 || kind == "$x" || name.get(2..3) == Some(".");
            Some(match (kind, only) {
                ("$x", Some(isa)) => Some(isa),
                ("$a", None) => Some(Isa::A32),
                ("$t", None) => Some(Isa::T32),
                ("$d", _) => None,
                _ => return None,
            })
            .filter(|_| whole)
        };
        let symbols = file.symbols().filter_map(|symbol| {
            let isa = code(symbol.name().ok()?)?;
            Some((symbol.address(), isa))
        });
        let mut symbols: Vec<_> = symbols.collect();
        symbols.sort_by_key(|(address, _)| *address);
        CodeStates { only, symbols }
    }

    /// The instruction set of the code at an address; none for data, and where it is not known.
    pub fn at(&self, address: u64) -> Option<Isa> {
        let next = self.symbols.partition_point(|(start, _)| *start <= address);
        match next.checked_sub(1).and_then(|n| self.symbols.get(n)) {
            Some((_, isa)) => *isa,
            None => self.only,
        }
    }
}
