use tracewright_base::remedy::{CONTEXT_BYTES, DATA, HALT, STALL, TRACE, TRIGGER};
use tracewright_base::{Context, Instruction, Isa, Retired, Security, Step};
use tracewright_testing::Random;

use super::*;
use crate::ete::lint;
use crate::ete::model::Model;
use crate::verdict::{Filter, Requirement};

fn unit(name: &str) -> Implementation {
    Implementation::named(name).unwrap()
}

fn random(r: &mut Random) -> Request {
    let span = |r: &mut Random| {
        let start = r.below(1 << 20) << 2;
        Span { start, end: start + 4 + (r.below(64) << 2) }
    };
    let mut request = Request {
        trace: (0..r.below(3)).map(|_| span(r)).collect(),
        exclude: (0..r.below(2)).map(|_| span(r)).collect(),
        context: r.one_in(3).then(|| r.below(1 << 32) as u32),
        vmid: r.one_in(5).then(|| r.below(1 << 32) as u32),
        levels: r.one_in(2).then(|| r.below(15) as u8 + 1).filter(|levels| *levels != 15),
        context_bytes: if r.one_in(2) { 4 } else { 0 },
        cycles: r.one_in(2),
        branch_output: r.one_in(2),
        timestamps: r.one_in(2),
        stall: r.one_in(3),
        trace_id: Some(r.below(0x6f) as u8 + 1),
        vmids: r.one_in(4),
        ..Request::default()
    };
    if r.one_in(3) && request.levels.is_none_or(|levels| levels & 7 != 0) {
        let states = [SecurityStates::Secure, SecurityStates::NonSecure];
        request.security = Some(states[r.below(2) as usize]);
    }
    if r.one_in(3) {
        let (low, high) = (r.below(1 << 20) << 2, (r.below(1 << 20) << 2) + (1 << 24));
        request.between = vec![if r.one_in(2) { (low, high) } else { (high, low) }];
    }
    if r.one_in(2) {
        let on = match r.below(2) {
            0 => Occurrence::Execute(r.below(1 << 30) << 2),
            _ => Occurrence::Input(r.below(200) as u8),
        };
        request.trigger = Some(Condition { on, value: None, times: r.below(4) as u16 + 1 });
    }
    request
}

/// A program, read back as a request, makes the same program: 50 requests for each of three units.
#[test]
fn program_explain_program_is_the_identity() {
    for name in ["ETE", "ETE-max", "Cortex-A53"] {
        let (unit, mut r) = (unit(name), Random::new(7));
        let mut done = 0;
        while done < 50 {
            let request = random(&mut r);
            let Ok(made) = program(&unit, &request) else { continue };
            let again = fulfilled(&unit, &made.values);
            let again = again.unwrap_or_else(|| panic!("{name}: {request:?}"));
            assert_eq!(program(&unit, &again), Ok(made), "{name}: {request:?} {again:?}");
            done += 1;
        }
    }
}

/// Arm ARM Table K10-3: tracing of a process at Non-secure EL0, by its values.
#[test]
fn table_k10_3() {
    let request = Request {
        levels: Some(1),
        security: Some(SecurityStates::NonSecure),
        context_bytes: 4,
        vmids: true,
        timestamps: true,
        trace_id: Some(0x10),
        ..Request::default()
    };
    let made = program(&unit("ETE"), &request).unwrap();
    let table = [
        ("TRCCONFIGR", 0x0000_18c1),
        ("TRCEVENTCTL0R", 0),
        ("TRCEVENTCTL1R", 0),
        // Not in the table: DDI 0601 has it written always.
        ("TRCRSR", 0),
        ("TRCSTALLCTLR", 0),
        ("TRCSYNCPR", 0xc),
        ("TRCTRACEIDR", 0x10),
        ("TRCTSCTLR", 0),
        ("TRCVICTLR", 0x006f_0201),
        ("TRCVIIECTLR", 0),
        ("TRCVISSCTLR", 0),
    ];
    assert_eq!(made.values, table.into_iter().collect());
    assert_eq!(fulfilled(&unit("ETE"), &made.values), Some(request));
}

