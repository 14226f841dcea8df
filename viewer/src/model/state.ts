// One focus, one view, one selection. Every panel shows or changes these three.

import { batch, computed, signal } from "@preact/signals";
import type { Backend } from "../data/backend";
import { Http } from "../data/backend";
import { embedded } from "../data/embedded";
import { Queue } from "../data/queue";
import type { BufferInfo, Capture, FunctionInfo, SourceInfo, ThreadInfo } from "../data/types";

/** Offsets in the buffer, with fractions where a view is narrower than a byte. */
export interface Range {
  from: number;
  to: number;
}

/** A moment. What is unknown is absent. */
export interface Focus {
  /** The source with instructions that panels show at this moment. */
  source: number;
  offset: number;
  /** Over the buffer. */
  element?: number;
  /** Instructions of the buffer before it. */
  instruction?: number;
  /** Instructions of the source before it. */
  atInstruction?: number;
  /** The frame that is marked: its depth in this thread. */
  thread?: number;
  depth?: number;
}

export type AxisKind = "time" | "instructions" | "bytes";
export type LeftPanel =
  | "about"
  | "flame"
  | "threads"
  | "functions"
  | "calls"
  | "tree"
  | "exceptions"
  | "output"
  | "find"
  | "bookmarks";
export type RightPanel = "instructions" | "source";

/** The answers in this page, or else the server that it is from. */
export let backend: Backend = embedded() ?? new Http();

/** Asks `own` instead: before the page is started. */
export function ask(own: Backend): void {
  backend = own;
}

/** Requests of the timeline and of the panels. */
export const queue = new Queue(6);

export const capture = signal<Capture | null>(null);
export const bufferNumber = signal(0);
export const functions = signal<ReadonlyMap<number, FunctionInfo>>(new Map());
/** The first picture was drawn, or there is none: panels come after it. */
export const pictured = signal(false);
/** What the page could not do, for people. */
export const problem = signal<string | null>(null);
export const notice = signal<string | null>(null);

export const view = signal<Range>({ from: 0, to: 1 });
export const selection = signal<Range | null>(null);
export const focus = signal<Focus | null>(null);
export const axis = signal<AxisKind>("bytes");
export const compress = signal(false);
export const left = signal<LeftPanel>("functions");
export const right = signal<RightPanel>("instructions");
/** The function that the panels of functions and calls are about. */
export const chosen = signal<number | null>(null);

export const buffer = computed<BufferInfo | null>(() => {
  const buffers = capture.value?.buffers ?? [];
  return buffers.find((b) => b.number === bufferNumber.value) ?? buffers[0] ?? null;
});

/** Length of the buffer, at least 1. */
export const length = computed(() => Math.max(1, buffer.value?.bytes ?? 1));

/** What the panels about a range are about: the selection, or else all of the trace. */
export const selected = computed<Range>(() => {
  const range = selection.value;
  if (range === null) return { from: 0, to: length.value };
  const from = Math.floor(range.from);
  return { from, to: Math.max(from + 1, Math.ceil(range.to)) };
});

export const codeSources = computed<SourceInfo[]>(
  () => buffer.value?.sources.filter((source) => source.instructions > 0) ?? [],
);

/** Whether the buffer has trace of a source: more than its one element for the end of the buffer. */
export function hasTrace(source: SourceInfo): boolean {
  return source.instructions > 0 || source.elements > 1;
}

/** The source with instructions that is shown where nothing else decides. */
export const mainSource = computed<number>(() => {
  const sources = codeSources.value;
  const most = sources.reduce<SourceInfo | undefined>(
    (best, source) =>
      best === undefined || source.instructions > best.instructions ? source : best,
    undefined,
  );
  return focus.value?.source ?? most?.number ?? buffer.value?.sources[0]?.number ?? 0;
});

export function functionName(id: number | undefined): string {
  if (id === undefined) return "unknown code";
  return functions.value.get(id)?.name ?? `function ${id}`;
}

