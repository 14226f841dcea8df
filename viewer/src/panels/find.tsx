// The query line: results appear while the trace is searched.

import { batch, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import * as state from "../model/state";
import { momentOf } from "../model/moments";
import type { Found } from "../data/types";
import { count, percent, things } from "../format";
import { sentence, visible } from "../text";
import { announce } from "../timeline/navigate";
import { Grid } from "../ui/grid";
import type { Column } from "../ui/grid";
import { Empty } from "../ui/parts";
import { timeText } from "../ui/time";

const LIMIT = 500;

export const query = signal("");
export const results = signal<readonly Found[]>([]);
export const currentResult = signal(0);
const asked = signal<string | null>(null);
const total = signal<number | null>(null);
const progress = signal<string | null>(null);
const failure = signal<string | null>(null);
const cut = signal(false);
let stop: (() => void) | null = null;

/** Words that state which matches are wanted; without one of them all are listed. */
const WHICH = /^\s*(first|last|nth|count|all)\b/i;

export function cancelSearch(): void {
  stop?.();
  stop = null;
  progress.value = null;
}

export function search(text: string): void {
  cancelSearch();
  const info = state.buffer.peek();
  if (info === null || text.trim() === "") return;
  batch(() => {
    query.value = text;
    asked.value = text;
    results.value = [];
    currentResult.value = 0;
    total.value = null;
    failure.value = null;
    cut.value = false;
    progress.value = "Searching…";
    state.left.value = "find";
  });
  const q = WHICH.test(text) ? text : `all ${text}`;
  // Results that arrive together are shown together.
  let arrived: Found[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (arrived.length > 0) results.value = [...results.peek(), ...arrived];
    arrived = [];
  };
  stop = state.backend.find(
    { buffer: info.number, q, from: 0, direction: "all", limit: LIMIT },
    {
      progress: (offset, of) => (progress.value = `Searching… ${percent(offset, of)}`),
      found: (found) => {
        arrived.push(found);
        timer ??= setTimeout(flush, 30);
      },
      count: (n) => (total.value = n),
      end: (truncated) => {
        flush();
        batch(() => {
          progress.value = null;
          cut.value = truncated;
        });
        stop = null;
        announce(total.peek() === null ? things(results.peek().length, "result") : count(total.peek()));
      },
      error: (message) => {
        flush();
        batch(() => {
          progress.value = null;
          failure.value = message;
        });
        stop = null;
        announce(message);
      },
    },
  );
}

/** The result after or before the current one becomes the focus. */
export function goToResult(step: 1 | -1): void {
  const all = results.peek();
  if (all.length === 0) return announce("There are no results: search first.");
  const next = currentResult.peek() + step;
  const found = all[next];
  if (found === undefined) return announce(step > 0 ? "This is the last result." : "This is the first result.");
  currentResult.value = next;
  open(found);
}

function open(found: Found): void {
  state.focusOn(momentOf(found));
  announce(sentence(found.text));
}

const EXAMPLES = ["exception", "function main", "address 0x8000..0x8100", "write 0 ~error", "last write before exception", "gap"];

/** What can be searched for: in a file only the exceptions. */
function examples(): readonly string[] {
  if (state.capture.value?.exported === undefined) return EXAMPLES;
  const kinds = state.buffer.value?.exceptions ?? [];
  return kinds.length === 0 ? [] : ["exception", ...kinds.slice(0, 3).map((own) => `exception ${own.number}`)];
}

export function Find() {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const rows = results.value;
  const isFile = state.capture.value?.exported !== undefined;
  const columns: Column<Found>[] = [
    { id: "element", label: "element", width: "90px", numeric: true, cell: (row) => count(row.element) },
    { id: "instruction", label: "instruction", width: "100px", numeric: true, cell: (row) => count(row.instruction) },
    ...(state.buffer.value?.times === undefined
      ? []
      : [{ id: "time", label: "time", width: "110px", numeric: true, cell: (row) => timeText(row.time) } satisfies Column<Found>]),
    {
      id: "text",
      label: "what",
      width: "minmax(240px, 1fr)",
      cell: (row) => <span class="code">{sentence(row.text)}</span>,
    },
    { id: "source", label: "source", width: "minmax(60px, 90px)", cell: (row) => visible(state.sourceName(row.source)) },
  ];
  return (
    <>
      <form
        class="field"
        onSubmit={(event) => {
          event.preventDefault();
          search(field.current?.value ?? "");
        }}
      >
        <input
          ref={field}
          type="search"
          id="query"
          aria-label="Query"
          placeholder={isFile ? "exception" : "exception 3 and context 7"}
          spellcheck={false}
          autocomplete="off"
          value={query.value}
          onInput={(event) => (query.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" && rows.length > 0) {
              event.preventDefault();
              document.getElementById("results")?.focus();
            }
          }}
        />
        {progress.value === null ? (
          <button type="submit" class="button primary">
            Search
          </button>
        ) : (
          <button type="button" class="button" onClick={cancelSearch}>
            Stop
          </button>
        )}
      </form>
      {failure.value !== null && <p class="error">{visible(failure.value, 1000)}</p>}
      {(progress.value !== null || total.value !== null || rows.length > 0) && (
        <div class="panelhead">
          <p>
            {total.value !== null
              ? things(total.value, "match").replace("matchs", "matches")
              : things(rows.length, "result")}
            {cut.value && ", and more: narrow the query"}
            {progress.value !== null && ` · ${progress.value}`}
          </p>
        </div>
      )}
      {rows.length > 0 ? (
        <Grid
          id="results"
          label="Results"
          rows={rows}
          columns={columns}
          current={Math.min(currentResult.value, rows.length - 1)}
          setCurrent={(index) => (currentResult.value = index)}
          activate={open}
          direct
        />
      ) : asked.value !== null && progress.value === null && failure.value === null && total.value === null ? (
        <Empty what="Nothing was found.">No element of this buffer matches “{visible(asked.value)}”.</Empty>
      ) : (
        asked.value === null && (
          <div class="empty">
            <strong>{isFile ? "In this file only exceptions are found." : "Search elements, instructions, exceptions and output."}</strong>
            <p class="buttons">
              {examples().map((example) => (
                <button
                  key={example}
                  type="button"
                  class="link code"
                  onClick={() => {
                    query.value = example;
                    field.current?.focus();
                  }}
                >
                  {example}
                </button>
              ))}
            </p>
            {isFile ? (
              <>
                <span class="code">tracewright find</span> and <span class="code">tracewright view</span> search the trace.
              </>
            ) : (
              <>
                The query language is that of <span class="code">tracewright find</span>.
              </>
            )}
          </div>
        )
      )}
    </>
  );
}
