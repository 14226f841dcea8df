//! The rules on the trace buffer. Those of D6.2 are the model's and the check's of values:
//! [`Trbe`] and [`trbe::lint`].

use super::Checker;
use crate::buffers::trbe::{self, Controls, Limit, Reg, Security, Trbe, Violation};
use crate::ete::sequence::episode::{Accessed, Quiet};
use crate::ete::sequence::rules;
use crate::ete::sequence::state::LIMIT;
use crate::values::Values;

/// The registers that a buffer uses, besides TRBLIMITR_EL1.
pub(super) const USED: [&str; 4] = ["TRBBASER_EL1", "TRBPTR_EL1", "TRBSR_EL1", "TRBTRG_EL1"];

/// The rules on values that make an enabled buffer wrong. A misaligned pointer can be a restart
/// value.
const VALUES: [&str; 5] =
    ["reserved-mode", "empty-buffer", "pointer-range", "address-mode", "stopped"];

/// What is known of the trace buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceBuffer {
    /// The registers and their order.
    pub model: Trbe,
    /// The values that were written or read.
    pub values: Values,
}

impl TraceBuffer {
    /// Software writes `register`.
    fn write(&mut self, register: Reg, value: u64) {
        if register == Reg::Limit {
            // E is the enable of Self-hosted mode, XE that of External mode.
            let limit = Limit(value);
            if limit.self_hosted() || limit.external() {
                self.model.controls.self_hosted = limit.self_hosted();
            }
            self.model.features.external |= limit.external();
        }
        self.model.write(register, value);
    }

    /// The value of `register` is `value`, as software reads it.
    fn learn(&mut self, register: Reg, value: u64) {
        if register == Reg::Limit && self.model.read(Reg::Limit).known() != Some(value) {
            let mut model = Trbe::default();
            (model.controls, model.features) = (self.model.controls, self.model.features);
            self.model = model;
            self.write(register, value);
            self.model.synchronize();
            self.model.violations.clear();
        }
    }
}

