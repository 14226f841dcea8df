//! Support packets: whether the unit traces, losses, and the optional modes.

use super::fields::Fields;
use crate::etrace::config::{OptionBits, Options, Params};

/// The qualification status. (`qual_status`)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Qualification {
    /// 00: no change.
    #[default]
    NoChange,
    /// 01: ended; the packet before was sent to report the last instruction.
    EndedReported,
    /// 10: packets were lost. Reserved in 0.026.
    TraceLost,
    /// 11: ended; the packet before would have been sent anyway.
    EndedUnreported,
}

impl Qualification {
    const fn of(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Qualification::NoChange,
            0b01 => Qualification::EndedReported,
            0b10 => Qualification::TraceLost,
            _ => Qualification::EndedUnreported,
        }
    }
}

/// Format 3, sub-format 3, and te_support of 0.026.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Support {
    /// Instruction trace is enabled.
    pub enabled: bool,
    /// The algorithm; 0 is branch trace.
    pub mode: u8,
    /// The qualification status.
    pub qualification: Qualification,
    /// The bits of `ioptions`, in the unit's order.
    pub ioptions: u8,
    /// Data trace is enabled.
    pub data_enabled: bool,
    /// Data trace packets were lost.
    pub data_lost: bool,
    /// The bits of `doptions`: no address, no data, full addresses, full data.
    pub doptions: u8,
    /// The further fields of the standard packet. (2.1)
    pub standard: Option<Standard>,
}

/// The further fields of the standard support packet. ("Standard Support Packet format")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standard {
    /// Resynchronisation is disabled.
    pub resync_disabled: bool,
    /// Packets have `irets`.
    pub iret_ext: bool,
    /// The width of the time is 16 times this number.
    pub time_width: u8,
    /// `f0s_width`.
    pub f0s_width: u8,
    /// `return_stack_size`.
    pub return_stack_size: u8,
    /// `call_counter_size`.
    pub call_counter_size: u8,
    /// `bpred_size`.
    pub bpred_size: u8,
    /// `cache_size`.
    pub cache_size: u8,
    /// Data packets have the form of the extension for several accesses.
    pub mmacas_ext: bool,
}

/// `control_code` of te_support. (0.026, Table 6.4)
pub(super) const CONTROL_CODE: u64 = 0x34;

/// The bits of `doptions`, the lowest first.
const DOPTIONS: [&str; 4] = ["noaddr", "nodata", "full_daddress", "full_data"];

/// Flags one after another, the lowest first.
fn bits<F: Fields>(names: impl Iterator<Item = &'static str>, value: u8, f: &mut F) -> u8 {
    let flags = (0..8).zip(names);
    flags.fold(0, |all, (n, name)| all | u8::from(f.flag(name, value >> n & 1 != 0)) << n)
}

impl Support {
    pub(super) fn fields<F: Fields>(mut self, f: &mut F, params: &Params) -> Support {
        let layout = &params.support;
        self.enabled = f.flag(if params.is_draft() { "enable" } else { "ienable" }, self.enabled);
        self.mode = f.byte("encoder_mode", self.mode, layout.mode_width.into());
        let status = f.byte("qual_status", self.qualification as u8, 2);
        self.qualification = Qualification::of(status);
        if layout.ioptions == OptionBits::Standard {
            return self.standard_fields(f);
        }
        let names = layout.ioptions.order().iter().map(|mode| mode.name());
        self.ioptions = bits(names, self.ioptions, f);
        if layout.data {
            self.data_enabled = f.flag("denable", self.data_enabled);
            self.data_lost = f.flag("dloss", self.data_lost);
            let names = DOPTIONS.into_iter().chain(core::iter::repeat("doption"));
            let names = names.take(layout.doptions_width.into());
            self.doptions = bits(names, self.doptions, f);
        }
        self
    }

    fn standard_fields<F: Fields>(mut self, f: &mut F) -> Support {
        let mut s = self.standard.unwrap_or_default();
        let names = OptionBits::Standard.order().iter().map(|mode| mode.name());
        self.ioptions = bits(names, self.ioptions, f);
        s.resync_disabled = f.flag("resync_disabled", s.resync_disabled);
        s.iret_ext = f.flag("iret_ext", s.iret_ext);
        s.time_width = f.byte("time_width", s.time_width, 3);
        s.f0s_width = f.byte("f0s_width", s.f0s_width, 2);
        s.return_stack_size = f.byte("return_stack_size", s.return_stack_size, 3);
        s.call_counter_size = f.byte("call_counter_size", s.call_counter_size, 4);
        s.bpred_size = f.byte("bpred_size", s.bpred_size, 3);
        s.cache_size = f.byte("cache_size", s.cache_size, 3);
        self.data_enabled = f.flag("denable", self.data_enabled);
        self.data_lost = f.flag("dloss", self.data_lost);
        s.mmacas_ext = f.flag("mmacas_ext", s.mmacas_ext);
        self.doptions = bits(DOPTIONS.into_iter(), self.doptions, f);
        self.standard = Some(s);
        self
    }

