// The binary answers: a header of 64 bytes, then arrays, each at a multiple of 8. They become typed
// arrays without being parsed.

export interface Tiles {
  level: number;
  first: number;
  size: number;
  tile: Float64Array;
  before: Float64Array;
  instructions: Float64Array;
  timeFirst: Float64Array;
  timeLast: Float64Array;
  exceptions: Uint32Array;
  gaps: Uint32Array;
  writes: Uint32Array;
  accesses: Uint32Array;
  events: Uint32Array;
  dwt: Uint32Array;
  contexts: Uint32Array;
  firstPart: Uint32Array;
  partInstructions: Float64Array;
  thread: Uint32Array;
  leastDepth: Int32Array;
  firstRow: Uint32Array;
  begun: Uint32Array;
  function: Uint32Array;
  weight: Float32Array;
  all: Float32Array;
}

export interface Frames {
  from: number;
  to: number;
  /** Frames that lasted at least this number of bytes; 0 for all. */
  min: number;
  truncated: number;
  begin: Float64Array;
  end: Float64Array;
  beginInstruction: Float64Array;
  endInstruction: Float64Array;
  beginTime: Float64Array;
  endTime: Float64Array;
  own: Float64Array;
  thread: Uint32Array;
  function: Uint32Array;
  depth: Int32Array;
  entry: Uint8Array;
  ending: Uint8Array;
  flags: Uint8Array;
}

export interface Detail extends Frames {
  eventAt: Float64Array;
  eventInstruction: Float64Array;
  eventTime: Float64Array;
  /** Of an exception its number, of a write its channel, of a gap the offset of the next element if it is known. */
  eventValue: Float64Array;
  eventElement: Float64Array;
  eventKind: Uint8Array;
  eventsLeftOut: number;
}

export const NONE = 0xffffffff;

export const KIND = {
  exception: 1,
  context: 2,
  write: 3,
  access: 4,
  event: 5,
  trigger: 6,
  gap: 7,
  timestamp: 8,
  dwt: 9,
  thread: 10,
} as const;

const HEADER = 64;
const VERSION = 1;

class Reader {
  private at = HEADER;
  readonly counts: Uint32Array;
  readonly numbers: Float64Array;

  constructor(private readonly buffer: ArrayBuffer, magic: number) {
    if (buffer.byteLength < HEADER) throw new Error("an answer of the server is too short");
    const head = new Uint32Array(buffer, 0, 2);
    if (head[0] !== magic || head[1] !== VERSION) {
      throw new Error("an answer of the server has another format than this page: reload it");
    }
    this.counts = new Uint32Array(buffer, 8, 6);
    this.numbers = new Float64Array(buffer, 32, 4);
  }

  count(index: number): number {
    return this.counts[index] ?? 0;
  }

  number(index: number): number {
    return this.numbers[index] ?? 0;
  }

  private next(bytes: number): number {
    const at = this.at;
    if (at + bytes > this.buffer.byteLength) {
      throw new Error("an answer of the server is too short");
    }
    this.at = Math.ceil((at + bytes) / 8) * 8;
    return at;
  }

  f64(n: number): Float64Array {
    return new Float64Array(this.buffer, this.next(8 * n), n);
  }

  f32(n: number): Float32Array {
    return new Float32Array(this.buffer, this.next(4 * n), n);
  }

  u32(n: number): Uint32Array {
    return new Uint32Array(this.buffer, this.next(4 * n), n);
  }

  i32(n: number): Int32Array {
    return new Int32Array(this.buffer, this.next(4 * n), n);
  }

  u8(n: number): Uint8Array {
    return new Uint8Array(this.buffer, this.next(n), n);
  }
}

// The members of an object are evaluated in their order, which is that of the arrays.

export function tiles(buffer: ArrayBuffer): Tiles {
  const reader = new Reader(buffer, 0x4c545754);
  const [t, p, r] = [reader.count(0), reader.count(1), reader.count(2)];
  return {
    level: reader.count(3),
    first: reader.number(0),
    size: reader.number(1),
    tile: reader.f64(t),
    before: reader.f64(t),
    instructions: reader.f64(t),
    timeFirst: reader.f64(t),
    timeLast: reader.f64(t),
    exceptions: reader.u32(t),
    gaps: reader.u32(t),
    writes: reader.u32(t),
    accesses: reader.u32(t),
    events: reader.u32(t),
    dwt: reader.u32(t),
    contexts: reader.u32(t),
    firstPart: reader.u32(t),
    partInstructions: reader.f64(p),
    thread: reader.u32(p),
    leastDepth: reader.i32(p),
    firstRow: reader.u32(p),
    begun: reader.u32(p),
    function: reader.u32(r),
    weight: reader.f32(r),
    all: reader.f32(r),
  };
}

function framesOf(reader: Reader): Frames {
  const n = reader.count(0);
  return {
    from: reader.number(0),
    to: reader.number(1),
    min: reader.number(2),
    truncated: reader.count(1),
    begin: reader.f64(n),
    end: reader.f64(n),
    beginInstruction: reader.f64(n),
    endInstruction: reader.f64(n),
    beginTime: reader.f64(n),
    endTime: reader.f64(n),
    own: reader.f64(n),
    thread: reader.u32(n),
    function: reader.u32(n),
    depth: reader.i32(n),
    entry: reader.u8(n),
    ending: reader.u8(n),
    flags: reader.u8(n),
  };
}

/** Values of a tile, or one value: `from` and `to` are offsets. */
export interface ValueRow {
  series: number;
  from: number;
  to: number;
  count: number;
  least: number;
  mean: number;
  most: number;
}

export function valueTiles(buffer: ArrayBuffer): ValueRow[] {
  const reader = new Reader(buffer, 0x54565754);
  const n = reader.count(0);
  const size = reader.number(0);
  const [tile, count, least, mean, most] = [reader.f64(n), reader.f64(n), reader.f64(n), reader.f64(n), reader.f64(n)];
  return Array.from(reader.u32(n), (series, k) => ({
    series,
    from: (tile[k] as number) * size,
    to: ((tile[k] as number) + 1) * size,
    count: count[k] as number,
    least: least[k] as number,
    mean: mean[k] as number,
    most: most[k] as number,
  }));
}

/** Each value, and how many more there are. */
export function values(buffer: ArrayBuffer): { rows: ValueRow[]; leftOut: number } {
  const reader = new Reader(buffer, 0x58565754);
  const n = reader.count(0);
  const at = reader.f64(n);
  for (let skipped = 0; skipped < 3; skipped++) reader.f64(n);
  const value = reader.f64(n);
  const rows = Array.from(reader.u32(n), (series, k) => {
    const one = value[k] as number;
    return { series, from: at[k] as number, to: at[k] as number, count: 1, least: one, mean: one, most: one };
  });
  return { rows, leftOut: reader.count(1) };
}

export function frames(buffer: ArrayBuffer): Frames {
  return framesOf(new Reader(buffer, 0x52465754));
}

export function detail(buffer: ArrayBuffer): Detail {
  const reader = new Reader(buffer, 0x54445754);
  const frames = framesOf(reader);
  const e = reader.count(2);
  return {
    ...frames,
    eventAt: reader.f64(e),
    eventInstruction: reader.f64(e),
    eventTime: reader.f64(e),
    eventValue: reader.f64(e),
    eventElement: reader.f64(e),
    eventKind: reader.u8(e),
    eventsLeftOut: reader.count(4),
  };
}
