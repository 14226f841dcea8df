// What the server answers, as JSON. A field that is unknown is absent.

export interface Times {
  first: string;
  last: string;
}

/** Numbers over time: what software writes, watched data, instructions per cycle. */
export interface SeriesInfo {
  number: number;
  name: string;
  kind: "write" | "comparator" | "ipc";
  count: number;
  /** All values are text by their bytes. */
  text: boolean;
  least?: number;
  most?: number;
}

export interface SourceInfo {
  number: number;
  name: string;
  protocol: string;
  id?: number;
  elements: number;
  instructions: number;
  times?: Times;
  series?: SeriesInfo[];
}

export interface ThreadInfo {
  number: number;
  source: number;
  id?: number;
  name?: string;
}

export interface Channel {
  key: number;
  name: string;
  writes: number;
}

export interface ExceptionInfo {
  number: number;
  name?: string;
  count: number;
}

export interface BufferInfo {
  number: number;
  name: string;
  bytes: number;
  elements: number;
  instructions: number;
  times?: Times;
  /** Ticks of a second. */
  frequency?: number;
  /** Whether there are tiles and frames of the whole trace. */
  view: boolean;
  tile_log2: number;
  levels: number;
  detail_bytes: number;
  sources: SourceInfo[];
  threads: ThreadInfo[];
  channels: Channel[];
  exceptions: ExceptionInfo[];
}

export interface FileInfo {
  file: number;
  path: string;
  readable: boolean;
}

export interface Capture {
  version: number;
  name: string;
  program?: string;
  core?: string;
  tool: string;
  checksum: string;
  save_notes: boolean;
  growing: boolean;
  notes: string[];
  buffers: BufferInfo[];
  files: FileInfo[];
  /** Only in a file that was exported. */
  exported?: About;
}

/** What a file is about, what it has, and what it does not have. */
export interface About {
  title: string;
  about: [string, string][];
  has: string[];
  lacks: string[];
  /** What is shown first, and in detail. */
  part?: { buffer: number; from: number; to: number };
  report?: Report;
}

/** The results of decoding the whole trace: that of `tracewright report`. */
export interface Report {
  facts: [string, string][];
  /** What is wrong, what is good to know, and totals of decoding. */
  notes: string[];
  information: string[];
  statistics: string[];
  instructions: number;
  names: string[];
  /** For each name the number of its group. */
  group: number[];
  groups: string[];
  /** Name, calls, own and total instructions, cycles, ticks. */
  functions: [string, number, number, number, number, number][];
  /** Name, depth, begin, instructions with what it calls, own instructions. */
  flame: [number, number, number, number, number][];
  threads: ReportThread[];
  exceptions: ReportException[];
  untraced_handlers: number;
  samples: [string, number][];
  values: ReportValues[];
  coverage_folder: string;
  /** Path; executed lines, all, outcomes of branches, all. */
  coverage: [string, number, number, number, number][];
  /** Name; lines, each with its executions: `null` is unknown, -1 is no code. */
  listings: [string, [number | null, string][]][];
  texts: [string, string][];
}

export interface ReportThread {
  name: string;
  unit: string;
  depth: number;
  losses: number[];
  /** Begin, end, depth, name. */
  slices: [number, number, number, number][];
}

export interface ReportException {
  name: string;
  source?: string;
  handler: string;
  unit: string;
  count: number;
  timed: number;
  shortest: number;
  sum: number;
  longest: number;
  at_most?: number;
}

export interface ReportValues {
  name: string;
  unit: string;
  count: number;
  /** Unknown where there is none. */
  least: number | null;
  mean: number | null;
  most: number | null;
  points: [number, number][];
}

export interface FunctionInfo {
  id: number;
  name: string;
  symbol?: string;
  address?: string;
  module?: string;
  file?: number;
  line?: number;
}

/** Where something is: `instruction` counts over the buffer, `at_instruction` in the source. */
export interface Located {
  element: number;
  offset: number;
  instruction: number;
  at_instruction?: number;
  source: number;
  time?: string;
}