    /// The support packet of a unit with these parameters.
    pub fn of(params: &Params) -> Support {
        let layout = &params.support;
        let (data, w, o) = (&params.data, &params.widths, &params.options);
        let bit = |on: bool, n: u8| u8::from(on) << n;
        let standard = Standard {
            resync_disabled: o.resync_disabled,
            iret_ext: o.iret_ext,
            time_width: w.time.div_ceil(16),
            f0s_width: params.f0s_width(),
            return_stack_size: w.return_stack_size,
            call_counter_size: w.call_counter_size,
            bpred_size: w.bpred_size,
            cache_size: w.cache_size,
            mmacas_ext: data.mmacas,
        };
        let has_data = layout.data || layout.ioptions == OptionBits::Standard;
        Support {
            enabled: true,
            mode: if params.is_draft() && o.full_address {
                params.choices.full_mode & 3
            } else {
                0
            },
            qualification: Qualification::NoChange,
            ioptions: layout.ioptions.write(o),
            data_enabled: false,
            data_lost: false,
            doptions: if has_data { bit(data.no_address, 0) | bit(data.no_data, 1) } else { 0 },
            standard: (layout.ioptions == OptionBits::Standard).then_some(standard),
        }
    }

    /// Changes the parameters as of this packet.
    pub fn learn(&self, params: &mut Params) {
        if !params.support.believed {
            return;
        }
        if params.is_draft() {
            if params.choices.full_mode < 4 {
                params.options.full_address = self.mode == params.choices.full_mode;
            }
            return;
        }
        let mut options = params.options;
        params.support.ioptions.read(self.ioptions, &mut options);
        let w = &params.widths;
        // A mode without a table or a stack is off, unless the packet has the size.
        let impossible = options.branch_prediction && w.bpred_size == 0
            || options.jump_target_cache && w.cache_size == 0
            || options.implicit_return && w.return_stack_size == 0 && w.call_counter_size == 0;
        if !impossible || self.standard.is_some() {
            params.options = options;
        }
        if (params.support.data || self.standard.is_some()) && self.data_enabled {
            params.data.no_address = self.doptions & 1 != 0;
            params.data.no_data = self.doptions >> 1 & 1 != 0;
        }
        if let Some(s) = self.standard {
            params.options.resync_disabled = s.resync_disabled;
            params.options.iret_ext = s.iret_ext;
            let w = &mut params.widths;
            w.time = (s.time_width * 16).min(64);
            w.f0s = s.f0s_width;
            w.return_stack_size = s.return_stack_size;
            w.call_counter_size = s.call_counter_size;
            w.bpred_size = s.bpred_size;
            w.cache_size = s.cache_size;
            params.data.mmacas = s.mmacas_ext;
        }
    }
}

impl OptionBits {
    /// The number of bits of `ioptions`.
    pub const fn width(self) -> u32 {
        self.order().len() as u32
    }

    /// The options of `bits`.
    fn read(self, bits: u8, o: &mut Options) {
        for (n, option) in self.order().iter().enumerate() {
            let on = bits >> n & 1 != 0;
            match option {
                Mode::Sijump => o.sijump = on,
                Mode::ImplicitReturn => o.implicit_return = on,
                Mode::ImplicitException => o.implicit_exception = on,
                Mode::BranchPrediction => o.branch_prediction = on,
                Mode::JumpTargetCache => o.jump_target_cache = on,
                Mode::FullAddress => o.full_address = on,
                Mode::DeltaAddress => {}
            }
        }
    }

    /// The bits of the options.
    pub fn write(self, o: &Options) -> u8 {
        let bit = |(n, option): (usize, &Mode)| {
            let on = match option {
                Mode::Sijump => o.sijump,
                Mode::ImplicitReturn => o.implicit_return,
                Mode::ImplicitException => o.implicit_exception,
                Mode::BranchPrediction => o.branch_prediction,
                Mode::JumpTargetCache => o.jump_target_cache,
                Mode::FullAddress => o.full_address,
                Mode::DeltaAddress => !o.full_address,
            };
            u8::from(on) << n
        };
        self.order().iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
    }

    const fn order(self) -> &'static [Mode] {
        use Mode::{
            BranchPrediction, DeltaAddress, FullAddress, ImplicitException, ImplicitReturn,
            JumpTargetCache, Sijump,
        };
        match self {
            OptionBits::None => &[],
            OptionBits::Reference => {
                &[ImplicitReturn, ImplicitException, FullAddress, JumpTargetCache, BranchPrediction]
            }
            OptionBits::Named => &[
                Sijump,
                ImplicitReturn,
                ImplicitException,
                BranchPrediction,
                JumpTargetCache,
                FullAddress,
            ],
            OptionBits::Standard => &[
                Sijump,
                ImplicitReturn,
                BranchPrediction,
                JumpTargetCache,
                ImplicitException,
                FullAddress,
            ],
            OptionBits::Pulp => &[
                JumpTargetCache,
                BranchPrediction,
                ImplicitReturn,
                Sijump,
                ImplicitException,
                FullAddress,
                DeltaAddress,
            ],
        }
    }
}

/// One bit of `ioptions`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sijump,
    ImplicitReturn,
    ImplicitException,
    BranchPrediction,
    JumpTargetCache,
    FullAddress,
    DeltaAddress,
}

impl Mode {
    /// The name in explained packets.
    const fn name(self) -> &'static str {
        match self {
            Mode::Sijump => "sijump",
            Mode::ImplicitReturn => "implicit_return",
            Mode::ImplicitException => "implicit_except",
            Mode::BranchPrediction => "branch_predictor",
            Mode::JumpTargetCache => "jump_target_cache",
            Mode::FullAddress => "full_iaddress",
            Mode::DeltaAddress => "delta_iaddress",
        }
    }
}
