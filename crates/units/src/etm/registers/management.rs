//! Locks, power, integration and CoreSight identification. (IHI 0014, 3.5.24 to 3.5.33)

use super::{AccessRule, Kind, YES, since};
use crate::etm::version::Version as V;
use crate::register::Access::{ReadOnly, ReadWrite, WriteOnly};

const KEY: &[(u64, &str)] = &[(0xc5ac_ce55, "the key")];

pub(super) const OS_LOCK: Kind = Kind::one(
    "ETMOSLAR",
    0x0c0,
    AccessRule::Always(WriteOnly),
    V::V3_3,
    "OS lock: the key locks the trace registers, other values unlock them",
    "IHI 0014, 3.5.24",
    &[since(V::V3_3, "Key", 31, 0, "value", KEY)],
);

pub(super) const OS_LOCK_STATUS: Kind = Kind::one(
    "ETMOSLSR",
    0x0c1,
    AccessRule::Always(ReadOnly),
    V::V3_3,
    "status of the OS lock",
    "IHI 0014, 3.5.24",
    &[
        since(V::V3_5, "Model1", 3, 3, "OS lock model, high bit (3.5)", &[]),
        since(V::V3_3, "AccessSize", 2, 2, "32-bit accesses are required", &[(0, "yes")]),
        since(V::V3_3, "Locked", 1, 1, "the trace registers are locked", YES),
        since(V::V3_3, "Implemented", 0, 0, "the OS lock is implemented", YES),
    ],
);

pub(super) const OS_SAVE: Kind = Kind::one(
    "ETMOSSRR",
    0x0c2,
    AccessRule::Always(ReadWrite),
    V::V3_3,
    "saves and restores the trace registers one after another",
    "IHI 0014, 3.5.24",
    &[since(V::V3_3, "Value", 31, 0, "number of accesses, then values", &[])],
);

pub(super) const POWER_DOWN_CONTROL: Kind = Kind::one(
    "ETMPDCR",
    0x0c4,
    AccessRule::Always(ReadWrite),
    V::V3_5,
    "control of power-down",
    "IHI 0014Q, 3.5",
    &[since(V::V3_5, "PowerUp", 3, 3, "power of the trace registers is requested", YES)],
)
.of_later_issue();

/// Read-only, although a read clears bit \[1].
pub(super) const POWER_DOWN_STATUS: Kind = Kind::one(
    "ETMPDSR",
    0x0c5,
    AccessRule::Always(ReadOnly),
    V::V3_3,
    "power of the trace registers",
    "IHI 0014, 3.5.25",
    &[
        since(V::V3_5, "OSLock", 5, 5, "the OS lock is set (3.5)", YES),
        since(V::V3_3, "StateLost", 1, 1, "the trace registers lost their state", YES),
        since(V::V3_3, "PoweredUp", 0, 0, "the trace registers can be accessed", YES),
    ],
);

/// IMPLEMENTATION DEFINED registers for topology detection and integration.
pub(super) const INTEGRATION: Kind = Kind::one(
    "ETMINTEGRATION",
    0x380,
    AccessRule::Always(ReadWrite),
    V::V3_2,
    "IMPLEMENTATION DEFINED, for topology detection and integration",
    "IHI 0014, 3.3.2",
    &[since(V::V3_2, "Value", 31, 0, "IMPLEMENTATION DEFINED", &[])],
)
.several(64, 1);

pub(super) const INTEGRATION_MODE: Kind = Kind::one(
    "ETMITCTRL",
    0x3c0,
    AccessRule::Always(ReadWrite),
    V::V3_2,
    "integration mode",
    "IHI 0014, 3.5.26",
    &[since(V::V3_2, "Integration", 0, 0, "integration mode", YES)],
)
.reset_to(1, 0);

pub(super) const CLAIM_SET: Kind = Kind::one(
    "ETMCLAIMSET",
    0x3e8,
    AccessRule::Always(ReadWrite),
    V::V3_2,
    "sets bits of the claim tag",
    "IHI 0014, 3.5.27",
    &[since(V::V3_2, "Tag", 7, 0, "bits to set; reads as 0xff", &[])],
);

pub(super) const CLAIM_CLEAR: Kind = Kind::one(
    "ETMCLAIMCLR",
    0x3e9,
    AccessRule::Always(ReadWrite),
    V::V3_2,
    "clears bits of the claim tag",
    "IHI 0014, 3.5.27",
    &[since(V::V3_2, "Tag", 7, 0, "bits to clear; reads as the claim tag", &[])],
)
.reset_to(0xff, 0);

pub(super) const LOCK: Kind = Kind::one(
    "ETMLAR",
    0x3ec,
    AccessRule::Always(WriteOnly),
    V::V3_2,
    "software lock: the key unlocks the registers, other values lock them",
    "IHI 0014, 3.5.28",
    &[since(V::V3_2, "Key", 31, 0, "value", KEY)],
)
.named(&["ETMLOCKACCESS"]);

pub(super) const LOCK_STATUS: Kind = Kind::one(
    "ETMLSR",
    0x3ed,
    AccessRule::Always(ReadOnly),
    V::V3_2,
    "status of the software lock",
    "IHI 0014, 3.5.28",
    &[
        since(V::V3_2, "AccessSize", 2, 2, "the lock register has 32 bits", &[(0, "yes")]),
        since(V::V3_2, "Locked", 1, 1, "writes are ignored", YES),
        since(V::V3_2, "Implemented", 0, 0, "the lock applies to this interface", YES),
    ],
)
.named(&["ETMLOCKSTATUS"])
.reset_to(2, 2);

