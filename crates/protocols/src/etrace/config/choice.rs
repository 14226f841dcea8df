//! The parameters with named values.

use crate::parameter::choices;

choices! {
    /// The version of the packets of a unit. The trace data do not contain it.
    Version {
        /// Draft 0.026 of January 2019.
        Draft = 0 "0.026",
        /// Ratified in 2020.
        V1_0 = 10 "1.0",
        /// 2.0 and its editions up to 2.0-20250616.
        #[default]
        V2_0 = 20 "2.0",
        /// The draft of 2.1: standard support packet, `irets`.
        V2_1 = 21 "2.1",
    }

    /// The vendor or tool of a unit: a set of defaults for all other parameters.
    Profile {
        /// The specification.
        #[default]
        Spec = 0 "spec",
        /// The specification's reference flow.
        ReferenceFlow = 1 "reference-flow",
        /// Siemens (UltraSoC) units, and the codec that was in the specification's repository.
        Siemens = 2 "siemens",
        /// PULP `trace_debugger` and `trdb`: the draft.
        PulpTrdb = 3 "pulp-trdb",
        /// PULP `rv_tracer`.
        PulpRvTracer = 4 "pulp-rv_tracer",
        /// Espressif ESP32-C6, H2 and P4.
        Esp32 = 5 "esp32",
    }

    /// The header of a packet.
    Framing {
        /// One byte: length \[4:0], flow \[6:5], extend \[7]; then the source, a timestamp where
        /// `extend` is 1, the type and the packet. (Encapsulation 1.0)
        #[default]
        Encapsulated = 0 "encapsulated",
        /// One byte: length \[4:0], type \[6:5], time \[7]; then the index, and a time tag where
        /// `time` is set. (Siemens messaging; the reference flow's files)
        Siemens = 1 "siemens",
        /// One byte: length \[3:0], message \[5:4], format \[7:6], which is the payload's first
        /// field.
        PulpTrdb = 2 "pulp-trdb",
        /// Three bytes: length \[4:0] of the whole, and a running index of 16 bits.
        Esp32 = 3 "esp32",
        /// Records of 40 bytes, the last byte first: zeros, then the payload, the timestamp and the
        /// header, each with its lowest byte last. (PULP `rv_tracer`, the input of its decoder)
        PulpRecords = 4 "pulp-records",
        /// Records of 40 bytes: the header, the timestamp and the payload, the last two with their
        /// lowest byte last. (The lines that PULP `rv_encapsulator` prints)
        PulpLines = 5 "pulp-lines",
    }

    /// The operands of a differential address.
    Difference {
        /// This address minus the one before.
        #[default]
        CurrentMinusPrevious = 0 "current-previous",
        /// The address before minus this one.
        PreviousMinusCurrent = 1 "previous-current",
    }

    /// The bits that sign compression omits: those at the top that repeat the bit below.
    Compression {
        /// Whole bytes at the end of the payload.
        #[default]
        Whole = 0 "whole",
        /// PULP `trdb`: whole bytes of the address at the end of formats 0 to 2, except its lowest
        /// bit. In an address of 64 bits only the low 32 are examined, unless it is a difference
        /// with branches. Padding is 0.
        Trdb = 3 "trdb",
        /// Whole bytes of the address; the fields after it move up.
        Address = 1 "address",
        /// Nothing.
        None = 2 "none",
    }

    /// The padding of payloads to whole bytes.
    Padding {
        /// With copies of the last bit.
        #[default]
        Sign = 0 "sign",
        /// With zeros.
        Zero = 1 "zero",
    }

    /// The place of `msg_type` in packets of 0.026.
    MessageType {
        /// In the header. Siemens messaging has it in the bits of the flow.
        #[default]
        Header = 0 "header",
        /// In the first two bits of the payload: 0 is te_support, 2 is te_inst.
        Payload = 1 "payload",
    }

    /// The meaning of a reported address that the program reaches before a jump to it.
    LoopLabel {
        /// The next packet decides: before one of format 3, or before the end, the address is
        /// reached without the jump.
        #[default]
        NextPacket = 0 "next-packet",
        /// The address is reached without the jump.
        First = 1 "first",
    }

    /// The bits of `ioptions`, the lowest first.
    OptionBits {
        /// Implicit return, implicit exception, full address, jump target cache, branch prediction.
        #[default]
        Reference = 0 "reference",
        /// Sequentially inferred jumps, implicit return, implicit exception, branch prediction,
        /// jump target cache, full address: the order in which the specification names them.
        Named = 1 "named",
        /// Jump target cache, branch prediction, implicit return, sequentially inferred jumps,
        /// implicit exception, full address, delta address.
        Pulp = 2 "pulp",
        /// None.
        None = 3 "none",
        /// The standard support packet of 2.1.
        Standard = 4 "standard",
    }

    /// The layout of the trap packet.
    TrapPacket {
        /// The handler's address and `tvalepc`. (1.0)
        TvalEpc = 0 "tvalepc",
        /// `thaddr`, an address and `tval`. (2.0)
        #[default]
        ThAddr = 1 "thaddr",
    }

    /// When the branch predictor and the jump target cache are reset.
    Reset {
        /// With each synchronisation packet.
        #[default]
        Sync = 0 "sync",
        /// When tracing starts.
        Start = 1 "start",
    }

    /// The unit of the resynchronisation period.
    Sync {
        /// Packets.
        #[default]
        Packets = 0 "packets",
        /// Cycles.
        Cycles = 1 "cycles",
        /// Half words of retired instructions.
        Halfwords = 2 "halfwords",
    }
}
