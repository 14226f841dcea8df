/*
 * Tracewright: processor trace, decoded. The C interface; docs/c-api.md explains it.
 *
 * Rules for all functions:
 *
 * - Each returns a tw_status: TW_OK, another value above 0 that is no error, or an error below 0. Where
 *   the last argument is a tw_error, it receives the code and a text; it may be NULL.
 * - A structure begins with its size in bytes. The caller sets it before each call, for a structure that
 *   is read and for one that is written: the TW_..._INIT macros do. A library of another version reads
 *   and writes only what both know.
 * - A number that the trace does not report is not 0: a bit in `known` states which fields are known.
 * - Handles are freed with the function of their type, which sets the variable to NULL. A handle that
 *   was made from a capture stays valid when the variable of the capture is freed. A handle may be freed
 *   while other threads call functions with it: those calls end as usual, and later ones return
 *   TW_ERR_HANDLE. A handle that one thread uses at a time is not freed then: TW_ERR_BUSY.
 * - A text (const char *) in a structure belongs to the handle that it was taken from, ends with a zero
 *   and is UTF-8. Texts without a handle are valid for ever.
 * - A tw_capture and a tw_index may be used by several threads at once. Any other handle may be used by
 *   one thread at a time; a call while another one uses it returns TW_ERR_BUSY.
 * - There is no global state but the table of handles, and the protocols of clients.
 * - A function that the client passes must not unwind (C++ exceptions, longjmp) through the library.
 */

#ifndef TRACEWRIGHT_H
#define TRACEWRIGHT_H

/* Made by cbindgen from crates/capi of Tracewright. Do not change it. */

#include <stddef.h>
#include <stdint.h>

// An undefined opcode means that the program image is wrong.
#define TW_OPEN_CHECK_OPCODES 1

// The first byte of an ITM begins a packet.
#define TW_OPEN_ASSUME_SYNCED 4

// The range up to the address of a Source Address packet (ETE) is split at each waypoint, instead
// of one range in which branches that were not taken are not reported.
#define TW_OPEN_SPLIT_SOURCE_RANGES 16

// Execution is unknown from here to the next `TW_ELEMENT_TRACE_ON` or range. `reason`: `TW_GAP_*`.
#define TW_ELEMENT_GAP 1

// Instruction tracing starts or restarts. `reason`: `TW_START_*`.
#define TW_ELEMENT_TRACE_ON 2

// The context from here on: `context_id`, `vmid`, `level`, `security`, `isa`, `TW_FLAG_64_BIT`.
#define TW_ELEMENT_CONTEXT 3

// Executed instructions: `address`, `end`, `length`, `instructions`, `cycles`, `isa`; of the last
// instruction `last_kind`, `last_role`, `last_size`, `TW_FLAG_TAKEN`, `TW_FLAG_CONDITIONAL`.
#define TW_ELEMENT_RANGE 4

// The last `number` ranges of the source were executed `value` times more, as a whole.
#define TW_ELEMENT_REPEAT 5

// `instructions` unknown instructions were executed from `address` on, and then the one at `end`.
#define TW_ELEMENT_UNKNOWN 6

// Correction of the last instruction of the last range: `TW_FLAG_TAKEN` is the actual outcome.
#define TW_ELEMENT_CORRECTED 7

// Program memory is missing at `address`; `level` and `security` of the access.
#define TW_ELEMENT_NO_CODE 8

// An exception `number` was taken; `address` is the preferred return address.
#define TW_ELEMENT_EXCEPTION 9

// The trap `value` of the preceding exception (RISC-V `xtval`).
#define TW_ELEMENT_TRAP_VALUE 10

// The processor returned from an exception.
#define TW_ELEMENT_EXCEPTION_RETURN 11

// A timestamp: `value` in ticks; `cycles` since the last cycle count.
#define TW_ELEMENT_TIMESTAMP 12

// Processor `cycles` since the last cycle count.
#define TW_ELEMENT_CYCLES 13

// Trace unit events: bit n of `value` is set where event n occurred.
#define TW_ELEMENT_EVENTS 14

// The trigger fired.
#define TW_ELEMENT_TRIGGER 15

// A timestamp marker: the next timestamp refers to this position.
#define TW_ELEMENT_MARKER 16

// A step of a memory transaction. `reason`: `TW_TRANSACTION_*`.
#define TW_ELEMENT_TRANSACTION 17

// A `value` that the program wrote into the instruction trace, at exception level `level`.
#define TW_ELEMENT_INSTRUMENTATION 18

// A write of the program to a stimulus port (`page`, `port`) or channel (`master`, `channel`):
// the low `bits` bits of `value`, at `time`; `TW_WRITE_*` in `flags`.
#define TW_ELEMENT_SOFTWARE_WRITE 19

// An event of the Data Watchpoint and Trace unit: discriminator `number`, `length` bytes `value`.
#define TW_ELEMENT_DWT_EVENT 20

// A local timestamp of an ITM: `value` ticks since the preceding one, `time` in cycles since the
// start. `reason`: `TW_DELAY_*`.
#define TW_ELEMENT_LOCAL_TIMESTAMP 21

// A global timestamp of an ITM: `value` in ticks.
#define TW_ELEMENT_GLOBAL_TIMESTAMP 22

// A data access: `address`, `value`, `by` (the address of the instruction), `length`, `direction`;
// `TW_ACCESS_*` in `flags`.
#define TW_ELEMENT_DATA_ACCESS 23

// `length` undecodable bytes. `reason`: `TW_FAULT_*`; `number` is the header, where it matters.
#define TW_ELEMENT_UNDECODABLE 24

// Packets contradict each other or the program. `reason`: `TW_INCONSISTENCY_*`.
#define TW_ELEMENT_INCONSISTENCY 25

// The trace ends here.
#define TW_ELEMENT_END 26

// An element that this version of the interface has no form for.
#define TW_ELEMENT_OTHER 27

// What a protocol reports that no other element states: `length` bytes, which a `tw_push`
// delivers.
#define TW_ELEMENT_CUSTOM 28

// The field `address` is known.
#define TW_KNOWN_ADDRESS 1

// The field `end` is known.
#define TW_KNOWN_END 2

// The field `value` is known.
#define TW_KNOWN_VALUE 4

// The field `time` is known.
#define TW_KNOWN_TIME 8

// The field `by` is known.
#define TW_KNOWN_BY 16

// The field `instructions` is known.
#define TW_KNOWN_INSTRUCTIONS 32

// The field `cycles` is known.
#define TW_KNOWN_CYCLES 64

// The field `length` is known.
#define TW_KNOWN_LENGTH 128

// The field `number` is known.
#define TW_KNOWN_NUMBER 256

