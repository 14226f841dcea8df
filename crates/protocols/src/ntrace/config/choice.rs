//! The parameters with named values.

use crate::parameter::choices;

choices! {
    /// The dialect of the messages, and the vendor or tool: a set of defaults for all other
    /// parameters.
    Profile {
        /// N-Trace 1.0.
        #[default]
        Spec = 0 "spec",
        /// The encoder of the specification's reference code (NexRv).
        Nexrv = 1 "nexrv",
        /// SiFive cores before 1.0: XOR timestamps, RCODE 8 and 9, data acquisition and in-circuit
        /// trace.
        Sifive = 2 "sifive",
        /// The Accemic encoder (CTTE) with its optional messages.
        Ctte = 3 "ctte",
    }

    /// The mode of instruction trace. (`trTeInstMode`)
    Mode {
        /// As the messages show. Where they do not show it, branch history.
        #[default]
        Auto = 0 "auto",
        /// Branch trace messages.
        Branch = 3 "btm",
        /// Branch history messages.
        History = 6 "htm",
    }

    /// The coding of timestamps in messages without SYNC.
    Times {
        /// The difference to the timestamp before. (1.0)
        #[default]
        Delta = 0 "delta",
        /// The bits that differ from the timestamp before. (SiFive)
        Xor = 1 "xor",
    }
}

impl Profile {
    /// Whether its messages are those of SiFive cores.
    pub const fn is_sifive(self) -> bool {
        matches!(self, Profile::Sifive)
    }
}
