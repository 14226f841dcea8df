// What was loaded of the trace, and what must be loaded for a view.

import { signal } from "@preact/signals";
import { backend, buffer, capture, hasTrace, problem, queue } from "../model/state";
import type { Range } from "../model/state";
import { Relation } from "../draw/relation";
import { KIND } from "./layout";
import type { Detail, Frames, Tiles } from "./layout";
import { ServerError } from "./backend";
import { NOT_IN_FILE } from "./embedded";
import { Cancelled } from "./queue";
import type { BufferInfo, SourceInfo } from "./types";

/** Tiles in one request. */
const BLOCK = 512;
/** Up to this length of a view all calls in it are loaded: in longer ones most take less than a pixel. */
const DETAIL_VIEW = 2 ** 19;
const DETAIL_PART = 2 ** 16;
const LEAST_PART = 2 ** 12;
/** A trace of this length is one part. */
const SMALL = 2 ** 16;
/** What is held: frames of details, blocks of tiles. */
const FRAMES_HELD = 600_000;
const BLOCKS_HELD = 400;

/** A part of the trace and the frames in it, all or the long ones. */
export interface Part {
  key: string;
  buffer: number;
  source: number;
  from: number;
  to: number;
  frames: Frames;
  detail: Detail | null;
  /** Of a detail: where its frames and events are, exactly. */
  relation: Relation;
  /** Begin, end and events as fractional offsets, and as times. */
  begin: { u: Float64Array; t: Float64Array };
  end: { u: Float64Array; t: Float64Array };
  /** `end`: where the trace goes on after a loss; `u` where that is unknown, and of other events. */
  events: { u: Float64Array; t: Float64Array; end: Float64Array };
  /** The frames of each thread, in order of begin, and their depths. */
  threads: Map<number, { frames: Uint32Array; least: number; most: number }>;
}

const tileBlocks = new Map<string, Tiles>();
const parts = new Map<string, Part>();
const failed = new Set<string>();

/** Rises when something was loaded. */
export const loaded = signal(0);
/** Requests of the picture that have not been answered. */
export const waiting = signal(0);

export function forget(): void {
  tileBlocks.clear();
  parts.clear();
  failed.clear();
  loaded.value += 1;
}

function recent<T>(map: Map<string, T>, key: string): T | undefined {
  const value = map.get(key);
  if (value !== undefined) {
    map.delete(key);
    map.set(key, value);
  }
  return value;
}

export function tileSize(info: BufferInfo, level: number): number {
  return 2 ** (info.tile_log2 + 2 * level);
}

/** The level whose tiles are about as long as `bytes`. */
export function levelFor(info: BufferInfo, bytes: number): number {
  const level = Math.round(Math.log2(Math.max(1, bytes) / tileSize(info, 0)) / 2);
  return Math.min(info.levels - 1, Math.max(0, level));
}

/** The least level with the whole trace in four blocks: about a tile for each pixel of a screen. */
export function wholeLevel(info: BufferInfo): number {
  let level = 0;
  while (level < info.levels - 1 && info.bytes / tileSize(info, level) > 4 * BLOCK) level += 1;
  return level;
}

function tileKey(info: BufferInfo, source: number, level: number, block: number): string {
  return `tiles/${info.number}/${source}/${level}/${block}`;
}

function blockOf(info: BufferInfo, level: number, offset: number): number {
  return Math.floor(offset / (tileSize(info, level) * BLOCK));
}

/** The blocks of tiles that `range` is in: the same for neighbouring views. */
export function blockRange(info: BufferInfo, level: number, range: Range): Range {
  const size = tileSize(info, level) * BLOCK;
  return {
    from: Math.floor(range.from / size) * size,
    to: Math.min(info.bytes, Math.ceil(range.to / size) * size),
  };
}

export interface TilePiece {
  tiles: Tiles;
  /** The range of offsets that these tiles are drawn for. */
  from: number;
  to: number;
}

/** The tiles that show `range`: of `level` where they are loaded, else of the next that are. */
export function tilesFor(info: BufferInfo, source: number, level: number, range: Range): TilePiece[] {
  const pieces: TilePiece[] = [];
  const size = tileSize(info, level) * BLOCK;
  const first = Math.max(0, Math.floor(range.from / size));
  const last = Math.floor(Math.min(range.to, info.bytes - 1) / size);
  for (let block = first; block <= last; block++) {
    const from = Math.max(range.from, block * size);
    const to = Math.min(range.to, (block + 1) * size);
    const tiles = recent(tileBlocks, tileKey(info, source, level, block));
    if (tiles !== undefined) {
      pieces.push({ tiles, from, to });
      continue;
    }
    for (let coarser = level + 1; coarser < info.levels; coarser++) {
      const other = tileBlocks.get(tileKey(info, source, coarser, blockOf(info, coarser, from)));
      if (other !== undefined) {
        pieces.push({ tiles: other, from, to });
        break;
      }
    }
  }
  return pieces;
}

