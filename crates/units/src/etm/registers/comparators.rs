//! Address, data value, context ID and virtual machine ID comparators. (IHI 0014, 3.5.10, 3.5.11
//! and 3.5.15)

use super::{Access, AccessRule, Kind, YES, row, since};
use crate::etm::version::Version;

pub(super) const ADDRESS: Kind = kind! {
    ETMACVR 0x040 Readable V1_0 "address of an address comparator" "IHI 0014, 3.5.10" {
        V1_0: Address[31:0] "address";
    }
}
.several(16, 1);

/// ETMACTR. (Table 3-27; bits \[13:12] and the modes of ETMv3.5 from later issues)
pub const ACCESS_TYPE: Kind = kind! {
    ETMACTR 0x080 Readable V1_0 "access type of an address comparator" "IHI 0014, 3.5.10" {
        V3_5: VMID[15] "the virtual machine ID must match (3.5)" YES;
        V3_5: Hyp[14] "Hyp mode matches (3.5)";
        V3_5: NonSecureMode[13] "Non-secure modes, high bit (3.5)";
        V3_5: SecureMode[12] "Secure modes, high bit (3.5)";
        V3_2: Security[11:10] "security state" {
            0 "any", 1 "Non-secure only", 2 "Secure only", 3 "reserved",
        };
        V2_0: ContextID[9:8] "context ID comparator that must match" {0 "none", 1 "1", 2 "2", 3 "3"};
        V2_0: Exact[7] "exact match: waits for exceptions and aborts" YES;
        V1_0-V1_1: DataValue[6:5] "data value comparison" {0 "none", 1 "equal", 2 "reserved"};
        V1_2: DataValue[6:5] "data value comparison" {
            0 "none", 1 "equal", 2 "reserved", 3 "not equal",
        };
        V1_0: Size[4:3] "size" {
            0 "byte, or Jazelle instruction", 1 "halfword, or T32 instruction", 2 "reserved",
            3 "word, or A32 instruction",
        };
        V1_0: Type[2:0] "access" {
            0 "instruction fetch", 1 "instruction executed",
            2 "instruction executed, condition passed", 3 "instruction executed, condition failed",
            4 "data load or store", 5 "data load", 6 "data store", 7 "reserved",
        };
    }
}
.several(16, 1);

/// ETMDCVR: even numbers only. (Tables 3-28 and 3-29)
pub const DATA_VALUE: Kind = kind! {
    ETMDCVR 0x0c0 Readable V1_0 "value of a data value comparator" "IHI 0014, 3.5.11" {
        V1_0: Value[31:0] "value";
    }
}
.several(8, 2);

/// ETMDCMR: even numbers only. (Tables 3-28 and 3-30)
pub const DATA_MASK: Kind = kind! {
    ETMDCMR 0x100 Readable V1_0 "mask of a data value comparator" "IHI 0014, 3.5.11" {
        V1_0: Mask[31:0] "1: the bit is not compared";
    }
}
.several(8, 2);

pub(super) const CONTEXT: Kind = kind! {
    ETMCIDCVR 0x1b0 Readable V2_0 "value of a context ID comparator" "IHI 0014, 3.5.15" {
        V2_0: Value[31:0] "context ID";
    }
}
.several(3, 1);

pub(super) const CONTEXT_MASK: Kind = kind! {
    ETMCIDCMR 0x1bc Readable V2_0 "mask of the context ID comparators" "IHI 0014, 3.5.15" {
        V2_0: Mask[31:0] "1: the bit is not compared";
    }
};

pub(super) const VMID: Kind = kind! {
    ETMVMIDCVR 0x240 RW V3_5 "value of the virtual machine ID comparator" "IHI 0014Q, 3.5" {
        V3_5: Value[7:0] "virtual machine ID";
    }
}
.of_later_issue();
