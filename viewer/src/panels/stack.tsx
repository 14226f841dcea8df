// The call stack at the focus, the outermost function first.

import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as state from "../model/state";
import type { Stack as Answer, StackFrame } from "../data/types";
import { visible } from "../text";
import { announce } from "../timeline/navigate";
import { useAnswer } from "../ui/answer";
import { signal } from "@preact/signals";

/** The stack at the focus, for the other views. */
export const stackHere = signal<Answer | null>(null);

export function Stack() {
  const focus = state.focus.value;
  const info = state.buffer.value;
  const possible = focus !== null && info !== null && state.codeSources.value.some((s) => s.number === focus.source);
  const at =
    focus?.element !== undefined
      ? // Of these the server reads the element, and a file the others.
        { element: focus.element, source: focus.source, at: Math.floor(focus.offset), at_instruction: focus.atInstruction }
      : { offset: Math.floor(focus?.offset ?? 0), source: focus?.source };
  const key = possible ? JSON.stringify([info.number, at]) : null;
  const answer = useAnswer("stack", key, (signal) => state.backend.stack({ buffer: info?.number, ...at }, signal));
  useEffect(() => {
    stackHere.value = answer.value;
  }, [answer.value]);
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (row.current !== null) row.current.scrollLeft = row.current.scrollWidth;
  }, [answer.value]);
  const frames = answer.value?.frames ?? [];
  if (!possible) return <div class="stack faint">The call stack at the focus is shown here.</div>;
  if (answer.error !== null) return <div class="stack bad">{visible(answer.error)}</div>;
  if (answer.value === null) return <div class="stack faint">…</div>;
  if (frames.length === 0) return <div class="stack faint">No function is known at the focus.</div>;
  const stack = answer.value;
  return (
    <div class="stack" ref={row} role="group" aria-label="Call stack at the focus, the outermost function first" tabIndex={0}>
      {frames.map((frame, k) => (
        <Fragment key={k}>
          {k > 0 && (
            <span class="then" aria-hidden="true">
              {frame.entry === "exception" ? "⚡" : "›"}
            </span>
          )}
          <button
            type="button"
            class={`${frame.depth === focus?.depth ? "current" : ""} ${frame.uncertain ? "uncertain" : ""}`}
            title={`${entryText(frame)}${frame.uncertain ? "; uncertain: trace was lost" : ""}`}
            onClick={() => goTo(stack, frame)}
          >
            {visible(nameOf(frame), 60)}
          </button>
        </Fragment>
      ))}
    </div>
  );
}

function nameOf(frame: StackFrame): string {
  return frame.name === "" ? state.functionName(frame.function) : frame.name;
}

function entryText(frame: StackFrame): string {
  const at = frame.instruction === undefined ? "" : ` at instruction ${frame.instruction.toLocaleString("en")}`;
  return frame.entry === "before" ? "entered before the trace began" : `entered by ${frame.entry}${at}`;
}

function goTo(stack: Answer, frame: StackFrame): void {
  if (frame.function !== undefined) state.choose(frame.function);
  if (frame.offset === undefined) return announce(`${visible(nameOf(frame))} was entered before the trace began.`);
  state.focusOn({
    source: stack.source,
    offset: frame.offset,
    thread: stack.thread,
    depth: frame.depth,
    ...(frame.instruction === undefined ? {} : { atInstruction: frame.instruction }),
  });
  announce(`${visible(nameOf(frame))}, depth ${frame.depth}`);
}
