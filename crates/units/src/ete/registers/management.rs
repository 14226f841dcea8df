//! OS Lock, power, claim tags, locks, authentication, CoreSight identification: offsets 0x300 to
//! 0x314 and 0xee0 to 0xffc.

use tracewright_base::{Field, fields, registers};

use super::identification::TRCDEVARCH;
use super::{Row, Versions, YES, row};

const DEBUG: &[(u64, &str)] = &[(0, "not implemented"), (2, "disabled"), (3, "enabled")];
const ID: &[Field] = fields! {
    ID[7:0] "a byte of the identification";
};

pub(super) const ROWS: &[Row] = registers! { row:
    TRCOSLAR 0x300 WO "OS Lock of the unit" "IHI 0064, TRCOSLAR" {
        OSLK[0] "locks the unit" YES;
    }.only(Versions::ETMV4),
    TRCOSLSR 0x304 RO "state of the OS Lock" "DDI 0601, TRCOSLSR" {
        OSLM2[4:3] "OS Lock, with OSLM0: 0b10 in the unit, 0b100 in the PE";
        nTT[2] "a write of TRCOSLAR needs 32 bits" {0 "yes"};
        OSLK[1] "the OS Lock is locked" YES;
        OSLM0[0] "lowest bit of the OS Lock model";
    },
    TRCPDCR 0x310 RW "power control" "IHI 0064, TRCPDCR" {
        PU[3] "power is requested" YES;
    }.unsaved(),
    TRCPDSR 0x314 RO "power state" "IHI 0064, TRCPDSR" {
        OSLK[5] "the OS Lock is locked" YES;
        STICKYPD[1] "power was lost since the last read" YES;
        POWER[0] "the unit has power" YES;
    },
    TRCITCTRL 0xf00 RW "integration mode" "DDI 0601, TRCITCTRL" {
        IME[0] "integration mode, for tests of the connections" YES;
    }.unsaved(),
    TRCCLAIMSET 0xfa0 RW "sets claim tags; a read returns the implemented tags"
        "DDI 0601, TRCCLAIMSET" {
        SET[31:0] "claim tags, bit n: tag n";
    }.unsaved(),
    TRCCLAIMCLR 0xfa4 RW "clears claim tags; a read returns the set tags" "DDI 0601, TRCCLAIMCLR" {
        CLR[31:0] "claim tags, bit n: tag n";
    }.unsaved(),
    TRCDEVAFF | TRCDEVAFF0 0xfa8 RO "the processor that the unit traces" "DDI 0601, TRCDEVAFF" {
        MPIDR[63:0] "MPIDR_EL1 of the processor";
    }.wide(),
    TRCDEVAFF1 0xfac RO "upper half of TRCDEVAFF" "IHI 0064, TRCDEVAFF1" {
        MPIDR[31:0] "bits [63:32] of MPIDR_EL1";
    },
    TRCLAR 0xfb0 WO "software lock of the memory-mapped interface" "IHI 0064, TRCLAR" {
        KEY[31:0] "0xC5ACCE55 permits writes" {0xc5ac_ce55 "unlocks", 0 "locks"};
    }.only(Versions::ETMV4),
    TRCLSR 0xfb4 RO "state of the software lock" "IHI 0064, TRCLSR" {
        nTT[2] "a write of TRCLAR needs 32 bits" {0 "yes"};
        SLK[1] "writes are ignored" YES;
        SLI[0] "the lock is implemented" YES;
    }.only(Versions::ETMV4),
    TRCAUTHSTATUS 0xfb8 RO "trace that the authentication interface permits"
        "DDI 0601, TRCAUTHSTATUS" {
        RTNID[27:26] "Root, non-invasive" DEBUG;
        RTID[25:24] "Root, invasive" DEBUG;
        RLNID[15:14] "Realm, non-invasive" DEBUG;
        RLID[13:12] "Realm, invasive" DEBUG;
        HNID[11:10] "EL2, non-invasive" DEBUG;
        HID[9:8] "EL2, invasive" DEBUG;
        SNID[7:6] "Secure, non-invasive" DEBUG;
        SID[5:4] "Secure, invasive" DEBUG;
        NSNID[3:2] "Non-secure, non-invasive" DEBUG;
        NSID[1:0] "Non-secure, invasive" DEBUG;
    },
    TRCDEVARCH,
    TRCDEVID 0xfc8 RO "capabilities, defined by the implementation" "DDI 0601, TRCDEVID" {
        DEVID[31:0] "defined by the implementation";
    },
    TRCDEVTYPE 0xfcc RO "type of the CoreSight component" "DDI 0601, TRCDEVTYPE" {
        SUB[7:4] "subtype" {1 "processor trace"};
        MAJOR[3:0] "type" {3 "trace source"};
    },
    TRCPIDR4 0xfd0 RO "peripheral identification: size and JEP106 continuation"
        "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR5 0xfd4 RO "peripheral identification, reserved" "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR6 0xfd8 RO "peripheral identification, reserved" "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR7 0xfdc RO "peripheral identification, reserved" "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR0 0xfe0 RO "peripheral identification: part number [7:0]"
        "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR1 0xfe4 RO "peripheral identification: JEP106 and part number [11:8]"
        "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR2 0xfe8 RO "peripheral identification: revision and JEP106"
        "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCPIDR3 0xfec RO "peripheral identification: changes by the manufacturer"
        "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCCIDR0 0xff0 RO "component identification, 0x0D" "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCCIDR1 0xff4 RO "component identification, 0x90: a debug component"
        "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCCIDR2 0xff8 RO "component identification, 0x05" "DDI 0601, TRCPIDR and TRCCIDR" = ID,
    TRCCIDR3 0xffc RO "component identification, 0xB1" "DDI 0601, TRCPIDR and TRCCIDR" = ID,
};
