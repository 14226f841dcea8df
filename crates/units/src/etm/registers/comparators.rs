//! Address, data value, context ID and virtual machine ID comparators. (IHI 0014, 3.5.10, 3.5.11
//! and 3.5.15)

use super::{AccessRule, Kind, YES, since};
use crate::etm::version::Version as V;

pub(super) const ADDRESS: Kind = Kind::one(
    "ETMACVR",
    0x010,
    AccessRule::Readable,
    V::V1_0,
    "address of an address comparator",
    "IHI 0014, 3.5.10",
    &[since(V::V1_0, "Address", 31, 0, "address", &[])],
)
.several(16, 1);

/// ETMACTR. (Table 3-27; bits \[13:12] and the modes of ETMv3.5 from later issues)
pub const ACCESS_TYPE: Kind = Kind::one(
    "ETMACTR",
    0x020,
    AccessRule::Readable,
    V::V1_0,
    "access type of an address comparator",
    "IHI 0014, 3.5.10",
    &[
        since(V::V3_5, "VMID", 15, 15, "the virtual machine ID must match (3.5)", YES),
        since(V::V3_5, "Hyp", 14, 14, "Hyp mode matches (3.5)", &[]),
        since(V::V3_5, "NonSecureMode", 13, 13, "Non-secure modes, high bit (3.5)", &[]),
        since(V::V3_5, "SecureMode", 12, 12, "Secure modes, high bit (3.5)", &[]),
        since(
            V::V3_2,
            "Security",
            11,
            10,
            "security state",
            &[(0, "any"), (1, "Non-secure only"), (2, "Secure only"), (3, "reserved")],
        ),
        since(
            V::V2_0,
            "ContextID",
            9,
            8,
            "context ID comparator that must match",
            &[(0, "none"), (1, "1"), (2, "2"), (3, "3")],
        ),
        since(V::V2_0, "Exact", 7, 7, "exact match: waits for exceptions and aborts", YES),
        since(
            V::V1_0,
            "DataValue",
            6,
            5,
            "data value comparison",
            &[(0, "none"), (1, "equal"), (2, "reserved")],
        )
        .until(V::V1_1),
        since(
            V::V1_2,
            "DataValue",
            6,
            5,
            "data value comparison",
            &[(0, "none"), (1, "equal"), (2, "reserved"), (3, "not equal")],
        ),
        since(
            V::V1_0,
            "Size",
            4,
            3,
            "size",
            &[
                (0, "byte, or Jazelle instruction"),
                (1, "halfword, or T32 instruction"),
                (2, "reserved"),
                (3, "word, or A32 instruction"),
            ],
        ),
        since(
            V::V1_0,
            "Type",
            2,
            0,
            "access",
            &[
                (0, "instruction fetch"),
                (1, "instruction executed"),
                (2, "instruction executed, condition passed"),
                (3, "instruction executed, condition failed"),
                (4, "data load or store"),
                (5, "data load"),
                (6, "data store"),
                (7, "reserved"),
            ],
        ),
    ],
)
.several(16, 1);

/// ETMDCVR: even numbers only. (Tables 3-28 and 3-29)
pub const DATA_VALUE: Kind = Kind::one(
    "ETMDCVR",
    0x030,
    AccessRule::Readable,
    V::V1_0,
    "value of a data value comparator",
    "IHI 0014, 3.5.11",
    &[since(V::V1_0, "Value", 31, 0, "value", &[])],
)
.several(8, 2);

/// ETMDCMR: even numbers only. (Tables 3-28 and 3-30)
pub const DATA_MASK: Kind = Kind::one(
    "ETMDCMR",
    0x040,
    AccessRule::Readable,
    V::V1_0,
    "mask of a data value comparator",
    "IHI 0014, 3.5.11",
    &[since(V::V1_0, "Mask", 31, 0, "1: the bit is not compared", &[])],
)
.several(8, 2);

pub(super) const CONTEXT: Kind = Kind::one(
    "ETMCIDCVR",
    0x06c,
    AccessRule::Readable,
    V::V2_0,
    "value of a context ID comparator",
    "IHI 0014, 3.5.15",
    &[since(V::V2_0, "Value", 31, 0, "context ID", &[])],
)
.several(3, 1);

pub(super) const CONTEXT_MASK: Kind = Kind::one(
    "ETMCIDCMR",
    0x06f,
    AccessRule::Readable,
    V::V2_0,
    "mask of the context ID comparators",
    "IHI 0014, 3.5.15",
    &[since(V::V2_0, "Mask", 31, 0, "1: the bit is not compared", &[])],
);

pub(super) const VMID: Kind = Kind::one(
    "ETMVMIDCVR",
    0x090,
    AccessRule::Always(crate::register::Access::ReadWrite),
    V::V3_5,
    "value of the virtual machine ID comparator",
    "IHI 0014Q, 3.5",
    &[since(V::V3_5, "Value", 7, 0, "virtual machine ID", &[])],
)
.of_later_issue();
