//! Transfers in order, and the frames that begin and end.

use std::sync::Arc;

use tracewright_symbols::UnwindTargets;

use super::suspended::{MAX_SUSPENDED, MAX_SUSPENDED_FRAMES};
use super::*;
use crate::paths::Paths;
use crate::transfer::{Kind, NO_FUNCTION, Transfer};

/// Writes the frames as text: `>name` begins, `<name:ending` ends, `name+n` executes.
#[derive(Default)]
struct Log {
    text: String,
    names: Vec<String>,
    open: usize,
}

fn name(begin: &Begin) -> String {
    match begin.function {
        FunctionId::Known(n) => char::from(b'a' + n as u8).to_string(),
        FunctionId::At(address) => format!("{address:x}"),
        FunctionId::Handler(_) | FunctionId::Unknown => "?".to_owned(),
    }
}

impl Visitor for Log {
    type Node = usize;

    fn thread(&mut self, _: usize, thread: usize, id: Option<u64>) -> usize {
        self.names.push(format!("t{thread}"));
        if let Some(id) = id {
            self.text += &format!("thread {id} ");
        }
        self.names.len() - 1
    }

    fn begin(&mut self, _: &Position, _: usize, begin: &Begin) -> usize {
        self.text += &format!(">{}", name(begin));
        self.text += match begin.entry {
            Entry::Call => " ",
            Entry::TailCall => "(tail) ",
            Entry::Jump => "(jump) ",
            Entry::Exception(_) => "(exception) ",
            Entry::Before => "(before) ",
            Entry::Lost => "(lost) ",
            Entry::Resumed => "(resumed) ",
        };
        self.open += 1;
        self.names.push(name(begin));
        self.names.len() - 1
    }

    fn end(&mut self, _: &Position, node: usize, ending: Ending, uncertain: bool) {
        let how =
            if ending == Ending::Return { String::new() } else { format!(":{}", ending.name()) };
        self.text += &format!("<{}{how}{} ", self.names[node], if uncertain { "?" } else { "" });
        self.open -= 1;
    }

    fn beneath(&mut self, _: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        self.text += &format!("^{} ", name(begin));
        self.open += 1;
        self.names.push(name(begin));
        (self.names.len() - 1, root)
    }

    fn run(&mut self, _: &Position, node: usize, instructions: u64, _: u64) {
        self.text += &format!("{}+{instructions} ", self.names[node]);
    }
}

const EMPTY: Transfer = Transfer {
    at: 0,
    target: 0,
    ret: None,
    function: NO_FUNCTION,
    instructions: 0,
    cycles: 0,
    exception: 0,
    source: 0,
    kind: Kind::Run,
    entry: false,
    stub: false,
};

/// Function n has the code from 0x100 * (n + 1) on.
fn to(kind: Kind, target: u64, ret: u64) -> Transfer {
    let function = (target / 0x100 - 1) as u32;
    let entry = target.is_multiple_of(0x100);
    let ret = (ret != 0).then_some(ret);
    Transfer { kind, target, ret, function, entry, instructions: 1, ..EMPTY }
}

fn check(transfers: &[Transfer], want: &str) -> StackCounts {
    let mut stacks = Stacks::new(1, Log::default());
    stacks.transfers(transfers);
    stacks.finish();
    assert_eq!(stacks.visitor.text.trim_end(), want);
    assert_eq!(stacks.visitor.open, 0);
    assert_eq!(stacks.counts.begun, stacks.counts.ended);
    stacks.counts
}

const START: Transfer = Transfer { kind: Kind::Enter, target: 0x110, function: 0, ..EMPTY };

#[test]
fn calls_and_returns() {
    let counts = check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Call, 0x300, 0x204),
            to(Kind::Return, 0x204, 0),
            to(Kind::Return, 0x114, 0),
            to(Kind::Run, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 >c c+1 <c b+1 <b a+1 <a:trace-end",
    );
    assert_eq!((counts.calls, counts.returns, counts.instructions), (2, 2, 5));
}

#[test]
fn callers_before_the_trace() {
    check(
        &[
            START,
            to(Kind::Return, 0x210, 0),
            to(Kind::Call, 0x300, 0x214),
            to(Kind::Return, 0x214, 0),
            to(Kind::Return, 0x310, 0),
        ],
        ">a(before) a+1 <a:return-unseen-call ^b b+1 >c c+1 <c b+1 <b:return-unseen-call ^c \
         <c:trace-end",
    );
}

