//! The authentication signals of a processor, and ETMAUTHSTATUS, which reports them. (IHI 0014,
//! 3.5.29)

/// The signals that permit debug and trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// DBGEN: invasive debug, and with it non-invasive debug.
    pub dbgen: bool,
    /// NIDEN: non-invasive debug, which trace is part of.
    pub niden: bool,
    /// SPIDEN: invasive debug in Secure state.
    pub spiden: bool,
    /// SPNIDEN: non-invasive debug in Secure state.
    pub spniden: bool,
}

impl Signals {
    /// All signals are HIGH.
    pub const ALL: Signals = Signals { dbgen: true, niden: true, spiden: true, spniden: true };
}

/// What the field of Secure non-invasive debug of ETMAUTHSTATUS, bits \[7:6], reports. (Table 3-64)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecureField {
    /// The unit does not implement the field.
    Missing,
    /// The processor has no Security Extensions: it is taken as being in Secure state.
    NoExtensions,
    /// The processor has the Security Extensions and prohibits trace itself.
    ByProcessor,
    /// The processor has the Security Extensions, and the unit prohibits trace.
    ByUnit,
}

impl Signals {
    /// Non-invasive debug is permitted. Otherwise the unit traces nothing. (2.14)
    pub const fn non_invasive(self) -> bool {
        self.niden || self.dbgen
    }

    /// Non-invasive debug is permitted in Secure state. (Figure 3-52)
    pub const fn secure_non_invasive(self) -> bool {
        (self.spniden || self.spiden) && self.non_invasive()
    }

    /// Whether a unit that controls Secure trace must not trace in this security state.
    pub const fn prohibits(self, secure: bool) -> bool {
        if secure { !self.secure_non_invasive() } else { !self.non_invasive() }
    }

    /// The value of ETMAUTHSTATUS. (Table 3-63) `extensions`: the processor has the Security
    /// Extensions, and with them bits \[3:2] exist. `secure` determines bits \[7:6].
    pub const fn status(self, extensions: bool, secure: SecureField) -> u32 {
        let secure = match secure {
            SecureField::Missing | SecureField::ByProcessor => 0,
            SecureField::NoExtensions => code(self.non_invasive()),
            SecureField::ByUnit => code(self.secure_non_invasive()),
        };
        let non_secure = if extensions { code(self.non_invasive()) } else { 0 };
        secure << 6 | non_secure << 2
    }
}

/// A field that is implemented: 0b11 enabled, 0b10 disabled.
const fn code(enabled: bool) -> u32 {
    if enabled { 0b11 } else { 0b10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, Tables 3-63 and 3-64, and Figure 3-52. Columns: DBGEN, NIDEN, SPIDEN, SPNIDEN;
    /// enabled in Non-secure state, and in Secure state where the unit controls it.
    const ROWS: [(&str, u32, u32); 16] = [
        ("0000", 0b10, 0b10),
        ("0001", 0b10, 0b10),
        ("0010", 0b10, 0b10),
        ("0011", 0b10, 0b10),
        ("0100", 0b11, 0b10),
        ("0101", 0b11, 0b11),
        ("0110", 0b11, 0b11),
        ("0111", 0b11, 0b11),
        ("1000", 0b11, 0b10),
        ("1001", 0b11, 0b11),
        ("1010", 0b11, 0b11),
        ("1011", 0b11, 0b11),
        ("1100", 0b11, 0b10),
        ("1101", 0b11, 0b11),
        ("1110", 0b11, 0b11),
        ("1111", 0b11, 0b11),
    ];

    #[test]
    fn tables_3_63_and_3_64() {
        for (levels, non_secure, secure) in ROWS {
            let high = |at: usize| levels.as_bytes()[at] == b'1';
            let signals =
                Signals { dbgen: high(0), niden: high(1), spiden: high(2), spniden: high(3) };
            let status = |extensions, field| signals.status(extensions, field);
            assert_eq!(status(true, SecureField::ByUnit), secure << 6 | non_secure << 2);
            assert_eq!(status(true, SecureField::ByProcessor), non_secure << 2, "{levels}");
            assert_eq!(status(true, SecureField::Missing), non_secure << 2, "{levels}");
            // Without the extensions the field has the value that Non-secure state has with them.
            assert_eq!(status(false, SecureField::NoExtensions), non_secure << 6, "{levels}");
            assert_eq!(status(false, SecureField::Missing), 0, "{levels}");
            assert_eq!(signals.prohibits(true), secure == 0b10, "{levels}");
            assert_eq!(signals.prohibits(false), non_secure == 0b10, "{levels}");
        }
    }
}
