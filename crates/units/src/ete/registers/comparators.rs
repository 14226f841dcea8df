//! Comparators of addresses, data, context identifiers: offsets 0x400 to 0x68c.

use tracewright_base::Field;

use super::{Row, Versions, YES, row};
use crate::register::field;

const LEVEL: &[(u64, &str)] = &[(0, "compared"), (1, "not compared")];
const SAME: &[(u64, &str)] = &[(0, "as Non-secure"), (1, "unlike Non-secure")];
const MASK: &str = "bytes of the value that are not compared, bit n: byte n";

const CID_LOW: &[Field] = &[
    field("COMP3", 31, 24, MASK, &[]),
    field("COMP2", 23, 16, MASK, &[]),
    field("COMP1", 15, 8, MASK, &[]),
    field("COMP0", 7, 0, MASK, &[]),
];

const CID_HIGH: &[Field] = &[
    field("COMP7", 31, 24, MASK, &[]),
    field("COMP6", 23, 16, MASK, &[]),
    field("COMP5", 15, 8, MASK, &[]),
    field("COMP4", 7, 0, MASK, &[]),
];

const NS_EL2: Field = field("EXLEVEL_NS_EL2", 14, 14, "EL2 in Non-secure state", LEVEL);
const NS_EL1: Field = field("EXLEVEL_NS_EL1", 13, 13, "EL1 in Non-secure state", LEVEL);
const NS_EL0: Field = field("EXLEVEL_NS_EL0", 12, 12, "EL0 in Non-secure state", LEVEL);
const S_EL3: Field = field("EXLEVEL_S_EL3", 11, 11, "EL3", LEVEL);
const S_EL2: Field = field("EXLEVEL_S_EL2", 10, 10, "EL2 in Secure state", LEVEL);
const S_EL1: Field = field("EXLEVEL_S_EL1", 9, 9, "EL1 in Secure state", LEVEL);
const S_EL0: Field = field("EXLEVEL_S_EL0", 8, 8, "EL0 in Secure state", LEVEL);
const CONTEXT: Field = field("CONTEXT", 6, 4, "context comparator that must match, too", &[]);
const CONTEXT_TYPE: Field = field(
    "CONTEXTTYPE",
    3,
    2,
    "identifiers that must match, too",
    &[
        (0, "none"),
        (1, "context identifier"),
        (2, "virtual machine identifier"),
        (3, "both identifiers"),
    ],
);
const TYPE: Field = field(
    "TYPE",
    1,
    0,
    "what is compared",
    &[
        (0, "instruction addresses"),
        (1, "addresses of loads"),
        (2, "addresses of stores"),
        (3, "addresses of loads and stores"),
    ],
);

pub(super) const ROWS: &[Row] = &[
    row(
        "TRCACVR<n>",
        0x400,
        "address of comparator n; 2n and 2n+1 are the first and last address of range n",
        &[field("ADDRESS", 63, 0, "the address", &[])],
        "DDI 0601, TRCACVR<n>",
    )
    .several(0, 16, 8)
    .wide(),
    row(
        "TRCACATR<n>",
        0x480,
        "what address comparator n compares",
        &[
            field("EXLEVEL_RL_EL2", 18, 18, "EL2 in Realm state", SAME),
            field("EXLEVEL_RL_EL1", 17, 17, "EL1 in Realm state", SAME),
            field("EXLEVEL_RL_EL0", 16, 16, "EL0 in Realm state", SAME),
            NS_EL2,
            NS_EL1,
            NS_EL0,
            S_EL3,
            S_EL2,
            S_EL1,
            S_EL0,
            CONTEXT,
            CONTEXT_TYPE,
            TYPE,
        ],
        "DDI 0601, TRCACATR<n>",
    )
    .in_etmv4(&[
        field("DTBM", 21, 21, "data addresses with any value in bits [63:56]", YES),
        field(
            "DATARANGE",
            20,
            20,
            "the data value comparator compares",
            &[(0, "single addresses"), (1, "address ranges")],
        ),
        field(
            "DATASIZE",
            19,
            18,
            "size of the data value",
            &[(0, "8 bits"), (1, "16 bits"), (2, "32 bits"), (3, "64 bits")],
        ),
        field(
            "DATAMATCH",
            17,
            16,
            "the data value",
            &[(0, "not compared"), (1, "equal"), (3, "not equal")],
        ),
        NS_EL2,
        NS_EL1,
        NS_EL0,
        S_EL3,
        S_EL2,
        S_EL1,
        S_EL0,
        CONTEXT,
        CONTEXT_TYPE,
        TYPE,
    ])
    .several(0, 16, 8)
    .wide(),
    row(
        "TRCDVCVR<n>",
        0x500,
        "data value of comparator n",
        &[field("VALUE", 63, 0, "the value", &[])],
        "IHI 0064, TRCDVCVRn",
    )
    .several(0, 8, 16)
    .wide()
    .only(Versions::ETMV4),
    row(
        "TRCDVCMR<n>",
        0x580,
        "mask of data value comparator n",
        &[field("MASK", 63, 0, "bits that are not compared", &[])],
        "IHI 0064, TRCDVCMRn",
    )
    .several(0, 8, 16)
    .wide()
    .only(Versions::ETMV4),
    row(
        "TRCCIDCVR<n>",
        0x600,
        "context identifier of comparator n",
        &[field("VALUE", 31, 0, "the context identifier", &[])],
        "DDI 0601, TRCCIDCVR<n>",
    )
    .several(0, 8, 8)
    .wide(),
    row(
        "TRCVMIDCVR<n>",
        0x640,
        "virtual machine identifier of comparator n",
        &[field("VALUE", 31, 0, "the virtual machine identifier", &[])],
        "DDI 0601, TRCVMIDCVR<n>",
    )
    .several(0, 8, 8)
    .wide(),
    row(
        "TRCCIDCCTLR0",
        0x680,
        "masks of context identifier comparators 0 to 3",
        CID_LOW,
        "DDI 0601, TRCCIDCCTLR0",
    ),
    row(
        "TRCCIDCCTLR1",
        0x684,
        "masks of context identifier comparators 4 to 7",
        CID_HIGH,
        "DDI 0601, TRCCIDCCTLR1",
    ),
    row(
        "TRCVMIDCCTLR0",
        0x688,
        "masks of virtual machine identifier comparators 0 to 3",
        CID_LOW,
        "DDI 0601, TRCVMIDCCTLR0",
    ),
    row(
        "TRCVMIDCCTLR1",
        0x68c,
        "masks of virtual machine identifier comparators 4 to 7",
        CID_HIGH,
        "DDI 0601, TRCVMIDCCTLR1",
    ),
];