/** The parts that show `range`, and whether they have all calls in it. */
export function partsFor(info: BufferInfo, source: number, range: Range): { parts: Part[]; exact: boolean } {
  const wanted = wantedParts(info, range);
  const found: Part[] = [];
  let exact = wanted.detail;
  for (const { from, to } of wanted.ranges) {
    const key = partKey(info, source, wanted.detail, from, to);
    const part = recent(parts, key) ?? (wanted.detail ? detailOver(info, source, from, to) : undefined);
    if (part === undefined) exact = false;
    else if (!found.includes(part)) found.push(part);
  }
  if (exact || !wanted.detail && found.length === wanted.ranges.length) return { parts: found, exact };
  // The old picture, until the new one is there: what overlaps the view most, in the finest parts.
  const others = [...parts.values()].filter(
    (part) =>
      part.buffer === info.number &&
      part.source === source &&
      part.from < range.to &&
      part.to > range.from,
  );
  const chosen: Part[] = [];
  const covers = (from: number, to: number) =>
    chosen.some((part) => part.from <= from && part.to >= to);
  others.sort((a, b) => a.frames.min - b.frames.min || b.to - b.from - (a.to - a.from));
  for (const part of others) {
    if (!covers(Math.max(part.from, range.from), Math.min(part.to, range.to))) chosen.push(part);
  }
  chosen.sort((a, b) => a.from - b.from);
  return { parts: chosen, exact: false };
}

function partKey(info: BufferInfo, source: number, detail: boolean, from: number, to: number): string {
  return `${detail ? "detail" : "frames"}/${info.number}/${source}/${from}/${to}`;
}

/** A loaded part with all calls of this one and more: the view came nearer. */
function detailOver(info: BufferInfo, source: number, from: number, to: number): Part | undefined {
  for (const part of parts.values()) {
    const own = part.detail !== null && part.buffer === info.number && part.source === source;
    if (own && part.from <= from && part.to >= to) return recent(parts, part.key);
  }
  return undefined;
}

function detailLimit(info: BufferInfo): number {
  return Math.min(DETAIL_VIEW, info.detail_bytes);
}

/** Whether a view of this length shows all calls. */
export function isDetailed(info: BufferInfo, range: Range): boolean {
  return range.to - range.from <= detailLimit(info);
}

/** The ranges that are asked for: aligned to their length, which is a power of two. */
function wantedParts(info: BufferInfo, range: Range): { detail: boolean; ranges: Range[] } {
  const length = range.to - range.from;
  const detail = isDetailed(info, range);
  const most = detail ? Math.min(DETAIL_PART, 2 ** Math.floor(Math.log2(info.detail_bytes))) : Infinity;
  const small = detail && info.bytes <= Math.min(SMALL, info.detail_bytes);
  const size = small
    ? info.bytes
    : Math.min(most, Math.max(LEAST_PART, 2 ** Math.ceil(Math.log2(length))));
  const ranges: Range[] = [];
  if (info.bytes === 0) return { detail, ranges };
  const last = Math.min(range.to, info.bytes);
  for (let from = Math.floor(range.from / size) * size; from < last; from += size) {
    ranges.push({ from, to: Math.min(info.bytes, from + size) });
  }
  return { detail, ranges };
}

/** Frames shorter than this are in the tiles. */
function leastFrame(info: BufferInfo, size: number): number {
  return Math.max(tileSize(info, 0), 4 ** Math.floor(Math.log2(Math.max(1, size / 2048)) / 2));
}

function request<T>(
  key: string,
  rank: number,
  ask: (signal: AbortSignal) => Promise<T>,
  receive: (value: T) => void,
): void {
  const token = Symbol(key);
  pending.set(key, token);
  waiting.value = waiting.peek() + 1;
  queue
    .add(key, rank, ask)
    .then(
      (value) => {
        receive(value);
        loaded.value += 1;
      },
      (error: unknown) => {
        if (error instanceof Cancelled) return;
        failed.add(key);
        // Of a part that takes too long, or is not in a file, there are tiles; a shorter one is asked
        // for at another zoom.
        if (error instanceof ServerError && (error.code === "time" || error.code === NOT_IN_FILE)) return;
        problem.value = error instanceof Error ? error.message : String(error);
      },
    )
    .finally(() => {
      if (pending.get(key) === token) pending.delete(key);
      waiting.value = waiting.peek() - 1;
    });
}

