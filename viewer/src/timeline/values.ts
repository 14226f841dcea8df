// The values in the view, for the timeline and its table: each of them where the view is short, else the least,
// the mean and the greatest of each tile.

import { effect, signal } from "@preact/signals";
import type { ValueRow } from "../data/layout";
import { Cancelled } from "../data/queue";
import { levelFor, tileSize } from "../data/store";
import type { BufferInfo, SourceInfo } from "../data/types";
import { seriesOf } from "../draw/tracks";
import { count } from "../format";
import { message } from "../ui/answer";
import { backend, buffer, capture, problem, queue, view } from "../model/state";

export interface ValuesInView {
  rows: readonly ValueRow[];
  /** Each value, not tiles. */
  exact: boolean;
}

/** By source. */
export const valuesInView = signal<ReadonlyMap<number, ValuesInView>>(new Map());

const DELAY_MS = 120;
/** Up to this length of a view each value is shown, where there are not too many. */
const EXACT = 2 ** 18;
const COLUMNS = 400;
const BLOCK = 512;

async function load(info: BufferInfo, source: SourceInfo, from: number, to: number, signal: AbortSignal): Promise<ValuesInView> {
  const p = { buffer: info.number, source: source.number, c: capture.peek()?.checksum };
  const hasOnlyTiles = seriesOf(source).every((series) => series.kind === "ipc");
  if (to - from <= Math.min(EXACT, info.detail_bytes) && !hasOnlyTiles) {
    const { rows, leftOut } = await backend.values({ ...p, from, to }, signal);
    if (leftOut === 0) return { rows, exact: true };
  }
  const level = levelFor(info, (to - from) / COLUMNS);
  const size = tileSize(info, level);
  const last = Math.ceil(to / size);
  const rows: ValueRow[] = [];
  for (let first = Math.floor(from / size); first < last; first += BLOCK) {
    rows.push(...(await backend.valueTiles({ ...p, level, first, count: Math.min(BLOCK, last - first) }, signal)));
  }
  return { rows, exact: false };
}

/** Loads them when the view has been still for a moment. */
export function followValues(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let of: number | undefined;
  effect(() => {
    const info = buffer.value;
    const { from, to } = view.value;
    clearTimeout(timer);
    if (info?.number !== of) {
      of = info?.number;
      valuesInView.value = new Map();
    }
    const sources = info?.sources.filter((source) => seriesOf(source).length > 0) ?? [];
    if (info === null || !info.view || sources.length === 0) return;
    timer = setTimeout(() => {
      for (const source of sources) {
        queue
          .add(`timeline/values/${source.number}`, 5, (signal) => load(info, source, Math.floor(from), Math.ceil(to), signal))
          .then(
            (found) => (valuesInView.value = new Map(valuesInView.peek()).set(source.number, found)),
            (error: unknown) => {
              if (!(error instanceof Cancelled)) problem.value = message(error);
            },
          );
      }
    }, DELAY_MS);
  });
}

function number(value: number): string {
  return Number.isInteger(value) ? count(value) : value.toPrecision(4);
}

/** What a row states, for people. */
export function valueText(row: ValueRow): string {
  if (Number.isNaN(row.least)) return number(row.mean);
  if (row.count === 1) return number(row.mean);
  return `${count(row.count)} values from ${number(row.least)} to ${number(row.most)}, mean ${number(row.mean)}`;
}

/** The values of each series in the view together. */
export function summaries(info: BufferInfo): { name: string; source: string; text: string }[] {
  const all: { name: string; source: string; text: string }[] = [];
  for (const source of info.sources) {
    const shown = valuesInView.value.get(source.number);
    for (const series of seriesOf(source)) {
      const rows = shown?.rows.filter((row) => row.series === series.number) ?? [];
      const sum = rows.reduce((sum, row) => sum + row.count, 0);
      const joined: ValueRow = {
        series: series.number,
        from: 0,
        to: 0,
        count: sum,
        least: rows.reduce((least, row) => Math.min(least, row.least), rows[0]?.least ?? NaN),
        mean: rows.reduce((mean, row) => mean + (row.mean * row.count) / sum, 0),
        most: rows.reduce((most, row) => Math.max(most, row.most), rows[0]?.most ?? NaN),
      };
      all.push({ name: series.name, source: source.name, text: sum === 0 ? "no value in the view" : valueText(joined) });
    }
  }
  return all;
}
