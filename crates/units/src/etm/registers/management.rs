//! Locks, power, integration and CoreSight identification. (IHI 0014, 3.5.24 to 3.5.33)

use super::{Access, AccessRule, Kind, YES, row, since};
use crate::etm::version::Version;

const KEY: &[(u64, &str)] = &[(0xc5ac_ce55, "the key")];

pub(super) const OS_LOCK: Kind = kind! {
    ETMOSLAR 0x300 WO V3_3 "OS lock: the key locks the trace registers, other values unlock them"
        "IHI 0014, 3.5.24" {
        V3_3: Key[31:0] "value" KEY;
    }
};

pub(super) const OS_LOCK_STATUS: Kind = kind! {
    ETMOSLSR 0x304 RO V3_3 "status of the OS lock" "IHI 0014, 3.5.24" {
        V3_5: Model1[3] "OS lock model, high bit (3.5)";
        V3_3: AccessSize[2] "32-bit accesses are required" {0 "yes"};
        V3_3: Locked[1] "the trace registers are locked" YES;
        V3_3: Implemented[0] "the OS lock is implemented" YES;
    }
};

pub(super) const OS_SAVE: Kind = kind! {
    ETMOSSRR 0x308 RW V3_3 "saves and restores the trace registers one after another"
        "IHI 0014, 3.5.24" {
        V3_3: Value[31:0] "number of accesses, then values";
    }
};

pub(super) const POWER_DOWN_CONTROL: Kind = kind! {
    ETMPDCR 0x310 RW V3_5 "control of power-down" "IHI 0014Q, 3.5" {
        V3_5: PowerUp[3] "power of the trace registers is requested" YES;
    }
}
.of_later_issue();

/// Read-only, although a read clears bit \[1].
pub(super) const POWER_DOWN_STATUS: Kind = kind! {
    ETMPDSR 0x314 RO V3_3 "power of the trace registers" "IHI 0014, 3.5.25" {
        V3_5: OSLock[5] "the OS lock is set (3.5)" YES;
        V3_3: StateLost[1] "the trace registers lost their state" YES;
        V3_3: PoweredUp[0] "the trace registers can be accessed" YES;
    }
};

/// IMPLEMENTATION DEFINED registers for topology detection and integration.
pub(super) const INTEGRATION: Kind = kind! {
    ETMINTEGRATION 0xe00 RW V3_2 "IMPLEMENTATION DEFINED, for topology detection and integration"
        "IHI 0014, 3.3.2" {
        V3_2: Value[31:0] "IMPLEMENTATION DEFINED";
    }
}
.several(64, 1);

pub(super) const INTEGRATION_MODE: Kind = kind! {
    ETMITCTRL 0xf00 RW V3_2 "integration mode" "IHI 0014, 3.5.26" {
        V3_2: Integration[0] "integration mode" YES;
    }
}
.reset_to(1, 0);

pub(super) const CLAIM_SET: Kind = kind! {
    ETMCLAIMSET 0xfa0 RW V3_2 "sets bits of the claim tag" "IHI 0014, 3.5.27" {
        V3_2: Tag[7:0] "bits to set; reads as 0xff";
    }
};

pub(super) const CLAIM_CLEAR: Kind = kind! {
    ETMCLAIMCLR 0xfa4 RW V3_2 "clears bits of the claim tag" "IHI 0014, 3.5.27" {
        V3_2: Tag[7:0] "bits to clear; reads as the claim tag";
    }
}
.reset_to(0xff, 0);

pub(super) const LOCK: Kind = kind! {
    ETMLAR | ETMLOCKACCESS 0xfb0 WO V3_2
        "software lock: the key unlocks the registers, other values lock them"
        "IHI 0014, 3.5.28" {
        V3_2: Key[31:0] "value" KEY;
    }
};

pub(super) const LOCK_STATUS: Kind = kind! {
    ETMLSR | ETMLOCKSTATUS 0xfb4 RO V3_2 "status of the software lock" "IHI 0014, 3.5.28" {
        V3_2: AccessSize[2] "the lock register has 32 bits" {0 "yes"};
        V3_2: Locked[1] "writes are ignored" YES;
        V3_2: Implemented[0] "the lock applies to this interface" YES;
    }
}
.reset_to(2, 2);

const PERMISSION: &[(u64, &str)] = &[(0, "not controlled"), (2, "disabled"), (3, "enabled")];