export interface Row {
  type: string;
  source: number;
  offset: number;
  element: number;
  n?: number;
  at_instruction?: number;
  time?: string;
  text?: string;
  function?: number;
  file?: number;
  line?: number;
  address?: string;
  opcode?: string;
  symbol?: string;
  taken?: boolean;
  passed?: boolean;
  kind?: string;
  name?: string;
  number?: number;
  reason?: string;
}

export interface List {
  rows: Row[];
  anchor: number;
  begin: boolean;
  end: boolean;
  truncated?: number | boolean;
}

export type Entry = "call" | "tail-call" | "jump" | "exception" | "before" | "lost" | "resumed";

export interface StackFrame {
  function?: number;
  name: string;
  address?: string;
  entry: Entry;
  exception?: number;
  depth: number;
  offset?: number;
  instruction?: number;
  uncertain?: boolean;
}

export interface Stack {
  source: number;
  thread: number;
  element: number;
  offset: number;
  frames: StackFrame[];
}

export interface ProfileRow {
  function: number;
  name: string;
  calls: number;
  own: number;
  total: number;
  ended?: number;
  least?: number;
  mean?: number;
  most?: number;
  most_at?: number;
}

export interface Profile {
  from: number;
  to: number;
  instructions: number;
  functions: ProfileRow[];
  truncated?: number | boolean;
}

export interface Relative {
  function: number;
  calls: number;
  total: number;
}

export interface Sandwich {
  callers: Relative[];
  callees: Relative[];
  instructions: number;
}

export interface Call {
  begin: number;
  end: number;
  begin_instruction: number;
  end_instruction: number;
  instructions: number;
  thread: number;
  depth: number;
  source: number;
  begin_time?: string;
  end_time?: string;
  uncertain?: boolean;
}

export interface Calls {
  calls: Call[];
  more: boolean;
  /** In order: where it goes on. */
  next?: number;
  /** Longest first: the next part of the trace, and the most instructions of a call in it. */
  next_part?: number;
  next_most?: number;
  /** Longest first: the most instructions of a call of this part that is not listed. */
  beyond?: number;
}

export interface Histogram {
  calls: number;
  buckets: { least: number; most: number; calls: number }[];
  least?: number;
  mean?: number;
  most?: number;
}

export interface SourceLine {
  line: number;
  text: string;
  executions?: number;
  taken?: number;
  not_taken?: number;
  instructions?: number;
}

export interface SourceText {
  file: number;
  path: string;
  lines_total: number;
  lines: SourceLine[];
}

export interface Place {
  function?: number;
  name?: string;
  file?: number;
  line?: number;
}

export interface OutputLine extends Located {
  channel: number;
  text: string;
}

export interface Output {
  lines: OutputLine[];
  more: boolean;
  next?: number;
}

export interface ExceptionRow extends Located {
  number: number;
  name?: string;
  return_address?: string;
  /** Of the handler, where the trace has its begin and its end; with what interrupted it. */
  end?: number;
  instructions?: number;
  /** Without the handlers that interrupted it. */
  own?: number;
  /** Ticks between the last times before its begin and before its end. */
  duration?: string;
}

export interface Exceptions {
  exceptions: ExceptionRow[];
  more: boolean;
  next?: number;
}

export interface Found extends Located {
  kind: string;
  text: string;
}

export interface Note {
  offset: number;
  element?: number;
  to?: number;
  text: string;
}

/** Threads of a stack begin with these; the numbers of the binary layout. */
export const ENTRIES: readonly Entry[] = [
  "call",
  "tail-call",
  "jump",
  "exception",
  "before",
  "lost",
  "resumed",
];
export const ENDINGS = [
  "return",
  "return of a call that was not seen",
  "replaced by a tail call",
  "unwound",
  "trace was lost",
  "switched",
  "too deep",
  "end of the trace",
];
export const NOT_ENDED = 255;

export const UNCERTAIN = 1;
export const BEGAN_BEFORE = 2;
export const BEGIN_UNKNOWN = 4;
export const EXCEPTION = 8;
