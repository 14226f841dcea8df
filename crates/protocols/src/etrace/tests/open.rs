//! Ambiguities: two executions that give a unit the same packets, which a decoder marks
//! ([`Inconsistency::Ambiguous`], [`Inconsistency::TrappedOrRetired`]); and the parameters that
//! remove the ambiguity.
//!
//! [`Inconsistency::Ambiguous`]: tracewright_base::Inconsistency::Ambiguous
//! [`Inconsistency::TrappedOrRetired`]: tracewright_base::Inconsistency::TrappedOrRetired

use std::vec::Vec;

use tracewright_base::{Context, Encode, Isa, Step, Wire};

use super::encode::{jump, level, plain, trap};
use crate::etrace::config::{LoopLabel, Profile, Version};
use crate::etrace::encode::{ContextType, Encoder, Settings};
use crate::etrace::{Packet, Params};

fn bytes(steps: &[&[Step]], params: &Params) -> Vec<u8> {
    let (mut encoder, mut packets) =
        (Encoder::new(params, &Settings::default()), Vec::<Packet>::new());
    steps.concat().iter().for_each(|step| encoder.step(step, params, &mut packets));
    encoder.finish(params, &mut packets);
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| packet.emit(params, &mut bytes));
    bytes
}

/// A load access fault at `epc`, and three instructions of its handler.
fn fault(epc: u64) -> [Step; 4] {
    [trap(5, epc, 0x3000, 0), plain(0x3000), plain(0x3004), plain(0x3008)]
}

/// 0.026 has no `updiscon` bit: the trap came after the first visit of 1004, or after the second.
#[test]
fn visits_of_an_address() {
    let once = [&[plain(0x1000), plain(0x1004)][..], &fault(0x1008)];
    let round = [plain(0x1000), plain(0x1004), plain(0x1008), jump(0x100c, 0x1004), plain(0x1004)];
    let twice = [&round[..], &fault(0x1008)];
    let same = |params: &Params| bytes(&once, params) == bytes(&twice, params);
    for profile in [Profile::Spec, Profile::PulpTrdb] {
        let mut params = Params::new(Version::Draft, profile, true).unwrap();
        assert!(same(&params), "{profile}");
        // The jump back to an executed instruction is reported.
        params.choices.loop_label = LoopLabel::First;
        assert!(!same(&params), "{profile}");
    }
    for version in [Version::V1_0, Version::V2_0, Version::V2_1] {
        assert!(!same(&Params::spec(version, true)), "{version}");
    }
}

/// PULP `trace_debugger` has trapped instructions in its stream, and reports them like retired
/// ones: as the target of a jump that is itself reported, and as the second instruction of a
/// handler.
#[test]
fn trapped_or_retired() {
    let target = [plain(0x1000), jump(0x1004, 0x1800), jump(0x1800, 0x2000)];
    let second = [plain(0x1000), trap(2, 0x1004, 0x2000, 0), plain(0x2000)];
    for (before, at) in [(&target[..], 0x2000), (&second, 0x2004)] {
        let trapped = [before, &fault(at)];
        let retired = [before, &[plain(at)], &fault(at + 4)];
        let same = |params: &Params| bytes(&trapped, params) == bytes(&retired, params);
        let mut params = Params::of(Profile::PulpTrdb, true);
        assert!(same(&params), "{at:x}");
        // Before a handler at another level the trapped instruction is reported.
        let up = |epc| [trap(5, epc, 0x3000, 0), level(1), plain(0x3000), plain(0x3004)];
        let trapped_up = bytes(&[before, &up(at)], &params);
        assert!(trapped_up != bytes(&[before, &[plain(at)], &up(at + 4)], &params), "{at:x}");
        params.choices.trapped_in_stream = false;
        assert!(!same(&params), "{at:x}");
        assert!(!same(&Params::spec(Version::Draft, true)), "{at:x}");
    }
    // A jump that has no other reason for a report is reported because of the trap.
    let params = Params::of(Profile::PulpTrdb, true);
    let before = [plain(0x1000), jump(0x1004, 0x2000)];
    let trapped = bytes(&[&before, &fault(0x2000)], &params);
    assert!(trapped != bytes(&[&before, &[plain(0x2000)], &fault(0x2004)], &params));
}

