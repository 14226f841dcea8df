// Source text with executions and outcomes of branches; the line in focus is marked.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as state from "../model/state";
import * as listing from "../model/listing";
import { fileName } from "../model/places";
import { goToMatch } from "../model/moments";
import { Cancelled } from "../data/queue";
import type { SourceLine } from "../data/types";
import { bytes, count } from "../format";
import { visible, visibleLine } from "../text";
import { announce } from "../timeline/navigate";
import { message, useAnswer } from "../ui/answer";
import { Empty, Problem, Working } from "../ui/parts";

const HEIGHT = 20;
const BLOCK = 400;

interface Target {
  file: number;
  line: number;
}

/** The place of the focus, or else of the chosen function. */
function useTarget(): { target: Target | null; reason: string | null } {
  const row = listing.hereCode.value;
  const id = state.chosen.value;
  const known = id === null ? undefined : state.functions.value.get(id);
  const fromRow = row?.file !== undefined && row.line !== undefined ? { file: row.file, line: row.line } : null;
  const fromList = known?.file !== undefined && known.line !== undefined ? { file: known.file, line: known.line } : null;
  const info = state.buffer.value;
  const key = fromRow === null && fromList === null && row === null && id !== null && info !== null ? `${info.number}/${id}` : null;
  const answer = useAnswer("place", key, (signal) => state.backend.place({ buffer: info?.number, function: id ?? 0 }, signal));
  if (fromRow !== null) return { target: fromRow, reason: null };
  if (row !== null) {
    const name = row.function === undefined ? "This instruction" : visible(state.functionName(row.function));
    return { target: null, reason: `${name} has no source line: its program has no line table for it.` };
  }
  if (fromList !== null) return { target: fromList, reason: null };
  const place = answer.value;
  if (place?.file !== undefined && place.line !== undefined) {
    return { target: { file: place.file, line: place.line }, reason: null };
  }
  return { target: null, reason: null };
}

export function Source() {
  const files = state.capture.value?.files ?? [];
  const { target, reason } = useTarget();
  const last = useRef<Target | null>(null);
  if (target !== null) last.current = target;
  const shown = target ?? last.current;
  if (files.length === 0) {
    return (
      <Empty what="There is no source here.">
        The program has no line table (DWARF), or none was given: build it with -g and give --image.
      </Empty>
    );
  }
  if (shown === null) {
    return (
      <Empty what={reason === null ? "Nothing is in focus." : "No source line is known here."}>
        {reason ?? "Click on the timeline, or choose a function."}
      </Empty>
    );
  }
  return <Text target={shown} isCurrent={target !== null} reason={target === null ? reason : null} />;
}

