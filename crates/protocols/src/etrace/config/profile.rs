//! The trace units that exist: the versions of each profile, and the parameters of both.

use core::fmt;

use super::{
    Choices, Compression, Data, Difference, Framing, Link, LoopLabel, MessageType, OptionBits,
    Options, OwnMessages, Padding, Params, Port, Profile, Reset, SupportLayout, Sync, TrapPacket,
    Vectors, Version, Widths,
};

use tracewright_isa::rv::Extensions;

/// A version and a profile of which no trace unit exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownUnit {
    /// The version.
    pub version: Version,
    /// The profile. Its units have other versions.
    pub profile: Profile,
}

impl fmt::Display for UnknownUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownUnit { version, profile } = self;
        write!(f, "version `{version}` has no profile `{profile}`, which exists in version")?;
        profile
            .versions()
            .iter()
            .enumerate()
            .try_for_each(|(n, version)| write!(f, "{} `{version}`", if n == 0 { "" } else { "," }))
    }
}

impl core::error::Error for UnknownUnit {}

/// The units that exist: each profile with each of its versions.
pub fn units() -> impl Iterator<Item = (Version, Profile)> {
    let profiles = Profile::WORDS.iter().filter_map(|&(number, _)| Profile::of_number(number));
    profiles.flat_map(|profile| profile.versions().iter().map(move |&version| (version, profile)))
}

impl Profile {
    /// The versions in which units of this profile exist.
    pub const fn versions(self) -> &'static [Version] {
        match self {
            Profile::Spec => &[Version::Draft, Version::V1_0, Version::V2_0, Version::V2_1],
            Profile::ReferenceFlow | Profile::PulpRvTracer => &[Version::V2_0],
            Profile::Siemens | Profile::Esp32 => &[Version::V1_0],
            Profile::PulpTrdb => &[Version::Draft],
        }
    }

    /// The version of a unit where only its profile is given: the only version of the profile, or
    /// [`Version::V2_0`].
    pub const fn version(self) -> Version {
        match self.versions() {
            [only] => *only,
            _ => Version::V2_0,
        }
    }

    /// Whether its processors are RV64 where no width is given.
    pub const fn is_wide(self) -> bool {
        !matches!(self, Profile::Esp32 | Profile::PulpTrdb)
    }
}

/// The port of [`Params::spec`].
const SPEC_PORT: Port = Port {
    minor_revision: 0,
    itype_width: 4,
    iretire_width: 3,
    ilastsize_width: 1,
    ntkn_width: 5,
    ctype_width: 2,
    taken_branches: 1,
    user_width: 256,
    comparators: 16,
    filters: 16,
    ecause_choice: 5,
    filter_context: true,
    filter_ecause: 1,
    filter_interrupt: true,
    filter_privilege: true,
    filter_tval: true,
};

/// The choices of [`Params::spec`]: of the draft, and of version 2.0 or later.
const fn spec_choices(draft: bool, v2: bool) -> Choices {
    Choices {
        difference: Difference::CurrentMinusPrevious,
        full_mode: 4,
        compression: Compression::Whole,
        padding: Padding::Sign,
        message_type: if draft { MessageType::Payload } else { MessageType::Header },
        loop_label: LoopLabel::NextPacket,
        notifications: false,
        no_irreport: false,
        irdepth_ones: false,
        plain_notify: false,
        trap: if v2 { TrapPacket::ThAddr } else { TrapPacket::TvalEpc },
        tval_always: !v2,
        predictor_reset: Reset::Sync,
        cache_all: false,
        ecall_retires: false,
        start_unretired: false,
        drop_unretired: false,
        trapped_in_stream: false,
        resync: Sync::Packets,
        resync_max: 1 << 10,
        longest_count: 1 << 24,
        context_flushes: false,
        itype4_call: false,
    }
}

impl Params {
    /// The defaults of `version` and `profile` on RV64 or RV32.
    ///
    /// # Errors
    /// [`UnknownUnit`] where the profile does not exist in that version.
    pub fn new(version: Version, profile: Profile, rv64: bool) -> Result<Params, UnknownUnit> {
        if !profile.versions().contains(&version) {
            return Err(UnknownUnit { version, profile });
        }
        Ok(match profile {
            Profile::Spec => Params::spec(version, rv64),
            other => Params::of(other, rv64),
        })
    }

    /// The defaults of `profile`, in its own version ([`Profile::version`]), on RV64 or RV32.
    pub const fn of(profile: Profile, rv64: bool) -> Params {
        let mut params = Params::spec(profile.version(), rv64);
        params.profile = profile;
        match profile {
            Profile::Spec => params,
            Profile::ReferenceFlow => params.reference_flow(),
            Profile::Siemens => params.siemens(),
            Profile::PulpTrdb => params.pulp_trdb(),
            Profile::PulpRvTracer => params.pulp_rv_tracer(),
            Profile::Esp32 => params.esp32(),
        }
    }