// The field `context_id` is known.
#define TW_KNOWN_CONTEXT_ID 512

// The field `vmid` is known.
#define TW_KNOWN_VMID 1024

// The field `level` is known.
#define TW_KNOWN_LEVEL 2048

// The field `security` is known.
#define TW_KNOWN_SECURITY 4096

// The field `isa` is known.
#define TW_KNOWN_ISA 8192

// The fields `last_kind`, `last_role` and `last_size` are known.
#define TW_KNOWN_LAST 16384

// The field `port` is known.
#define TW_KNOWN_PORT 32768

// The field `page` is known.
#define TW_KNOWN_PAGE 65536

// The field `master` is known.
#define TW_KNOWN_MASTER 131072

// The field `channel` is known.
#define TW_KNOWN_CHANNEL 262144

// The field `bits` is known.
#define TW_KNOWN_BITS 524288

// The field `direction` is known.
#define TW_KNOWN_DIRECTION 1048576

// The last instruction of a range took effect; a branch was taken.
#define TW_FLAG_TAKEN 1

// A condition decides on the effect of the last instruction of a range.
#define TW_FLAG_CONDITIONAL 2

// The context is in AArch64 state.
#define TW_FLAG_64_BIT 4

// The return address of an exception is also the target of the last branch.
#define TW_FLAG_ALSO_TARGET 8

// The exception was tail-chained (M profile).
#define TW_FLAG_TAIL_CHAIN 16

// The trace unit lost packets directly before this one.
#define TW_FLAG_AFTER_OVERFLOW 32

// The clock of a global timestamp changed.
#define TW_FLAG_CLOCK_CHANGED 64

// Nothing is contradicted: the format leaves two cases open, and the element before it is one.
#define TW_FLAG_AMBIGUITY 128

// Software write: the packet is marked (STP "M").
#define TW_WRITE_MARKER 65536

// Software write: a trigger; `value` is its payload.
#define TW_WRITE_TRIGGER 131072

// Software write: a frequency; `value` is in hertz.
#define TW_WRITE_FREQUENCY 262144

// Software write: a master reports an error.
#define TW_WRITE_MASTER_ERROR 524288

// Software write: the trace unit reports a global error.
#define TW_WRITE_GLOBAL_ERROR 1048576

// Software write: a FLAG packet.
#define TW_WRITE_FLAG 2097152

// Software write: a USER packet.
#define TW_WRITE_USER 4194304

// Software write: a channel reports an error.
#define TW_WRITE_CHANNEL_ERROR 8388608

// Software write: a synchronization point of several traces; `value` identifies it.
#define TW_WRITE_CROSS_SYNC 16777216

// Data access: a coprocessor register transfer.
#define TW_ACCESS_COPROCESSOR 65536

// Data access: of a load or store multiple, other than the first.
#define TW_ACCESS_CONTINUED 131072

// Data access: the value was traced late, out of order.
#define TW_ACCESS_LATE 262144

// Data access: a store-exclusive that failed.
#define TW_ACCESS_STORE_FAILED 524288

// Data access: the trace unit did not trace the value.
#define TW_ACCESS_VALUE_NOT_TRACED 1048576

// Data access: accesses after this one were suppressed because the FIFO was full.
#define TW_ACCESS_SUPPRESSED 2097152

// Data access: big-endian.
#define TW_ACCESS_BIG_ENDIAN 4194304

// Data access: a stacking access of exception entry or return (M profile).
#define TW_ACCESS_EXCEPTION 8388608

// Gap: the decoder starts.
#define TW_GAP_START 1

// Gap: the decoder restarts at a barrier of the link.
#define TW_GAP_RESET 2

// Gap: the trace unit overflowed.
#define TW_GAP_OVERFLOW 3

// Gap: the trace unit discarded its unresolved trace.
#define TW_GAP_DISCARD 4

// Gap: undecodable bytes.
#define TW_GAP_BAD_PACKET 5

// Gap: the program image contradicts the trace.
#define TW_GAP_BAD_IMAGE 6

// Gap: only data accesses were lost.
#define TW_GAP_DATA 7

// Trace on: tracing was enabled, or a filter includes the instructions again.
#define TW_START_NORMAL 1

// Trace on: after an overflow of the trace unit.
#define TW_START_OVERFLOW 2

// Trace on: the processor left Debug state.
#define TW_START_DEBUG 3

// Transaction: the trace begins inside one.
#define TW_TRANSACTION_INSIDE 1

// Transaction: it starts.
#define TW_TRANSACTION_START 2

// Transaction: it was committed.
#define TW_TRANSACTION_COMMIT 3

// Transaction: it failed; its instructions have no effect.
#define TW_TRANSACTION_FAILURE 4

// Transaction: the one in which the trace begins was speculative, and did not occur.
#define TW_TRANSACTION_CANCELLED 5

// Local timestamp: synchronous to the preceding packet.
#define TW_DELAY_NONE 1

// Local timestamp: it was delayed.
#define TW_DELAY_TIMESTAMP 2

// Local timestamp: the preceding packet was delayed.
#define TW_DELAY_PACKET 3

// Local timestamp: both were delayed.
#define TW_DELAY_BOTH 4

// Undecodable: before the first synchronization point.
#define TW_FAULT_UNSYNCHRONISED 1

// Undecodable: the specification reserves the header.
#define TW_FAULT_RESERVED 2

// Undecodable: the header is reserved in the configuration of the trace unit.
#define TW_FAULT_RESERVED_FOR_CONFIG 3

// Undecodable: the record of a cycle has pins that the trace port does not have.
#define TW_FAULT_NO_SUCH_PINS 4

// Undecodable: an invalid sequence of bytes.
#define TW_FAULT_SEQUENCE 5

// Undecodable: a continuation exceeds the width of the field.
#define TW_FAULT_OVERLONG 6

// Undecodable: the packet has more bytes than its fields.
#define TW_FAULT_BYTES_AFTER_FIELDS 7

// Undecodable: the packet has fewer bytes than its fields.
#define TW_FAULT_FIELDS_AFTER_BYTES 8

// Undecodable: the payload after the header is not publicly documented.
#define TW_FAULT_OPAQUE 9

// Undecodable: the trace ends inside a packet.
#define TW_FAULT_TRUNCATED 10

// Undecodable: the formatter lost frame alignment.
#define TW_FAULT_FRAME 11

// Inconsistency: an instruction packet before an address or a context.
#define TW_INCONSISTENCY_NO_ADDRESS 1

// Inconsistency: a commit of more P0 elements than are pending.
#define TW_INCONSISTENCY_COMMIT_OF_NOTHING 2

// Inconsistency: a cancel of more P0 elements than are pending.
#define TW_INCONSISTENCY_CANCEL_OF_NOTHING 3