function Text(props: { target: Target; isCurrent: boolean; reason: string | null }) {
  const { file, line } = props.target;
  const info = state.buffer.value;
  const known = state.capture.value?.files.find((f) => f.file === file);
  const { from, to } = state.selected.value;
  const counted = info !== null && to - from <= info.detail_bytes;
  const executions = counted ? `${from}..${to}` : undefined;
  const box = useRef<HTMLDivElement>(null);
  const key = `${file}/${executions ?? ""}`;
  const [text, setText] = useState<{ key: string; total: number; lines: Map<number, SourceLine>; asked: Set<number> }>({
    key: "",
    total: 0,
    lines: new Map(),
    asked: new Set(),
  });
  const [error, setError] = useState<string | null>(null);
  const [window, setWindow] = useState({ first: 0, last: 60 });
  const texts = useRef(text);
  // What was asked for stays known when the panel is drawn before the answer.
  if (texts.current.key !== key) texts.current = text;

  const read = (block: number) => {
    const now = texts.current.key === key ? texts.current : { key, total: 0, lines: new Map<number, SourceLine>(), asked: new Set<number>() };
    if (now.asked.has(block)) return;
    now.asked.add(block);
    texts.current = now;
    const p = { buffer: info?.number, file, from: block * BLOCK + 1, to: (block + 1) * BLOCK, executions };
    state.queue
      .add(`source/${block}`, 4, (signal) => state.backend.source(p, signal))
      .then(
        (part) => {
          if (texts.current.key !== key) return;
          const lines = new Map(texts.current.lines);
          for (const l of part.lines) lines.set(l.line, l);
          texts.current = { ...texts.current, total: part.lines_total, lines };
          setText(texts.current);
          setError(null);
        },
        (failure: unknown) => {
          now.asked.delete(block);
          if (!(failure instanceof Cancelled)) setError(message(failure));
        },
      );
  };
  useEffect(() => {
    setError(null);
    if (known?.readable) read(Math.floor((line - 1) / BLOCK));
  }, [key]);
  const total = text.key === key ? text.total : 0;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || total === 0) return;
    const top = (line - 1) * HEIGHT;
    if (top < element.scrollTop + HEIGHT || top > element.scrollTop + element.clientHeight - 2 * HEIGHT) {
      element.scrollTop = Math.max(0, top - element.clientHeight / 3);
    }
    measure();
  }, [line, file, total > 0]);
  const measure = () => {
    const element = box.current;
    if (element === null) return;
    const first = Math.max(0, Math.floor(element.scrollTop / HEIGHT) - 5);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / HEIGHT) + 5;
    setWindow((old) => (old.first === first && old.last === last ? old : { first, last }));
    for (let b = Math.floor(first / BLOCK); b <= Math.floor(last / BLOCK); b++) {
      if (b * BLOCK < Math.max(1, texts.current.total)) read(b);
    }
  };
  const path = known?.path ?? `file ${file}`;
  const name = fileName(path);
  const here = text.lines.get(line);
  const goTo = (number: number, direction: "next" | "previous") => {
    const code = text.lines.get(number)?.instructions;
    if (code === undefined && counted) return announce(`Line ${number} has no code.`);
    goToMatch(`line ${path}:${number}`, direction, `execution of line ${number}`, announce);
  };
  const head = (
    <div class="panelhead">
      <p title={visible(path, 1000)}>
        <b>{visible(name)}</b>
        <span>:{line}</span>
      </p>
      {here?.executions !== undefined && <p>{count(here.executions)}× {state.selection.value === null ? "" : "in the selection"}</p>}
      <span class="space" />
      {!counted && info !== null && <p>Executions: select at most {bytes(info.detail_bytes)}.</p>}
      <span class="buttons">
        <button type="button" class="button" disabled={here === undefined} onClick={() => goTo(line, "previous")}>
          ‹ previous
        </button>
        <button type="button" class="button" disabled={here === undefined} onClick={() => goTo(line, "next")}>
          next ›
        </button>
      </span>
    </div>
  );
  if (known?.readable === false) {
    return (
      <>
        {head}
        <Empty what={`${visible(name)} cannot be read.`}>
          The line table names {visible(path, 1000)}. It is not below the folder of the capture or of --source-root.
        </Empty>
      </>
    );
  }
  if (error !== null && total === 0) return <Problem text={error} />;
  if (total === 0) return <Working />;
  const lines: number[] = [];
  for (let n = window.first + 1; n <= Math.min(total, window.last); n++) lines.push(n);
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    goTo(line, event.shiftKey ? "previous" : "next");
  };
  return (
    <>
      {head}
      {props.reason !== null && <p class="error">{props.reason}</p>}
      <div
        class="source"
        id="source"
        role="region"
        aria-label={`Source ${visible(name)}, line ${line}`}
        tabIndex={0}
        ref={box}
        onScroll={measure}
        onKeyDown={keys}
      >
        <div style={{ height: `${total * HEIGHT}px` }}>
          {lines.map((n) => {
            const l = text.lines.get(n);
            const isHere = n === line && props.isCurrent;
            return (
              <div
                key={n}
                class={`line ${isHere ? "current" : ""}`}
                style={{ transform: `translateY(${(n - 1) * HEIGHT}px)` }}
                aria-current={isHere ? "location" : undefined}
                title={l?.instructions === undefined ? undefined : "Click: the next execution of this line. With Shift the previous one."}
                onClick={(event) => goTo(n, event.shiftKey ? "previous" : "next")}
              >
                <span class="number">{n}</span>
                <span class={`runs ${l?.executions === 0 ? "never" : ""}`}>{runs(l, counted)}</span>
                <span class="outcomes">{outcomes(l)}</span>
                <span>{l === undefined ? "" : visibleLine(l.text)}</span>
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

/** How often a line ran. A line with code that was not counted is `?`. */
function runs(line: SourceLine | undefined, counted: boolean): string {
  if (line === undefined) return "";
  if (line.executions === undefined) return line.instructions !== undefined && counted ? "?" : "";
  return count(line.executions);
}

function outcomes(line: SourceLine | undefined): string {
  if (line?.taken === undefined && line?.not_taken === undefined) return "";
  return `↷${count(line.taken ?? 0)} ↓${count(line.not_taken ?? 0)}`;
}
