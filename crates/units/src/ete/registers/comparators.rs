//! Comparators of addresses, data, context identifiers: offsets 0x400 to 0x68c.

use tracewright_base::{Field, field, fields, registers};

use super::{Row, Versions, YES, row};

const LEVEL: &[(u64, &str)] = &[(0, "compared"), (1, "not compared")];
const SAME: &[(u64, &str)] = &[(0, "as Non-secure"), (1, "unlike Non-secure")];
const MASK: &str = "bytes of the value that are not compared, bit n: byte n";

const CID_LOW: &[Field] = fields! {
    COMP3[31:24] MASK;
    COMP2[23:16] MASK;
    COMP1[15:8] MASK;
    COMP0[7:0] MASK;
};

const CID_HIGH: &[Field] = fields! {
    COMP7[31:24] MASK;
    COMP6[23:16] MASK;
    COMP5[15:8] MASK;
    COMP4[7:0] MASK;
};

const NS_EL2: Field = field! { EXLEVEL_NS_EL2[14] "EL2 in Non-secure state" LEVEL };
const NS_EL1: Field = field! { EXLEVEL_NS_EL1[13] "EL1 in Non-secure state" LEVEL };
const NS_EL0: Field = field! { EXLEVEL_NS_EL0[12] "EL0 in Non-secure state" LEVEL };
const S_EL3: Field = field! { EXLEVEL_S_EL3[11] "EL3" LEVEL };
const S_EL2: Field = field! { EXLEVEL_S_EL2[10] "EL2 in Secure state" LEVEL };
const S_EL1: Field = field! { EXLEVEL_S_EL1[9] "EL1 in Secure state" LEVEL };
const S_EL0: Field = field! { EXLEVEL_S_EL0[8] "EL0 in Secure state" LEVEL };
const CONTEXT: Field = field! { CONTEXT[6:4] "context comparator that must match, too" };
const CONTEXT_TYPE: Field = field! { CONTEXTTYPE[3:2] "identifiers that must match, too" {
    0 "none", 1 "context identifier", 2 "virtual machine identifier", 3 "both identifiers",
} };
const TYPE: Field = field! { TYPE[1:0] "what is compared" {
    0 "instruction addresses", 1 "addresses of loads", 2 "addresses of stores",
    3 "addresses of loads and stores",
} };

pub(super) const ROWS: &[Row] = registers! { row:
    "TRCACVR<n>" 0x400 RW
        "address of comparator n; 2n and 2n+1 are the first and last address of range n"
        "DDI 0601, TRCACVR<n>" {
        ADDRESS[63:0] "the address";
    }.several(0, 16, 8).wide(),
    "TRCACATR<n>" 0x480 RW "what address comparator n compares" "DDI 0601, TRCACATR<n>" {
        EXLEVEL_RL_EL2[18] "EL2 in Realm state" SAME;
        EXLEVEL_RL_EL1[17] "EL1 in Realm state" SAME;
        EXLEVEL_RL_EL0[16] "EL0 in Realm state" SAME;
        NS_EL2;
        NS_EL1;
        NS_EL0;
        S_EL3;
        S_EL2;
        S_EL1;
        S_EL0;
        CONTEXT;
        CONTEXT_TYPE;
        TYPE;
    }.in_etmv4(fields! {
        DTBM[21] "data addresses with any value in bits [63:56]" YES;
        DATARANGE[20] "the data value comparator compares" {
            0 "single addresses", 1 "address ranges",
        };
        DATASIZE[19:18] "size of the data value" {
            0 "8 bits", 1 "16 bits", 2 "32 bits", 3 "64 bits",
        };
        DATAMATCH[17:16] "the data value" {0 "not compared", 1 "equal", 3 "not equal"};
        NS_EL2;
        NS_EL1;
        NS_EL0;
        S_EL3;
        S_EL2;
        S_EL1;
        S_EL0;
        CONTEXT;
        CONTEXT_TYPE;
        TYPE;
    }).several(0, 16, 8).wide(),
    "TRCDVCVR<n>" 0x500 RW "data value of comparator n" "IHI 0064, TRCDVCVRn" {
        VALUE[63:0] "the value";
    }.several(0, 8, 16).wide().only(Versions::ETMV4),
    "TRCDVCMR<n>" 0x580 RW "mask of data value comparator n" "IHI 0064, TRCDVCMRn" {
        MASK[63:0] "bits that are not compared";
    }.several(0, 8, 16).wide().only(Versions::ETMV4),
    "TRCCIDCVR<n>" 0x600 RW "context identifier of comparator n" "DDI 0601, TRCCIDCVR<n>" {
        VALUE[31:0] "the context identifier";
    }.several(0, 8, 8).wide(),
    "TRCVMIDCVR<n>" 0x640 RW "virtual machine identifier of comparator n"
        "DDI 0601, TRCVMIDCVR<n>" {
        VALUE[31:0] "the virtual machine identifier";
    }.several(0, 8, 8).wide(),
    TRCCIDCCTLR0 0x680 RW "masks of context identifier comparators 0 to 3"
        "DDI 0601, TRCCIDCCTLR0" = CID_LOW,
    TRCCIDCCTLR1 0x684 RW "masks of context identifier comparators 4 to 7"
        "DDI 0601, TRCCIDCCTLR1" = CID_HIGH,
    TRCVMIDCCTLR0 0x688 RW "masks of virtual machine identifier comparators 0 to 3"
        "DDI 0601, TRCVMIDCCTLR0" = CID_LOW,
    TRCVMIDCCTLR1 0x68c RW "masks of virtual machine identifier comparators 4 to 7"
        "DDI 0601, TRCVMIDCCTLR1" = CID_HIGH,
};