// Inconsistency: a mispredict without a pending branch.
#define TW_INCONSISTENCY_MISPREDICT_OF_NOTHING 4

// Inconsistency: a return with an empty return stack and without an address.
#define TW_INCONSISTENCY_RETURN_STACK_EMPTY 5

// Inconsistency: an unconditional branch traced as not taken.
#define TW_INCONSISTENCY_UNCONDITIONAL_NOT_TAKEN 6

// Inconsistency: the program does not reach an address in the trace.
#define TW_INCONSISTENCY_ADDRESS_NOT_REACHED 7

// Inconsistency: the program image has no valid instruction at the address.
#define TW_INCONSISTENCY_INVALID_OPCODE 8

// Inconsistency: the instruction set is not supported.
#define TW_INCONSISTENCY_UNSUPPORTED_ISA 9

// Inconsistency: a packet that is invalid in the current state.
#define TW_INCONSISTENCY_UNEXPECTED 10

// Inconsistency: trace was lost before the outcome of the last branch was resolved.
#define TW_INCONSISTENCY_UNRESOLVED 11

// Ambiguity: two paths lead to the traced address.
#define TW_INCONSISTENCY_AMBIGUOUS 12

// Ambiguity: the last instruction either retired before the trap or caused it.
#define TW_INCONSISTENCY_TRAPPED_OR_RETIRED 13

// Inconsistency: one packet reports more branches than the configuration allows.
#define TW_INCONSISTENCY_TOO_MANY_BRANCHES 14

// Inconsistency: the program has more instructions for one packet than the limit.
#define TW_INCONSISTENCY_EXPANSION_LIMIT 15

// Inconsistency: the address is not aligned for the instruction set.
#define TW_INCONSISTENCY_MISALIGNED 16

// Inconsistency: the context changed with a discontinuity, or an exception was taken.
#define TW_INCONSISTENCY_CONTEXT_OR_EXCEPTION 17

// Something that this version of the interface has no number for.
#define TW_REASON_OTHER 4294967295

// AArch64.
#define TW_ISA_A64 1

// AArch32, Arm.
#define TW_ISA_A32 2

// AArch32, Thumb.
#define TW_ISA_T32 3

// ThumbEE.
#define TW_ISA_THUMB_EE 4

// Jazelle.
#define TW_ISA_JAZELLE 5

// RISC-V with 32 bits.
#define TW_ISA_RV32 6

// RISC-V with 64 bits.
#define TW_ISA_RV64 7

// Secure state.
#define TW_SECURITY_SECURE 1

// Non-secure state.
#define TW_SECURITY_NON_SECURE 2

// Root state (FEAT_RME).
#define TW_SECURITY_ROOT 3

// Realm state (FEAT_RME).
#define TW_SECURITY_REALM 4

// Instruction: execution continues with the next one.
#define TW_KIND_PLAIN 1

// Instruction: a direct branch.
#define TW_KIND_BRANCH 2

// Instruction: an indirect branch.
#define TW_KIND_INDIRECT 3

// Instruction: an instruction synchronisation barrier.
#define TW_KIND_ISB 4

// Instruction: a data barrier.
#define TW_KIND_BARRIER 5

// Instruction: WFI or WFE.
#define TW_KIND_WAIT 6

// Instruction: WFIT or WFET.
#define TW_KIND_TIMED_WAIT 7

// Instruction: the start of a transaction.
#define TW_KIND_TRANSACTION_START 8

// Instruction: an encoding that is undefined.
#define TW_KIND_UNDEFINED 9

// Branch: a jump, or no branch.
#define TW_ROLE_JUMP 1

// Branch: a call.
#define TW_ROLE_CALL 2

// Branch: a return.
#define TW_ROLE_RETURN 3

// Branch: a return from an exception.
#define TW_ROLE_EXCEPTION_RETURN 4

// Branch: the end or the start of a low-overhead loop.
#define TW_ROLE_LOOP 5

// Branch: it compares two values.
#define TW_ROLE_COMPARE 6

// Branch: an AArch32 instruction that usually returns.
#define TW_ROLE_IMPLIED_RETURN 7

// Branch: RISC-V, through one link register, writing the other.
#define TW_ROLE_SWAP 8

// Branch: RISC-V, writing its return address to another register.
#define TW_ROLE_LINK 9

// Data access: a read.
#define TW_DIRECTION_READ 1

// Data access: a write.
#define TW_DIRECTION_WRITE 2

// With a record of each occurrence, so that more queries are answered by the index alone.
#define TW_INDEX_FULL 1

// Text for `create_llvm_prof` and `create_gcov` of AutoFDO.
#define TW_PROFILE_AUTOFDO 1

// Pre-aggregated profile for `perf2bolt` of BOLT.
#define TW_PROFILE_BOLT 2

// Sample profile of LLVM, as text.
#define TW_PROFILE_LLVM 3

// Unsymbolized profile of llvm-profgen.
#define TW_PROFILE_LLVM_UNSYMBOLIZED 4

// Clusters of basic blocks for clang.
#define TW_PROFILE_PROPELLER 5

// profile.proto of pprof.
#define TW_PROFILE_PPROF 6

// Folded stacks, with functions only.
#define TW_PROFILE_FOLDED 7

// Callgrind.
#define TW_PROFILE_CALLGRIND 8

// JSON Lines.
#define TW_PROFILE_JSON 9

// The most bytes of a packet of a client's protocol.
#define TW_PACKET_MAX 64

// The most bytes of the state of a client's decoder.
#define TW_STATE_MAX 256

// A function of the client answers this: data may follow.
#define TW_CONTINUE 0

// A function of the client answers this: nothing may follow until `tw_push_flush`.
#define TW_HOLD 1

// `tw_read_memory` answers this: the bytes are not known yet, and the caller is to be asked again.
#define TW_READ_LATER -1

// Bytes are undecodable, or packets contradict each other or the program.
#define TW_SEVERITY_ERROR 1

// Trace or program memory is missing, or something has two meanings.
#define TW_SEVERITY_WARNING 2

// Bytes before the first synchronisation, and bytes of trace IDs without a source.
#define TW_SEVERITY_INFO 3

// `source` of what belongs to the trace link.
#define TW_NO_SOURCE 4294967295

// The frame is as it is in the buffer, with the IDs.
#define TW_FRAME_PACKED 1

// Tracefile of lcov.
#define TW_COVERAGE_LCOV 1

// Cobertura XML.
#define TW_COVERAGE_COBERTURA 2

// JSON of gcov.
#define TW_COVERAGE_GCOV 3

// JSON of llvm-cov export.
#define TW_COVERAGE_LLVM_COV 4

