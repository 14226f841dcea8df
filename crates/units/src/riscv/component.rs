//! The components and the registers that each has.

use super::filter::TRIGGERS;
use super::registers;
use crate::unit::View;
use crate::values::Values;

/// A component of RISC-V trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// A trace encoder, of E-Trace or N-Trace.
    Encoder,
    /// A funnel.
    Funnel,
    /// A RAM sink: SRAM or system memory.
    Ram,
    /// A Pin Interface Block.
    Pib,
    /// A bridge to the ATB of CoreSight.
    AtbBridge,
}

/// The number of filters and of comparators that have registers.
const INSTANCES: u16 = 16;

impl Component {
    /// Every component.
    pub(super) const ALL: [Component; 5] = [
        Component::Encoder,
        Component::Funnel,
        Component::Ram,
        Component::Pib,
        Component::AtbBridge,
    ];

    /// The prefix of the names of its registers.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Component::Encoder => "trTe",
            Component::Funnel => "trFunnel",
            Component::Ram => "trRam",
            Component::Pib => "trPib",
            Component::AtbBridge => "trAtbBridge",
        }
    }

    /// `tr??CompType`. ("Trace Components")
    pub(super) const fn component_type(self) -> u64 {
        match self {
            Component::Encoder => 0x1,
            Component::Funnel => 0x8,
            Component::Ram => 0x9,
            Component::Pib => 0xa,
            Component::AtbBridge => 0xe,
        }
    }

    /// The value of the register with the prefix and this name.
    pub(super) fn value(self, values: &Values, name: &str) -> Option<u64> {
        values.get(&format!("{}{name}", self.prefix()))
    }

    /// The registers, in the order of their offsets.
    pub(super) fn views(&self) -> Vec<View> {
        let table = match self {
            Component::Encoder => registers::ENCODER,
            Component::Funnel => registers::FUNNEL,
            Component::Ram => registers::RAM,
            Component::Pib => registers::PIB,
            Component::AtbBridge => registers::ATB,
        };
        let mut all: Vec<View> = table.iter().map(View::from).collect();
        if *self == Component::Encoder {
            instances("trTeFilter", registers::FILTER, &mut all);
            instances("trTeComp", registers::COMPARATOR, &mut all);
            for n in 0..TRIGGERS {
                all.extend(registers::TRIGGER.iter().map(|register| View {
                    name: format!("{}_{n}", register.name).into(),
                    ..View::from(register)
                }));
            }
        }
        all
    }
}

/// The registers of each instance of a filter or a comparator.
fn instances(prefix: &str, table: &[registers::Row], out: &mut Vec<View>) {
    for n in 0..INSTANCES {
        out.extend(table.iter().map(|register| View {
            name: format!("{prefix}{n}{}", register.name).into(),
            offset: register.offset.map(|offset| offset + 0x20 * n),
            ..View::from(register)
        }));
    }
}
