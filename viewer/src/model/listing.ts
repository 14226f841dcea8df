// The rows of instructions around the focus: a window of the whole listing that moves with it.

import { batch, computed, effect, signal } from "@preact/signals";
import { backend, buffer, capture, codeSources, focus, mainSource, queue } from "./state";
import type { Focus } from "./state";
import { ServerError } from "../data/backend";
import { NOT_IN_FILE } from "../data/embedded";
import { Cancelled } from "../data/queue";
import type { Row } from "../data/types";

/** Elements in one request, and rows that are held. */
const PAGE = 120;
const HELD = 2000;

export const withElements = signal(false);
export const rows = signal<readonly Row[]>([]);
/** Nothing precedes the first row, or follows the last. */
export const atBegin = signal(false);
export const atEnd = signal(false);
export const failure = signal<string | null>(null);
export const isReading = signal(false);
/** The row at the top of the window, with a fraction. */
export const topRow = signal(0);
/** Rows that the window has room for. */
export const roomFor = signal(20);

/** The row that is in focus; -1 where it is not in the window. */
export const current = computed(() => {
  const here = focus.value;
  return here === null ? -1 : indexOf(here, rows.value);
});

/** The row that is in focus. */
export const here = computed<Row | null>(() => rows.value[current.value] ?? null);

/**
 * The row of a moment. An element that has no row, such as an exception, is at the row before it:
 * the instruction after which it happened.
 */
function indexOf(here: Focus, all: readonly Row[]): number {
  const { element, instruction } = here;
  if (element === undefined) return -1;
  let before = -1;
  for (let k = 0; k < all.length; k++) {
    const row = all[k] as Row;
    if (row.element > element) break;
    if (row.element === element && (instruction === undefined || row.n === instruction)) return k;
    before = k;
  }
  if (instruction !== undefined || before < 0) return -1;
  const isInside = before + 1 < all.length || atEnd.peek();
  return isInside && (all[before] as Row).element < element ? before : -1;
}

/** Elements that are listed among instructions; `elements` shows the others, too. */
const AMONG = new Set([
  "exception",
  "exception-return",
  "gap",
  "undecodable",
  "no-code",
  "inconsistency",
  "trigger",
  "custom",
]);

function isListed(row: Row): boolean {
  return withElements.peek() || row.type === "instruction" || AMONG.has(row.kind ?? "");
}

/** The instruction in focus; of an exception the one before it. */
export const hereCode = computed<Row | null>(() => {
  for (let k = current.value; k >= 0; k--) {
    const row = rows.value[k];
    if (row?.type === "instruction") return row;
  }
  return null;
});

/** The instruction of the source before a row, where it is known. */
export function atInstruction(row: Row): number | undefined {
  return row.at_instruction ?? (codeSources.peek().length === 1 ? row.n : undefined);
}

export function focusOfRow(row: Row): Focus {
  const next: Focus = { source: row.source, offset: row.offset, element: row.element };
  if (row.n !== undefined) next.instruction = row.n;
  const at = atInstruction(row);
  if (at !== undefined) next.atInstruction = at;
  return next;
}

function kind(): string {
  return withElements.peek() ? "elements" : "instructions";
}

let lastAsked = "";
/** The source whose rows are listed; without one all are. */
let listed: number | undefined;