// Chrome JSON.
#define TW_TIMELINE_CHROME 1

// Processed profile of the Firefox Profiler.
#define TW_TIMELINE_FIREFOX 2

// Perfetto protobuf.
#define TW_TIMELINE_PERFETTO 3

// speedscope.
#define TW_TIMELINE_SPEEDSCOPE 4

// Value Change Dump.
#define TW_TIMELINE_VCD 5

// Sources that can be decoded are, even if others cannot.
#define TW_DECODE_PARTIAL 1

// Only the buffer with the number `buffer`.
#define TW_SELECT_BUFFER 1

// Only packets at offsets from `offset_from` up to, not including, `offset_to`.
#define TW_SELECT_OFFSET 2

// Only elements with a time in ticks from `time_from` up to, not including, `time_to`.
#define TW_SELECT_TIME 4

// Only instructions with numbers from `instruction_from` up to, not including, `instruction_to`.
#define TW_SELECT_INSTRUCTION 8

// Only elements with numbers from `element_from` up to, not including, `element_to`.
#define TW_SELECT_ELEMENT 16

// A capture that is being made.
typedef struct tw_builder tw_builder;

// A capture. Several threads may use it at once.
typedef struct tw_capture tw_capture;

// Where a client's decoder reports what a packet means. It is valid during the call that received
// it, and for the thread of that call.
typedef struct tw_emit tw_emit;

// The functions that a trace executed.
typedef struct tw_functions tw_functions;

// An index of a capture. Several threads may use it at once.
typedef struct tw_index tw_index;

// The result of a search.
typedef struct tw_matches tw_matches;

// Decodes data that the client pushes.
typedef struct tw_push tw_push;

// The elements of a capture, in parts that the client asks for.
typedef struct tw_reader tw_reader;

// The result of a function: `TW_OK`, another value above 0 that is no error, or an error below 0.
typedef int32_t tw_status;

// An error: the code and a text.
typedef struct tw_error {
  // Size of the structure in bytes.
  uint32_t size;
  // The result of the function.
  tw_status code;
  // What is wrong, and where. It ends with a zero. A text that is too long is cut.
  char text[504];
} tw_error;

// A trace protocol of the client. Its functions may be called by several threads at once. They
// must depend on their arguments only: the state of a decoder is `state_size` bytes, at first 0,
// which the library copies and compares. What the structure points to is copied, except `user`,
// which belongs to the client and must stay valid as long as captures with the protocol are used.
// After undecodable bytes the state is 0 again, and decoding goes on where `sync` finds a start.
// In frames, the register `TRACEID` of the device has its trace ID.
typedef struct tw_protocol {
  // Size of the structure in bytes.
  uint32_t size;
  // Bytes of the state of a decoder, at most `TW_STATE_MAX`.
  uint32_t state_size;
  // The name that devices of captures have as their type, up to a full stop.
  const char *name;
  // The names of the kinds of `TW_ELEMENT_CUSTOM`, in lower case with hyphens.
  const char *const *kinds;
  // Their number.
  size_t kind_count;
  // The first argument of each function.
  void *user;
  // Where in the bytes a decoder may start; a negative number where nowhere. The last
  // `TW_PACKET_MAX - 1` of them are searched again with those that follow.
  int64_t (*sync)(void *user, const uint8_t *bytes, size_t length);
  // The length of the packet at the first byte, at most `TW_PACKET_MAX`; 0 where it continues
  // after the bytes; a negative number where that many bytes are undecodable.
  int64_t (*parse)(void *user, const uint8_t *bytes, size_t length);
  // Takes a packet: changes the state, and calls `tw_emit_...`.
  void (*decode)(void *user, void *state, const uint8_t *packet, size_t length, struct tw_emit *emit);
} tw_protocol;

// How a capture is opened.
typedef struct tw_open_options {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_OPEN_*`.
  uint32_t flags;
  // Further program memory: files in ELF, Intel HEX, S-records or UF2, or raw images as
  // `FILE@ADDRESS`. For `perf.data` it is that of all code, or of process N with `,pid=N` behind
  // it.
  const char *const *images;
  // The number of images.
  size_t image_count;
  // The most instructions that one byte of a packet can stand for; 0 for the usual limit.
  uint32_t max_expansion;
  // 0.
  uint32_t reserved;
  // Protocols of the client, whose names come before those of the library. What is copied of
  // them stays in memory until the process ends.
  const struct tw_protocol *const *protocols;
  // Their number.
  size_t protocol_count;
} tw_open_options;

// What a capture has.
typedef struct tw_info {
  // Size of the structure in bytes.
  uint32_t size;
  // Trace buffers.
  uint32_t buffers;
  // Sources that can be decoded.
  uint32_t sources;
  // Sources that cannot. The notes have the reasons.
  uint32_t left_out;
  // Notes: what was odd in the files of the capture.
  uint32_t notes;
  // 0.
  uint32_t reserved;
} tw_info;

// A source: a trace unit whose trace can be decoded.
typedef struct tw_source {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_KNOWN_NUMBER` where the source has a trace ID.
  uint32_t known;
  // Number of its trace buffer.
  uint32_t buffer;
  // Trace ID, or number in messages.
  uint32_t trace_id;
  // Its name.
  const char *name;
  // Its protocol.
  const char *protocol;
} tw_source;

// How a capture is decoded, and which part of it.
typedef struct tw_decode_options {
  // Size of the structure in bytes.
  uint32_t size;
  // The size of `tw_element` of the client; 0 stands for that of the library.
  uint32_t element_size;
  // `TW_DECODE_*`.
  uint32_t flags;
  // Threads that decode; 0 stands for one for each core.
  uint32_t threads;
  // The most elements that the client's function receives at once; 0 stands for 4096.
  uint32_t batch;
  // `TW_SELECT_*`: which part is decoded. Several select what is in all of them.
  uint32_t select;
  // Number of the selected buffer.
  uint32_t buffer;
  // 0.
  uint32_t reserved;
  // First selected offset.
  uint64_t offset_from;
  // Offset after the last selected one.
  uint64_t offset_to;
  // First selected time.
  uint64_t time_from;
  // Time after the last selected one.
  uint64_t time_to;
  // Number of the first selected instruction.
  uint64_t instruction_from;
  // Number of the instruction after the last selected one.
  uint64_t instruction_to;
  // Number of the first selected element.
  uint64_t element_from;
  // Number of the element after the last selected one.
  uint64_t element_to;
  // An index, so that decoding begins near the selected part; NULL for none.
  const struct tw_index *index;
} tw_decode_options;

