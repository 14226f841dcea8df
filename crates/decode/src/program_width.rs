//! The register width of a RISC-V processor, as the header of its program states it.

use tracewright_capture::{Dump, Form};

/// `e_machine` of RISC-V. (ELF)
const EM_RISCV: u16 = 243;

/// XLEN of the RISC-V programs among `dumps`. `None` where there is none, or where they differ.
pub fn xlen<'a>(dumps: impl IntoIterator<Item = &'a Dump>) -> Option<u64> {
    let mut widths = dumps.into_iter().filter_map(|dump| {
        let bytes = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf)?;
        of_header(&bytes.head(HEADER))
    });
    let first = widths.next()?;
    widths.all(|other| other == first).then_some(first)
}

/// The bytes of the header up to `e_machine`.
const HEADER: usize = 20;

/// XLEN of an ELF file for RISC-V with these first bytes: `e_ident[EI_CLASS]`.
fn of_header(header: &[u8]) -> Option<u64> {
    let machine = header.get(18..HEADER)?.first_chunk()?;
    let machine = match header.get(5)? {
        2 => u16::from_be_bytes(*machine),
        _ => u16::from_le_bytes(*machine),
    };
    match header.get(4)? {
        _ if machine != EM_RISCV => None,
        1 => Some(32),
        2 => Some(64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(class: u8, machine: u8) -> Dump {
        let mut header = vec![0x7f, b'E', b'L', b'F', class, 1];
        header.resize(18, 0);
        header.extend([machine, 0]);
        Dump { form: Form::Elf, ..Dump::new("program", 0, header) }
    }

    #[test]
    fn programs_state_the_width() {
        for (programs, want) in [
            (vec![], None),
            (vec![(1, 243)], Some(32)),
            (vec![(2, 243)], Some(64)),
            // AArch64, and a program of it beside.
            (vec![(2, 183)], None),
            (vec![(2, 183), (1, 243)], Some(32)),
            (vec![(2, 243), (1, 243)], None),
            (vec![(3, 243)], None),
        ] {
            let dumps: Vec<Dump> = programs.iter().map(|&(c, m)| program(c, m)).collect();
            assert_eq!(xlen(&dumps), want, "{programs:?}");
        }
        assert_eq!(xlen(&[Dump { form: Form::Elf, ..Dump::new("cut", 0, vec![0x7f]) }]), None);
    }
}