export function sourceName(number: number): string {
  return buffer.value?.sources.find((s) => s.number === number)?.name ?? `source ${number}`;
}

export function threadName(thread: ThreadInfo | undefined): string {
  if (thread === undefined) return "thread";
  if (thread.name !== undefined && thread.name !== "") return thread.name;
  return thread.id === undefined ? `thread ${thread.number}` : `context ${thread.id}`;
}

/** Less than this is not shown: a thousandth of a byte. */
const LEAST = 1 / 1024;

/** `range` with a length that can be shown, inside the buffer. */
export function clamped(range: Range): Range {
  const bytes = length.value;
  const size = Math.min(bytes, Math.max(LEAST, range.to - range.from));
  const from = Math.min(bytes - size, Math.max(0, range.from));
  return { from, to: from + size };
}

export function show(range: Range): void {
  const next = clamped(range);
  const old = view.peek();
  if (next.from !== old.from || next.to !== old.to) view.value = next;
}

/** Moves the view, only if `offset` is outside it or near its edge. */
export function reveal(offset: number): void {
  const { from, to } = view.peek();
  const size = to - from;
  if (offset >= from + 0.02 * size && offset <= to - 0.02 * size) return;
  show({ from: offset - size / 2, to: offset + size / 2 });
}

export function focusOn(next: Focus, options: { reveal?: boolean } = {}): void {
  batch(() => {
    focus.value = next;
    if (options.reveal !== false) reveal(next.offset);
  });
}

export function choose(id: number): void {
  chosen.value = id;
}

export async function open(): Promise<void> {
  // Nearly all traces begin with this buffer: its functions are asked for at once.
  const early = backend.functions(0).catch(() => null);
  const opened = await backend.capture();
  const part = opened.exported?.part;
  const first = opened.buffers.find((own) => own.number === part?.buffer) ?? opened.buffers[0];
  const known = first?.number === 0 ? await early : null;
  const names = known ?? (first === undefined ? [] : await backend.functions(first.number));
  batch(() => {
    capture.value = opened;
    functions.value = new Map(names.map((f) => [f.id, f]));
    bufferNumber.value = first?.number ?? 0;
    view.value = { from: 0, to: length.value };
    axis.value = first?.times !== undefined ? "time" : defaultAxis();
    if (part !== undefined) {
      show(part);
      selection.value = { from: part.from, to: part.to };
    }
    if (opened.exported !== undefined) left.value = "about";
  });
}

/** The trace has grown: focus, view, selection and the chosen function stay what they are. */
export async function grow(next: Capture): Promise<void> {
  const number = bufferNumber.peek();
  const names = next.buffers.some((own) => own.number === number) ? await backend.functions(number) : [];
  const [old, shown] = [length.peek(), view.peek()];
  // Functions may have other numbers.
  const name = chosen.peek() === null ? undefined : functions.peek().get(chosen.peek() as number)?.name;
  batch(() => {
    capture.value = next;
    functions.value = new Map(names.map((f) => [f.id, f]));
    chosen.value = names.find((f) => f.name === name)?.id ?? null;
    const to = length.value;
    // The whole trace stays the whole, and a view up to the end stays at the end.
    if (shown.from === 0 && shown.to >= old) view.value = { from: 0, to };
    else if (shown.to >= old) show({ from: to - (shown.to - shown.from), to });
  });
}

export function defaultAxis(): AxisKind {
  return codeSources.value.length > 0 ? "instructions" : "bytes";
}

/** Another buffer: nothing of what was shown applies to it. */
export async function openBuffer(number: number): Promise<void> {
  queue.cancel(() => true);
  const names = await backend.functions(number);
  batch(() => {
    bufferNumber.value = number;
    functions.value = new Map(names.map((f) => [f.id, f]));
    focus.value = null;
    selection.value = null;
    chosen.value = null;
    view.value = { from: 0, to: length.value };
    axis.value = buffer.value?.times !== undefined ? "time" : defaultAxis();
  });
}