// One element of the trace. `kind` states which fields it has, `known` which of them are known.
// All others are 0.
typedef struct tw_element {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_ELEMENT_*`.
  uint32_t kind;
  // Offset of the packet in the trace buffer, in bytes.
  uint64_t offset;
  // Number of the source in the capture.
  uint32_t source;
  // `TW_KNOWN_*`.
  uint32_t known;
  // `TW_FLAG_*`, `TW_WRITE_*`, `TW_ACCESS_*`.
  uint32_t flags;
  // The reason or the step, by kind.
  uint32_t reason;
  // Address of the first instruction, of a data access, or to return to.
  uint64_t address;
  // Address after the last instruction.
  uint64_t end;
  // Value, payload, ticks, by kind.
  uint64_t value;
  // Timestamp of a software write; cycles of a local timestamp.
  uint64_t time;
  // Address of the instruction that made a data access.
  uint64_t by;
  // Number of instructions.
  uint32_t instructions;
  // Number of processor cycles.
  uint32_t cycles;
  // Number of bytes.
  uint32_t length;
  // Number of an exception, a discriminator, a header, a count of ranges, by kind.
  uint32_t number;
  // Context identifier.
  uint32_t context_id;
  // Virtual machine identifier.
  uint32_t vmid;
  // Master of an STM.
  uint16_t master;
  // Channel of a master.
  uint16_t channel;
  // Stimulus port of an ITM in its page, 0 to 31.
  uint8_t port;
  // Page of stimulus ports, 0 to 7.
  uint8_t page;
  // Width of a software write in bits.
  uint8_t bits;
  // `TW_DIRECTION_*`.
  uint8_t direction;
  // `TW_ISA_*`.
  uint8_t isa;
  // Exception level; for RISC-V the privilege level: 0 U, 1 S, 3 M, 4 D, 5 VU, 6 VS.
  uint8_t level;
  // `TW_SECURITY_*`.
  uint8_t security;
  // `TW_KIND_*` of the last instruction.
  uint8_t last_kind;
  // `TW_ROLE_*` of the last instruction.
  uint8_t last_role;
  // Size of the last instruction in bytes.
  uint8_t last_size;
  // 0.
  uint16_t reserved;
} tw_element;

// A function of the client that receives `count` elements, which are valid during the call. It
// returns 0 for more, or another number to stop. All calls are made by the thread that decodes.
typedef int32_t (*tw_receive_elements)(void *user, const struct tw_element *elements, size_t count);

// Counts of what was decoded, over all sources.
typedef struct tw_counts {
  // Size of the structure in bytes.
  uint32_t size;
  // 0.
  uint32_t reserved;
  // Bytes of the sources.
  uint64_t bytes;
  // Packets.
  uint64_t packets;
  // Elements, with the executions that `TW_ELEMENT_REPEAT` stands for.
  uint64_t elements;
  // Ranges of executed instructions, likewise.
  uint64_t ranges;
  // Executed instructions of the ranges.
  uint64_t instructions;
  // Bytes before a synchronisation.
  uint64_t unsynchronised;
  // Other undecodable bytes.
  uint64_t undecodable;
  // Inconsistencies.
  uint64_t inconsistencies;
  // Number of times that program memory was missing.
  uint64_t no_code;
  // Number of times that trace was lost.
  uint64_t gaps;
  // Bytes of trace IDs that no source has.
  uint64_t unknown_ids;
  // Undecodable bytes of the trace link.
  uint64_t bad_frames;
  // Executed instructions on unknown paths (`TW_ELEMENT_UNKNOWN`), as far as the trace has their
  // number.
  uint64_t unknown_instructions;
} tw_counts;

// An element that was found.
typedef struct tw_match {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_KNOWN_TIME`, `TW_KNOWN_CONTEXT_ID`.
  uint32_t known;
  // Number of the trace buffer.
  uint32_t buffer;
  // Context identifier of the source there.
  uint32_t context_id;
  // Number of the element in the buffer, from 0, over all sources in the order of the output.
  uint64_t number;
  // Number of instructions before it, of all sources.
  uint64_t instruction;
  // The last timestamp of its source, up to and including it.
  uint64_t time;
} tw_match;

// The sums of one function, over all threads.
typedef struct tw_function {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_KNOWN_ADDRESS`; `TW_KNOWN_CYCLES` where the trace counts cycles, `TW_KNOWN_TIME` where
  // it has timestamps.
  uint32_t known;
  // Its name; `[unknown]` for code without a symbol.
  const char *name;
  // The program file, where processes have mapped it; else NULL.
  const char *module;
  // The address of its first instruction, in the file where processes have mapped one.
  uint64_t address;
  // Calls and exceptions.
  uint64_t calls;
  // Instructions in the function itself.
  uint64_t instructions;
  // The same with the functions that it calls. Recursive calls count once.
  uint64_t inclusive_instructions;
  // Processor cycles in the function itself, in parts of 2^-16.
  uint64_t cycles;
  // The same with the functions that it calls.
  uint64_t inclusive_cycles;
  // Timestamp ticks in the function itself, in parts of 2^-16.
  uint64_t ticks;
  // The same with the functions that it calls.
  uint64_t inclusive_ticks;
  // Frames in which trace was lost.
  uint64_t uncertain;
} tw_function;

// How an index is made.
typedef struct tw_index_options {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_INDEX_*`.
  uint32_t flags;
  // Threads that decode; 0 stands for one for each core.
  uint32_t threads;
  // 0.
  uint32_t reserved;
  // The length of a segment in bytes of trace, at most 2^30; 0 for the usual one.
  uint64_t segment;
} tw_index_options;

// A function of the client that receives `length` bytes, which are valid during the call. It
// returns 0 for more, or another number to stop.
typedef int32_t (*tw_write)(void *user, const uint8_t *bytes, size_t length);

// Receives an element, and the name of the kind and the bytes of `TW_ELEMENT_CUSTOM`, otherwise
// NULL and none: all valid during the call. It returns `TW_CONTINUE`, `TW_HOLD`, or another number
// to end decoding.
typedef int32_t (*tw_receive_element)(void *user,
                                      const struct tw_element *element,
                                      const char *name,
                                      const uint8_t *content,
                                      size_t length);

// A packet, undecodable bytes, an event of the trace link, or a part of a frame. All pointers are
// valid during the call.
typedef struct tw_packet {
  // Size of the structure in bytes.
  uint32_t size;
  // Number of the source; `TW_NO_SOURCE` for the trace link.
  uint32_t source;
  // Offset in the buffer, in bytes.
  uint64_t offset;
  // The bytes. Those of an STM are half bytes.
  const uint8_t *bytes;
  // Their number.
  size_t length;
  // The kind: of a packet among those of its protocol, `undecodable`, or `trigger`, `flush`,
  // `full-sync`, `half-sync`, `barrier`, `footer`, `null`, `reserved`, `no-source`, `bad`.
  const char *kind;
  // The same as text.
  const char *text;
  // The value of a trigger or a flush; of a part of a frame its trace ID, or `TW_NO_SOURCE`.
  uint32_t value;
  // `TW_FRAME_*`.
  uint32_t flags;
} tw_packet;

