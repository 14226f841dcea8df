//! The numbers of OpenCSD's C interface: errors, operations, responses, flags.

use std::ffi::c_int;

/// An error of a call, `ocsd_err_t`. [`OK`](Error::OK) is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Error(pub c_int);

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $number:literal: $symbol:literal, $text:literal;)*) => {
        #[allow(missing_docs, reason = "the text of each states what it is")]
        impl Error {
            $($(#[$doc])* pub const $name: Error = Error($number);)*

            /// The name in OpenCSD's header, and what it means.
            pub const fn text(self) -> (&'static str, &'static str) {
                match self.0 {
                    $($number => ($symbol, $text),)*
                    _ => ("OCSD_ERR_LAST", "no error of the library has this number"),
                }
            }
        }
    };
}

errors! {
    OK = 0: "OCSD_OK", "no error";
    FAIL = 1: "OCSD_ERR_FAIL", "general failure";
    MEM = 2: "OCSD_ERR_MEM", "memory could not be allocated";
    NOT_INIT = 3: "OCSD_ERR_NOT_INIT", "a component is not initialised";
    INVALID_ID = 4: "OCSD_ERR_INVALID_ID", "invalid trace ID";
    BAD_HANDLE = 5: "OCSD_ERR_BAD_HANDLE", "invalid handle";
    INVALID_PARAM_VAL = 6: "OCSD_ERR_INVALID_PARAM_VAL", "invalid value of a parameter";
    INVALID_PARAM_TYPE = 7: "OCSD_ERR_INVALID_PARAM_TYPE", "invalid type of a parameter";
    FILE_ERROR = 8: "OCSD_ERR_FILE_ERROR", "a file cannot be accessed";
    NO_PROTOCOL = 9: "OCSD_ERR_NO_PROTOCOL", "the trace protocol is not supported";
    ATTACH_TOO_MANY = 10: "OCSD_ERR_ATTACH_TOO_MANY", "something is already attached";
    ATTACH_INVALID_PARAM = 11: "OCSD_ERR_ATTACH_INVALID_PARAM", "invalid parameter of an attachment";
    ATTACH_COMP_NOT_FOUND = 12: "OCSD_ERR_ATTACH_COMP_NOT_FOUND", "nothing is attached";
    RDR_FILE_NOT_FOUND = 13: "OCSD_ERR_RDR_FILE_NOT_FOUND", "source reader: no such file";
    RDR_INVALID_INIT = 14: "OCSD_ERR_RDR_INVALID_INIT", "source reader: invalid parameter";
    RDR_NO_DECODER = 15: "OCSD_ERR_RDR_NO_DECODER", "source reader: no decoder";
    DATA_DECODE_FATAL = 16: "OCSD_ERR_DATA_DECODE_FATAL", "a decoder reported a fatal error";
    DFMTR_NOTCONTTRACE = 17: "OCSD_ERR_DFMTR_NOTCONTTRACE", "the trace for the deformatter is not contiguous";
    DFMTR_BAD_FHSYNC = 18: "OCSD_ERR_DFMTR_BAD_FHSYNC", "a bad frame or half frame synchronisation";
    BAD_PACKET_SEQ = 19: "OCSD_ERR_BAD_PACKET_SEQ", "Bad packet sequence";
    INVALID_PCKT_HDR = 20: "OCSD_ERR_INVALID_PCKT_HDR", "Invalid packet header";
    PKT_INTERP_FAIL = 21: "OCSD_ERR_PKT_INTERP_FAIL", "bad data or packet sequence";
    UNSUPPORTED_ISA = 22: "OCSD_ERR_UNSUPPORTED_ISA", "the instruction set is not supported";
    HW_CFG_UNSUPP = 23: "OCSD_ERR_HW_CFG_UNSUPP", "the configuration of the trace unit is not supported";
    UNSUPP_DECODE_PKT = 24: "OCSD_ERR_UNSUPP_DECODE_PKT", "the packet is not supported";
    BAD_DECODE_PKT = 25: "OCSD_ERR_BAD_DECODE_PKT", "reserved or unknown packet";
    COMMIT_PKT_OVERRUN = 26: "OCSD_ERR_COMMIT_PKT_OVERRUN", "more elements are committed than were traced";
    MEM_NACC = 27: "OCSD_ERR_MEM_NACC", "memory cannot be accessed";
    RET_STACK_OVERFLOW = 28: "OCSD_ERR_RET_STACK_OVERFLOW", "more returns than calls";
    DCDT_NO_FORMATTER = 29: "OCSD_ERR_DCDT_NO_FORMATTER", "the decode tree has no formatter";
    MEM_ACC_OVERLAP = 30: "OCSD_ERR_MEM_ACC_OVERLAP", "memory overlaps other memory";
    MEM_ACC_FILE_NOT_FOUND = 31: "OCSD_ERR_MEM_ACC_FILE_NOT_FOUND", "a file with memory cannot be opened";
    MEM_ACC_FILE_DIFF_RANGE = 32: "OCSD_ERR_MEM_ACC_FILE_DIFF_RANGE", "the file is in use for other addresses";
    MEM_ACC_RANGE_INVALID = 33: "OCSD_ERR_MEM_ACC_RANGE_INVALID", "invalid range of addresses";
    MEM_ACC_BAD_LEN = 34: "OCSD_ERR_MEM_ACC_BAD_LEN", "more memory was returned than asked for";
    TEST_SNAPSHOT_PARSE = 35: "OCSD_ERR_TEST_SNAPSHOT_PARSE", "a snapshot cannot be parsed";
    TEST_SNAPSHOT_PARSE_INFO = 36: "OCSD_ERR_TEST_SNAPSHOT_PARSE_INFO", "information about a snapshot";
    TEST_SNAPSHOT_READ = 37: "OCSD_ERR_TEST_SNAPSHOT_READ", "a snapshot cannot be read";
    TEST_SS_TO_DECODER = 38: "OCSD_ERR_TEST_SS_TO_DECODER", "no decoders can be made from a snapshot";
    DCDREG_NAME_REPEAT = 39: "OCSD_ERR_DCDREG_NAME_REPEAT", "a decoder of this name is registered";
    DCDREG_NAME_UNKNOWN = 40: "OCSD_ERR_DCDREG_NAME_UNKNOWN", "no decoder of this name is registered";
    DCDREG_TYPE_UNKNOWN = 41: "OCSD_ERR_DCDREG_TYPE_UNKNOWN", "no decoder of this type is registered";
    DCDREG_TOOMANY = 42: "OCSD_ERR_DCDREG_TOOMANY", "too many decoders are registered";
    DCD_INTERFACE_UNUSED = 43: "OCSD_ERR_DCD_INTERFACE_UNUSED", "the decoder does not have this interface";
    INVALID_OPCODE = 44: "OCSD_ERR_INVALID_OPCODE", "illegal opcode in program memory";
    I_RANGE_LIMIT_OVERRUN = 45: "OCSD_ERR_I_RANGE_LIMIT_OVERRUN", "more instructions in a range than the limit";
    BAD_DECODE_IMAGE = 46: "OCSD_ERR_BAD_DECODE_IMAGE", "the program image contradicts the trace";
}

/// The response of a data path operation, `ocsd_datapath_resp_t`. Greater numbers are more severe.
pub mod response {
    /// Continue.
    pub const CONT: u32 = 0;
    /// Continue; an error was logged.
    pub const ERR_CONT: u32 = 2;
    /// No further data until a flush returned [`CONT`].
    pub const WAIT: u32 = 3;
    /// Fatal: no decoder, or no tree.
    pub const FATAL_NOT_INIT: u32 = 6;
    /// Fatal: an operation that is not allowed.
    pub const FATAL_INVALID_OP: u32 = 7;
    /// Fatal: an invalid parameter.
    pub const FATAL_INVALID_PARAM: u32 = 8;
    /// Fatal: invalid trace data.
    pub const FATAL_INVALID_DATA: u32 = 9;
    /// Fatal: an error of the system.
    pub const FATAL_SYS_ERR: u32 = 10;

    /// Whether the response asks for a flush.
    pub const fn waits(response: u32) -> bool {
        response >= WAIT && response < FATAL_NOT_INIT
    }

    /// Whether the response ends decoding.
    pub const fn is_fatal(response: u32) -> bool {
        response >= FATAL_NOT_INIT
    }
}

/// Data path operations, `ocsd_datapath_op_t`.
pub mod operation {
    /// Trace data.
    pub const DATA: u32 = 0;
    /// The trace ends.
    pub const END: u32 = 1;
    /// Deliver what waits.
    pub const FLUSH: u32 = 2;
    /// Return to the initial state.
    pub const RESET: u32 = 3;
}

/// Flags of the deformatter.
pub mod formatter {
    /// Frames have full synchronisation packets between them.
    pub const FSYNCS: u32 = 0x01;
    /// Frames have half synchronisation packets, too.
    pub const HSYNCS: u32 = 0x02;
    /// Frames are aligned in memory, without synchronisation packets.
    pub const MEM_ALIGN: u32 = 0x04;
    /// The raw frame printer prints frames as they are.
    pub const PACKED: u32 = 0x08;
    /// The raw frame printer prints the data of each trace ID.
    pub const UNPACKED: u32 = 0x10;
    /// Four full synchronisation packets in a frame reset the decoders.
    pub const RESET_ON_4X_FSYNC: u32 = 0x20;
    /// All flags.
    pub const ALL: u32 = 0x3f;
}

/// Flags for the creation of a decoder.
pub mod create {
    /// Packets only.
    pub const PACKETS: u32 = 0x01;
    /// Packets and elements.
    pub const ELEMENTS: u32 = 0x02;
    /// Bad packets are not passed to the packet sink.
    pub const NO_FORWARD_BAD: u32 = 0x10;
    /// Bad packets are not passed to the packet monitor.
    pub const NO_MONITOR_BAD: u32 = 0x20;
    /// ETE: a range ends at each waypoint before a source address.
    pub const SPLIT_SOURCE_RANGES: u32 = 0x1_0000;
    /// ETMv4 and ETE: every undefined A64 opcode is an error.
    pub const CHECK_OPCODES: u32 = 0x2_0000;
}

/// Trace protocols, `ocsd_trace_protocol_t` of 1.8.0.
pub mod protocol {
    /// ETMv3.
    pub const ETMV3: u32 = 1;
    /// ETMv4, instructions.
    pub const ETMV4I: u32 = 2;
    /// PTM.
    pub const PTM: u32 = 4;
    /// STM.
    pub const STM: u32 = 5;
    /// ETE.
    pub const ETE: u32 = 6;
    /// ITM.
    pub const ITM: u32 = 7;
    /// The first protocol of a decoder that a client registers.
    pub const CUSTOM: u32 = 100;
    /// The number after the last protocol of a client.
    pub const CUSTOM_END: u32 = 110;
}