/** Requests that were not answered, each with what distinguishes it from a later one. */
const pending = new Map<string, symbol>();

/**
 * Asks for what a view of `width` pixels needs. What was asked for another view, and is not needed
 * for this one, is cancelled.
 */
export function load(info: BufferInfo, sources: readonly SourceInfo[], view: Range, width: number): void {
  const needed = new Map<string, { rank: number; start: () => void }>();
  const need = (key: string, rank: number, start: () => void) => {
    const old = needed.get(key);
    if (old === undefined || rank < old.rank) needed.set(key, { rank, start });
  };
  const whole = { from: 0, to: info.bytes };
  const perPixel = (view.to - view.from) / Math.max(1, width);
  const level = levelFor(info, perPixel);
  const margin = (view.to - view.from) / 2;
  for (const source of sources) {
    if (info.view && hasTrace(source)) {
      needTiles(info, source.number, wholeLevel(info), whole, 0, need);
      if (source.instructions > 0) {
        needParts(info, source.number, whole, false, 1, need);
      }
      needTiles(info, source.number, level, view, 2, need);
      const around = { from: view.from - margin, to: view.to + margin };
      needTiles(info, source.number, level, around, 6, need);
    }
    const detail = isDetailed(info, view);
    if (source.instructions > 0 && (info.view || detail)) {
      needParts(info, source.number, view, detail, 3, need);
    } else if (detail && hasTrace(source)) {
      needParts(info, source.number, view, true, 4, need);
    }
  }
  for (const key of [...pending.keys()]) {
    if (needed.has(key)) continue;
    pending.delete(key);
    queue.cancel((slot) => slot === key);
  }
  for (const [key, { start }] of needed) {
    if (!pending.has(key) && !failed.has(key)) start();
  }
  trim();
}

type Need = (key: string, rank: number, start: () => void) => void;

function needTiles(info: BufferInfo, source: number, level: number, range: Range, rank: number, need: Need): void {
  const size = tileSize(info, level) * BLOCK;
  const first = Math.max(0, Math.floor(range.from / size));
  const last = Math.floor(Math.min(range.to, info.bytes - 1) / size);
  for (let block = first; block <= last; block++) {
    const key = tileKey(info, source, level, block);
    if (tileBlocks.has(key)) continue;
    const p = {
      buffer: info.number,
      source,
      level,
      first: block * BLOCK,
      count: BLOCK,
      c: capture.peek()?.checksum,
    };
    need(key, rank, () =>
      request(key, rank, (signal) => backend.tiles(p, signal), (tiles) => tileBlocks.set(key, tiles)),
    );
  }
}

function needParts(info: BufferInfo, source: number, range: Range, detail: boolean, rank: number, need: Need): void {
  const wanted = detail ? wantedParts(info, range) : { detail, ranges: frameRanges(info, range) };
  for (const { from, to } of wanted.ranges) {
    const key = partKey(info, source, detail, from, to);
    if (parts.has(key) || (detail && detailOver(info, source, from, to) !== undefined)) continue;
    const p = { buffer: info.number, source, from, to, c: capture.peek()?.checksum };
    if (detail) {
      need(key, rank, () =>
        request(key, rank, (signal) => backend.detail(p, signal), (detail) => {
          parts.set(key, partOf(key, info.number, source, from, to, detail, detail));
        }),
      );
    } else {
      const min = leastFrame(info, to - from);
      need(key, rank, () =>
        request(key, rank, (signal) => backend.frames({ ...p, min }, signal), (frames) => {
          parts.set(key, partOf(key, info.number, source, from, to, frames, null));
        }),
      );
    }
  }
}

function frameRanges(info: BufferInfo, range: Range): Range[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(2, range.to - range.from)));
  const ranges: Range[] = [];
  for (let from = Math.floor(range.from / size) * size; from < Math.min(range.to, info.bytes); from += size) {
    ranges.push({ from, to: Math.min(info.bytes, from + size) });
  }
  return ranges;
}