const PERMISSION: &[(u64, &str)] = &[(0, "not controlled"), (2, "disabled"), (3, "enabled")];

pub(super) const AUTHENTICATION: Kind = Kind::one(
    "ETMAUTHSTATUS",
    0x3ee,
    AccessRule::Always(ReadOnly),
    V::V3_2,
    "debug that the authentication signals permit",
    "IHI 0014, 3.5.29",
    &[
        since(V::V3_2, "SNID", 7, 6, "Secure non-invasive debug", PERMISSION),
        since(V::V3_2, "SID", 5, 4, "Secure invasive debug", PERMISSION),
        since(V::V3_2, "NSNID", 3, 2, "Non-secure non-invasive debug", PERMISSION),
        since(V::V3_2, "NSID", 1, 0, "Non-secure invasive debug", PERMISSION),
    ],
);

pub(super) const DEVICE_CONFIGURATION: Kind = Kind::one(
    "ETMDEVID",
    0x3f2,
    AccessRule::Always(ReadOnly),
    V::V3_2,
    "IMPLEMENTATION DEFINED capabilities",
    "IHI 0014, 3.5.30",
    &[since(V::V3_2, "Value", 31, 0, "IMPLEMENTATION DEFINED", &[])],
);

pub(super) const DEVICE_TYPE: Kind = Kind::one(
    "ETMDEVTYPE",
    0x3f3,
    AccessRule::Always(ReadOnly),
    V::V3_2,
    "CoreSight device type",
    "IHI 0014, 3.5.31",
    &[
        since(V::V3_2, "Sub", 7, 4, "sub type", &[(1, "processor trace")]),
        since(V::V3_2, "Main", 3, 0, "main type", &[(3, "trace source")]),
    ],
)
.reset_to(0xff, 0x13);

const fn peripheral(
    name: &'static str,
    number: u16,
    fields: &'static [super::VersionedField],
) -> Kind {
    let about = "peripheral identification";
    Kind::one(
        name,
        number,
        AccessRule::Always(ReadOnly),
        V::V3_2,
        about,
        "IHI 0014, 3.5.32",
        fields,
    )
}

pub(super) const PERIPHERAL_4: Kind = peripheral(
    "ETMPIDR4",
    0x3f4,
    &[
        since(V::V3_2, "Size", 7, 4, "log2 of the number of 4 KiB blocks", &[]),
        since(V::V3_2, "Continuation", 3, 0, "JEP106 continuation code", &[]),
    ],
)
.reset_to(0xff, 0x04);

/// ETMPIDR5 to ETMPIDR7, of which the first is named 5.
pub(super) const PERIPHERAL_567: Kind =
    peripheral("ETMPIDR", 0x3f5, &[since(V::V3_2, "Reserved", 7, 0, "reserved", &[])])
        .several(3, 1)
        .named_from(5);

pub(super) const PERIPHERAL_0: Kind =
    peripheral("ETMPIDR0", 0x3f8, &[since(V::V3_2, "Part", 7, 0, "part number [7:0]", &[])]);

pub(super) const PERIPHERAL_1: Kind = peripheral(
    "ETMPIDR1",
    0x3f9,
    &[
        since(V::V3_2, "Designer", 7, 4, "JEP106 identity code [3:0]", &[]),
        since(V::V3_2, "Part", 3, 0, "part number [11:8]", &[]),
    ],
);

pub(super) const PERIPHERAL_2: Kind = peripheral(
    "ETMPIDR2",
    0x3fa,
    &[
        since(V::V3_2, "Revision", 7, 4, "revision, as in ETMIDR", &[]),
        since(V::V3_2, "JEDEC", 3, 3, "always 1", &[]),
        since(V::V3_2, "Designer", 2, 0, "JEP106 identity code [6:4]", &[]),
    ],
);

pub(super) const PERIPHERAL_3: Kind = peripheral(
    "ETMPIDR3",
    0x3fb,
    &[
        since(V::V3_2, "RevAnd", 7, 4, "late modification", &[]),
        since(V::V3_2, "Modified", 3, 0, "customer modification", &[]),
    ],
);

const PREAMBLE: &[super::VersionedField] =
    &[since(V::V3_2, "Preamble", 7, 0, "CoreSight preamble", &[])];

const fn component(name: &'static str, number: u16, value: u32) -> Kind {
    let about = "component identification";
    Kind::one(
        name,
        number,
        AccessRule::Always(ReadOnly),
        V::V3_2,
        about,
        "IHI 0014, 3.5.33",
        PREAMBLE,
    )
    .reset_to(0xff, value)
}

pub(super) const COMPONENT_0: Kind = component("ETMCIDR0", 0x3fc, 0x0d);
pub(super) const COMPONENT_1: Kind = component("ETMCIDR1", 0x3fd, 0x90);
pub(super) const COMPONENT_2: Kind = component("ETMCIDR2", 0x3fe, 0x05);
pub(super) const COMPONENT_3: Kind = component("ETMCIDR3", 0x3ff, 0xb1);