/// A return that no frame returns to stays in the function: a branch, or the return of a frame of
/// the same function whose call was not seen.
#[test]
fn returns_inside_a_function() {
    check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Return, 0x208, 0),
            to(Kind::Return, 0x208, 0),
            to(Kind::Return, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 b+1 b+1 <b <a:trace-end",
    );
}

#[test]
fn tail_calls_and_jumps() {
    check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Jump, 0x300, 0),
            to(Kind::Indirect, 0x400, 0),
            to(Kind::Jump, 0x510, 0),
            to(Kind::Return, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 <b:replaced >c(tail) c+1 <c:replaced >d(tail) d+1 <d:replaced \
         >e(jump) e+1 <e <a:trace-end",
    );
}

#[test]
fn longjmp_and_unwinding() {
    // To the return address of a frame further down, and into a function further down.
    let counts = check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Call, 0x300, 0x204),
            to(Kind::Call, 0x400, 0x304),
            to(Kind::Return, 0x204, 0),
            to(Kind::Call, 0x300, 0x208),
            to(Kind::Call, 0x400, 0x304),
            to(Kind::Indirect, 0x220, 0),
            to(Kind::Return, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 >c c+1 >d d+1 <d:unwound <c b+1 >c c+1 >d d+1 <d:unwound \
         <c:unwound b+1 <b <a:trace-end",
    );
    assert_eq!((counts.unwinding, counts.returns), (2, 1));
}

#[test]
fn exceptions_nest() {
    check(
        &[
            START,
            to(Kind::Exception, 0x200, 0x114),
            to(Kind::Exception, 0x300, 0x208),
            to(Kind::ExceptionReturn, 0x208, 0),
            to(Kind::ExceptionReturn, 0x114, 0),
            to(Kind::Run, 0x114, 0),
        ],
        ">a(before) a+1 >b(exception) b+1 >c(exception) c+1 <c b+1 <b a+1 <a:trace-end",
    );
    // Another handler in place of the first, and vectors that branch to the handler.
    check(
        &[
            START,
            to(Kind::Exception, 0x200, 0x114),
            to(Kind::Jump, 0x400, 0),
            to(Kind::TailChain, 0x300, 0),
            to(Kind::ExceptionReturn, 0x114, 0),
        ],
        ">a(before) a+1 >b(exception) b+1 <b:replaced >d(tail) d+1 <d >c(exception) c+1 <c \
         <a:trace-end",
    );
}

#[test]
fn handlers_of_the_m_profile_return() {
    let counts = check(
        &[
            START,
            to(Kind::Exception, 0x200, 0x114),
            to(Kind::Call, 0x300, 0x208),
            to(Kind::Return, 0x208, 0),
            to(Kind::Return, 0x410, 0),
            to(Kind::Exception, 0x200, 0x414),
            to(Kind::Return, 0x114, 0),
            to(Kind::Run, 0x114, 0),
        ],
        ">a(before) a+1 >b(exception) b+1 >c c+1 <c b+1 <b:switched >d(before) d+1 >b(exception) \
         b+1 <b:switched a+1 <a:trace-end <d:trace-end",
    );
    assert_eq!((counts.exceptions, counts.exception_returns, counts.switches), (2, 2, 2));
}

#[test]
fn stubs_belong_to_what_follows() {
    let stub = Transfer { stub: true, ..to(Kind::Call, 0x300, 0x114) };
    check(
        &[START, stub, to(Kind::Indirect, 0x400, 0), to(Kind::Return, 0x114, 0)],
        ">a(before) a+1 >d d+1 d+1 <d <a:trace-end",
    );
    // A stub that returns is a function.
    check(&[START, stub, to(Kind::Return, 0x114, 0)], ">a(before) a+1 >c c+1 <c <a:trace-end");
}