/// A program has no finding, and its sequence none.
#[test]
fn programs_have_no_finding() {
    for name in ["ETE", "ETE-max", "Cortex-A53", "Cortex-A55", "ETMv4.4"] {
        let (unit, mut r) = (unit(name), Random::new(11));
        for _ in 0..100 {
            let request = random(&mut r);
            let Ok(made) = program(&unit, &request) else { continue };
            // Random ranges may exclude what they include.
            let found: Vec<_> = lint::check(&unit, &made.values)
                .into_iter()
                .filter(|f| !["exclude-covers", "comparator-shared"].contains(&f.rule))
                .collect();
            assert_eq!(found, [], "{name}: {request:?}");
            assert_eq!(sequence::check(&unit, &made.accesses()), [], "{name}");
        }
    }
}

/// The model of a program traces what its request contains.
#[test]
fn the_model_traces_the_request() {
    let (unit, mut r) = (unit("ETE-max"), Random::new(3));
    for _ in 0..400 {
        let request = Request { between: Vec::new(), security: None, ..random(&mut r) };
        let Ok(made) = program(&unit, &request) else { continue };
        let mut model = Model::new(&unit, &made.values);
        for _ in 0..40 {
            let spans: Vec<_> = request.trace.iter().chain(&request.exclude).collect();
            let address = match spans.get(r.index(spans.len() + 1)) {
                Some(span) => span.start - 8 + (r.below(80) << 2),
                None => r.below(1 << 22) << 2,
            };
            let (el, context_id) = (r.below(3) as u8, r.pick(&[request.context.unwrap_or(1), 5]));
            let vmid = r.pick(&[request.vmid.unwrap_or(1), 6]);
            model.step(&Step::Context(Context {
                el: Some(el),
                security: Some(Security::NonSecure),
                context_id: Some(context_id),
                vmid: Some(vmid),
                ..Context::default()
            }));
            let within = |spans: &[Span]| spans.iter().any(|s| (s.start..s.end).contains(&address));
            let same = request.context.is_none_or(|id| id == context_id)
                && request.vmid.is_none_or(|id| id == vmid);
            let want = request.levels.is_none_or(|levels| levels >> el & 1 != 0)
                && same
                && (request.trace.is_empty() || within(&request.trace))
                && !within(&request.exclude);
            let got = model.instruction(address).requirement;
            let want = if want { Requirement::Must } else { Requirement::MustNot };
            // An exclude range of another context excludes nothing.
            if same || !within(&request.exclude) {
                assert_eq!(got, want, "{address:#x} EL{el} {context_id} {vmid} {request:?}");
            }
        }
    }
}

/// The trigger occurs at the time that the request has.
#[test]
fn triggers() {
    let unit = unit("ETE");
    for times in 1..5u16 {
        let on = Occurrence::Execute(0x1000);
        let request =
            Request { trigger: Some(Condition { on, value: None, times }), ..Request::default() };
        let made = program(&unit, &request).unwrap();
        let mut model = Model::new(&unit, &made.values);
        let mut step = |address: u64| {
            model
                .step(&Step::Retired(Retired {
                    address,
                    next: address + 4,
                    next_isa: Isa::A64,
                    taken: false,
                    instruction: Instruction { isa: Isa::A64, size: 4, ..Instruction::default() },
                }))
                .trigger
        };
        let mut first = None;
        for n in 1..10u16 {
            assert!(!step(0x2000));
            if step(0x1000) {
                first = first.or(Some(n));
            }
        }
        assert_eq!(first, Some(times));
    }
}

#[test]
fn refusals() {
    let part = |name: &str, request: Request| {
        let refused = program(&unit(name), &request).unwrap_err();
        refused.into_iter().map(|refusal| refusal.part).collect::<Vec<_>>()
    };
    let span = |n: u64| Span { start: n << 8, end: (n << 8) + 4 };
    let many = Request { trace: (0..5).map(span).collect(), ..Request::default() };
    assert_eq!(part("ETE", many.clone()), [TRACE.to_string()]);
    assert!(program(&unit("ETE-max"), &many).is_ok());
    assert_eq!(part("ETE", Request { all_data: true, ..Request::default() }), [DATA.to_string()]);
    assert_eq!(part("ETE", Request { halt: true, ..Request::default() }), [HALT.to_string()]);
    assert_eq!(
        part("ETE", Request { context_bytes: 2, ..Request::default() }),
        [CONTEXT_BYTES.to_string()]
    );
    let stall = Request { stall: true, ..Request::default() };
    assert_eq!(part("Cortex-A55", stall), [STALL.to_string()]);
    let on = Occurrence::Write(0x1000);
    let trigger = Some(Condition { on, value: None, times: 1 });
    assert_eq!(part("ETE", Request { trigger, ..Request::default() }), [TRIGGER.to_string()]);
}
