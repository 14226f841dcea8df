//! The registers of the core that the unit reads, and the owner of the buffer that they select.

/// What the unit reads of the core. The default is a core without EL2 and EL3 whose self-hosted
/// trace is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controls {
    /// Self-hosted trace is enabled: `SelfHostedTraceEnabled()`.
    pub self_hosted: bool,
    /// MDCR_EL3: TRBEE \[54:53], NSTBE \[26], NSTB \[25:24].
    pub mdcr_el3: u64,
    /// MDCR_EL2: E2TB \[25:24].
    pub mdcr_el2: u64,
    /// TRFCR_EL2: DnVM \[11], EE \[9:8].
    pub trfcr_el2: u64,
    /// TRFCR_EL1: EE \[9:8].
    pub trfcr_el1: u64,
    /// HCR_EL2: GPF \[48], TEA \[37], E2H \[34].
    pub hcr_el2: u64,
    /// SCR_EL3: GPF \[48], EEL2 \[18], EA \[3], NS \[0].
    pub scr_el3: u64,
    /// Physical address spaces that the authentication interface allows in External mode, by the
    /// value of TRBMAR_EL1.PAS.
    pub allowed_spaces: [bool; 4],
}

impl Default for Controls {
    fn default() -> Self {
        Controls {
            self_hosted: true,
            mdcr_el3: 0b10 << 24,
            mdcr_el2: 0b11 << 24,
            trfcr_el2: 0,
            trfcr_el1: 0,
            hcr_el2: 0,
            scr_el3: 1,
            allowed_spaces: [true; 4],
        }
    }
}

/// A Security state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Secure.
    Secure,
    /// Non-secure.
    NonSecure,
    /// Realm.
    Realm,
}

/// A translation regime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// EL1 and EL0.
    El1,
    /// EL2, HCR_EL2.E2H is 0.
    El2,
    /// EL2 and EL0, HCR_EL2.E2H is 1.
    El2Host,
}

/// The owner of the trace buffer: its Security state and its translation regime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The owning Security state.
    pub security: Security,
    /// The owning translation regime.
    pub regime: Regime,
}

impl Controls {
    /// MDCR_EL3.TRBEE, which is 0b01 without EL3.
    pub(super) const fn trbee(&self, el3: bool) -> u64 {
        if el3 { self.mdcr_el3 >> 53 & 0b11 } else { 0b01 }
    }

    /// TRFCR_EL2.EE.
    pub(super) const fn ee(&self) -> u64 {
        self.trfcr_el2 >> 8 & 0b11
    }

    /// MDCR_EL2.E2TB is 0b00.
    pub(super) const fn owned_by_el2(&self) -> bool {
        self.mdcr_el2 >> 24 & 0b11 == 0
    }

    /// TRFCR_EL2.DnVM.
    pub(super) const fn physical_disabled(&self) -> bool {
        self.trfcr_el2 >> 11 & 1 != 0
    }

    /// SCR_EL3.{NS, EEL2} is not {0, 0}: EL2 is enabled for the purpose of management events.
    /// Without EL3 the state is Non-secure.
    pub(super) const fn el2_enabled(&self, el3: bool) -> bool {
        !el3 || self.scr_el3 & 1 != 0 || self.scr_el3 >> 18 & 1 != 0
    }

    /// SCR_EL3.GPF.
    pub(super) const fn granule_faults_to_el3(&self) -> bool {
        self.scr_el3 >> 48 & 1 != 0
    }

    /// SCR_EL3.EA.
    pub(super) const fn aborts_to_el3(&self) -> bool {
        self.scr_el3 >> 3 & 1 != 0
    }

    /// HCR_EL2.GPF.
    pub(super) const fn granule_faults_to_el2(&self) -> bool {
        self.hcr_el2 >> 48 & 1 != 0
    }

    /// HCR_EL2.TEA.
    pub(super) const fn aborts_to_el2(&self) -> bool {
        self.hcr_el2 >> 37 & 1 != 0
    }

    /// The owner of the buffer; `el2` and `el3` are whether these levels are implemented. `None`
    /// for reserved values of MDCR_EL3.{NSTBE, NSTB}. (Arm ARM, table D6-2)
    pub const fn owner(&self, el2: bool, el3: bool) -> Option<Owner> {
        let security = match (el3, self.mdcr_el3 >> 26 & 1, self.mdcr_el3 >> 24 & 0b11) {
            (false, ..) => Security::NonSecure,
            (true, 0, 0b00 | 0b01) => Security::Secure,
            (true, 0, _) => Security::NonSecure,
            (true, _, 0b10 | 0b11) => Security::Realm,
            _ => return None,
        };
        let secure = matches!(security, Security::Secure);
        let enabled = el2 && (!secure || self.scr_el3 >> 18 & 1 != 0);
        let regime = match (enabled && self.owned_by_el2(), self.hcr_el2 >> 34 & 1) {
            (false, _) => Regime::El1,
            (true, 0) => Regime::El2,
            (true, _) => Regime::El2Host,
        };
        Some(Owner { security, regime })
    }
}
