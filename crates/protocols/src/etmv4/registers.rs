//! Descriptions of the registers of an ETMv4 and an ETE. (IHI 0064, chapter 7; Arm ARM, chapter
//! D24)

use tracewright_base::{Field, Register};

use crate::fields::{YES, field};

const OFF_ON: &[(u64, &str)] = &[(0, "off"), (1, "on")];

const fn register(
    name: &'static str,
    about: &'static str,
    required: bool,
    fields: &'static [Field],
) -> Register {
    Register { name, aliases: &[], about, required, fields }
}

const TRCCONFIGR: Register = register(
    "TRCCONFIGR",
    "programmed trace features",
    true,
    &[
        field("ITO", 18, 18, "trace of the instrumentation instruction (ETE 1.3)", OFF_ON),
        field("DV", 17, 17, "trace of data values", OFF_ON),
        field("DA", 16, 16, "trace of data addresses", OFF_ON),
        field(
            "VMIDOPT",
            15,
            15,
            "the traced virtual machine identifier",
            &[(0, "VTTBR_EL2.VMID"), (1, "CONTEXTIDR_EL2")],
        ),
        field(
            "QE",
            14,
            13,
            "Q elements",
            &[(0, "off"), (1, "with a count"), (2, "reserved"), (3, "with or without a count")],
        ),
        field("RS", 12, 12, "return stack: addresses of returns are omitted", OFF_ON),
        field("TS", 11, 11, "global timestamps", OFF_ON),
        field(
            "COND",
            10,
            8,
            "trace of conditional non-branch instructions",
            &[(0, "off"), (1, "loads"), (2, "stores"), (3, "loads and stores"), (7, "all")],
        ),
        field("VMID", 7, 7, "trace of virtual machine identifiers", OFF_ON),
        field("CID", 6, 6, "trace of context identifiers", OFF_ON),
        field("CCI", 4, 4, "cycle counts", OFF_ON),
        field("BB", 3, 3, "branch broadcasting: every branch has its address", OFF_ON),
        field(
            "INSTP0",
            2,
            1,
            "loads and stores that are traced like branches",
            &[(0, "neither"), (1, "loads"), (2, "stores"), (3, "loads and stores")],
        ),
    ],
);

const TRCTRACEIDR: Register = register(
    "TRCTRACEIDR",
    "trace ID of the unit",
    true,
    &[field("TRACEID", 6, 0, "trace id (ATB id)", &[])],
);

const TRCIDR0: Register = register(
    "TRCIDR0",
    "implemented trace features",
    true,
    &[
        field(
            "COMMTRANS",
            30,
            30,
            "Transaction Start is an element that is committed (ETE)",
            &[(0, "yes"), (1, "no")],
        ),
        field("COMMOPT", 29, 29, "cycle counts commit elements", &[(0, "yes"), (1, "no")]),
        field(
            "TSSIZE",
            28,
            24,
            "size of timestamps",
            &[(0, "none"), (0b00110, "48 bits"), (0b01000, "64 bits")],
        ),
        field("TSMARK", 23, 23, "a marker shows the position of a timestamp", YES),
        field("ITE", 22, 22, "instrumentation instruction (ETE 1.3)", YES),
        field("TRCEXDATA", 17, 17, "data of exceptions can be traced", YES),
        field(
            "QSUPP",
            16,
            15,
            "Q elements",
            &[(0, "none"), (1, "with a count"), (2, "without a count"), (3, "with or without")],
        ),
        field("QFILT", 14, 14, "Q elements can be filtered", YES),
        field(
            "CONDTYPE",
            13,
            12,
            "result of a conditional instruction",
            &[(0, "pass or fail"), (1, "flags of APSR")],
        ),
        field(
            "NUMEVENT",
            11,
            10,
            "events that can be in the trace",
            &[(0, "1"), (1, "2"), (2, "3"), (3, "4")],
        ),
        field("RETSTACK", 9, 9, "return stack", YES),
        field("TRCCCI", 7, 7, "cycle counting", YES),
        field("TRCCOND", 6, 6, "trace of conditional non-branch instructions", YES),
        field("TRCBB", 5, 5, "branch broadcasting", YES),
        field("TRCDATA", 4, 3, "trace of data", &[(0, "no"), (3, "yes")]),
        field(
            "INSTP0",
            2,
            1,
            "loads and stores can be traced like branches",
            &[(0, "no"), (3, "yes")],
        ),
    ],
);