#[test]
fn losses() {
    let lost = Transfer { kind: Kind::Lost, ..EMPTY };
    // Execution continues in a function that has a frame.
    check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Call, 0x300, 0x204),
            lost,
            to(Kind::Enter, 0x210, 0),
            to(Kind::Return, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 >c c+1 <c:lost? b+1 <b? <a:trace-end?",
    );
    // In a function that was called meanwhile, which returns to one that has a frame.
    check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            lost,
            to(Kind::Enter, 0x410, 0),
            to(Kind::Return, 0x510, 0),
            to(Kind::Return, 0x220, 0),
            to(Kind::Return, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 >d(lost) d+1 <d:return-unseen-call >e(lost) e+1 \
         <e:return-unseen-call b+1 <b? <a:trace-end?",
    );
}

#[test]
fn untraced_functions_are_no_losses() {
    check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Enter, 0x220, 0),
            to(Kind::Enter, 0x114, 0),
        ],
        ">a(before) a+1 >b b+1 b+1 <b <a:trace-end",
    );
}

fn untraced(ret: u64) -> Transfer {
    Transfer { kind: Kind::Untraced, ret: Some(ret), instructions: 1, ..EMPTY }
}

#[test]
fn handlers_that_are_not_traced() {
    // A system call, a signal that another one interrupts, and the ends of both.
    let counts = check(
        &[
            START,
            untraced(0x110),
            to(Kind::Enter, 0x110, 0),
            untraced(0x114),
            to(Kind::Enter, 0x200, 0),
            to(Kind::Call, 0x300, 0x204),
            untraced(0x308),
            to(Kind::Enter, 0x400, 0),
            untraced(0x520),
            to(Kind::Enter, 0x308, 0),
            to(Kind::Return, 0x204, 0),
            to(Kind::Return, 0x500, 0),
            untraced(0x504),
            to(Kind::Enter, 0x114, 0),
        ],
        ">a(before) a+1 a+1 a+1 a+1 >b b+1 >c c+1 c+1 >d d+1 d+1 <d c+1 <c b+1 <b:replaced >e(tail) \
         e+1 e+1 <e <a:trace-end",
    );
    assert_eq!((counts.exceptions, counts.exception_returns, counts.calls), (5, 3, 1));
}

#[test]
fn unwind_targets() {
    // Function b calls itself. Its exceptions continue at 0x240, and only the first call is in the
    // `try` block: the frame that has not called from there does not continue.
    let targets = UnwindTargets::of_calls([(0x240, 0x200, 0x207)]);
    let mut stacks = Stacks::new(1, Log::default()).with_unwind_targets(Arc::new(targets));
    stacks.transfers([
        START,
        to(Kind::Call, 0x200, 0x114),
        to(Kind::Call, 0x200, 0x204),
        to(Kind::Call, 0x300, 0x224),
        to(Kind::Indirect, 0x240, 0),
        to(Kind::Return, 0x114, 0),
    ]);
    stacks.finish();
    let want = ">a(before) a+1 >b b+1 >b b+1 >c c+1 <c:unwound <b:unwound b+1 <b <a:trace-end";
    assert_eq!(stacks.visitor.text.trim_end(), want);
}

#[test]
fn threads_by_identifier() {
    let thread = |id: u64| Transfer { kind: Kind::Context, target: id, ..EMPTY };
    check(
        &[
            thread(1),
            START,
            to(Kind::Call, 0x200, 0x114),
            thread(2),
            to(Kind::Call, 0x300, 0x204),
            thread(1),
            to(Kind::Return, 0x114, 0),
            thread(2),
            to(Kind::Return, 0x204, 0),
        ],
        "thread 1 >a(before) a+1 >b thread 2 >b(before) b+1 >c b+1 <b c+1 <c <a:trace-end \
         <b:trace-end",
    );
}

#[test]
fn tasks_without_identifiers() {
    // A handler returns to another task, and later to the first one again.
    let counts = check(
        &[
            START,
            to(Kind::Call, 0x200, 0x114),
            to(Kind::Exception, 0x300, 0x208),
            to(Kind::ExceptionReturn, 0x410, 0),
            to(Kind::Call, 0x500, 0x414),
            to(Kind::Exception, 0x300, 0x508),
            to(Kind::ExceptionReturn, 0x208, 0),
            to(Kind::Return, 0x114, 0),
            to(Kind::Exception, 0x300, 0x118),
            to(Kind::ExceptionReturn, 0x508, 0),
            to(Kind::Return, 0x414, 0),
        ],
        ">a(before) a+1 >b b+1 >c(exception) c+1 <c:switched >d(before) d+1 >e e+1 >c(exception) \
         c+1 <c:switched b+1 <b a+1 >c(exception) c+1 <c:switched e+1 <e <a:trace-end <d:trace-end",
    );
    assert_eq!(counts.switches, 3);
}

