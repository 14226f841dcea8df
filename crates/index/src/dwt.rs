//! Conditions for events of a Data Watchpoint and Trace unit, as an ITM sends them.

use std::ops::Range;

use tracewright_base::{Dwt, ExceptionStep};

/// An event of a Data Watchpoint and Trace unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DwtCondition {
    /// Any event.
    Any,
    /// A step of an exception, of any number or this one.
    Exception(ExceptionStep, Option<u64>),
    /// A sample of the program counter, at any address or in this range.
    Sample(Option<Range<u64>>),
    /// A sample while the processor sleeps.
    Sleep,
    /// A packet of the data trace.
    Data {
        /// Of this comparator.
        comparator: Option<u64>,
        /// It is a value, and this one.
        value: Option<u64>,
    },
}

impl DwtCondition {
    /// Whether an event matches.
    pub(crate) fn is(&self, event: Dwt) -> bool {
        match self {
            DwtCondition::Any => true,
            DwtCondition::Exception(step, number) => {
                let Dwt::Exception { number: own, step: own_step } = event else { return false };
                own_step == *step && number.is_none_or(|number| number == u64::from(own))
            }
            DwtCondition::Sample(range) => {
                let Dwt::PcSample(pc) = event else { return false };
                range.as_ref().is_none_or(|range| range.contains(&u64::from(pc)))
            }
            DwtCondition::Sleep => event == Dwt::Sleep,
            DwtCondition::Data { comparator, value } => {
                let (own, own_value) = match event {
                    Dwt::DataPc { comparator, .. }
                    | Dwt::DataMatch { comparator }
                    | Dwt::DataAddress { comparator, .. } => (comparator, None),
                    Dwt::DataValue { comparator, value, .. } => (comparator, Some(value)),
                    _ => return false,
                };
                comparator.is_none_or(|comparator| comparator == u64::from(own))
                    && value.is_none_or(|value| own_value.map(u64::from) == Some(value))
            }
        }
    }
}
