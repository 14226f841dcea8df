// The page: the overview and the timeline above, panels below.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { copyLink, dialog, openView } from "./commands";
import * as state from "./model/state";
import type { AxisKind, LeftPanel, RightPanel } from "./model/state";
import { notes } from "./model/notes";
import { waiting } from "./data/store";
import { bytes, count, things } from "./format";
import { About } from "./panels/about";
import { Bookmarks } from "./panels/bookmarks";
import { Calls } from "./panels/calls";
import { Exceptions } from "./panels/exceptions";
import { Find } from "./panels/find";
import { Flame } from "./panels/flame";
import { Functions } from "./panels/functions";
import { Instructions } from "./panels/instructions";
import { Output } from "./panels/output";
import { Source } from "./panels/source";
import { Stack } from "./panels/stack";
import { Threads, hasThreads } from "./panels/threads";
import { Tree } from "./panels/tree";
import { visible } from "./text";
import { announced, lengthOf, showAll, zoom, zoomToSelection } from "./timeline/navigate";
import { Overview } from "./timeline/overview";
import { Twin } from "./timeline/twin";
import { Timeline } from "./timeline/view";
import { Boundary } from "./ui/boundary";
import { Dialogs } from "./ui/dialogs";
import { Tabs } from "./ui/tabs";
import type { Tab } from "./ui/tabs";

/** The share of the height of the timeline, and of the width of the left panel. */
const upper = signal(0.5);
const leftWidth = signal(0.58);

const AXES: [AxisKind, string][] = [
  ["time", "time"],
  ["instructions", "instructions"],
  ["bytes", "bytes"],
];

function Top() {
  const capture = state.capture.value;
  const info = state.buffer.value;
  if (capture === null) return null;
  const facts = [
    capture.program,
    capture.core,
    info === null ? undefined : bytes(info.bytes),
    info !== null && info.instructions > 0 ? things(info.instructions, "instruction") : undefined,
    capture.growing ? "being recorded" : undefined,
  ];
  return (
    <header class="top">
      <span class="mark" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <h1>{visible(capture.name)}</h1>
      <span class="facts">{visible(facts.filter((fact) => fact !== undefined && fact !== "").join("  ·  "), 400)}</span>
      <span class="space" />
      {info !== null && capture.buffers.length > 1 && (
        <label>
          <span class="hidden">Buffer</span>
          <select
            value={info.number}
            onChange={(event) => {
              state.openBuffer(Number(event.currentTarget.value)).catch((error: unknown) => {
                state.problem.value = error instanceof Error ? error.message : String(error);
              });
            }}
          >
            {capture.buffers.map((buffer) => (
              <option key={buffer.number} value={buffer.number}>
                {visible(buffer.name)} ({bytes(buffer.bytes)})
              </option>
            ))}
          </select>
        </label>
      )}
      <span class="buttons">
        <button type="button" class="button" onClick={() => (dialog.value = "functions")}>
          Function… <kbd>Ctrl P</kbd>
        </button>
        <button type="button" class="button" onClick={() => (dialog.value = "goto")}>
          Go to… <kbd>G</kbd>
        </button>
        <button
          type="button"
          class="button"
          title="Opens ui.perfetto.dev, and passes the calls in the view to it"
          onClick={() => void openView()}
        >
          Open in Perfetto
        </button>
        <button type="button" class="button" onClick={() => void copyLink()}>
          Copy link
        </button>
        <button type="button" class="button" aria-label="Keys" onClick={() => (dialog.value = "keys")}>
          ?
        </button>
      </span>
    </header>
  );
}