// Receives a packet.
typedef void (*tw_receive_packet)(void *user, const struct tw_packet *packet);

// An error or a warning at a place of the trace. Its texts are valid during the call.
typedef struct tw_report {
  // Size of the structure in bytes.
  uint32_t size;
  // `TW_SEVERITY_*`.
  uint32_t severity;
  // Number of the source; `TW_NO_SOURCE` for the trace link.
  uint32_t source;
  // 0.
  uint32_t reserved;
  // Offset in the buffer, in bytes.
  uint64_t offset;
  // What happened, in words with hyphens.
  const char *code;
  // The same as a sentence.
  const char *text;
} tw_report;

// Receives a report.
typedef void (*tw_receive_report)(void *user, const struct tw_report *report);

// Reads up to `length` bytes of memory at `address` into `into`, and returns their number; 0 where
// there is no memory at the address, `TW_READ_LATER` where it is not known yet. `space` has one
// bit for the address space: 1 EL1 Secure, 2 EL1 Non-secure, 4 EL2 Non-secure, 8 EL3, 16 EL2
// Secure, 32 EL1 Realm, 64 EL2 Realm, 128 Root. `source` is the number of the source in the
// capture. The library copies the bytes, and does not ask again for what was read, nor where there
// is no memory, until `tw_push_forget_memory`. The thread is that of the call of `tw_push_...`.
typedef int64_t (*tw_read_memory)(void *user,
                                  uint64_t address,
                                  uint32_t space,
                                  uint32_t source,
                                  uint8_t *into,
                                  size_t length);

// The functions of the client that receive what is decoded; each may be NULL. All calls are made
// by the thread that calls a function of the `tw_push`, within that call. A call with the
// `tw_push` in one of them returns `TW_ERR_BUSY`. The structure is copied; `user` belongs to the
// client, and must stay valid until `tw_push_free`.
typedef struct tw_push_options {
  // Size of the structure in bytes.
  uint32_t size;
  // Number of the trace buffer of the capture.
  uint32_t buffer;
  // The first argument of each function.
  void *user;
  // Receives elements.
  tw_receive_element element;
  // Receives packets and undecodable bytes of sources, before their elements.
  tw_receive_packet packet;
  // Receives events of the trace link.
  tw_receive_packet link;
  // Receives frames, packed and by trace ID.
  tw_receive_packet frame;
  // Receives errors and warnings of `level` and more severe ones.
  tw_receive_report report;
  // Reads program memory that the capture does not have.
  tw_read_memory read;
  // `TW_SEVERITY_*`; 0 stands for `TW_SEVERITY_ERROR`.
  uint32_t level;
  // 0.
  uint32_t reserved;
  // After this many errors in the trace, such as undecodable packets, decoding ends with
  // `TW_STOPPED`; 0: never.
  uint64_t stop_after;
} tw_push_options;

// The function did what it was called for.
#define TW_OK 0

// There are no more elements.
#define TW_END 1

// A function of the client wanted no more.
#define TW_STOPPED 2

// A function of the client, or memory that it reads, is waited for: `tw_push_flush` continues.
#define TW_WAIT 3

// A pointer that must not be null is null.
#define TW_ERR_NULL -1

// The size in a structure is smaller than that of the first version of the structure, or the
// structure has fields that this version does not know and that are not 0.
#define TW_ERR_SIZE -2

// The handle is of another type, or was freed.
#define TW_ERR_HANDLE -3

// The handle is in use, by another thread or by the call that called the client.
#define TW_ERR_BUSY -4

// An argument has a value that the function does not take.
#define TW_ERR_ARGUMENT -5

// A number is not below the number of things.
#define TW_ERR_RANGE -6

// The call is not possible in this order: something must be called before.
#define TW_ERR_ORDER -7

// The capture cannot be opened.
#define TW_ERR_OPEN -8

// The capture has nothing that can be decoded, or sources of it cannot be decoded.
#define TW_ERR_SOURCES -9

// A trace buffer or a file cannot be read.
#define TW_ERR_READ -10

// A file cannot be written.
#define TW_ERR_WRITE -11

// The index is damaged, or belongs to another capture.
#define TW_ERR_INDEX -12

// The query is not understood, or has no answer.
#define TW_ERR_QUERY -13

// The profile has no such format: several program files, or a program file lacks something.
#define TW_ERR_PROFILE -14

// An error in the library itself. The handle must not be used but to free it.
#define TW_ERR_INTERNAL -15

// There is too little memory for a copy of what the client gives.
#define TW_ERR_MEMORY -16

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library: major, minor and patch number in bits 31:24, 23:16 and 15:0.
uint32_t tw_version(void);

// The version as text.
const char *tw_version_text(void);

// Makes an empty capture.
tw_status tw_builder_new(struct tw_builder **builder, struct tw_error *error);

// Frees it.
tw_status tw_builder_free(struct tw_builder **builder, struct tw_error *error);

// Adds a trace buffer with a copy of `length` bytes. `format`: `coresight` for formatter frames,
// `source_data` for the bytes of one source, `dstream_coresight`, `encapsulated` for messages of
// RISC-V.
tw_status tw_builder_buffer(struct tw_builder *builder,
                            const char *name,
                            const char *format,
                            const uint8_t *bytes,
                            size_t length,
                            struct tw_error *error);

// Adds a source of the last buffer: a trace unit of the type `device_type`, such as `ETM4.2`.
tw_status tw_builder_source(struct tw_builder *builder,
                            const char *name,
                            const char *device_type,
                            struct tw_error *error);

// Sets a register of the last source, such as `TRCTRACEIDR`.
tw_status tw_builder_register(struct tw_builder *builder,
                              const char *name,
                              uint64_t value,
                              struct tw_error *error);

// States the type of the core that the last source traces, such as `Cortex-A53`.
tw_status tw_builder_core(struct tw_builder *builder, const char *core_type, struct tw_error *error);

// Adds program memory for all sources: a copy of `length` bytes, of which the first one is at
// `address`.
tw_status tw_builder_memory(struct tw_builder *builder,
                            uint64_t address,
                            const uint8_t *bytes,
                            size_t length,
                            struct tw_error *error);

// Opens what was made, and frees the builder if that succeeds. `options` may be NULL.
tw_status tw_builder_open(struct tw_builder **builder,
                          const struct tw_open_options *options,
                          struct tw_capture **capture,
                          struct tw_error *error);