/// Two tasks wait in the same function: the one continues to whose caller it returns, and not the
/// one that waits longest.
#[test]
fn tasks_that_wait_at_the_same_address() {
    let switch =
        |from: u64, to_: u64| [to(Kind::Exception, 0x300, from), to(Kind::ExceptionReturn, to_, 0)];
    let mut transfers = vec![START, to(Kind::Call, 0x200, 0x114)];
    transfers.extend(switch(0x208, 0x410));
    transfers.push(to(Kind::Call, 0x200, 0x414));
    transfers.extend(switch(0x208, 0x510));
    transfers.extend(switch(0x514, 0x208));
    let waiting = transfers.clone();
    // Handlers and calls show nothing.
    transfers.extend([to(Kind::Exception, 0x700, 0x208), to(Kind::ExceptionReturn, 0x208, 0)]);
    transfers.extend([to(Kind::Call, 0x600, 0x20c), to(Kind::Return, 0x20c, 0)]);
    transfers.push(to(Kind::Return, 0x414, 0));
    transfers.extend(switch(0x418, 0x208));
    transfers.push(to(Kind::Return, 0x114, 0));
    let counts = check(
        &transfers,
        ">a(before) a+1 >b b+1 >c(exception) c+1 <c:switched >d(before) d+1 >b b+1 >c(exception) \
         c+1 <c:switched >e(before) e+1 >c(exception) c+1 <c:switched b+1 >g(exception) g+1 <g b+1 \
         >f f+1 <f b+1 <b d+1 >c(exception) c+1 <c:switched b+1 <b <a:trace-end <d:trace-end \
         <e:trace-end",
    );
    assert_eq!(counts.switches, 4);
    // The task that is interrupted may wait at the same address, too.
    let mut transfers = vec![START, to(Kind::Call, 0x200, 0x114)];
    transfers.extend(switch(0x208, 0x410));
    transfers.push(to(Kind::Call, 0x200, 0x414));
    transfers.extend(switch(0x208, 0x208));
    transfers.push(to(Kind::Return, 0x114, 0));
    let counts = check(
        &transfers,
        ">a(before) a+1 >b b+1 >c(exception) c+1 <c:switched >d(before) d+1 >b b+1 >c(exception) \
         c+1 <c b+1 <b <a:trace-end <b:trace-end <d:trace-end",
    );
    assert_eq!(counts.switches, 2);
    // Where the trace ends before it is known, it is the one that waits longest.
    let counts = check(
        &waiting,
        ">a(before) a+1 >b b+1 >c(exception) c+1 <c:switched >d(before) d+1 >b b+1 >c(exception) \
         c+1 <c:switched >e(before) e+1 >c(exception) c+1 <c:switched <b:trace-end <a:trace-end \
         <b:trace-end <d:trace-end <e:trace-end",
    );
    assert_eq!(counts.switches, 3);
}

#[test]
fn tasks_that_switch_by_a_return() {
    let transfers = [
        START,
        to(Kind::Call, 0x300, 0x114),
        to(Kind::Return, 0x410, 0),
        to(Kind::Call, 0x300, 0x414),
        to(Kind::Return, 0x114, 0),
        to(Kind::Call, 0x300, 0x118),
        to(Kind::Return, 0x414, 0),
    ];
    let all = ">a(before) a+1 >c c+1 <c:switched >d(before) d+1 >c c+1 <c:switched a+1 >c c+1 \
               <c:switched <a:trace-end <d:trace-end";
    // The other task has a frame as soon as it continues.
    let first = ">a(before) a+1 >c c+1 <c:switched >d(before) <a:trace-end <d:trace-end";
    for (count, want) in [(7, all), (3, first)] {
        let mut stacks = Stacks::new(1, Log::default()).with_switches([2]);
        stacks.transfers(transfers.into_iter().take(count));
        stacks.finish();
        assert_eq!(stacks.visitor.text.trim_end(), want);
    }
}