/** The points of a detail: where frames begin, and its other events. */
function relationOf(detail: Detail): Relation {
  const relation = new Relation();
  const { begin, beginInstruction, eventAt, eventInstruction, eventTime, eventKind } = detail;
  let event = 0;
  const addEvents = (before: number) => {
    for (; event < eventAt.length && (eventAt[event] as number) <= before; event++) {
      const time = eventKind[event] === KIND.timestamp ? (eventTime[event] as number) : NaN;
      relation.add(eventAt[event] as number, eventInstruction[event] as number, time);
    }
  };
  let last = -1;
  for (let f = 0; f < begin.length; f++) {
    const at = begin[f] as number;
    if (at < detail.from || at === last) continue;
    addEvents(at - 1e-9);
    relation.add(at, beginInstruction[f] as number, NaN);
    last = at;
  }
  addEvents(Infinity);
  let [end, endInstruction] = [-1, -1];
  for (let f = 0; f < begin.length; f++) {
    const instruction = detail.endInstruction[f] as number;
    if (instruction <= endInstruction || (detail.end[f] as number) > detail.to) continue;
    [end, endInstruction] = [detail.end[f] as number, instruction];
  }
  if (end >= 0) relation.add(end, endInstruction, NaN);
  return relation;
}

function partOf(
  key: string,
  buffer: number,
  source: number,
  from: number,
  to: number,
  frames: Frames,
  detail: Detail | null,
): Part {
  const relation = detail === null ? new Relation() : relationOf(detail);
  const exact = (at: Float64Array, instruction: Float64Array, time: Float64Array) => {
    const first = relation.i[0] as number;
    const end = relation.i[relation.size - 1] as number;
    // Between no instructions there is nothing to place by.
    if (detail === null || relation.size < 2 || first === end) return { u: at, t: time };
    const u = new Float64Array(at.length);
    const t = new Float64Array(at.length);
    for (let f = 0; f < at.length; f++) {
      const i = instruction[f] as number;
      const inside = i >= first && i <= end && (at[f] as number) >= from && (at[f] as number) < to;
      u[f] = inside ? Math.max(from, relation.convert("i", "u", i)) : (at[f] as number);
      t[f] = inside ? relation.convert("i", "t", i) : (time[f] as number);
    }
    return { u, t };
  };
  const none = new Float64Array(0);
  const eventsOf = (detail: Detail): Part["events"] => {
    const { u, t } = exact(detail.eventAt, detail.eventInstruction, detail.eventTime);
    const end = u.map((u, e) => {
      const next = detail.eventKind[e] === KIND.gap ? (detail.eventValue[e] as number) : NaN;
      return next > u ? next : u;
    });
    return { u, t, end };
  };
  return {
    key,
    buffer,
    source,
    from,
    to,
    frames,
    detail,
    relation,
    begin: exact(frames.begin, frames.beginInstruction, frames.beginTime),
    end: exact(frames.end, frames.endInstruction, frames.endTime),
    threads: byThread(frames),
    events: detail === null ? { u: none, t: none, end: none } : eventsOf(detail),
  };
}

function byThread(frames: Frames): Part["threads"] {
  const lists = new Map<number, { frames: number[]; least: number; most: number }>();
  for (let f = 0; f < frames.thread.length; f++) {
    const depth = frames.depth[f] as number;
    let list = lists.get(frames.thread[f] as number);
    if (list === undefined) {
      list = { frames: [], least: depth, most: depth };
      lists.set(frames.thread[f] as number, list);
    }
    list.frames.push(f);
    list.least = Math.min(list.least, depth);
    list.most = Math.max(list.most, depth);
  }
  return new Map([...lists].map(([t, list]) => [t, { ...list, frames: Uint32Array.from(list.frames) }]));
}

function trim(): void {
  let frames = 0;
  for (const part of parts.values()) frames += part.frames.begin.length;
  for (const [key, part] of parts) {
    if (frames <= FRAMES_HELD) break;
    if (part.from === 0 && part.to === buffer.peek()?.bytes && part.detail === null) continue;
    frames -= part.frames.begin.length;
    parts.delete(key);
  }
  const whole = buffer.peek();
  const level = whole === null ? -1 : wholeLevel(whole);
  for (const key of tileBlocks.keys()) {
    if (tileBlocks.size <= BLOCKS_HELD) break;
    if (!key.includes(`/${level}/`)) tileBlocks.delete(key);
  }
}

/** Whether the picture of `view` is complete. */
export function isComplete(info: BufferInfo, sources: readonly SourceInfo[], view: Range): boolean {
  return (
    waiting.value === 0 &&
    sources.every((s) => s.instructions === 0 || !isDetailed(info, view) || partsFor(info, s.number, view).exact)
  );
}
