//! Random programs with decisions, and the same with a call for each condition.

use std::fmt::Write as _;

use tracewright_testing::Random;

/// The handler of a signal evaluates a decision within an evaluation of it. RISC-V has no
/// `sa_restorer`.
const SIGNAL: &str = "\
#if defined(__riscv)
static void prepare(void) {}
static void interrupt(void) { handler(10); }
#else
#if defined(__arm__)
enum { KILL = 37, ACTION = 174, PROCESS = 20 };
#else
enum { KILL = 129, ACTION = 134, PROCESS = 172 };
#endif
static long action[20];
static void prepare(void) {
  action[0] = (long)handler;
  action[1] = 0x44000004;
  action[2] = (long)leave_signal;
  system_call(ACTION, 10, (long)action, 0, 8);
}
static void interrupt(void) {
  system_call(KILL, system_call(PROCESS, 0, 0, 0, 0), 10, 0, 0);
}
#endif
";
const NO_SIGNAL: &str = "\
static void prepare(void) {}
static void interrupt(void) { handler(10); }
";

/// An expression.
enum Tree {
    Leaf(usize),
    Operator(&'static str, Box<(Tree, Tree)>, bool),
}

impl Tree {
    fn random(random: &mut Random, size: usize, leaves: &mut Vec<String>, negates: bool) -> Tree {
        if size == 1 {
            let own = random.pick(&["a", "b", "c", "d"]);
            let n = random.below(4);
            leaves.push(match random.below(6) {
                0 => own.to_owned(),
                1 => format!("!{own}"),
                2 => format!("{own} > {n}"),
                3 => format!("{own} == {n}"),
                4 => format!("call({own})"),
                _ => format!("recurse({own}) != {n}"),
            });
            return Tree::Leaf(leaves.len() - 1);
        }
        let left = random.between(1, size - 1);
        let operator = random.pick(&["&&", "||"]);
        let first = Tree::random(random, left, leaves, negates);
        let second = Tree::random(random, size - left, leaves, negates);
        let negated = negates && random.one_in(4);
        Tree::Operator(operator, Box::new((first, second)), negated)
    }

    /// Its text; `recorded`: with a call for each condition.
    fn text(&self, leaves: &[String], recorded: bool, outer: bool) -> String {
        match self {
            Tree::Leaf(n) if recorded => format!("C({n}, {})", leaves[*n]),
            Tree::Leaf(n) => leaves[*n].clone(),
            Tree::Operator(operator, both, negated) => {
                let [left, right] = [&both.0, &both.1].map(|own| own.text(leaves, recorded, false));
                let own = format!("{left} {operator} {right}");
                match (outer, negated) {
                    (true, _) => own,
                    (_, true) => format!("!({own})"),
                    _ => format!("({own})"),
                }
            }
        }
    }
}

/// What a decision is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    If,
    While,
    Do,
    For,
    Assignment,
    Return,
}

impl Form {
    fn random(random: &mut Random) -> Form {
        use Form::{Assignment, Do, For, If, Return, While};
        random.pick(&[If, While, Do, For, Assignment, Return])
    }

    /// Whether its value is not tested.
    pub(super) fn is_value(self) -> bool {
        matches!(self, Form::Assignment | Form::Return)
    }

    /// The body of a function with the decision `own`.
    fn body(self, own: &str) -> String {
        let step = "    r++;\n    sink = r;\n    if (r == 5)\n      return r;\n";
        match self {
            Form::If => format!("  if ({own})\n    r = 1;\n  else\n    r = call(2);\n"),
            Form::While => format!("  while ({own}) {{\n    a--;\n{step}  }}\n"),
            Form::Do => format!("  do {{\n    b--;\n{step}  }} while ({own});\n"),
            Form::For => format!("  for (; {own}; c--) {{\n{step}  }}\n"),
            Form::Assignment => format!("  r = {own};\n  sink = r;\n"),
            Form::Return => format!("  return {own};\n"),
        }
    }
}

/// A program, with and without recorded conditions; the lines of its decisions.
pub(super) struct Program {
    pub(super) texts: [String; 2],
    pub(super) lines: Vec<usize>,
    /// What the decisions are for; none where the answer is of no interest.
    pub(super) forms: Vec<Option<Form>>,
}

pub(super) fn program(random: &mut Random, negates: bool) -> Program {
    let mut texts =
        [String::from("#include \"start.h\"\n"), String::from("#include \"record.h\"\n")];
    let handler = "NOINLINE static void handler(int n) {\n  sink = recurse(n - 7);\n}\n";
    let call = "NOINLINE static int call(int n) {\n  sink = n;\n  if (n == 3)\n    interrupt();\n\
                \x20 return n & 1;\n}\n";
    let (mut lines, mut forms) = (Vec::new(), vec![None]);
    let add = |texts: &mut [String; 2], [plain, recorded]: [&str; 2]| {
        texts[0].push_str(plain);
        texts[1].push_str(recorded);
    };
    // A decision is evaluated within an evaluation of itself.
    let own = "n > 0 && recurse(n - 1) && (n != 2 || sink)";
    let recorded = "C(0, n > 0) && C(1, recurse(n - 1)) && (C(2, n != 2) || C(3, sink))";
    let head = "NOINLINE static int recurse(int n) {\n  sink = n & 1;\n";
    let text = |own: &str| format!("{head}  if ({own})\n    return n;\n  return 1;\n}}\n");
    lines.push(texts[0].lines().count() + 3);
    add(&mut texts, [&text(own), &text(&format!("D(0, 4, {recorded})"))]);
    add(&mut texts, [handler; 2]);
    add(&mut texts, [SIGNAL, NO_SIGNAL]);
    add(&mut texts, [call; 2]);
    let count = 40;
    for n in 1..count {
        let (mut leaves, size) = (Vec::new(), random.between(1, 6));
        let tree = Tree::random(random, size, &mut leaves, negates);
        let form = Form::random(random);
        let before = texts[0].lines().count();
        for (recorded, text) in [false, true].into_iter().zip(&mut texts) {
            let mut own = tree.text(&leaves, recorded, true);
            if recorded {
                own = format!("D({n}, {size}, {own})");
            }
            let body = form.body(&own);
            if !recorded {
                let above = if form == Form::Do { body.lines().count() - 1 } else { 0 };
                lines.push(before + 3 + above);
            }
            writeln!(
                text,
                "NOINLINE static int f{n}(int a, int b, int c, int d) {{\n  int r = 0;\n{body}  \
                 return r;\n}}"
            )
            .unwrap();
        }
        forms.push((size > 1).then_some(form));
    }
    // Its turns are alike: N-Trace counts them.
    lines.push(texts[0].lines().count() + 3);
    for (own, text) in ["r < n", &format!("D({count}, 1, C(0, r < n))")].iter().zip(&mut texts) {
        writeln!(
            text,
            "NOINLINE static int turn(int n) {{\n  int r = 0;\n  while ({own})\n    r++;\n  \
             return r;\n}}"
        )
        .unwrap();
    }
    let mut last = String::from(
        "void program(void) {\n  unsigned s = 7;\n  prepare();\n  sink += turn(3000);\n",
    );
    last.push_str("  for (int i = 0; i < 12; i++) {\n");
    for n in 1..count {
        writeln!(
            last,
            "    s = s * 1103515245u + 12345u;\n    sink += f{n}(s >> 8 & 3, s >> 12 & 3, s >> 16 & \
             3, s >> 20 & 3);"
        )
        .unwrap();
    }
    last.push_str("  }\n}\n");
    add(&mut texts, [&last; 2]);
    forms.push(None);
    Program { texts, lines, forms }
}