const TRCIDR1: Register = register(
    "TRCIDR1",
    "designer of the unit and version of ETMv4; by default 0x4100F403",
    false,
    &[
        field("DESIGNER", 31, 24, "designer", &[(0x41, "Arm")]),
        field(
            "TRCARCHMAJ",
            11,
            8,
            "major version of the architecture",
            &[(4, "ETMv4"), (0xf, "see TRCDEVARCH")],
        ),
        field("TRCARCHMIN", 7, 4, "minor version of the architecture", &[(0xf, "see TRCDEVARCH")]),
        field("REVISION", 3, 0, "revision of the implementation", &[]),
    ],
);

const TRCIDR2: Register = register(
    "TRCIDR2",
    "sizes of traced values",
    true,
    &[
        field("WFXMODE", 31, 31, "WFI and WFE are traced like branches", YES),
        field(
            "VMIDOPT",
            30,
            29,
            "possible virtual machine identifiers",
            &[(0, "VTTBR_EL2.VMID"), (1, "selected by TRCCONFIGR.VMIDOPT"), (2, "CONTEXTIDR_EL2")],
        ),
        field("CCSIZE", 28, 25, "bits of the cycle counter, less 12", &[]),
        field(
            "DVSIZE",
            24,
            20,
            "size of data values",
            &[(0, "none"), (4, "32 bits"), (8, "64 bits")],
        ),
        field(
            "DASIZE",
            19,
            15,
            "size of data addresses",
            &[(0, "none"), (4, "32 bits"), (8, "64 bits")],
        ),
        field(
            "VMIDSIZE",
            14,
            10,
            "size of virtual machine identifiers",
            &[(0, "none"), (1, "8 bits"), (2, "16 bits"), (4, "32 bits")],
        ),
        field("CIDSIZE", 9, 5, "size of context identifiers", &[(0, "none"), (4, "32 bits")]),
        field("IASIZE", 4, 0, "size of addresses", &[(4, "32 bits"), (8, "64 bits")]),
    ],
);

const TRCIDR8: Register = register(
    "TRCIDR8",
    "speculation; by default 0",
    false,
    &[field("MAXSPEC", 31, 0, "maximum number of uncommitted elements", &[])],
);

const TRCIDR9: Register = register(
    "TRCIDR9",
    "keys of data trace; by default 0",
    false,
    &[field("NUMP0KEY", 31, 0, "right-hand keys of P0 elements", &[])],
);

const TRCIDR10: Register = register(
    "TRCIDR10",
    "keys of data trace; by default 0",
    false,
    &[field("NUMP1KEY", 31, 0, "right-hand keys of P1 elements", &[])],
);

const TRCIDR11: Register = register(
    "TRCIDR11",
    "keys of data trace; by default 0",
    false,
    &[field("NUMP1SPC", 31, 0, "special right-hand keys of P1 elements", &[])],
);

const TRCIDR12: Register = register(
    "TRCIDR12",
    "keys of conditional trace; by default 0",
    false,
    &[field("NUMCONDKEY", 31, 0, "right-hand keys of conditional instructions", &[])],
);

const TRCIDR13: Register = register(
    "TRCIDR13",
    "keys of conditional trace; by default 0",
    false,
    &[field("NUMCONDSPC", 31, 0, "special right-hand keys of conditional instructions", &[])],
);

const TRCDEVARCH: Register = register(
    "TRCDEVARCH",
    "version of ETE; by default 0x47705A13",
    false,
    &[
        field("ARCHITECT", 31, 21, "owner of the architecture", &[(0x23b, "Arm")]),
        field("PRESENT", 20, 20, "the register is present", YES),
        field(
            "REVISION",
            19,
            16,
            "revision of the architecture",
            &[(0, "ETE 1.0"), (1, "ETE 1.1"), (2, "ETE 1.2"), (3, "ETE 1.3")],
        ),
        field("ARCHVER", 15, 12, "version of the architecture", &[(4, "ETMv4"), (5, "ETE")]),
        field("ARCHPART", 11, 0, "architecture", &[(0xa13, "trace unit of a processor")]),
    ],
);

/// Registers of an ETMv4.
pub(super) const ETMV4: &[Register] = &[
    TRCCONFIGR,
    TRCTRACEIDR,
    TRCIDR0,
    TRCIDR1,
    TRCIDR2,
    TRCIDR8,
    TRCIDR9,
    TRCIDR10,
    TRCIDR11,
    TRCIDR12,
    TRCIDR13,
];

/// Registers of an ETE.
pub(super) const ETE: &[Register] = &[
    TRCCONFIGR,
    TRCTRACEIDR,
    TRCIDR0,
    TRCIDR1,
    TRCIDR2,
    TRCIDR8,
    TRCIDR9,
    TRCIDR10,
    TRCIDR11,
    TRCIDR12,
    TRCIDR13,
    TRCDEVARCH,
];
