//! The configuration of an encoder, as far as decoding depends on it. The trace data contain
//! nothing of it, but the configuration message of the Accemic encoder.
//!
//! Later sources override earlier ones: the defaults of the [`Profile`]; the encoder's registers
//! ([`registers::CONTROL`]); parameters by name ([`PARAMETERS`]).

mod choice;
pub mod registers;

use tracewright_base::{Invalid, Isa, Register, Waypoints};
use tracewright_isa::rv::Extensions;

use crate::bits::sign_extend;
use crate::parameter::{self, choice, flag, number, parameter};

pub use choice::{Mode, Profile, Times};

/// The configuration of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The dialect of its messages, and the vendor or tool.
    pub profile: Profile,
    /// RV64, else RV32.
    pub rv64: bool,
    /// Opcodes beyond the standard ones.
    pub extensions: Extensions,
    /// The fields before and around messages.
    pub link: Link,
    /// The mode of instruction trace.
    pub mode: Mode,
    /// `trTeInstExtendAddrMSB`: equal bits at the top of an address are omitted.
    pub extend_msb: bool,
    /// `trTeInstEnAllJumps`: unconditional direct jumps are traced like taken branches.
    pub all_jumps: bool,
    /// Branches without an outcome go as predicted. (Accemic)
    pub branch_prediction: bool,
    /// The coding of timestamps in messages without SYNC.
    pub times: Times,
    /// Width of a timestamp, 1 to 64 bits.
    pub time_bits: u8,
    /// Width of an address, 32 to 64 bits: higher bits equal the highest of them.
    pub address_bits: u8,
}

/// The source number and the alignment of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// `trTeSrcBits`: width of SRC, 0 to 12 bits.
    pub source_bits: u8,
    /// `trTeSrcID`: the source number of this encoder.
    pub source: u16,
    /// The first byte begins a message. Else the decoder searches for alignment.
    pub aligned: bool,
    /// The trace ID (ATB ID).
    pub trace_id: u8,
}

impl Default for Config {
    /// Profile `spec` on RV64.
    fn default() -> Self {
        Config::of(Profile::Spec, true)
    }
}

impl Config {
    /// The defaults of `profile` on RV64 or RV32.
    pub const fn of(profile: Profile, rv64: bool) -> Config {
        let sifive = matches!(profile, Profile::Sifive);
        Config {
            profile,
            rv64,
            extensions: Extensions::NONE,
            link: Link { source_bits: 0, source: 0, aligned: false, trace_id: 0 },
            mode: Mode::Auto,
            extend_msb: false,
            all_jumps: false,
            branch_prediction: false,
            times: if sifive { Times::Xor } else { Times::Delta },
            time_bits: if sifive { 40 } else { 64 },
            address_bits: match (rv64, sifive) {
                (false, _) => 32,
                (true, true) => 48,
                (true, false) => 64,
            },
        }
    }

    /// Reads registers and parameters by name, over the defaults of their profile.
    pub fn from_registers(register: &dyn Fn(&str) -> Option<u64>) -> Config {
        let find = |parameter: &Parameter| {
            parameter.register.read(register).filter(|value| parameter.takes(*value))
        };
        let known = |name: &str| parameter::find(PARAMETERS, name).and_then(&find);
        let usual = match registers::is_v0(register) {
            true => Profile::Sifive,
            false => Profile::default(),
        };
        let profile = known("profile").and_then(Profile::of_number).unwrap_or(usual);
        let wide = known("xlen").is_none_or(|xlen| xlen > 32);
        let mut config = Config::of(profile, wide);
        registers::apply(&mut config, register);
        for parameter in PARAMETERS {
            if let Some(value) = find(parameter) {
                (parameter.set)(&mut config, value);
            }
        }
        config
    }

    /// The number of the value `text` of the parameter `name`. `None` if there is no such
    /// parameter.
    ///
    /// # Errors
    /// A message that states the valid values.
    pub fn parse_value(name: &str, text: &str) -> Option<Result<u64, Invalid>> {
        let known = parameter::find(PARAMETERS, name)?;
        let number = known.number(text).filter(|number| known.takes(*number));
        Some(number.ok_or_else(|| {
            let (name, values) = (known.name(), known.values());
            Invalid::new(alloc::format!("`{name}` cannot be `{text}`; it is {values}"))
        }))
    }

    /// The instruction set of the processor.
    #[inline]
    pub const fn isa(&self) -> Isa {
        if self.rv64 { Isa::Rv64 } else { Isa::Rv32 }
    }

    /// Width of an address field that is sent whole: an address without bit 0.
    #[inline]
    pub const fn field_bits(&self) -> u32 {
        if self.rv64 { 63 } else { 31 }
    }