// Opens the capture at `path`: the folder of an Arm snapshot, a folder with a `capture.toml`, a
// `perf.data` file or folder, a file with the cycles of a trace port. `options` may be NULL.
// `capture` receives the handle, or NULL.
tw_status tw_open(const char *path,
                  const struct tw_open_options *options,
                  struct tw_capture **capture,
                  struct tw_error *error);

// Frees a capture. What was made from it stays valid.
tw_status tw_capture_free(struct tw_capture **capture, struct tw_error *error);

// The numbers of what a capture has.
tw_status tw_capture_info(const struct tw_capture *capture, struct tw_info *info, struct tw_error *error);

// Source `number`, from 0.
tw_status tw_capture_source(const struct tw_capture *capture,
                            size_t number,
                            struct tw_source *source,
                            struct tw_error *error);

// Name and length in bytes of trace buffer `number`, from 0. `name` and `length` may be NULL.
tw_status tw_capture_buffer(const struct tw_capture *capture,
                            size_t number,
                            const char **name,
                            uint64_t *length,
                            struct tw_error *error);

// Note `number`, from 0.
tw_status tw_capture_note(const struct tw_capture *capture,
                          size_t number,
                          const char **text,
                          struct tw_error *error);

// The symbol of an address in the program of a source, `main` or `main+0x14`, as text in the
// `room` bytes at `text`. `needed` receives the number of bytes that all of it takes, with the
// zero; 0 where no symbol has the address. `needed` may be NULL; `text` may be, where `room` is 0.
tw_status tw_symbol(const struct tw_capture *capture,
                    size_t source,
                    uint64_t address,
                    char *text,
                    size_t room,
                    size_t *needed,
                    struct tw_error *error);

// Decodes a capture: `receive` is called with the elements of all selected buffers, one buffer
// after the other, in the order in which they become certain. `options` may be NULL, and so may
// `counts`. Returns `TW_STOPPED` where `receive` stopped. Of a part of a buffer, the first element
// of each source is preceded by the context of the source, where one is known: an element more
// than the part has, which is counted.
tw_status tw_decode(const struct tw_capture *capture,
                    const struct tw_decode_options *options,
                    tw_receive_elements receive,
                    void *user,
                    struct tw_counts *counts,
                    struct tw_error *error);

// The name of a kind of element, as in all outputs of Tracewright; null for a number that is no
// kind.
const char *tw_element_kind_name(uint32_t kind);

// Searches a capture: `query` is what `tracewright find` takes, such as `first function main` or
// `count exception`. With `index`, only parts of the trace are decoded; it may be NULL. `limit` is
// the most results of each buffer for queries with `all`; 0 stands for no limit.
tw_status tw_find(const struct tw_capture *capture,
                  const struct tw_index *index,
                  const char *query,
                  size_t limit,
                  struct tw_matches **matches,
                  struct tw_error *error);

// Frees the result of a search.
tw_status tw_matches_free(struct tw_matches **matches, struct tw_error *error);

// The number of elements that were found; for a query with `count`, the number of matches, whose
// elements are not there.
tw_status tw_matches_count(struct tw_matches *matches, uint64_t *count, struct tw_error *error);

// Result `number`, from 0: where it is, and the element. `element` may be NULL.
tw_status tw_matches_get(struct tw_matches *matches,
                         size_t number,
                         struct tw_match *found,
                         struct tw_element *element,
                         struct tw_error *error);

// Finds the functions that a capture executed, with the call stacks of all threads. They are
// sorted by the instructions in the function itself. `options` may be NULL.
tw_status tw_functions_new(const struct tw_capture *capture,
                           const struct tw_decode_options *options,
                           struct tw_functions **functions,
                           struct tw_error *error);

// Frees the functions and their texts.
tw_status tw_functions_free(struct tw_functions **functions, struct tw_error *error);

// The number of functions.
tw_status tw_functions_count(struct tw_functions *functions, size_t *count, struct tw_error *error);

// Function `number`, from 0.
tw_status tw_functions_get(struct tw_functions *functions,
                           size_t number,
                           struct tw_function *function,
                           struct tw_error *error);

// Makes an index of a capture, in memory. `options` may be NULL.
tw_status tw_index_new(const struct tw_capture *capture,
                       const struct tw_index_options *options,
                       struct tw_index **index,
                       struct tw_error *error);

// Opens the index of a capture in the file `path`, as `tw_index_save` and `tracewright index`
// write it.
tw_status tw_index_open(const struct tw_capture *capture,
                        const char *path,
                        struct tw_index **index,
                        struct tw_error *error);

// Writes an index to the file `path`, which replaces another file.
tw_status tw_index_save(const struct tw_index *index, const char *path, struct tw_error *error);

// Frees an index.
tw_status tw_index_free(struct tw_index **index, struct tw_error *error);

// Writes the profile of a capture in the format `format`, `TW_PROFILE_*`, with one call of
// `write`. `module` is the path of the program file, for formats that have the profile of one;
// NULL selects all files. `options` may be NULL.
tw_status tw_profile(const struct tw_capture *capture,
                     const struct tw_decode_options *options,
                     uint32_t format,
                     const char *module,
                     tw_write write,
                     void *user,
                     struct tw_error *error);

// Reports the instructions from `address` on, up to and including the next branch, which was taken
// if `taken` is not 0: a range. `address` and `isa` (`TW_ISA_*`) receive what is executed next,
// for a branch that was taken the target in its opcode. Returns `TW_END` where that is not known:
// the target is not in the opcode, or the program memory is missing, which is reported.
// `TW_ERR_ARGUMENT` for a number that is no `TW_ISA_*`.
tw_status tw_emit_branch(struct tw_emit *emit,
                         int32_t taken,
                         uint64_t *address,
                         uint32_t *isa,
                         struct tw_error *error);

// Reports a timestamp, in ticks.
tw_status tw_emit_timestamp(struct tw_emit *emit, uint64_t value, struct tw_error *error);

// Reports `TW_ELEMENT_CUSTOM` of the kind with this number among those of the protocol, with a
// copy of `length` bytes. `TW_ERR_RANGE` where the protocol has no such kind.
tw_status tw_emit_custom(struct tw_emit *emit,
                         size_t kind,
                         const uint8_t *bytes,
                         size_t length,
                         struct tw_error *error);

// Makes what decodes buffer `options->buffer` of `capture`, whose own bytes are not read. `push`
// receives the handle, or NULL. `TW_ERR_RANGE` where there is no such buffer, `TW_ERR_SOURCES`
// where it has no source that can be decoded. The capture may be freed before the handle.
tw_status tw_push_new(const struct tw_capture *capture,
                      const struct tw_push_options *options,
                      struct tw_push **push,
                      struct tw_error *error);

