// The call tree of the selection: which paths of calls have how many instructions.

import { signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import * as state from "../model/state";
import { NONE } from "../data/layout";
import type { Frames } from "../data/layout";
import { bytes, count, percent } from "../format";
import { useAnswer } from "../ui/answer";
import { Grid } from "../ui/grid";
import type { Column } from "../ui/grid";
import { Empty, FunctionName, Problem, Working } from "../ui/parts";

interface Node {
  path: string;
  function: number;
  level: number;
  calls: number;
  total: number;
  children: Map<number, Node>;
}

/** Frames as paths. What is before or after the selection does not count. */
export function callTree(frames: Frames, first: number, last: number): Node {
  const root: Node = { path: "", function: NONE, level: 0, calls: 0, total: 0, children: new Map() };
  const open = new Map<number, { depth: number; node: Node }[]>();
  for (let f = 0; f < frames.begin.length; f++) {
    const thread = frames.thread[f] as number;
    const depth = frames.depth[f] as number;
    let stack = open.get(thread);
    if (stack === undefined) open.set(thread, (stack = []));
    while (stack.length > 0 && (stack[stack.length - 1] as { depth: number }).depth >= depth) stack.pop();
    const parent = stack[stack.length - 1]?.node ?? root;
    const id = frames.function[f] as number;
    let node = parent.children.get(id);
    if (node === undefined) {
      node = {
        path: `${parent.path}/${id}`,
        function: id,
        level: parent.level + 1,
        calls: 0,
        total: 0,
        children: new Map(),
      };
      parent.children.set(id, node);
    }
    const begin = Math.max(first, frames.beginInstruction[f] as number);
    const end = Math.min(last, frames.endInstruction[f] as number);
    if ((frames.begin[f] as number) >= frames.from) node.calls += 1;
    node.total += Math.max(0, end - begin);
    stack.push({ depth, node });
  }
  for (const node of root.children.values()) root.total += node.total;
  return root;
}

function own(node: Node): number {
  let rest = node.total;
  for (const child of node.children.values()) rest -= child.total;
  return Math.max(0, rest);
}

function ordered(node: Node): Node[] {
  return [...node.children.values()].sort((a, b) => b.total - a.total);
}

const closed = signal<ReadonlySet<string>>(new Set());
const opened = signal<ReadonlySet<string>>(new Set());

/** Paths with most of the instructions are open. */
function isOpen(node: Node, all: number): boolean {
  if (node.children.size === 0) return false;
  if (closed.value.has(node.path)) return false;
  return opened.value.has(node.path) || (node.total > 0.1 * all && node.level < 12);
}

function rowsOf(root: Node): Node[] {
  const rows: Node[] = [];
  const add = (node: Node) => {
    rows.push(node);
    if (isOpen(node, root.total)) ordered(node).forEach(add);
  };
  ordered(root).forEach(add);
  return rows;
}

function toggle(node: Node, open: boolean): void {
  const [on, off] = [new Set(opened.value), new Set(closed.value)];
  (open ? on : off).add(node.path);
  (open ? off : on).delete(node.path);
  opened.value = on;
  closed.value = off;
}

export function Tree() {
  const info = state.buffer.value;
  const { from, to } = state.selected.value;
  const source = state.mainSource.value;
  const exact = info !== null && to - from <= info.detail_bytes;
  const min = info === null ? 0 : Math.max(2 ** info.tile_log2, (to - from) / 4096);
  const possible = info !== null && (exact || info.view) && state.codeSources.value.length > 0;
  const key = possible ? `${info.number}/${source}/${from}/${to}` : null;
  const answer = useAnswer<Frames>("tree", key, (signal) => {
    const p = { buffer: info?.number, source, from, to, c: state.capture.value?.checksum };
    return exact ? state.backend.detail(p, signal) : state.backend.frames({ ...p, min }, signal);
  });
  const [current, setCurrent] = useState(0);
  const root = useMemo(() => {
    const frames = answer.value;
    if (frames === null || info === null) return null;
    let [first, last] = [Infinity, -Infinity];
    for (let f = 0; f < frames.begin.length; f++) {
      const inside = (frames.begin[f] as number) >= frames.from;
      if (inside) first = Math.min(first, frames.beginInstruction[f] as number);
      // What ends after the selection has instructions that do not count.
      const ended = to >= info.bytes || (frames.end[f] as number) <= to;
      last = Math.max(last, (ended ? frames.endInstruction[f] : frames.beginInstruction[f]) as number);
    }
    return callTree(frames, from === 0 || first === Infinity ? 0 : first, last);
  }, [answer.value]);
  if (info === null) return null;
  if (state.codeSources.value.length === 0) {
    return <Empty what="No instructions are traced here.">Calls are found in traced instructions.</Empty>;
  }
  if (!possible) {
    return (
      <Empty what="This range is too long.">
        The index has no calls. Select at most {bytes(info.detail_bytes)} in the timeline.
      </Empty>
    );
  }
  if (answer.error !== null) return <Problem text={answer.error} />;
  if (root === null || answer.value === null) return <Working />;
  if (root.children.size === 0) {
    return (
      <Empty what="No call was found here.">
        {exact ? "No instruction of a known function was executed." : `No call has ${bytes(min)} of trace or more.`}
      </Empty>
    );
  }
  const rows = rowsOf(root);
  const columns: Column<Node>[] = [
    {
      id: "name",
      label: "path of calls",
      width: "minmax(200px, 3fr)",
      cell: (node) => (
        <span style={{ paddingLeft: `${14 * (node.level - 1)}px` }}>
          <span
            class="arrow faint"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              toggle(node, !isOpen(node, root.total));
            }}
          >
            {node.children.size === 0 ? "" : isOpen(node, root.total) ? "▾" : "▸"}
          </span>
          <FunctionName id={node.function} name={state.functionName(node.function === NONE ? undefined : node.function)} />
        </span>
      ),
    },
    { id: "total", label: "total", width: "90px", numeric: true, cell: (node) => count(node.total) },
    { id: "share", label: "total %", width: "70px", numeric: true, cell: (node) => percent(node.total, root.total) },
    { id: "own", label: "own", width: "90px", numeric: true, cell: (node) => count(own(node)) },
    { id: "calls", label: "calls", width: "70px", numeric: true, cell: (node) => count(node.calls) },
  ];
  const { truncated } = answer.value;
  return (
    <>
      {(!exact || truncated > 0) && (
        <div class="panelhead">
          <p>
            {!exact && `Calls of at least ${bytes(min)} of trace; shorter ones are in "own" of their callers. `}
            {truncated > 0 && `${count(truncated)} calls are left out.`}
          </p>
        </div>
      )}
      <Grid
        id="tree"
        label="Call tree of the selection"
        rows={rows}
        columns={columns}
        current={Math.min(current, rows.length - 1)}
        setCurrent={(index) => {
          setCurrent(index);
          const node = rows[index];
          if (node !== undefined && node.function !== NONE) state.choose(node.function);
        }}
        activate={(node) => toggle(node, !isOpen(node, root.total))}
        tree={{
          level: (node) => node.level,
          expanded: (node) => (node.children.size === 0 ? undefined : isOpen(node, root.total)),
          toggle,
        }}
      />
    </>
  );
}