impl Checker<'_> {
    /// A register of the trace buffer is written, TRBLIMITR_EL1 among them.
    pub(super) fn buffer_write(&mut self, value: u64) {
        let name = self.name();
        let Some(register) = Reg::named(&name) else { return };
        if register == Reg::Limit {
            let limit = Limit(value);
            match limit.self_hosted() || limit.external() {
                true => self.buffer_on(value),
                false => self.buffer_off(),
            }
            self.compare_restored(&name, value);
        }
        let unordered = self.buffer.model.is_unordered(register);
        self.buffer.write(register, value);
        let violations = std::mem::take(&mut self.buffer.model.violations);
        let enabled = |violation: &_| matches!(violation, Violation::WriteWhileEnabled(_));
        if violations.iter().any(enabled) {
            self.broken(&rules::BUFFER_ENABLED);
        } else if unordered {
            self.broken(&rules::BUFFER_UNORDERED);
        }
        self.buffer.values.set(&name, value);
        let switched_out = self.machine.sink == Some(false) && !self.episode.restored_off;
        if register != Reg::Limit || !switched_out {
            self.episode.buffer_written.insert(name);
        }
        // The unit is enabled after the buffer without an event between. (K10.5.10)
        let restored = self.machine.sink == Some(true) || self.episode.restored_off;
        self.dirty |= !restored || register != Reg::Limit;
    }

    /// A register of the trace buffer is read.
    pub(super) fn buffer_read(&mut self, value: Option<u64>) {
        let name = self.name();
        let episode = &self.episode;
        let reported = matches!(name.as_str(), "TRBPTR_EL1" | "TRBSR_EL1");
        if reported && (episode.tsb && !episode.current || self.sink_off_dirty) {
            self.broken(&rules::STATUS_STALE);
        }
        if let Some(value) = value {
            self.buffer.values.set(&name, value);
            if let Some(register) = Reg::named(&name) {
                self.buffer.learn(register, value);
            }
            if name == "TRBLIMITR_EL1" {
                let limit = Limit(value);
                self.machine.sink.get_or_insert(limit.self_hosted() || limit.external());
            }
        }
        let at = self.at;
        self.episode.buffer_read |= name != "TRBLIMITR_EL1";
        self.episode.saved.insert(name, Accessed { value, at });
    }

    fn buffer_on(&mut self, value: u64) {
        if self.dirty {
            self.broken(&rules::BUFFER_UNSYNCHRONISED);
        }
        if self.machine.enabled == Some(true) && self.machine.sink != Some(true) {
            self.broken(&rules::SINK_LAST);
        }
        let switched = self.episode.switched;
        let written = &self.episode.buffer_written;
        let counts = value >> 3 & 3 != 3 || switched;
        let missing: Vec<&str> = match written.is_empty() && !switched {
            true => Vec::new(),
            false => USED
                .into_iter()
                .filter(|name| !written.contains(*name))
                .filter(|name| switched || self.buffer.values.get(name).is_none())
                .filter(|name| *name != "TRBTRG_EL1" || counts)
                .collect(),
        };
        for name in missing {
            self.broken_by(&rules::BUFFER_UNPROGRAMMED, Some(name.to_owned()));
        }
        let mut values = self.buffer.values.clone();
        values.set("TRBLIMITR_EL1", value);
        let wrong = trbe::lint(&values).into_iter();
        for finding in wrong.filter(|finding| VALUES.contains(&finding.rule)) {
            self.found(finding);
        }
        let value_of = |name: &str| self.buffer.values.get(name);
        let (count, status) = (value_of("TRBTRG_EL1"), value_of("TRBSR_EL1"));
        let armed = status.unwrap_or(0) >> 21 & 1 != 0;
        if value >> 3 & 3 == 1 && count.unwrap_or(0) != 0 && !armed {
            self.broken(&rules::WATERMARK_UNARMED);
        }
        if self.outside_owner() {
            self.broken(&rules::BUFFER_OUTSIDE_OWNER);
        }
        self.machine.sink = Some(true);
    }

    /// The processor is known not to be in the owning Security state. (Arm ARM K10.5.10, SYKCND)
    fn outside_owner(&self) -> bool {
        let known = self.values.get("MDCR_EL3").zip(self.values.get("SCR_EL3"));
        let Some((mdcr_el3, scr_el3)) = known else { return false };
        let controls = Controls { mdcr_el3, scr_el3, ..Controls::default() };
        let owner = controls.owner(false, true).map(|owner| owner.security);
        // {NSE, NS}, bits [62] and [0].
        let state = match (scr_el3 >> 62 & 1, scr_el3 & 1) {
            (0, 0) => Security::Secure,
            (0, _) => Security::NonSecure,
            _ => Security::Realm,
        };
        owner.is_some_and(|owner| owner != state)
    }

    fn buffer_off(&mut self) {
        if self.stops_later() {
            self.broken(&rules::SINK_FIRST);
        } else if self.machine.enabled == Some(false) && self.episode.quiet == Quiet::Unflushed {
            self.broken(&rules::NOT_FLUSHED);
            self.episode.quiet = Quiet::Unsynchronised;
            self.episode.disabled = None;
        }
        self.episode.change(LIMIT);
        self.machine.sink = Some(false);
        self.sink_off_dirty = true;
        self.episode.buffer_left = true;
        // A process is switched in whose buffer was disabled.
        self.episode.restored_off = self.episode.switched && self.restores();
        if !self.episode.restored_off {
            self.episode.buffer_written.clear();
        }
    }

    /// The trace is read from memory.
    pub(super) fn contents(&mut self) {
        self.episode.buffer_read = true;
        if self.machine.sink != Some(true) && !self.episode.dsb {
            self.broken(&rules::CONTENTS_INCOMPLETE);
        }
    }

    /// The trigger counter makes an interrupt at a watermark.
    pub(super) fn watermark(&self) -> bool {
        let value = |name: &str| self.buffer.values.get(name).unwrap_or(0);
        value("TRBTRG_EL1") != 0 && value("TRBSR_EL1") >> 21 & 1 != 0
    }
}
