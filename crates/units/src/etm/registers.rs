//! The registers of ETMv1.0 to ETMv3.5: one table, from which register lists, explanations,
//! access rules and checks are made. (IHI 0014, 3.4 and 3.5)
//!
//! What ETMv3.5 adds is from later issues of the specification and from public drivers.

/// A [`Kind`]: a row of [`registers!`](tracewright_base::registers) with its [`AccessRule`] in place
/// of the access, and the first version that has it before the description. Each field begins with
/// the first version that has it, and the last one where there is one: `V1_0-V1_3:`.
macro_rules! kind {
    (@rule RW) => { AccessRule::Always(Access::ReadWrite) };
    (@rule RO) => { AccessRule::Always(Access::ReadOnly) };
    (@rule WO) => { AccessRule::Always(Access::WriteOnly) };
    (@rule $rule:ident) => { AccessRule::$rule };
    (@field $constant:ident) => { $constant };
    (@field $first:ident $(- $last:ident)? : $($field:tt)*) => {
        since(Version::$first, ::tracewright_base::field! { $($field)* })$(.until(Version::$last))?
    };
    ($name:tt $(| $alias:tt)* $offset:literal $rule:ident $first:ident $about:tt $section:tt {
        $($since:ident $(
            $(- $last:ident)? : $field:tt [$high:literal $(: $low:literal)?] $what:tt $($words:ident)?
            $({ $($value:literal $word:literal),* $(,)? })?
        )?);* $(;)?
    }) => {
        Kind::one(
            ::tracewright_base::register! { row: $name $(| $alias)* $offset RW $about $section },
            kind!(@rule $rule),
            Version::$first,
            &[$(kind! { @field $since $(
                $(- $last)? : $field [$high $(: $low)?] $what $($words)?
                $({ $($value $word),* })?
            )? }),*],
        )
    };
}

const fn row(row: RegisterRow) -> RegisterRow {
    row
}

mod comparators;
mod control;
mod derived;
mod filters;
mod management;

use super::version::{Version, Versions};
use crate::register::{Access, Field, Register, RegisterRow};

pub use comparators::{ACCESS_TYPE, DATA_MASK, DATA_VALUE};
pub use control::{
    CONFIGURATION, CONFIGURATION_EXTENSION, CONTROL, IDENTIFICATION, STATUS, SYSTEM,
};
pub use derived::{SYNC_FREQUENCY, TRACE_ID};

/// A register, or several registers of one kind with consecutive numbers.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The register; the first of several. The name of several has no number. `fields` are those of
    /// the latest version; [`Kind::versioned`] has all.
    pub register: Register<Versions>,
    /// Number of registers of this kind.
    pub count: u8,
    /// The number in the name of the first of several registers.
    pub first_name: u8,
    /// Difference between the numbers of consecutive registers.
    pub stride: u8,
    /// What software can do with the register, by version.
    pub rule: AccessRule,
    /// All fields of all versions.
    pub versioned: &'static [VersionedField],
    /// Bits that an ETM reset sets, as mask and value. All other bits are unknown afterwards.
    pub reset: (u32, u32),
    /// State of the unit that the register holds, which the Programming bit resets.
    pub state: Option<State>,
    /// The register is described by later issues of the specification only.
    pub later_issue: bool,
}

/// A field, and the versions that have it.
#[derive(Clone, Copy, Debug)]
pub struct VersionedField {
    /// The field.
    pub field: Field,
    /// The versions.
    pub versions: Versions,
}

/// A field from `first` on.
const fn since(first: Version, field: Field) -> VersionedField {
    VersionedField { field, versions: Versions::from(first) }
}

impl VersionedField {
    /// The same field, which `last` is the last version to have.
    pub(super) const fn until(self, last: Version) -> VersionedField {
        VersionedField { versions: Versions { first: self.versions.first, last }, ..self }
    }
}

/// The values of an on/off bit.
pub(super) const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// What software can do with a register, by version. (IHI 0014, Table 3-3)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRule {
    /// The same in all versions.
    Always(Access),
    /// Write-only; read/write where ETMCCER bit \[11] is set, from ETMv3.1.
    Readable,
    /// Read-only to ETMv3.0, read/write from ETMv3.1.
    WritableFrom31,
    /// Write-only in ETMv1, read/write from ETMv2.0. (ETMFFLR)
    ReadableFrom20,
    /// As [`Readable`](AccessRule::Readable), or read-only from ETMv3.4. (ETMSYNCFR)
    Fixed,
}