/** Reads the rows around a moment. If a file does not have it, it is looked for in the sources `others`. */
function read(moment: Focus, others: readonly number[] = []): void {
  const info = buffer.peek();
  if (info === null) return;
  const code = codeSources.peek().some((source) => source.number === moment.source);
  const source = code ? moment.source : undefined;
  // By instruction, by element, or else by offset. Where one source has all instructions, its
  // numbers are those of the buffer.
  const single = codeSources.peek().length === 1 ? moment.atInstruction : undefined;
  const instruction = moment.instruction ?? (moment.element === undefined ? single : undefined);
  const at =
    instruction !== undefined
      ? { instruction }
      : moment.element !== undefined
        ? { element: moment.element }
        : { offset: Math.floor(moment.offset) };
  const asked = JSON.stringify([at, source, kind()]);
  lastAsked = asked;
  isReading.value = true;
  const only = withElements.peek() ? undefined : source;
  listed = only;
  const p = { buffer: info.number, ...at, source: only, kind: kind(), before: PAGE, after: PAGE };
  queue.add("list", 3, (signal) => backend.list(p, signal)).then(
    (list) => {
      if (lastAsked !== asked) return;
      const own = (row: Row) => row.source === source && row.at_instruction === moment.atInstruction;
      const named = moment.atInstruction === undefined ? -1 : list.rows.findIndex(own);
      const anchorAt = named < 0 || moment.element !== undefined ? list.anchor : named;
      const shown = list.rows.filter(isListed);
      const anchor = list.rows.slice(anchorAt).find(isListed) ?? shown[shown.length - 1];
      const index = anchor === undefined ? 0 : shown.indexOf(anchor);
      batch(() => {
        isReading.value = false;
        failure.value = null;
        rows.value = shown;
        atBegin.value = list.begin;
        atEnd.value = list.end && list.truncated === undefined;
        topRow.value = Math.max(0, index - Math.floor(roomFor.peek() / 3));
        const now = focus.peek();
        const same = now !== null && now.offset === moment.offset && now.element === moment.element;
        if (anchor !== undefined && same && moment.element === undefined) {
          const resolved = focusOfRow(anchor);
          const code = codeSources.peek().some((s) => s.number === anchor.source);
          focus.value = {
            ...moment,
            element: anchor.element,
            ...(anchor.n === undefined ? {} : { instruction: anchor.n }),
            ...(code ? { source: anchor.source } : {}),
            ...(moment.atInstruction === undefined && resolved.atInstruction !== undefined
              ? { atInstruction: resolved.atInstruction }
              : {}),
          };
        }
      });
    },
    (error: unknown) => {
      if (error instanceof Cancelled || lastAsked !== asked) return;
      const [next, ...rest] = others;
      if (next !== undefined && error instanceof ServerError && error.code === NOT_IN_FILE) {
        return read({ ...moment, source: next }, rest);
      }
      isReading.value = false;
      failure.value = error instanceof Error ? error.message : String(error);
    },
  );
}

function keyOf(row: Row): string {
  return `${row.element}/${row.n ?? ""}/${row.type}`;
}

let extending = false;

/** Reads what is before the first row or after the last one. */
export function extend(direction: -1 | 1): void {
  const info = buffer.peek();
  const all = rows.peek();
  if (extending || info === null || all.length === 0) return;
  if (direction < 0 ? atBegin.peek() : atEnd.peek()) return;
  const edge = (direction < 0 ? all[0] : all[all.length - 1]) as Row;
  extending = true;
  readBeyond(info.number, all, edge, edge, direction, 8).finally(() => (extending = false));
}