/// PULP has no end packet: the target of a jump that is itself reported was retired or trapped; and
/// the first instruction of a handler was retired, or another trap came.
#[test]
fn end_of_trace() {
    let params = Params::of(Profile::PulpTrdb, true);
    let target = [plain(0x1000), jump(0x1004, 0x1800), jump(0x1800, 0x2000)];
    let retired = [plain(0x2000), plain(0x2004)];
    let trapped = [trap(5, 0x2000, 0x3000, 0), plain(0x3000)];
    assert_eq!(bytes(&[&target, &retired], &params), bytes(&[&target, &trapped], &params));
    // The trapped instruction is reported in both, because it is the target of a jump.
    let first = [&target[..], &[trap(5, 0x2000, 0x3000, 0)]].concat();
    let again = [trap(7, 0x3000, 0x4000, 0), plain(0x4000)];
    let retired = [plain(0x3000), plain(0x3004)];
    let short = bytes(&[&first, &again], &params);
    assert!(bytes(&[&first, &retired], &params).starts_with(&short));
    assert!(bytes(&[&first, &[plain(0x3000)], &again], &params) != short);
    // Else it is reported only if the handler trapped at once.
    let plainly = [plain(0x1000), plain(0x1004), trap(5, 0x1008, 0x3000, 0)];
    assert!(
        !bytes(&[&plainly, &retired], &params).starts_with(&bytes(&[&plainly, &again], &params))
    );
}

/// 0.026, Table 3.3: a context change with discontinuity is treated as an exception. It has the
/// bytes of one with the cause and the value 0.
#[test]
fn a_discontinuity_of_contexts() {
    let mut params = Params::spec(Version::Draft, true);
    params.set("context_width", "8").unwrap();
    let context_type = ContextType::Discontinuity;
    let bytes = |steps: &[Step]| {
        let settings = Settings { context_type, ..Settings::default() };
        let (mut encoder, mut packets) = (Encoder::new(&params, &settings), Vec::<Packet>::new());
        steps.iter().for_each(|step| encoder.step(step, &params, &mut packets));
        encoder.finish(&params, &mut packets);
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&params, &mut bytes));
        bytes
    };
    let context = Step::Context(Context {
        el: Some(3),
        context_id: Some(0x12),
        bits64: true,
        isa: Isa::Rv64,
        ..Context::default()
    });
    let after = [plain(0x2000), plain(0x2004)];
    let changed = [&[plain(0x1000), context][..], &after].concat();
    let trapped = [&[plain(0x1000), trap(0, 0x1004, 0x2000, 0), context][..], &after].concat();
    assert_eq!(bytes(&changed), bytes(&trapped));
}

/// 0.026 and 1.0 have no packet for a trap that another one follows before an instruction is
/// retired: the packets have only the second, at the address of the first.
#[test]
fn a_trap_before_the_handler() {
    let one = [&[plain(0x1000)][..], &fault(0x1004)];
    let two = [&[plain(0x1000), trap(7, 0x1004, 0x2000, 0)][..], &fault(0x2000)];
    for (version, profile, same) in [
        (Version::Draft, Profile::Spec, true),
        (Version::V1_0, Profile::Spec, true),
        // PULP reports each trap.
        (Version::Draft, Profile::PulpTrdb, false),
        (Version::V2_0, Profile::Spec, false),
        (Version::V2_1, Profile::Spec, false),
    ] {
        let params = Params::new(version, profile, true).unwrap();
        assert_eq!(bytes(&one, &params) == bytes(&two, &params), same, "{version} {profile}");
    }
}