function Bar() {
  const info = state.buffer.value;
  if (info === null) return null;
  const range = state.selection.value;
  const has = (kind: AxisKind) =>
    kind === "bytes" || (kind === "time" ? info.times !== undefined : state.codeSources.value.length > 0);
  return (
    <div class="bar" role="toolbar" aria-label="Timeline">
      <fieldset class="segments">
        <legend>Axis</legend>
        {AXES.map(([kind, label]) => (
          <label key={kind} title={has(kind) ? undefined : kind === "time" ? "The trace has no timestamps." : "No instructions are traced."}>
            <input
              type="radio"
              name="axis"
              checked={state.axis.value === kind}
              disabled={!has(kind)}
              onChange={() => (state.axis.value = kind)}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <label class="switch" title="Long times with hardly an instruction are drawn narrow">
        <input
          type="checkbox"
          checked={state.compress.value}
          disabled={state.axis.value !== "time"}
          onChange={(event) => (state.compress.value = event.currentTarget.checked)}
        />
        compress idle time
      </label>
      <span class="buttons">
        <button type="button" class="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>
          +
        </button>
        <button type="button" class="button" aria-label="Zoom out" onClick={() => zoom(2)}>
          −
        </button>
        <button type="button" class="button" onClick={showAll}>
          Whole trace
        </button>
      </span>
      <span class="space" />
      {range === null ? (
        <Where />
      ) : (
        <>
          <span class="where">
            <b>Selection</b> {lengthOf(range)}
          </span>
          <span class="buttons">
            <button type="button" class="button" onClick={zoomToSelection}>
              Zoom to it
            </button>
            <button type="button" class="button" onClick={() => (state.selection.value = null)}>
              Clear
            </button>
          </span>
        </>
      )}
    </div>
  );
}

function Where() {
  void waiting.value;
  const view = state.view.value;
  return (
    <span class="where">
      <b>View</b> {lengthOf(view)}
    </span>
  );
}

function Notices() {
  const capture = state.capture.value;
  const dismissed = useRef(signal<ReadonlySet<string>>(new Set())).current;
  const texts: { text: string; kind: string; close: () => void }[] = [];
  if (state.problem.value !== null) {
    texts.push({ text: state.problem.value, kind: "Problem", close: () => (state.problem.value = null) });
  }
  if (state.notice.value !== null) {
    texts.push({ text: state.notice.value, kind: "Another trace", close: () => (state.notice.value = null) });
  }
  const lacking = capture?.notes.filter((text) => !dismissed.value.has(text)) ?? [];
  if (lacking.length > 0) {
    const text = lacking.length > 3 ? [...lacking.slice(0, 3), `and ${lacking.length - 3} more`].join("; ") : lacking.join("; ");
    texts.push({ text, kind: "Note", close: () => (dismissed.value = new Set([...dismissed.value, ...lacking])) });
  }
  return (
    <>
      {texts.map(({ text, kind, close }) => (
        <div key={kind} class="notice" role="status">
          <p>
            <strong>{kind}:</strong> {visible(text, 900)}
          </p>
          <button type="button" class="button" onClick={close}>
            Close
          </button>
        </div>
      ))}
    </>
  );
}

/** A border between two parts that can be moved, with the keys, too. */
function Divider(props: { label: string; column?: boolean; value: number; set: (value: number) => void }) {
  const limited = (value: number) => props.set(Math.min(0.85, Math.max(0.15, value)));
  const start = useRef<{ at: number; value: number; size: number } | null>(null);
  const position = (event: PointerEvent) => (props.column ? event.clientX : event.clientY);
  return (
    <div
      class={`divider ${props.column ? "column" : ""}`}
      role="separator"
      tabIndex={0}
      aria-label={props.label}
      aria-orientation={props.column ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(100 * props.value)}
      aria-valuemin={15}
      aria-valuemax={85}
      onPointerDown={(event) => {
        const parent = event.currentTarget.parentElement;
        event.currentTarget.setPointerCapture(event.pointerId);
        const size = (props.column ? parent?.clientWidth : parent?.clientHeight) ?? 1;
        start.current = { at: position(event), value: props.value, size };
      }}
      onPointerMove={(event) => {
        const from = start.current;
        if (from !== null) limited(from.value + (position(event) - from.at) / from.size);
      }}
      onPointerUp={() => (start.current = null)}
      onPointerCancel={() => (start.current = null)}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -0.03, ArrowUp: -0.03, ArrowRight: 0.03, ArrowDown: 0.03 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        limited(props.value + step);
      }}
    />
  );
}

function LeftPane() {
  const info = state.buffer.value;
  const exported = state.capture.value?.exported;
  const report = exported?.report;
  const exceptions = info?.exceptions.reduce((sum, e) => sum + e.count, 0) ?? 0;
  // Only in a file.
  const own: Tab<LeftPanel>[] = [
    { id: "about", label: "About" },
    { id: "flame", label: "Flame graph" },
    { id: "threads", label: "Threads" },
  ];
  const has = { flame: (report?.flame.length ?? 0) > 1, threads: hasThreads(report, state.capture.value?.buffers.length ?? 0) };
  const first = own.filter(({ id }) => exported !== undefined && (id === "about" || has[id as "flame" | "threads"]));
  const others: Tab<LeftPanel>[] = [
    { id: "functions", label: "Functions" },
    { id: "calls", label: "Calls" },
    { id: "tree", label: "Call tree" },
    { id: "exceptions", label: "Exceptions", ...(exceptions > 0 ? { badge: count(exceptions) } : {}) },
    { id: "output", label: "Output" },
    { id: "find", label: "Query" },
    {
      id: "bookmarks",
      label: "Bookmarks",
      ...(notes.value.length > 0 ? { badge: count(notes.value.length) } : {}),
    },
  ];
  const tabs = info === null ? first : [...first, ...others];
  const active = tabs.find((tab) => tab.id === state.left.value)?.id ?? tabs[0]?.id ?? "functions";
  const panel = {
    about: About,
    flame: Flame,
    threads: Threads,
    functions: Functions,
    calls: Calls,
    tree: Tree,
    exceptions: Exceptions,
    output: Output,
    find: Find,
    bookmarks: Bookmarks,
  }[active];
  const Panel = panel;
  return (
    <Tabs name="left" label="Analysis" tabs={tabs} active={active} select={(id) => (state.left.value = id)}>
      <Boundary key={`${state.bufferNumber.value} ${active}`}>
        <Panel />
      </Boundary>
    </Tabs>
  );
}

function RightPane() {
  const tabs: Tab<RightPanel>[] = [
    { id: "instructions", label: "Instructions" },
    { id: "source", label: "Source" },
  ];
  const Panel = state.right.value === "instructions" ? Instructions : Source;
  return (
    <Tabs name="right" label="Focus" tabs={tabs} active={state.right.value} select={(id) => (state.right.value = id)}>
      <Boundary key={`${state.bufferNumber.value} ${state.right.value}`}>
        <Stack />
        <Panel />
      </Boundary>
    </Tabs>
  );
}

export function App() {
  const panes = useRef<HTMLElement>(null);
  useEffect(() => {
    const capture = state.capture.value;
    const title = capture === null ? "" : (capture.exported?.title ?? `${visible(capture.name, 80)} – Tracewright`);
    document.title = title === "" ? "Tracewright" : visible(title);
  }, [state.capture.value]);
  if (state.buffer.value === null) {
    // A file with what was decoded of a trace that cannot be viewed, such as that of a pipe.
    return (
      <div class="app">
        <Top />
        <Notices />
        <main class="work">
          <LeftPane />
        </main>
        <Status />
        <Dialogs />
      </div>
    );
  }
  return (
    <div class="app">
      <Top />
      <Notices />
      <main class="work">
        <Overview />
        <Bar />
        <div class="upper" style={{ flexGrow: upper.value }}>
          <Timeline />
          <Twin />
        </div>
        <Divider label="Height of the timeline" value={upper.value} set={(value) => (upper.value = value)} />
        <section class="panes" ref={panes} aria-label="Panels" style={{ flexGrow: 1 - upper.value }}>
          <div class="half" style={{ flexGrow: leftWidth.value }}>
            {state.pictured.value && <LeftPane />}
          </div>
          <Divider label="Width of the left panel" column value={leftWidth.value} set={(value) => (leftWidth.value = value)} />
          <div class="half" style={{ flexGrow: 1 - leftWidth.value }}>
            {state.pictured.value && <RightPane />}
          </div>
        </section>
      </main>
      <Status />
      <Dialogs />
    </div>
  );
}

function Status() {
  return (
    <footer class="status">
      <p class="line" role="status" aria-live="polite">
        {announced.value}
      </p>
      <p>{waiting.value > 0 ? "reading…" : ""}</p>
    </footer>
  );
}