// Frees it. Elements that wait are dropped.
tw_status tw_push_free(struct tw_push **push, struct tw_error *error);

// Takes `length` bytes, of which the first one is at `offset` of the buffer: the end of those
// before, 0 at first. `taken` receives the number of bytes taken. Returns `TW_OK`; `TW_WAIT` where
// the client is to flush, and give the bytes that were not taken again; `TW_STOPPED` where a
// function of the client, or a number of errors, ended decoding. `taken` may be NULL.
// `TW_ERR_ORDER`, and nothing is taken, where the offset is another one, a flush comes first, or
// decoding has ended. What the trace contains is never an error. The bytes are used during the
// call only.
tw_status tw_push_data(struct tw_push *push,
                       uint64_t offset,
                       const uint8_t *bytes,
                       size_t length,
                       size_t *taken,
                       struct tw_error *error);

// Delivers elements that wait, and asks again for memory. Returns as `tw_push_data`; `TW_STOPPED`
// after decoding has ended.
tw_status tw_push_flush(struct tw_push *push, struct tw_error *error);

// The data end. Returns as `tw_push_data`, `TW_ERR_ORDER` included; after `TW_WAIT`,
// `tw_push_flush` continues.
tw_status tw_push_end(struct tw_push *push, struct tw_error *error);

// Drops all state, all elements that wait and what was reported, whose numbers count from 0 again:
// data at `offset` follow. After `TW_STOPPED`, too.
tw_status tw_push_reset(struct tw_push *push, uint64_t offset, struct tw_error *error);

// The program has changed: memory that was read is forgotten, and read again for the data that
// follow.
tw_status tw_push_forget_memory(struct tw_push *push, struct tw_error *error);

// The last error or warning of source `source`, of any level; of the trace link for
// `TW_NO_SOURCE`. `text` receives a text that is valid until the next call with `push`, or NULL
// where there is none.
tw_status tw_push_last_report(struct tw_push *push,
                              uint32_t source,
                              const char **text,
                              struct tw_error *error);

// The number of errors, warnings or other reports since the last reset: those of the severity
// `severity`, `TW_SEVERITY_*`, also where no function receives them.
tw_status tw_push_report_count(struct tw_push *push,
                               uint32_t severity,
                               uint64_t *count,
                               struct tw_error *error);

// Makes a reader of the elements of all buffers, or of the one that `options` select. `options`
// may be NULL; a part of a buffer is selected with `tw_decode` only.
tw_status tw_reader_new(const struct tw_capture *capture,
                        const struct tw_decode_options *options,
                        struct tw_reader **reader,
                        struct tw_error *error);

// Frees a reader.
tw_status tw_reader_free(struct tw_reader **reader, struct tw_error *error);

// Writes the next elements, at most `room`, to the array `elements`, and their number to `count`.
// An element of the array has the size that the options of the reader state. Returns `TW_END`, and
// a count of 0, at the end.
tw_status tw_reader_next(struct tw_reader *reader,
                         struct tw_element *elements,
                         size_t room,
                         size_t *count,
                         struct tw_error *error);

// The counts of the buffers that were read to their end.
tw_status tw_reader_counts(struct tw_reader *reader, struct tw_counts *counts, struct tw_error *error);

// Sets `name` to the name of remedy `number`, from 0, of those that a text of the library names,
// such as `image` for program memory that is missing. A remedy is between `<` and `>` in the text.
// Returns `TW_END`, and null, where the text names no more. The name stays valid.
tw_status tw_remedy(const char *text, size_t number, const char **name, struct tw_error *error);

// Writes which lines, branches and functions of the source files a capture executed, in the format
// `format`, `TW_COVERAGE_*`, with one call of `write`. Where trace was lost, what was not executed
// is unknown, and the formats leave it out. `write` is called by the calling thread, and where it
// returns another number than 0, `TW_STOPPED` is returned. `TW_ERR_ARGUMENT` for another format,
// `TW_ERR_SOURCES` where nothing can be decoded, `TW_ERR_PROFILE` where no program has line
// numbers.
tw_status tw_coverage(const struct tw_capture *capture,
                      uint32_t format,
                      tw_write write,
                      void *user,
                      struct tw_error *error);

// Writes the calls over time, in the format `format`, `TW_TIMELINE_*`, with calls of `write`, of
// buffer `buffer`; of a perf.data file, whose buffers are joined by thread, of buffer 0. `limit`
// is the most frames; 0 stands for a million. `frequency` is that of the timestamps in Hz; with 0
// a tick is a nanosecond. `write` is called by the calling thread, and not again where it returns
// another number than 0: then `TW_STOPPED` is returned. `TW_ERR_ARGUMENT` for another format,
// `TW_ERR_RANGE` for another buffer, `TW_ERR_SOURCES` where nothing can be decoded.
tw_status tw_timeline(const struct tw_capture *capture,
                      uint32_t buffer,
                      uint32_t format,
                      size_t limit,
                      uint64_t frequency,
                      tw_write write,
                      void *user,
                      struct tw_error *error);

// What a result means, as text.
const char *tw_status_text(tw_status status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TRACEWRIGHT_H */

/* Initial values: all fields 0 but the size. */
#ifdef __cplusplus
#define TW_STRUCT_INIT_(type) [] { type value_{}; value_.size = (uint32_t)sizeof(type); return value_; }()
#else
#define TW_STRUCT_INIT_(type) {.size = (uint32_t)sizeof(type)}
#endif
#define TW_ERROR_INIT TW_STRUCT_INIT_(tw_error)
#define TW_OPEN_OPTIONS_INIT TW_STRUCT_INIT_(tw_open_options)
#define TW_INFO_INIT TW_STRUCT_INIT_(tw_info)
#define TW_SOURCE_INIT TW_STRUCT_INIT_(tw_source)
#define TW_DECODE_OPTIONS_INIT TW_STRUCT_INIT_(tw_decode_options)
#define TW_ELEMENT_INIT TW_STRUCT_INIT_(tw_element)
#define TW_COUNTS_INIT TW_STRUCT_INIT_(tw_counts)
#define TW_FUNCTION_INIT TW_STRUCT_INIT_(tw_function)
#define TW_INDEX_OPTIONS_INIT TW_STRUCT_INIT_(tw_index_options)
#define TW_MATCH_INIT TW_STRUCT_INIT_(tw_match)
#define TW_PROTOCOL_INIT TW_STRUCT_INIT_(tw_protocol)
#define TW_PUSH_OPTIONS_INIT TW_STRUCT_INIT_(tw_push_options)
