// A synthetic trace, the same for the same options: what the mock server serves.

/** Mulberry32. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const HOSTILE = {
  symbol: "<img src=x onerror=alert(1)>",
  bidi: "safe\u202e)(daolnwod\u2066",
  zeroWidth: "ma\u200bin\ufeff",
  output: "</script><script>alert(2)</script>",
  source: "int x; // \u202e } ;)1(trela\u2066",
};

const NAMES = [
  ["reset_handler", 2],
  ["main", 0],
  ["solve", 0],
  ["place", 0],
  ["is_safe", 0],
  ["print", 1],
  ["print_number", 1],
  ["write_port", 1],
  ["show", 0],
  ["systick_handler", 2],
  ["usage_fault_handler", 2],
  ["sleep_until", 2],
  ["std::vector<std::basic_string<char>>::emplace_back(char const*)", 3],
];

const FILES = ["/build/src/queens.c", "/build/src/print.c", "/build/src/startup.c", "/build/include/vector.h"];

const ENTRY = { call: 0, tail: 1, jump: 2, exception: 3, before: 4, lost: 5, resumed: 6 };
const KIND = { exception: 1, write: 3, gap: 7, timestamp: 8 };

/**
 * `instructions` of one processor, with calls, exceptions, an idle time, two losses of trace, and
 * lines of output; `bytesPerInstruction` makes the same trace longer.
 */
export function makeTrace(options = {}) {
  const {
    seed = 1,
    instructions: limit = 120_000,
    bytesPerInstruction = 0.15,
    hostile = false,
    times = true,
    gaps = true,
  } = options;
  const next = random(seed);
  const pick = (least, most) => least + Math.floor(next() * (most - least + 1));
  const names = NAMES.map(([name, file], id) => ({ id, name, file, line: 10 + 20 * (id % 5) }));
  if (hostile) {
    names.push({ id: names.length, name: HOSTILE.symbol, file: 0, line: 50 });
    names.push({ id: names.length, name: HOSTILE.bidi, file: 0, line: 60 });
    names.push({ id: names.length, name: HOSTILE.zeroWidth, file: 0, line: 70 });
  }
  const id = (name) => names.findIndex((f) => f.name === name);
  const frames = [];
  const blocks = [];
  const events = [];
  const output = [];
  const exceptions = [];
  const stack = [];
  let [n, element, time, nextSystick, nextTimestamp] = [0, 0, 1000, 9000, 200];
  const offset = () => Math.floor(n * bytesPerInstruction);

  const begin = (fn, entry, flags = 0, exception) => {
    const frame = {
      function: fn,
      begin: offset(),
      end: 0,
      beginI: n,
      endI: 0,
      beginT: time,
      endT: 0,
      own: 0,
      depth: stack.length,
      entry,
      ending: 255,
      flags,
      exception,
    };
    frames.push(frame);
    stack.push(frame);
    return frame;
  };
  const end = (ending = 0) => {
    const frame = stack.pop();
    frame.end = offset();
    frame.endI = n;
    frame.endT = time;
    frame.ending = ending;
  };
  const event = (kind, value) => {
    events.push({ at: offset(), instruction: n, time, kind, value, element: element++ });
  };
  let inException = false;
  const block = (count) => {
    const top = stack[stack.length - 1];
    const fn = names[top.function];
    blocks.push({
      element: element++,
      n,
      count,
      function: top.function,
      address: 0x8000 + 0x400 * top.function + 2 * pick(0, 60),
      offset: offset(),
      time,
      line: fn.line + pick(0, 9),
      depth: top.depth,
    });
    top.own += count;
    n += count;
    time += count;
    if (n >= nextTimestamp) {
      nextTimestamp = n + 180;
      event(KIND.timestamp, time);
    }
    if (n >= nextSystick && !inException) {
      nextSystick = n + 9000;
      interrupt("systick_handler", 15, "SysTick", 24);
    }
  };
  const interrupt = (name, number, title, length) => {
    inException = true;
    exceptions.push({ offset: offset(), element, instruction: n, time, number, name: title });
    event(KIND.exception, number);
    begin(id(name), ENTRY.exception, 8, number);
    block(length);
    end();
    inException = false;
  };
  const write = (text) => {
    output.push({ offset: offset(), element: element++, instruction: n, time, text });
    events.push({ at: offset(), instruction: n, time, kind: KIND.write, value: 0, element: element - 1, itm: true });
  };
  const print = (text) => {
    begin(id("print"), ENTRY.call);
    for (const letter of text.slice(0, 6)) {
      block(5);
      begin(id("write_port"), ENTRY.call);
      block(2);
      end();
      void letter;
    }
    write(text);
    end();
  };
  const place = (depth) => {
    begin(id("place"), ENTRY.call);
    block(pick(12, 24));
    for (let k = 0; k < pick(1, 4); k++) {
      begin(id("is_safe"), ENTRY.call);
      block(pick(7, 37));
      end();
      block(pick(4, 9));
      if (depth < 7 && next() < 0.62 && n < limit) place(depth + 1);
    }
    if (depth === 6 && next() < 0.5) {
      begin(id("show"), ENTRY.call);
      block(12);
      print(`${pick(10000, 99999)}`);
      end();
    }
    end();
  };

  begin(id("reset_handler"), ENTRY.before, 4);
  block(4);
  begin(id("main"), ENTRY.call);
  block(18);
  print(hostile ? HOSTILE.output : "8 queens");
  let round = 0;
  while (n < limit) {
    begin(id("solve"), ENTRY.call);
    block(pick(8, 20));
    place(0);
    if (hostile) {
      for (let k = NAMES.length; k < names.length; k++) {
        begin(k, ENTRY.call);
        block(40);
        end();
      }
    }
    begin(12, ENTRY.call);
    block(pick(20, 300));
    end();
    end();
    block(6);
    round += 1;
    if (round % 9 === 4) {
      begin(id("sleep_until"), ENTRY.call);
      block(20);
      time += 6000;
      block(18);
      end();
    }
    if (gaps && round % 14 === 7) {
      for (const frame of stack) frame.flags |= 1;
      event(KIND.gap, offset());
      time += 900;
      n += 0;
    }
  }
  exceptions.push({ offset: offset(), element, instruction: n, time, number: 6, name: "UsageFault" });
  event(KIND.exception, 6);
  begin(id("usage_fault_handler"), ENTRY.exception, 8, 6);
  block(9);
  print("fault: division by zero");
  end();
  block(4);
  const bytes = offset() + 1;
  while (stack.length > 0) end(7);
  const order = (a, b) => a.beginI - b.beginI || a.depth - b.depth;
  frames.sort(order);
  return {
    options,
    names,
    files: FILES,
    frames,
    blocks,
    events,
    output,
    exceptions,
    bytes,
    instructions: n,
    elements: element,
    times: times ? { first: 1000, last: time } : null,
  };
}

export { KIND };
