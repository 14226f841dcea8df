// The rows of instructions around the focus: a window of the whole listing that moves with it.

import { batch, computed, effect, signal } from "@preact/signals";
import { backend, buffer, codeSources, focus, mainSource, queue } from "./state";
import type { Focus } from "./state";
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

/** Reads the rows around a moment. */
function read(moment: Focus): void {
  const info = buffer.peek();
  if (info === null) return;
  const code = codeSources.peek().some((source) => source.number === moment.source);
  const source = code ? moment.source : undefined;
  // By instruction of the source, of the buffer, by element, or else by offset.
  const at =
    moment.element !== undefined && moment.instruction === undefined
      ? { element: moment.element }
      : moment.instruction !== undefined
        ? { instruction: moment.instruction }
        : moment.atInstruction !== undefined && source !== undefined
          ? { instruction: moment.atInstruction, source }
          : source === undefined
            ? { offset: Math.floor(moment.offset) }
            : { offset: Math.floor(moment.offset), source };
  const asked = JSON.stringify([at, kind()]);
  lastAsked = asked;
  isReading.value = true;
  const p = { buffer: info.number, ...at, kind: kind(), before: PAGE, after: PAGE };
  queue.add("list", 3, (signal) => backend.list(p, signal)).then(
    (list) => {
      if (lastAsked !== asked) return;
      const anchor = list.rows[list.anchor];
      batch(() => {
        isReading.value = false;
        failure.value = null;
        rows.value = list.rows;
        atBegin.value = list.begin;
        atEnd.value = list.end && list.truncated === undefined;
        topRow.value = Math.max(0, list.anchor - Math.floor(roomFor.peek() / 3));
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
      if (error instanceof Cancelled) return;
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
  const at = edge.n === undefined ? { element: edge.element } : { instruction: edge.n };
  const p = {
    buffer: info.number,
    ...at,
    kind: kind(),
    before: direction < 0 ? 2 * PAGE : 0,
    after: direction < 0 ? 1 : 2 * PAGE,
  };
  queue
    .add("list/more", 3, (signal) => backend.list(p, signal))
    .then((list) => {
      if (rows.peek() !== all) return;
      const known = new Set(all.map(keyOf));
      const fresh = list.rows.filter((row) => !known.has(keyOf(row)));
      batch(() => {
        if (direction < 0) {
          const before = fresh.filter((row) => row.element < edge.element || (row.n ?? Infinity) < (edge.n ?? 0));
          const rest = [...before, ...all].slice(0, HELD);
          if (rest.length < before.length + all.length) atEnd.value = false;
          rows.value = rest;
          topRow.value = topRow.peek() + before.length;
          atBegin.value = before.length === 0 || (list.begin && list.truncated === undefined);
        } else {
          const joined = [...all, ...fresh];
          const drop = Math.max(0, joined.length - HELD);
          rows.value = joined.slice(drop);
          topRow.value = Math.max(0, topRow.peek() - drop);
          if (drop > 0) atBegin.value = false;
          atEnd.value = fresh.length === 0 || (list.end && list.truncated === undefined);
        }
      });
    })
    .catch((error: unknown) => {
      if (!(error instanceof Cancelled)) failure.value = error instanceof Error ? error.message : String(error);
    })
    .finally(() => (extending = false));
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
      // The begin of the trace, until something is in focus.
      if (rows.peek().length === 0) {
        kindOfRows = withElements.peek();
        read({ source: mainSource.peek(), offset: 0, instruction: 0 });
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