/// Counts frames.
#[derive(Default)]
struct Depth {
    open: usize,
    deepest: usize,
    /// The function that executed last.
    last: Option<FunctionId>,
    uncertain: u64,
}

impl Visitor for Depth {
    type Node = FunctionId;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> FunctionId {
        FunctionId::Unknown
    }

    fn begin(&mut self, _: &Position, _: FunctionId, begin: &Begin) -> FunctionId {
        self.open += 1;
        self.deepest = self.deepest.max(self.open);
        begin.function
    }

    fn end(&mut self, _: &Position, _: FunctionId, _: Ending, uncertain: bool) {
        self.open -= 1;
        self.uncertain += u64::from(uncertain);
    }

    fn beneath(&mut self, _: &Position, root: FunctionId, _: &Begin) -> (FunctionId, FunctionId) {
        unreachable!("{root:?} has no caller")
    }

    fn run(&mut self, _: &Position, node: FunctionId, _: u64, _: u64) {
        self.last = Some(node);
    }
}

/// Function a calls b; b and c call each other, `count` calls together.
fn nested(count: usize) -> Vec<Transfer> {
    let mut transfers = vec![START];
    for n in 0..count {
        let ret = if n == 0 { 0x114 } else { 0x204 + 0x100 * (n as u64 % 2) };
        transfers.push(to(Kind::Call, 0x200 + 0x100 * (n as u64 % 2), ret));
    }
    transfers
}

/// Frames are bounded. Calls beyond are counted, so that as many returns lead back to the caller.
#[test]
fn calls_beyond_the_deepest_frame() {
    for beyond in [0, 1, 2, 1000] {
        let count = MAX_DEPTH - 1 + beyond;
        let mut transfers = nested(count);
        for n in (0..count).rev() {
            let target = if n == 0 { 0x114 } else { 0x204 + 0x100 * (n as u64 % 2) };
            transfers.push(to(Kind::Return, target, 0));
        }
        transfers.push(to(Kind::Run, 0x114, 0));
        let mut stacks = Stacks::new(1, Depth::default());
        stacks.transfers(&transfers);
        let (visitor, counts) = (&stacks.visitor, stacks.counts);
        assert_eq!((visitor.last, visitor.open), (Some(FunctionId::Known(0)), 1), "{beyond}");
        assert_eq!(visitor.deepest, (count + 1).min(MAX_DEPTH + 1), "{beyond}");
        assert_eq!(counts.too_deep, beyond.saturating_sub(1) as u64, "{beyond}");
        assert_eq!(visitor.uncertain > 0, beyond > 0, "{beyond}");
        assert_eq!((counts.calls, counts.returns), (count as u64, count as u64), "{beyond}");
        assert_eq!(counts.begun, counts.ended + 1, "{beyond}");
        // Parts of the trace are joined to the same sums.
        let (mut whole, mut parts) = (Stacks::new(1, Paths::new()), Stacks::new(1, Paths::new()));
        whole.transfers(&transfers);
        for part in transfers.chunks(10_000) {
            parts.part(&Part::new(part, &Arc::default()));
        }
        assert_eq!(whole.visitor.paths(), parts.visitor.paths(), "{beyond}");
        assert_eq!(whole.counts, parts.counts, "{beyond}");
    }
}

/// A return to a frame that is stored leads there, also from calls beyond.
#[test]
fn unwinding_from_beyond_the_deepest_frame() {
    let mut transfers = nested(MAX_DEPTH + 5);
    transfers.extend([to(Kind::Return, 0x114, 0), to(Kind::Run, 0x114, 0)]);
    transfers.extend([to(Kind::Call, 0x200, 0x118), to(Kind::Return, 0x118, 0)]);
    transfers.push(to(Kind::Run, 0x118, 0));
    let mut stacks = Stacks::new(1, Depth::default());
    stacks.transfers(&transfers);
    assert_eq!((stacks.counts.unwinding, stacks.counts.returns), (1, 1));
    assert_eq!((stacks.visitor.last, stacks.visitor.open), (Some(FunctionId::Known(0)), 1));
}