    /// The defaults of [`Profile::Spec`]: what the specification `version` requires, on RV64 or
    /// RV32.
    pub const fn spec(version: Version, rv64: bool) -> Params {
        let xlen = if rv64 { 64 } else { 32 };
        let draft = matches!(version, Version::Draft);
        let v2 = matches!(version, Version::V2_0 | Version::V2_1);
        let standard = matches!(version, Version::V2_1);
        Params {
            version,
            profile: Profile::Spec,
            rv64,
            extensions: Extensions::NONE,
            link: Link {
                framing: if draft { Framing::Siemens } else { Framing::Encapsulated },
                source_width: 0,
                source: 0,
                timestamp_bytes: if draft { 2 } else { 0 },
                type_width: if draft { 0 } else { 2 },
                aligned: true,
                trace_id: 0,
            },
            widths: Widths {
                iaddress: xlen,
                iaddress_lsb: 1,
                context: 32,
                time: 0,
                privilege: 2,
                ecause: 5,
                tval: xlen,
                return_stack_size: 0,
                call_counter_size: 0,
                bpred_size: 0,
                cache_size: 0,
                f0s: 0,
            },
            support: SupportLayout {
                mode_width: if draft || standard { 2 } else { 1 },
                ioptions: if standard {
                    OptionBits::Standard
                } else if draft {
                    OptionBits::None
                } else {
                    OptionBits::Reference
                },
                data: v2,
                doptions_width: if v2 { 4 } else { 0 },
                believed: true,
            },
            options: Options {
                // The draft always classes those jumps as predictable.
                sijump: draft,
                implicit_return: false,
                implicit_exception: false,
                branch_prediction: false,
                jump_target_cache: false,
                full_address: false,
                resync_disabled: false,
                iret_ext: standard,
            },
            choices: spec_choices(draft, v2),
            vectors: Vectors { machine: None, supervisor: None, guest: None },
            data: Data {
                address_width: xlen,
                width: xlen,
                lrid_width: 0,
                split: false,
                format_width: 3,
                diff_width: 2,
                no_address: false,
                no_data: false,
                arithmetic: false,
                mmacas: false,
            },
            own: OwnMessages { discovery: false, cycle_counts: false, profiling: 0 },
            port: SPEC_PORT,
            before: None,
        }
    }

    /// The reference flow of the specification's repository: Siemens framing, and the flow's
    /// defects.
    const fn reference_flow(mut self) -> Params {
        self.link.framing = Framing::Siemens;
        self.link.timestamp_bytes = 2;
        self.link.type_width = 0;
        self.widths.iaddress = 64;
        self.widths.tval = 64;
        self.data.address_width = 64;
        self.data.width = 64;
        self.data.arithmetic = true;
        self.choices.irdepth_ones = true;
        self.choices.ecall_retires = true;
        self.choices.start_unretired = true;
        self.choices.resync_max = 16;
        self
    }

    /// Siemens (UltraSoC) units, and the codec that was in the specification's repository until
    /// 2021.
    const fn siemens(mut self) -> Params {
        self.link.framing = Framing::Siemens;
        self.link.timestamp_bytes = 2;
        self.link.type_width = 0;
        self.widths.call_counter_size = 9;
        self.widths.bpred_size = 7;
        self.widths.cache_size = 7;
        self.widths.f0s = 1;
        self.choices.predictor_reset = Reset::Start;
        self.choices.cache_all = true;
        self.choices.ecall_retires = true;
        self.choices.resync_max = 1 << 16;
        self
    }

    /// PULP `trace_debugger` and `trdb`.
    const fn pulp_trdb(mut self) -> Params {
        self.link.framing = Framing::PulpTrdb;
        self.link.timestamp_bytes = 0;
        self.widths.iaddress_lsb = 0;
        self.widths.context = 0;
        self.widths.privilege = 3;
        self.widths.tval = 0;
        self.choices.message_type = MessageType::Header;
        self.choices.compression = Compression::Trdb;
        self.choices.difference = Difference::PreviousMinusCurrent;
        self.options.sijump = false;
        self.options.resync_disabled = true;
        self.choices.trapped_in_stream = true;
        self
    }

    /// PULP `rv_tracer`.
    const fn pulp_rv_tracer(mut self) -> Params {
        self.link.timestamp_bytes = 8;
        self.link.type_width = 0;
        self.widths.iaddress_lsb = 0;
        self.widths.context = 0;
        self.widths.ecause = self.widths.iaddress;
        self.support.ioptions = OptionBits::Pulp;
        self.support.data = false;
        self.support.doptions_width = 0;
        self.choices.compression = Compression::Address;
        self.choices.padding = Padding::Zero;
        self.choices.plain_notify = true;
        self
    }

    /// Espressif ESP32-C6, H2 and P4.
    const fn esp32(mut self) -> Params {
        self.link.framing = Framing::Esp32;
        self.link.timestamp_bytes = 0;
        self.link.type_width = 0;
        self.widths.iaddress = 32;
        self.widths.tval = 32;
        self.widths.context = 0;
        self.widths.privilege = 1;
        self.support.mode_width = 0;
        self.support.ioptions = OptionBits::None;
        self.choices.compression = Compression::None;
        self.choices.padding = Padding::Zero;
        self.choices.no_irreport = true;
        self.choices.tval_always = false;
        self
    }
}