/** Reads from `start` on, again where nothing of what is read is listed. */
async function readBeyond(
  number: number,
  all: readonly Row[],
  edge: Row,
  start: Row,
  direction: -1 | 1,
  attempts: number,
): Promise<void> {
  const at = start.n === undefined ? { element: start.element } : { instruction: start.n };
  const p = {
    buffer: number,
    ...at,
    source: listed,
    kind: kind(),
    before: direction < 0 ? 2 * PAGE : 0,
    after: direction < 0 ? 1 : 2 * PAGE,
  };
  try {
    const list = await queue.add("list/more", 3, (signal) => backend.list(p, signal));
    if (rows.peek() !== all) return;
    const known = new Set(all.map(keyOf));
    const isBeyond = (row: Row) =>
      direction > 0 || row.element < edge.element || (row.n ?? Infinity) < (edge.n ?? 0);
    const fresh = list.rows.filter((row) => isListed(row) && !known.has(keyOf(row)) && isBeyond(row));
    const whole = list.truncated === undefined;
    const isLast = direction < 0 ? list.begin : list.end;
    const next = direction < 0 ? list.rows[0] : list.rows[list.rows.length - 1];
    const goesOn = next !== undefined && keyOf(next) !== keyOf(start);
    if (fresh.length === 0 && goesOn && !(isLast && whole) && attempts > 0) {
      return await readBeyond(number, all, edge, next, direction, attempts - 1);
    }
    batch(() => {
      const done = fresh.length === 0 || (isLast && whole);
      if (direction < 0) {
        const joined = [...fresh, ...all];
        rows.value = joined.slice(0, HELD);
        if (joined.length > HELD) atEnd.value = false;
        topRow.value = topRow.peek() + fresh.length;
        atBegin.value = done;
      } else {
        const joined = [...all, ...fresh];
        const drop = Math.max(0, joined.length - HELD);
        rows.value = joined.slice(drop);
        topRow.value = Math.max(0, topRow.peek() - drop);
        if (drop > 0) atBegin.value = false;
        atEnd.value = done;
      }
    });
  } catch (error) {
    if (!(error instanceof Cancelled)) failure.value = error instanceof Error ? error.message : String(error);
  }
}

/** Moves the window by rows, and reads more near its ends. */
export function scrollBy(count: number): void {
  const most = Math.max(0, rows.peek().length - roomFor.peek());
  topRow.value = Math.min(most, Math.max(0, topRow.peek() + count));
  if (topRow.peek() < 40) extend(-1);
  if (topRow.peek() > most - 40) extend(1);
}

/** The focus moves to a neighbouring row. */
export function step(count: number): Row | null {
  const all = rows.peek();
  const at = current.peek();
  if (all.length === 0) return null;
  const next = Math.min(all.length - 1, Math.max(0, (at < 0 ? Math.floor(topRow.peek()) : at) + count));
  const row = all[next] ?? null;
  if (row !== null) {
    focus.value = focusOfRow(row);
    showRow(next);
  }
  return row;
}

function showRow(index: number): void {
  const room = roomFor.peek();
  if (index < topRow.peek() + 1) topRow.value = Math.max(0, index - 1);
  if (index > topRow.peek() + room - 2) topRow.value = Math.max(0, index - room + 2);
  if (topRow.peek() < 40) extend(-1);
  if (topRow.peek() > all() - room - 40) extend(1);
}

function all(): number {
  return rows.peek().length;
}

/** Follows the focus: reads where it is not among the rows. */
export function followFocus(): void {
  effect(() => {
    void buffer.value?.number;
    batch(() => {
      rows.value = [];
      failure.value = null;
    });
  });
  effect(() => {
    const moment = focus.value;
    void withElements.value;
    if (buffer.value === null) return;
    if (moment === null) {
      // The begin of the trace, or of the part that a file has, until something is in focus.
      if (rows.peek().length === 0) {
        kindOfRows = withElements.peek();
        const part = capture.peek()?.exported?.part;
        const isPart = part !== undefined && part.buffer === buffer.peek()?.number;
        const begin = isPart ? { offset: part.from } : { offset: 0, instruction: 0 };
        const source = mainSource.peek();
        const others = codeSources.peek().map((own) => own.number);
        read({ source, ...begin }, others.filter((own) => own !== source));
      }
      return;
    }
    const index = indexOf(moment, rows.peek());
    if (index >= 0 && kindOfRows === withElements.peek()) {
      const top = topRow.peek();
      if (index < top || index > top + roomFor.peek() - 1) {
        topRow.value = Math.max(0, index - Math.floor(roomFor.peek() / 3));
      }
      if (index < 30) extend(-1);
      if (index > rows.peek().length - 30) extend(1);
      return;
    }
    kindOfRows = withElements.peek();
    read(moment);
  });
}

let kindOfRows = false;
