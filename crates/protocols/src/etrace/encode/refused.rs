//! Settings that a unit with the given parameters cannot have. (0.026, Table 3.7)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use tracewright_base::Wire;

use super::settings::Settings;
use super::{Comparator, Compare, Filter, Input};
use crate::etrace::config::{Framing, OptionBits, Params, Port, Widths};
use crate::etrace::packet::{Packet, Payload, Trap};
use crate::trace_filter::signals;

/// Why a unit with the given parameters cannot have a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The parameter that excludes the setting.
    pub parameter: &'static str,
    /// A sentence.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for Refused {}

/// A refusal unless `parameter` allows it.
fn needs(allowed: bool, parameter: &'static str, why: impl Fn() -> String) -> Result<(), Refused> {
    if allowed { Ok(()) } else { Err(Refused { parameter, why: why() }) }
}

/// Bytes of the longest trap packet, which has more fields than the other packets; 0 where the
/// framing has no such packet.
fn longest(params: &Params) -> usize {
    let top = |width: u32| 1 << width.saturating_sub(1).min(63);
    let Widths { tval, ecause, .. } = params.widths;
    let trap = Trap {
        branch: true,
        ecause: top(ecause.into()),
        thaddr: true,
        address: Some(top(params.widths.address())),
        tval: Some(top(tval.into())),
        ..Trap::default()
    };
    let mut bytes = Vec::new();
    Packet::sent(Payload::Trap(trap), params).emit(params, &mut bytes);
    bytes.len()
}

/// Whether the unit has what its optional modes need, and a decoder can read their packets.
fn modes(params: &Params) -> Result<(), Refused> {
    let (widths, options) = (&params.widths, &params.options);
    needs(!options.branch_prediction || widths.bpred_size > 0, "bpred_size", || {
        "branch_prediction = 1 needs a predictor, but bpred_size = 0".into()
    })?;
    needs(!options.jump_target_cache || widths.cache_size > 0, "cache_size", || {
        "jump_target_cache = 1 needs a cache, but cache_size = 0".into()
    })?;
    let calls = params.port.itype_width > 3;
    needs(!options.implicit_return || calls, "itype_width", || {
        "implicit_return = 1 needs the types of calls and returns, but itype_width = 3".into()
    })?;
    // The standard support packet states the width in units of 16 bits.
    let stated = params.support.ioptions != OptionBits::Standard || widths.time % 16 == 0;
    needs(stated, "time_width", || {
        format!(
            "time_width = {} of version {}: its support packet can state only a multiple of 16",
            widths.time, params.version
        )
    })
}

impl Settings {
    /// Checks that a unit with the parameters `params` can have these settings.
    ///
    /// # Errors
    /// [`Refused`] with the parameter that excludes one.
    pub fn check(&self, params: &Params) -> Result<(), Refused> {
        let port = &params.port;
        // 0.026, Table 3.1: the types of jumps are 8 and above.
        needs(!params.is_draft() || port.itype_width > 3, "itype_width", || {
            "itype_width = 3 of version 0.026 has no code for a jump: it must be 4".into()
        })?;
        let link = &params.link;
        let typed = match link.framing {
            Framing::Encapsulated => link.type_width == 2,
            Framing::Siemens => true,
            _ => false,
        };
        needs(typed || !params.own.any(), "framing", || {
            "discovery_packet, cycle_counts and profiling need framing = siemens, or encapsulated \
             with type_width = 2"
                .into()
        })?;
        needs(longest(params) > 0, "framing", || {
            format!(
                "the trap packet of these widths can be longer than the header of framing = {} can \
                 state",
                link.framing
            )
        })?;
        modes(params)?;
        let accesses = !self.data.enabled || !params.data.no_address || !params.data.no_data;
        needs(accesses, "no_data", || {
            "data packets with no_address = 1 and no_data = 1 would report nothing of an access"
                .into()
        })?;
        self.context_type(params)?;
        let (comparators, filters) = (self.comparators.len(), self.filters.len());
        needs(comparators <= port.comparators.into(), "comparators", || {
            format!("{comparators} comparators are set, but comparators = {}", port.comparators)
        })?;
        needs(filters <= port.filters.into(), "filters", || {
            format!("{filters} filters are set, but filters = {}", port.filters)
        })?;
        self.comparators.iter().try_for_each(|comparator| comparator.check(port))?;
        self.filters.iter().try_for_each(|filter| filter.check(port))
    }

    /// Whether the port has the code of the type of a new context.
    fn context_type(&self, params: &Params) -> Result<(), Refused> {
        let width = params.port.ctype_width;
        let Some(code) = self.context_type.code(params.version) else {
            return Err(Refused {
                parameter: "context-type",
                why: format!("version {} has no such type of a context", params.version),
            });
        };
        // A unit without contexts has no such signal.
        let fits = params.widths.context == 0 || u32::from(code) < 1 << width.min(8);
        needs(fits, "context_type_width", || {
            format!("context-type = {code} does not fit into context_type_width = {width}")
        })
    }
}

impl Comparator {
    fn check(&self, port: &Port) -> Result<(), Refused> {
        let check = |compare: &Compare| match compare.input {
            Input::Context | Input::ContextChange => {
                needs(port.filter_context, "filter_context", || {
                    "a comparator selects the context, but filter_context = false".into()
                })
            }
            Input::Tval => needs(port.filter_tval, "filter_tval", || {
                "a comparator selects the trap value, but filter_tval = false".into()
            }),
            Input::Address => Ok(()),
        };
        check(&self.primary)?;
        check(&self.secondary)
    }
}

impl Filter {
    fn check(&self, port: &Port) -> Result<(), Refused> {
        needs(self.privilege.is_none() || port.filter_privilege, "filter_privilege", || {
            "a filter selects the privilege level, but filter_privilege = false".into()
        })?;
        needs(self.interrupt.is_none() || port.filter_interrupt, "filter_interrupt", || {
            "a filter selects interrupts or exceptions, but filter_interrupt = false".into()
        })?;
        needs(self.cause.is_none() || port.filter_ecause > 0, "filter_ecause", || {
            "a filter selects the cause of an exception, but filter_ecause = 0".into()
        })?;
        let width = port.user_width;
        let beyond =
            |mask: [u64; 4]| mask.iter().zip(signals(width)).any(|(m, there)| m & !there != 0);
        let fits = self.user.is_none_or(|(mask, _)| !beyond(mask));
        needs(fits, "user_width", || {
            format!("a filter selects a sideband signal above user_width = {width}")
        })
    }
}