/// State of the unit that writing the Programming bit resets. (IHI 0014, 3.4.4)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The counters are loaded with their reload values.
    Counter,
    /// The sequencer is in state 1.
    Sequencer,
    /// The start/stop block is off, and the trigger can occur.
    Status,
}

/// A reset of the unit. (IHI 0014, 3.4.2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Of the processor.
    Processor,
    /// Of the unit.
    Etm,
    /// Of the JTAG TAP.
    Tap,
    /// At power on, where the unit supports it.
    PowerOn,
    /// The Programming bit is set.
    ProgrammingSet,
    /// The Programming bit is cleared.
    ProgrammingCleared,
}

/// What a reset does to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterReset {
    /// The register is unchanged.
    Unchanged,
    /// The bits in the mask have the value, all other bits are unknown.
    Bits(u32, u32),
    /// The register is reset or unchanged.
    Either(u32, u32),
    /// The state is reset.
    State(State),
    /// The state is reset, unless it was written since the Programming bit was set.
    StateUnlessWritten(State),
}

impl Kind {
    /// A register of which there is one, from `first` on.
    const fn one(
        row: RegisterRow,
        rule: AccessRule,
        first: Version,
        versioned: &'static [VersionedField],
    ) -> Kind {
        let access = rule.access(Version::V3_5, true, false);
        let row = RegisterRow { access, ..row };
        Kind {
            register: Register::of(row, Versions::from(first)),
            count: 1,
            first_name: 1,
            stride: 1,
            rule,
            versioned,
            reset: (0, 0),
            state: None,
            later_issue: false,
        }
    }

    pub(super) const fn several(self, count: u8, stride: u8) -> Kind {
        Kind { count, stride, ..self }
    }

    pub(super) const fn named_from(self, first_name: u8) -> Kind {
        Kind { first_name, ..self }
    }

    pub(super) const fn reset_to(self, mask: u32, value: u32) -> Kind {
        Kind { reset: (mask, value), ..self }
    }

    pub(super) const fn holds(self, state: State) -> Kind {
        Kind { state: Some(state), ..self }
    }

    pub(super) const fn of_later_issue(self) -> Kind {
        Kind { later_issue: true, ..self }
    }

    /// The number of the first register.
    pub const fn number(&self) -> u16 {
        match self.register.offset {
            Some(offset) => offset / 4,
            None => 0,
        }
    }

    /// The numbers of the registers of this kind.
    pub fn numbers(&self) -> impl Iterator<Item = u16> + use<> {
        let (first, stride) = (self.number(), u16::from(self.stride));
        (0..u16::from(self.count)).map(move |n| first + n * stride)
    }

    /// The index of the register `number` among those of this kind, from 1.
    pub fn index(&self, number: u16) -> Option<u8> {
        let at = number.checked_sub(self.number())?;
        let stride = u16::from(self.stride).max(1);
        (at % stride == 0 && at / stride < u16::from(self.count)).then(|| (at / stride) as u8 + 1)
    }

    /// The fields that `version` has.
    pub fn fields(&self, version: Version) -> impl Iterator<Item = &'static Field> + use<> {
        let all = self.versioned.iter();
        all.filter(move |f| f.versions.contains(version)).map(|f| &f.field)
    }

    /// The fields that `version` has, for a constant table. `N` is their number.
    ///
    /// # Panics
    /// Where `N` is another number: at compile time.
    pub const fn fields_of<const N: usize>(&self, version: Version) -> [Field; N] {
        let mut fields = [Field { name: "", high: 0, low: 0, about: "", values: &[] }; N];
        let (mut at, mut n) = (0, 0);
        while at < self.versioned.len() {
            if self.versioned[at].versions.contains(version) {
                fields[n] = self.versioned[at].field;
                n += 1;
            }
            at += 1;
        }
        assert!(n == N, "the number of fields");
        fields
    }

    /// What `reset` does to the register in a unit of `version`. (IHI 0014, 3.4.2 and 3.4.4)
    pub const fn after(&self, reset: Reset, version: Version) -> AfterReset {
        let (mask, value) = self.reset;
        match reset {
            Reset::Processor => AfterReset::Unchanged,
            Reset::Etm | Reset::PowerOn => AfterReset::Bits(mask, value),
            Reset::Tap => AfterReset::Either(mask, value),
            Reset::ProgrammingSet => match self.state {
                Some(state) if !version.since(Version::V3_1) => AfterReset::State(state),
                _ => AfterReset::Unchanged,
            },
            Reset::ProgrammingCleared => match self.state {
                Some(state) if version.since(Version::V3_1) => {
                    AfterReset::StateUnlessWritten(state)
                }
                _ => AfterReset::Unchanged,
            },
        }
    }
}