/// The coroutine that was suspended first is forgotten, and one with too many frames is not stored.
#[test]
fn suspended_coroutines_are_bounded() {
    let mut transfers = vec![START];
    for n in 0..=MAX_SUSPENDED as u64 {
        transfers.push(to(Kind::Call, 0x200, 0x114));
        transfers.push(to(Kind::Call, 0x300, 0x204 + 2 * n));
        transfers.push(to(Kind::Return, 0x114, 0));
    }
    let mut stacks = Stacks::new(1, Log::default());
    stacks.transfers(&transfers);
    assert_eq!(stacks.switches.suspended.len(), MAX_SUSPENDED);
    for (resume, stored) in [(0x204, false), (0x206, true)] {
        assert_eq!(stacks.switches.waiting.contains_key(&resume), stored, "{resume:#x}");
    }
    for (frames, stored) in [(MAX_SUSPENDED_FRAMES, 1), (MAX_SUSPENDED_FRAMES + 1, 0)] {
        let mut transfers = nested(frames);
        transfers.push(to(Kind::Return, 0x114, 0));
        let mut stacks = Stacks::new(1, Log::default());
        stacks.transfers(&transfers);
        assert_eq!(stacks.switches.suspended.len(), stored, "{frames}");
    }
}

/// Buffer `n` of source `source`, whose thread at the beginning is known.
fn buffer(source: usize, thread: Option<u64>, lost: bool) -> BufferSources {
    let identifier =
        if thread.is_some() { ThreadIdentifier::None } else { ThreadIdentifier::ContextId };
    BufferSources { sources: [BufferSource { source, thread, identifier }].into(), offset: 0, lost }
}

/// A thread calls a function on source 0 and returns on source 1. `shared`: it has one stack.
#[test]
fn joined_buffers() {
    let call = to(Kind::Call, 0x200, 0x114);
    let on = Transfer { target: 0x210, function: 1, instructions: 0, ..START };
    let back = to(Kind::Return, 0x114, 0);
    let context = |id| Transfer { kind: Kind::Context, target: id, ..EMPTY };
    for (shared, buffers, want) in [
        // By the threads of the records.
        (
            true,
            [
                (buffer(0, Some(7), false), vec![START, call]),
                (buffer(1, Some(7), false), vec![on, back]),
            ],
            "thread 7 >a(before) a+1 >b b+1 <b <a:trace-end",
        ),
        // By identifiers in the trace.
        (
            true,
            [
                (buffer(0, None, false), vec![context(7), START, call]),
                (buffer(1, None, false), vec![context(7), on, back]),
            ],
            "thread 7 >a(before) a+1 >b b+1 <b <a:trace-end",
        ),
        // The order of the sources is not known.
        (
            false,
            [
                (buffer(0, Some(7), false), vec![START, call]),
                (buffer(1, Some(7), false), vec![on, back]),
            ],
            "thread 7 >a(before) a+1 >b thread 7 >b(before) b+1 <b:return-unseen-call ^a <b:trace-end \
             <a:trace-end <a:trace-end",
        ),
        // Each processor has an idle thread of its own.
        (
            true,
            [
                (buffer(0, None, false), vec![context(0), START, call]),
                (buffer(1, None, false), vec![context(0), on, back]),
            ],
            "thread 0 >a(before) a+1 >b thread 0 >b(before) b+1 <b:return-unseen-call ^a <b:trace-end \
             <a:trace-end <a:trace-end",
        ),
        // A loss between two buffers is no call and no return.
        (
            true,
            [
                (buffer(0, Some(7), false), vec![START, call]),
                (buffer(0, Some(7), true), vec![START, to(Kind::Run, 0x110, 0)]),
            ],
            "thread 7 >a(before) a+1 >b <b:lost? a+1 <a:trace-end?",
        ),
        // A thread that is not known.
        (
            true,
            [
                (buffer(0, None, false), vec![START, call]),
                (buffer(1, None, false), vec![context(7), on]),
            ],
            ">a(before) a+1 >b thread 7 >b(before) <b:trace-end <a:trace-end <b:trace-end",
        ),
    ] {
        let mut stacks = Stacks::joined(2, Log::default(), shared);
        for (sources, transfers) in &buffers {
            stacks.begin_buffer(sources);
            stacks.transfers(transfers);
        }
        stacks.finish();
        assert_eq!(stacks.visitor.text.trim_end(), want);
        assert_eq!(stacks.counts.begun, stacks.counts.ended);
    }
}
