//! The parameters by name: one table for registers, files, the command line and `info`.

use tracewright_base::Register;

use crate::parameter::{NO_YES, NUMBER, choice, flag, number, parameter};

use super::{
    Compression, Difference, Framing, LoopLabel, MessageType, OptionBits, Padding, Params, Profile,
    Reset, Sync, TrapPacket, Version,
};

/// One parameter.
pub type Parameter = crate::parameter::Parameter<Params>;

/// The parameter with the name `name`, in any case; a hyphen counts as an underscore.
pub(super) fn find(name: &str) -> Option<&'static Parameter> {
    crate::parameter::find(PARAMETERS, name)
}

/// An address that may be unknown.
macro_rules! address {
    ($name:literal $($at:ident).+, $about:literal) => {
        parameter!($name, [], (0, u64::MAX), NUMBER, $about, |p| p.$($at).+, |p, v| p.$($at).+ = Some(v))
    };
}

/// Every parameter. `version`, `profile` and `xlen` come first, because the defaults of the others
/// depend on them. A width comes before the flag that sets it to 0.
pub const PARAMETERS: &[Parameter] = &[
    choice!("version" ["etrace_version"] Version version, "the version of the unit's packets"),
    choice!("profile" [] Profile profile, "the vendor or tool of the unit: defaults for all other parameters"),
    parameter!(
        "xlen",
        [],
        (32, 64),
        &[(32, "32"), (64, "64")],
        "width of the processor's registers",
        |p| Some(if p.rv64 { 64 } else { 32 }),
        |p, v| p.rv64 = v == 64
    ),
    parameter!(
        "rv32",
        [],
        (0, 1),
        NO_YES,
        "the processor is RV32",
        |p| Some(!p.rv64 as u64),
        |p, v| p.rv64 = v == 0
    ),
    flag!("zcm" [] extensions.zcm, "the processor has Zcmp and Zcmt in place of C.FSDSP"),
    parameter!(
        "jvt",
        [],
        (0, u64::MAX),
        NUMBER,
        "the address of the jump table of Zcmt: the CSR jvt",
        |p| p.extensions.jump_table,
        // Bits [5:0] of the CSR are the mode.
        |p, v| p.extensions.jump_table = Some(v & !0x3f)
    ),
    choice!("framing" [] Framing link.framing, "the header of each packet"),
    number!("source_width" ["srcid_width", "trTeSrcBits"] 0..=16 link.source_width as u8,
        "bits of the source number before each packet"),
    number!("source" ["srcid", "trTeSrcID"] 0..=0xffff link.source as u16,
        "the source number, where several units share a stream"),
    number!("timestamp_bytes" [] 0..=8 link.timestamp_bytes as u8,
        "bytes of the timestamp before a packet"),
    number!("type_width" [] 0..=2 link.type_width as u8, "bits of the type before each packet"),
    flag!("aligned" [] link.aligned, "the first byte begins a packet"),
    number!("trace_id" ["atid"] 0..=127 link.trace_id as u8, "the trace ID (ATB ID)"),
    parameter!(
        "iaddress_width",
        [],
        (2, 64),
        NUMBER,
        "bits of an instruction address",
        |p| Some(p.widths.iaddress as u64),
        |p, v| {
            p.widths.iaddress = v as u8;
            if p.widths.tval != 0 {
                p.widths.tval = v as u8;
            }
            if p.widths.ecause > 16 {
                p.widths.ecause = v as u8;
            }
        }
    ),
    number!("iaddress_lsb" [] 0..=3 widths.iaddress_lsb as u8, "lowest address bit in packets"),
    number!("context_width" [] 0..=32 widths.context as u8, "bits of a context; 0 is none"),
    parameter!(
        "nocontext",
        [],
        (0, 1),
        NO_YES,
        "packets have no context",
        |p| Some((p.widths.context == 0) as u64),
        |p, v| if v != 0 {
            p.widths.context = 0
        }
    ),
    parameter!(
        "time_width",
        [],
        (0, 64),
        NUMBER,
        "bits of a time; 0 is none",
        |p| Some(p.widths.time as u64),
        |p, v| p.widths.time = v as u8
    ),
    parameter!(
        "notime",
        [],
        (0, 1),
        NO_YES,
        "packets have no time",
        |p| Some((p.widths.time == 0) as u64),
        |p, v| if v != 0 {
            p.widths.time = 0
        }
    ),
    number!("privilege_width" [] 1..=4 widths.privilege as u8, "bits of a privilege level"),
    number!("ecause_width" [] 1..=64 widths.ecause as u8, "bits of a trap cause"),
    parameter!(
        "notval",
        [],
        (0, 1),
        NO_YES,
        "packets have no trap value",
        |p| Some((p.widths.tval == 0) as u64),
        |p, v| p.widths.tval = if v != 0 { 0 } else { p.widths.iaddress }
    ),
    number!("return_stack_size" [] 0..=7 widths.return_stack_size as u8,
        "the return stack has 2 to this power entries; 0 is none"),
    number!("call_counter_size" [] 0..=15 widths.call_counter_size as u8,
        "bits of the call counter; 0 is none"),
    number!("bpred_size" [] 0..=7 widths.bpred_size as u8,
        "the branch predictor has 2 to this power entries; 0 is none"),
    number!("cache_size" [] 0..=7 widths.cache_size as u8,
        "the jump target cache has 2 to this power entries; 0 is none"),
    number!("f0s_width" [] 0..=2 widths.f0s as u8, "bits of the sub-format of format 0"),
    flag!("sijump" [] options.sijump, "targets of sequentially inferable jumps are not traced"),
    flag!("implicit_return" [] options.implicit_return, "predicted returns are not traced"),
    flag!("implicit_exception" ["implicit_except"] options.implicit_exception,
        "addresses of trap handlers are not traced"),
    flag!("branch_prediction" ["branch_predictor"] options.branch_prediction,
        "correctly predicted branches are counted"),
    flag!("jump_target_cache" [] options.jump_target_cache, "cached jump targets are traced by index"),
    flag!("full_address" ["full_iaddress"] options.full_address, "addresses are never differences"),
    flag!("resync_disabled" [] options.resync_disabled, "there is no periodic resynchronisation"),
    flag!("iret_ext" [] options.iret_ext, "packets count implicit returns"),
    number!("encoder_mode_width" [] 0..=4 support.mode_width as u8, "bits of encoder_mode"),
    choice!("ioptions" [] OptionBits support.ioptions, "the bits of the options in support packets"),
    flag!("support_data" [] support.data, "support packets have the fields of data trace"),
    number!("doptions_width" [] 0..=8 support.doptions_width as u8, "bits of doptions"),
    flag!("support_believed" [] support.believed, "options in support packets take effect"),
    choice!("difference" [] Difference choices.difference, "the operands of a differential address"),
    number!("full_mode" [] 0..=4 choices.full_mode as u8,
        "the encoder_mode of 0.026 that means full addresses; 4 is none"),
    choice!("compression" [] Compression choices.compression, "the bits that sign compression omits"),
    choice!("padding" [] Padding choices.padding, "the padding of packets to whole bytes"),
    choice!("message_type" [] MessageType choices.message_type, "0.026: the place of msg_type"),
    choice!("loop_label" [] LoopLabel choices.loop_label,
        "a reported address that the program reaches before a jump to it: which of the two visits it is"),
    flag!("notifications" [] choices.notifications, "0.026: packets may be notifications"),
    flag!("no_irreport" [] choices.no_irreport, "packets have no irreport and irdepth"),
    flag!("irdepth_ones" [] choices.irdepth_ones, "irdepth is all ones without irreport"),
    flag!("plain_notify" [] choices.plain_notify, "notify is not the difference to the bit before"),
    choice!("trap_packet" [] TrapPacket choices.trap, "the layout of trap packets"),
    flag!("tval_always" [] choices.tval_always, "trap packets of interrupts have a trap value"),
    choice!("predictor_reset" [] Reset choices.predictor_reset, "when the predictor and the jump target cache are reset"),
    flag!("cache_all" [] choices.cache_all, "every reported address enters the jump target cache"),
    flag!("ecall_retires" [] choices.ecall_retires, "ECALL and EBREAK count as retired"),
    flag!("start_unretired" [] choices.start_unretired,
        "the unit sends a due start packet for an instruction that trapped, as reference-flow does"),
    flag!("drop_unretired" [] choices.drop_unretired,
        "an instruction of a start packet at the target of a trap return is not emitted if it trapped"),
    choice!("resync" [] Sync choices.resync, "the unit of the resynchronisation period"),
    number!("resync_max" [] 0..=0xffff_ffff choices.resync_max as u32, "resynchronisation period"),
    flag!("context_flushes" [] choices.context_flushes, "0.026: branches are reported before a context packet"),
    number!("longest_count" [] 1..=0xffff_ffff choices.longest_count as u32,
        "the most predicted branches that one packet may count"),
    flag!("itype4_call" [] choices.itype4_call, "0.026: termination type 4 is an unpredictable call"),
    address!("mtvec" vectors.machine, "trap vector base of M-mode"),
    address!("stvec" vectors.supervisor, "trap vector base of S-mode"),
    address!("vstvec" vectors.guest, "trap vector base of VS-mode"),
    number!("daddress_width" [] 1..=64 data.address_width as u8, "bits of a data address"),
    number!("data_width" [] 8..=64 data.width as u8, "bits of data"),
    number!("lrid_width" [] 0..=6 data.lrid_width as u8, "bits of the number of a load request"),
    flag!("split_loads" [] data.split, "loads are traced as request and data"),
    number!("data_format_width" [] 0..=3 data.format_width as u8, "bits of a data packet's format"),
    number!("data_diff_width" [] 1..=2 data.diff_width as u8, "bits of diff where there is no address"),
    flag!("no_address" ["noaddr"] data.no_address, "data packets have no address"),
    flag!("no_data" ["nodata"] data.no_data, "data packets have no data"),
    flag!("data_arithmetic" [] data.arithmetic, "data with the code of XOR are arithmetic differences"),
    flag!("mmacas_ext" [] data.mmacas, "data packets have the form of the 2.1 extension"),
    number!("itype_width" [] 3..=4 port.itype_width as u8, "bits of a termination type"),
    number!("iretire_width" [] 1..=8 port.iretire_width as u8, "bits of the number of retired half words"),
    number!("ilastsize_width" [] 0..=2 port.ilastsize_width as u8, "bits of the size of the last instruction"),
    number!("ntkn_width" [] 1..=5 port.ntkn_width as u8, "0.026: bits of the branches not taken"),
    number!("context_type_width" ["ctype_width"] 1..=2 port.ctype_width as u8,
        "bits of a context's type"),
    number!("taken_branches" [] 1..=8 port.taken_branches as u8, "the most blocks in a cycle"),
    number!("user_width" ["impdef_width"] 0..=256 port.user_width as u16, "bits of the user signals"),
    number!("comparators" [] 0..=16 port.comparators as u8, "number of comparators"),
    number!("filters" [] 0..=16 port.filters as u8, "number of filters"),
    number!("ecause_choice" [] 0..=6 port.ecause_choice as u8, "bits of a cause that a filter selects by"),
    flag!("filter_context" [] port.filter_context, "filters match the context"),
    number!("filter_ecause" [] 0..=15 port.filter_ecause as u8,
        "filters match the causes of 2 to this power nested exceptions"),
    flag!("filter_interrupt" ["filter_excint"] port.filter_interrupt, "filters match interrupts"),
    flag!("filter_privilege" [] port.filter_privilege, "filters match the privilege level"),
    flag!("filter_tval" [] port.filter_tval, "filters match the trap value"),
    number!("minor_revision" [] 0..=15 port.minor_revision as u8, "minor revision of the unit"),
    flag!("discovery_packet" [] own.discovery, "our own: a discovery packet comes first"),
    flag!("cycle_counts" [] own.cycle_counts,
        "our own: a count of cycles follows each packet that reports an instruction"),
    number!("profiling" [] 0..=2 own.profiling as u8,
        "our own: fast profiling in place of instruction trace: 1 destinations, 2 sources too"),
    flag!("trapped_in_stream" [] choices.trapped_in_stream,
        "trapped instructions are reported like retired ones, and so is the second one of a handler"),
];

pub(super) const fn registers() -> [Register; PARAMETERS.len()] {
    crate::parameter::registers(PARAMETERS)
}
