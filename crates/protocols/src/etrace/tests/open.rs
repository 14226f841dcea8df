//! What packets leave open: two executions that give a unit the very same packets. No decoder can tell which one was;
//! where there are two it says so ([`Inconsistency::Ambiguous`], [`Inconsistency::TrappedOrRetired`]). And what makes units tell.
//!
//! [`Inconsistency::Ambiguous`]: tracewright_base::Doubt::Ambiguous
//! [`Inconsistency::TrappedOrRetired`]: tracewright_base::Doubt::TrappedOrRetired

use std::vec::Vec;

use tracewright_base::{Encode, Step, Wire};

use super::encode::{jump, level, plain, trap};
use crate::etrace::config::{LoopLabel, Profile, Version};
use crate::etrace::encode::{Encoder, Settings};
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

/// 0.026 has no `updiscon` bit: the trap came the first time after 1004, or once round more.
#[test]
fn the_way_to_an_address() {
    let once = [&[plain(0x1000), plain(0x1004)][..], &fault(0x1008)];
    let round = [plain(0x1000), plain(0x1004), plain(0x1008), jump(0x100c, 0x1004), plain(0x1004)];
    let twice = [&round[..], &fault(0x1008)];
    let same = |params: &Params| bytes(&once, params) == bytes(&twice, params);
    for profile in [Profile::Spec, Profile::PulpTrdb] {
        let mut params = Params::new(Version::Draft, profile, true).unwrap();
        assert!(same(&params), "{profile}");
        // The jump is reported where it goes to what was passed.
        params.choices.loop_label = LoopLabel::First;
        assert!(!same(&params), "{profile}");
    }
    for version in [Version::V1_0, Version::V2_0, Version::V2_1] {
        assert!(!same(&Params::spec(version, true)), "{version}");
    }
}

/// PULP `trace_debugger` has what trapped in its stream of instructions, and names it where it would name one: as the target
/// of a jump that is named itself, and as the second instruction of a handler.
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
        // A handler at another level: what trapped is named, too.
        let up = |epc| [trap(5, epc, 0x3000, 0), level(1), plain(0x3000), plain(0x3004)];
        let trapped_up = bytes(&[before, &up(at)], &params);
        assert!(trapped_up != bytes(&[before, &[plain(at)], &up(at + 4)], &params), "{at:x}");
        params.choices.trapped_in_stream = false;
        assert!(!same(&params), "{at:x}");
        assert!(!same(&Params::spec(Version::Draft, true)), "{at:x}");
    }
    // A jump that is not named for its own sake is named because of the trap.
    let params = Params::of(Profile::PulpTrdb, true);
    let before = [plain(0x1000), jump(0x1004, 0x2000)];
    let trapped = bytes(&[&before, &fault(0x2000)], &params);
    assert!(trapped != bytes(&[&before, &[plain(0x2000)], &fault(0x2004)], &params));
}

/// PULP does not tell of the end: the last packet's address is the target of a jump that is named itself, or what trapped
/// there; and the first instruction of a handler was retired, or another trap came.
#[test]
fn the_end() {
    let params = Params::of(Profile::PulpTrdb, true);
    let target = [plain(0x1000), jump(0x1004, 0x1800), jump(0x1800, 0x2000)];
    let retired = [plain(0x2000), plain(0x2004)];
    let trapped = [trap(5, 0x2000, 0x3000, 0), plain(0x3000)];
    assert_eq!(bytes(&[&target, &retired], &params), bytes(&[&target, &trapped], &params));
    // What trapped is named in both, for it is the target of a jump.
    let first = [&target[..], &[trap(5, 0x2000, 0x3000, 0)]].concat();
    let again = [trap(7, 0x3000, 0x4000, 0), plain(0x4000)];
    let retired = [plain(0x3000), plain(0x3004)];
    let short = bytes(&[&first, &again], &params);
    assert!(bytes(&[&first, &retired], &params).starts_with(&short));
    assert!(bytes(&[&first, &[plain(0x3000)], &again], &params) != short);
    // Else it is named only where the handler trapped at once.
    let plainly = [plain(0x1000), plain(0x1004), trap(5, 0x1008, 0x3000, 0)];
    assert!(
        !bytes(&[&plainly, &retired], &params).starts_with(&bytes(&[&plainly, &again], &params))
    );
}

/// 0.026 and 1.0 have no packet for a trap that another one follows before an instruction is retired: the second seems to
/// have come in the place of the first.
#[test]
fn a_trap_before_the_handler() {
    let one = [&[plain(0x1000)][..], &fault(0x1004)];
    let two = [&[plain(0x1000), trap(7, 0x1004, 0x2000, 0)][..], &fault(0x2000)];
    for (version, profile, same) in [
        (Version::Draft, Profile::Spec, true),
        (Version::V1_0, Profile::Spec, true),
        // It tells of each.
        (Version::Draft, Profile::PulpTrdb, false),
        (Version::V2_0, Profile::Spec, false),
        (Version::V2_1, Profile::Spec, false),
    ] {
        let params = Params::new(version, profile, true).unwrap();
        assert_eq!(bytes(&one, &params) == bytes(&two, &params), same, "{version} {profile}");
    }
}