impl AccessRule {
    /// What software can do with the register in a unit of `version`. `readable` is ETMCCER bit
    /// \[11]; `fixed` units have a read-only ETMSYNCFR.
    pub const fn access(self, version: Version, readable: bool, fixed: bool) -> Access {
        let readable = readable && version.since(Version::V3_1);
        match self {
            AccessRule::Always(access) => access,
            AccessRule::Fixed if fixed && version.since(Version::V3_4) => Access::ReadOnly,
            AccessRule::Readable | AccessRule::Fixed => {
                if readable {
                    Access::ReadWrite
                } else {
                    Access::WriteOnly
                }
            }
            AccessRule::WritableFrom31 => {
                if version.since(Version::V3_1) {
                    Access::ReadWrite
                } else {
                    Access::ReadOnly
                }
            }
            AccessRule::ReadableFrom20 => {
                if version.since(Version::V2_0) {
                    Access::ReadWrite
                } else {
                    Access::WriteOnly
                }
            }
        }
    }
}

/// All kinds of registers, in the order of their numbers.
pub const KINDS: &[&Kind] = &[
    &control::CONTROL,
    &control::CONFIGURATION,
    &control::TRIGGER,
    &control::ASIC,
    &control::STATUS,
    &control::SYSTEM,
    &filters::START_STOP,
    &filters::TRACE_ENABLE_2,
    &filters::TRACE_ENABLE_EVENT,
    &filters::TRACE_ENABLE_1,
    &filters::FIFOFULL_REGION,
    &filters::FIFOFULL_LEVEL,
    &filters::VIEW_DATA_EVENT,
    &filters::VIEW_DATA_1,
    &filters::VIEW_DATA_2,
    &filters::VIEW_DATA_3,
    &comparators::ADDRESS,
    &comparators::ACCESS_TYPE,
    &comparators::DATA_VALUE,
    &comparators::DATA_MASK,
    &derived::RELOAD_VALUE,
    &derived::COUNT_ENABLE,
    &derived::RELOAD_EVENT,
    &derived::COUNT,
    &derived::SEQUENCER_12,
    &derived::SEQUENCER_21,
    &derived::SEQUENCER_23,
    &derived::SEQUENCER_31,
    &derived::SEQUENCER_32,
    &derived::SEQUENCER_13,
    &derived::SEQUENCER_STATE,
    &derived::OUTPUT_EVENT,
    &comparators::CONTEXT,
    &comparators::CONTEXT_MASK,
    &derived::SPECIFIC_0,
    &derived::SPECIFIC,
    &derived::SYNC_FREQUENCY,
    &control::IDENTIFICATION,
    &control::CONFIGURATION_EXTENSION,
    &derived::INPUT_SELECTION,
    &filters::START_STOP_ICE,
    &derived::ICE_BEHAVIOUR,
    &derived::TIMESTAMP_EVENT,
    &control::AUXILIARY,
    &derived::TRACE_ID,
    &control::IDENTIFICATION_2,
    &comparators::VMID,
    &management::OS_LOCK,
    &management::OS_LOCK_STATUS,
    &management::OS_SAVE,
    &management::POWER_DOWN_CONTROL,
    &management::POWER_DOWN_STATUS,
    &management::INTEGRATION,
    &management::INTEGRATION_MODE,
    &management::CLAIM_SET,
    &management::CLAIM_CLEAR,
    &management::LOCK,
    &management::LOCK_STATUS,
    &management::AUTHENTICATION,
    &management::DEVICE_CONFIGURATION,
    &management::DEVICE_TYPE,
    &management::PERIPHERAL_4,
    &management::PERIPHERAL_567,
    &management::PERIPHERAL_0,
    &management::PERIPHERAL_1,
    &management::PERIPHERAL_2,
    &management::PERIPHERAL_3,
    &management::COMPONENT_0,
    &management::COMPONENT_1,
    &management::COMPONENT_2,
    &management::COMPONENT_3,
];

/// The kind of the register `number`, and its index from 1.
pub fn numbered(number: u16) -> Option<(&'static Kind, u8)> {
    KINDS.iter().find_map(|kind| Some((*kind, kind.index(number)?)))
}

/// Whether the register `number` is one of the ETM Management Registers, the access to which
/// differs from that to the ETM Trace Registers. (IHI 0014, Table 3-4)
pub const fn is_management(number: u16) -> bool {
    matches!(number, 0x0c0..=0x0c5 | 0x3c0..=0x3ff)
}
