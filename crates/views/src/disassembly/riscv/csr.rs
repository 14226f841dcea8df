//! Accesses to control and status registers, by name. (Privileged ISA, "CSR Listing")

use super::register;

/// Names of single registers.
const NAMES: [(u32, &str); 92] = [
    (0x001, "fflags"),
    (0x002, "frm"),
    (0x003, "fcsr"),
    (0x017, "jvt"),
    (0x100, "sstatus"),
    (0x104, "sie"),
    (0x105, "stvec"),
    (0x106, "scounteren"),
    (0x10a, "senvcfg"),
    (0x140, "sscratch"),
    (0x141, "sepc"),
    (0x142, "scause"),
    (0x143, "stval"),
    (0x144, "sip"),
    (0x180, "satp"),
    (0x200, "vsstatus"),
    (0x204, "vsie"),
    (0x205, "vstvec"),
    (0x240, "vsscratch"),
    (0x241, "vsepc"),
    (0x242, "vscause"),
    (0x243, "vstval"),
    (0x244, "vsip"),
    (0x280, "vsatp"),
    (0x300, "mstatus"),
    (0x301, "misa"),
    (0x302, "medeleg"),
    (0x303, "mideleg"),
    (0x304, "mie"),
    (0x305, "mtvec"),
    (0x306, "mcounteren"),
    (0x30a, "menvcfg"),
    (0x310, "mstatush"),
    (0x31a, "menvcfgh"),
    (0x320, "mcountinhibit"),
    (0x340, "mscratch"),
    (0x341, "mepc"),
    (0x342, "mcause"),
    (0x343, "mtval"),
    (0x344, "mip"),
    (0x34a, "mtinst"),
    (0x34b, "mtval2"),
    (0x5a8, "scontext"),
    (0x600, "hstatus"),
    (0x602, "hedeleg"),
    (0x603, "hideleg"),
    (0x604, "hie"),
    (0x605, "htimedelta"),
    (0x606, "hcounteren"),
    (0x607, "hgeie"),
    (0x60a, "henvcfg"),
    (0x615, "htimedeltah"),
    (0x61a, "henvcfgh"),
    (0x643, "htval"),
    (0x644, "hip"),
    (0x645, "hvip"),
    (0x64a, "htinst"),
    (0x680, "hgatp"),
    (0x6a8, "hcontext"),
    (0x747, "mseccfg"),
    (0x757, "mseccfgh"),
    (0x7a0, "tselect"),
    (0x7a1, "tdata1"),
    (0x7a2, "tdata2"),
    (0x7a3, "tdata3"),
    (0x7a4, "tinfo"),
    (0x7a5, "tcontrol"),
    (0x7a8, "mcontext"),
    (0x7aa, "mscontext"),
    (0x7b0, "dcsr"),
    (0x7b1, "dpc"),
    (0x7b2, "dscratch0"),
    (0x7b3, "dscratch1"),
    (0xb00, "mcycle"),
    (0xb02, "minstret"),
    (0xb80, "mcycleh"),
    (0xb82, "minstreth"),
    (0xc00, "cycle"),
    (0xc01, "time"),
    (0xc02, "instret"),
    (0xc80, "cycleh"),
    (0xc81, "timeh"),
    (0xc82, "instreth"),
    (0xda0, "scountovf"),
    (0xe12, "hgeip"),
    (0xf11, "mvendorid"),
    (0xf12, "marchid"),
    (0xf13, "mimpid"),
    (0xf14, "mhartid"),
    (0xf15, "mconfigptr"),
    (0x14d, "stimecmp"),
    (0x15d, "stimecmph"),
];

/// Numbered registers: the address of the first, their count, the number of the first, and their
/// name.
const SERIES: [(u32, u32, u32, &str); 9] = [
    (0x323, 29, 3, "mhpmevent"),
    (0x3a0, 16, 0, "pmpcfg"),
    (0x3b0, 64, 0, "pmpaddr"),
    (0xb03, 29, 3, "mhpmcounter"),
    (0xb83, 29, 3, "mhpmcounterh"),
    (0xc03, 29, 3, "hpmcounter"),
    (0xc83, 29, 3, "hpmcounterh"),
    (0x10c, 4, 0, "sstateen"),
    (0x30c, 4, 0, "mstateen"),
];

/// The name of a register, or its number.
fn name(number: u32) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == number) {
        return (*name).into();
    }
    let series = SERIES.iter().find(|(first, count, ..)| (*first..first + count).contains(&number));
    match series {
        Some((first, _, from, name)) => match name.strip_suffix('h') {
            Some(stem) => format!("{stem}{}h", number - first + from),
            None => format!("{name}{}", number - first + from),
        },
        None => format!("0x{number:x}"),
    }
}

/// The text of an access.
pub(super) fn text(opcode: u32) -> String {
    let (rd, rs1, csr) = (opcode >> 7 & 31, opcode >> 15 & 31, name(opcode >> 20));
    let (to, from) = (register(rd), register(rs1));
    match (opcode >> 12 & 0b111, rd, rs1) {
        (2, _, 0) => match opcode >> 20 {
            0xc00 => format!("rdcycle {to}"),
            0xc01 => format!("rdtime {to}"),
            0xc02 => format!("rdinstret {to}"),
            0xc80 => format!("rdcycleh {to}"),
            0xc81 => format!("rdtimeh {to}"),
            0xc82 => format!("rdinstreth {to}"),
            _ => format!("csrr {to}, {csr}"),
        },
        (1, 0, _) => format!("csrw {csr}, {from}"),
        (2, 0, _) => format!("csrs {csr}, {from}"),
        (3, 0, _) => format!("csrc {csr}, {from}"),
        (5, 0, _) => format!("csrwi {csr}, {rs1}"),
        (6, 0, _) => format!("csrsi {csr}, {rs1}"),
        (7, 0, _) => format!("csrci {csr}, {rs1}"),
        (1, ..) => format!("csrrw {to}, {csr}, {from}"),
        (2, ..) => format!("csrrs {to}, {csr}, {from}"),
        (3, ..) => format!("csrrc {to}, {csr}, {from}"),
        (5, ..) => format!("csrrwi {to}, {csr}, {rs1}"),
        (6, ..) => format!("csrrsi {to}, {csr}, {rs1}"),
        _ => format!("csrrci {to}, {csr}, {rs1}"),
    }
}