    /// The width to which address fields are sign-extended; 0 if they are not.
    #[inline]
    pub const fn extended(&self) -> u32 {
        if self.extend_msb { self.field_bits() } else { 0 }
    }

    /// The address of the bits of an address field.
    #[inline]
    pub const fn address(&self, field: u64) -> u64 {
        let address = sign_extend(field << 1, self.address_bits as u32);
        if self.rv64 { address } else { address & 0xffff_ffff }
    }

    /// Takes what the encoder states of itself: CAPS, ENAB, and P0 to P3. (Accemic, TCODE 58)
    pub(super) const fn learn(&mut self, words: &[u64; 6]) {
        let [_, enabled, _, modes, times, _] = *words;
        self.branch_prediction = enabled >> 5 & 1 != 0;
        if let (Mode::Auto, Some(mode)) = (self.mode, Mode::of_number(modes & 0b111)) {
            self.mode = mode;
        }
        let width = times >> 6 & 0x3f;
        if width > 0 {
            self.time_bits = width as u8;
        }
    }

    /// Whether messages have source numbers.
    pub const fn has_sources(&self) -> bool {
        self.link.source_bits > 0
    }

    /// Whether two encoders can share a stream: the fields before their messages are the same.
    pub fn shares(&self, other: &Config) -> bool {
        self.link.source_bits == other.link.source_bits && self.has_sources()
    }

    /// The instructions that end a block: branches.
    pub const fn waypoints(&self) -> Waypoints {
        Waypoints::BRANCHES
    }
}

/// One parameter.
pub type Parameter = parameter::Parameter<Config>;

/// Every parameter. `profile` and `xlen` come first, because the defaults of the others depend on
/// them.
pub const PARAMETERS: &[Parameter] = &[
    choice!("profile" ["dialect"] Profile profile,
        "the dialect of the messages, and the vendor or tool: defaults for all other parameters"),
    parameter!(
        "xlen",
        [],
        (32, 64),
        &[(32, "32"), (64, "64")],
        "width of the processor's registers",
        |p| Some(if p.rv64 { 64 } else { 32 }),
        |p, v| p.rv64 = v == 64
    ),
    number!("source_width" ["src_bits", "trTeSrcBits"] 0..=12 link.source_bits as u8,
        "bits of the source number (SRC) in each message"),
    number!("source" ["src", "trTeSrcID"] 0..=0xfff link.source as u16,
        "the source number of this encoder, where several share a stream"),
    flag!("aligned" [] link.aligned, "the first byte begins a message"),
    number!("trace_id" ["atid"] 0..=127 link.trace_id as u8, "the trace ID (ATB ID)"),
    choice!("mode" ["trTeInstMode"] Mode mode, "the mode of instruction trace: branch messages (BTM) or branch history (HTM)"),
    flag!("extend_msb" ["trTeInstExtendAddrMSB"] extend_msb,
        "equal bits at the top of an address are omitted"),
    flag!("all_jumps" ["trTeInstEnAllJumps"] all_jumps,
        "unconditional direct jumps are traced like taken branches"),
    flag!("branch_prediction" [] branch_prediction,
        "branches without an outcome go as predicted (Accemic)"),
    choice!("timestamps" [] Times times, "the coding of timestamps in messages without SYNC"),
    number!("timestamp_bits" ["trTsWidth"] 1..=64 time_bits as u8, "bits of a timestamp"),
    number!("address_bits" [] 32..=64 address_bits as u8,
        "bits of an address; higher bits equal the highest of them"),
    flag!("zcm" [] extensions.zcm, "the processor has Zcmp and Zcmt in place of C.FSDSP"),
    parameter!(
        "jvt",
        [],
        (0, u64::MAX),
        parameter::NUMBER,
        "the address of the jump table of Zcmt: the CSR jvt",
        |p| p.extensions.jump_table,
        // Bits [5:0] of the CSR are the mode.
        |p, v| p.extensions.jump_table = Some(v & !0x3f)
    ),
];

/// The registers of the protocol: one for each parameter, and those of the encoder.
pub const REGISTERS: &[Register] = &{
    const ALL: usize = PARAMETERS.len() + registers::CONTROL.len();
    let parameters: [Register; PARAMETERS.len()] = parameter::registers(PARAMETERS);
    let mut all = [parameters[0]; ALL];
    let mut n = 0;
    while n < ALL {
        all[n] = if n < parameters.len() {
            parameters[n]
        } else {
            registers::CONTROL[n - parameters.len()]
        };
        n += 1;
    }
    all
};
