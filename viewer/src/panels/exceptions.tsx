// Exceptions in order, with what was interrupted.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import * as state from "../model/state";
import { exceptionName, isFault, momentOf } from "../model/moments";
import type { ExceptionRow } from "../data/types";
import { count, hex } from "../format";
import { announce } from "../timeline/navigate";
import { visible } from "../text";
import { ticks } from "../draw/marks";
import { timeText } from "../ui/time";
import { Grid } from "../ui/grid";
import type { Column } from "../ui/grid";
import { usePages } from "../ui/paged";
import { Empty, Problem, Working } from "../ui/parts";

/** Where the exceptions are that this panel does not list. */
function reason(): string {
  const exported = state.capture.value?.exported;
  if (exported?.report?.exceptions.some((row) => row.source !== undefined)) {
    return "The ITM reported exceptions: About has them by kind.";
  }
  const itm = state.buffer.value?.sources.find((source) => source.protocol.startsWith("ITM"));
  if (itm !== undefined) {
    return `What ${visible(itm.name)} reports of exceptions is not listed here: \`tracewright itm --exceptions\` lists it.`;
  }
  return state.codeSources.value.length === 0
    ? "No source of this trace has instructions, with which exceptions are reported."
    : "None was taken in what could be decoded.";
}

const LIMIT = 300;
const number = signal<number | null>(null);

export function Exceptions() {
  const info = state.buffer.value;
  const total = info?.exceptions.reduce((sum, e) => sum + e.count, 0) ?? 0;
  const key = info === null || total === 0 ? null : `${info.number}/${number.value}/${info.bytes}`;
  const pages = usePages<ExceptionRow>(
    "exceptions",
    key,
    async (from, signal) => {
      const p = { buffer: info?.number, number: number.value ?? undefined, from, limit: LIMIT };
      const page = await state.backend.exceptions(p, signal);
      return { rows: page.exceptions, more: page.more, next: page.next };
    },
    (row) => String(row.element),
  );
  const [current, setCurrent] = useState(0);
  if (info === null) return null;
  if (total === 0) {
    return (
      <Empty what="The trace of instructions has no exception.">{reason()}</Empty>
    );
  }
  if (pages.error !== null) return <Problem text={pages.error} />;
  if (pages.isReading) return <Working />;
  const columns: Column<ExceptionRow>[] = [
    {
      id: "name",
      label: "exception",
      width: "minmax(140px, 1.4fr)",
      cell: (row) => (
        <span class={isFault(exceptionName(row)) ? "bad" : ""}>
          <span class="faint number">{row.number}</span> {visible(exceptionName(row))}
        </span>
      ),
    },
    ...(info.times === undefined
      ? []
      : [{ id: "time", label: "time", width: "130px", numeric: true, cell: (row) => timeText(row.time) } satisfies Column<ExceptionRow>]),
    { id: "at", label: "after instructions", width: "120px", numeric: true, cell: (row) => count(row.instruction) },
    {
      id: "instructions",
      label: "instructions",
      title: "Of its handler, with what it calls and with what interrupts it; unknown where the trace lacks its end",
      width: "100px",
      numeric: true,
      cell: (row) => (row.instructions === undefined ? "unknown" : count(row.instructions)),
    },
    {
      id: "own",
      label: "own",
      title: "Without the handlers that interrupted it",
      width: "84px",
      numeric: true,
      cell: (row) => (row.own === undefined ? "unknown" : count(row.own)),
    },
    ...(info.times === undefined
      ? []
      : [
          {
            id: "duration",
            label: "took",
            title: "Between the last times in the trace before its begin and before its end",
            width: "84px",
            numeric: true,
            cell: (row) => (row.duration === undefined ? "unknown" : ticks({ info }, Number(row.duration))),
          } satisfies Column<ExceptionRow>,
        ]),
    { id: "return", label: "returns to", width: "minmax(120px, 1fr)", cell: (row) => <span class="code">{row.return_address === undefined ? "unknown" : hex(row.return_address)}</span> },
    { id: "source", label: "source", width: "minmax(70px, 0.7fr)", cell: (row) => visible(state.sourceName(row.source)) },
  ];
  return (
    <>
      <div class="panelhead">
        <label>
          <span class="faint">Show </span>
          <select
            value={number.value ?? ""}
            onChange={(event) => {
              const { value } = event.currentTarget;
              number.value = value === "" ? null : Number(value);
            }}
          >
            <option value="">all {count(total)}</option>
            {info.exceptions.map((e) => (
              <option key={e.number} value={e.number}>
                {visible(exceptionName(e))} ({count(e.count)})
              </option>
            ))}
          </select>
        </label>
      </div>
      <Grid
        id="exceptions"
        label="Exceptions"
        rows={pages.rows}
        columns={columns}
        current={Math.min(current, pages.rows.length - 1)}
        setCurrent={setCurrent}
        activate={(row) => {
          state.focusOn(momentOf(row));
          announce(`Exception ${row.number} ${visible(exceptionName(row))}`);
        }}
        direct
        end={
          pages.more && (
            <p class="more">
              <button type="button" class="button" onClick={pages.readMore}>
                More exceptions
              </button>
            </p>
          )
        }
      />
    </>
  );
}