pub(super) const AUTHENTICATION: Kind = kind! {
    ETMAUTHSTATUS 0xfb8 RO V3_2 "debug that the authentication signals permit" "IHI 0014, 3.5.29" {
        V3_2: SNID[7:6] "Secure non-invasive debug" PERMISSION;
        V3_2: SID[5:4] "Secure invasive debug" PERMISSION;
        V3_2: NSNID[3:2] "Non-secure non-invasive debug" PERMISSION;
        V3_2: NSID[1:0] "Non-secure invasive debug" PERMISSION;
    }
};

pub(super) const DEVICE_CONFIGURATION: Kind = kind! {
    ETMDEVID 0xfc8 RO V3_2 "IMPLEMENTATION DEFINED capabilities" "IHI 0014, 3.5.30" {
        V3_2: Value[31:0] "IMPLEMENTATION DEFINED";
    }
};

pub(super) const DEVICE_TYPE: Kind = kind! {
    ETMDEVTYPE 0xfcc RO V3_2 "CoreSight device type" "IHI 0014, 3.5.31" {
        V3_2: Sub[7:4] "sub type" {1 "processor trace"};
        V3_2: Main[3:0] "main type" {3 "trace source"};
    }
}
.reset_to(0xff, 0x13);

pub(super) const PERIPHERAL_4: Kind = kind! {
    ETMPIDR4 0xfd0 RO V3_2 "peripheral identification" "IHI 0014, 3.5.32" {
        V3_2: Size[7:4] "log2 of the number of 4 KiB blocks";
        V3_2: Continuation[3:0] "JEP106 continuation code";
    }
}
.reset_to(0xff, 0x04);

/// ETMPIDR5 to ETMPIDR7, of which the first is named 5.
pub(super) const PERIPHERAL_567: Kind = kind! {
    ETMPIDR 0xfd4 RO V3_2 "peripheral identification" "IHI 0014, 3.5.32" {
        V3_2: Reserved[7:0] "reserved";
    }
}
.several(3, 1)
.named_from(5);

pub(super) const PERIPHERAL_0: Kind = kind! {
    ETMPIDR0 0xfe0 RO V3_2 "peripheral identification" "IHI 0014, 3.5.32" {
        V3_2: Part[7:0] "part number [7:0]";
    }
};

pub(super) const PERIPHERAL_1: Kind = kind! {
    ETMPIDR1 0xfe4 RO V3_2 "peripheral identification" "IHI 0014, 3.5.32" {
        V3_2: Designer[7:4] "JEP106 identity code [3:0]";
        V3_2: Part[3:0] "part number [11:8]";
    }
};

pub(super) const PERIPHERAL_2: Kind = kind! {
    ETMPIDR2 0xfe8 RO V3_2 "peripheral identification" "IHI 0014, 3.5.32" {
        V3_2: Revision[7:4] "revision, as in ETMIDR";
        V3_2: JEDEC[3] "always 1";
        V3_2: Designer[2:0] "JEP106 identity code [6:4]";
    }
};

pub(super) const PERIPHERAL_3: Kind = kind! {
    ETMPIDR3 0xfec RO V3_2 "peripheral identification" "IHI 0014, 3.5.32" {
        V3_2: RevAnd[7:4] "late modification";
        V3_2: Modified[3:0] "customer modification";
    }
};

pub(super) const COMPONENT_0: Kind = kind! {
    ETMCIDR0 0xff0 RO V3_2 "component identification" "IHI 0014, 3.5.33" {
        V3_2: Preamble[7:0] "CoreSight preamble";
    }
}
.reset_to(0xff, 0x0d);
pub(super) const COMPONENT_1: Kind = kind! {
    ETMCIDR1 0xff4 RO V3_2 "component identification" "IHI 0014, 3.5.33" {
        V3_2: Preamble[7:0] "CoreSight preamble";
    }
}
.reset_to(0xff, 0x90);
pub(super) const COMPONENT_2: Kind = kind! {
    ETMCIDR2 0xff8 RO V3_2 "component identification" "IHI 0014, 3.5.33" {
        V3_2: Preamble[7:0] "CoreSight preamble";
    }
}
.reset_to(0xff, 0x05);
pub(super) const COMPONENT_3: Kind = kind! {
    ETMCIDR3 0xffc RO V3_2 "component identification" "IHI 0014, 3.5.33" {
        V3_2: Preamble[7:0] "CoreSight preamble";
    }
}
.reset_to(0xff, 0xb1);
