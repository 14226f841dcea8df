// What the program wrote to the ports of an ITM or the channels of an STM, line by line.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import * as state from "../model/state";
import { momentOf } from "../model/moments";
import type { OutputLine } from "../data/types";
import { count, things } from "../format";
import { visible } from "../text";
import { announce } from "../timeline/navigate";
import { Grid } from "../ui/grid";
import type { Column } from "../ui/grid";
import { usePages } from "../ui/paged";
import { Empty, Problem, Working } from "../ui/parts";
import { timeText } from "../ui/time";

const LIMIT = 300;
const channel = signal<number | null>(null);

export function Output() {
  const info = state.buffer.value;
  const channels = info?.channels ?? [];
  const key = info === null || channels.length === 0 ? null : `${info.number}/${channel.value}/${info.bytes}`;
  const pages = usePages<OutputLine>(
    "output",
    key,
    async (from, signal) => {
      const p = { buffer: info?.number, channel: channel.value ?? undefined, from, limit: LIMIT };
      const page = await state.backend.output(p, signal);
      return { rows: page.lines, more: page.more, next: page.next };
    },
    (row) => `${row.element}/${row.channel}/${row.offset}`,
  );
  const [current, setCurrent] = useState(0);
  if (info === null) return null;
  if (channels.length === 0) {
    return (
      <Empty what="The program wrote no output.">
        Output is what a program writes to the stimulus ports of an ITM or the channels of an STM; this trace has
        no such write.
      </Empty>
    );
  }
  if (pages.error !== null) return <Problem text={pages.error} />;
  if (pages.isReading) return <Working />;
  const names = new Map(channels.map((c) => [c.key, c.name]));
  const columns: Column<OutputLine>[] = [
    {
      id: "time",
      label: info.times === undefined ? "at byte" : "time",
      width: "110px",
      numeric: true,
      cell: (line) => (line.time === undefined ? `@${count(line.offset)}` : timeText(line.time)),
    },
    ...(channels.length > 1
      ? [{ id: "channel", label: "channel", width: "90px", cell: (line) => visible(names.get(line.channel) ?? String(line.channel)) } satisfies Column<OutputLine>]
      : []),
    { id: "text", label: "text", width: "minmax(260px, 1fr)", cell: (line) => <span class="code">{visible(line.text)}</span> },
  ];
  return (
    <>
      <div class="panelhead">
        {channels.length > 1 ? (
          <label>
            <span class="faint">Show </span>
            <select
              value={channel.value ?? ""}
              onChange={(event) => {
                const { value } = event.currentTarget;
                channel.value = value === "" ? null : Number(value);
              }}
            >
              <option value="">all channels</option>
              {channels.map((c) => (
                <option key={c.key} value={c.key}>
                  {visible(c.name)} ({things(c.writes, "write")})
                </option>
              ))}
            </select>
          </label>
        ) : (
          <p>
            {visible(channels[0]?.name ?? "")}: {things(channels[0]?.writes ?? 0, "write")}
          </p>
        )}
      </div>
      {pages.rows.length === 0 ? (
        <Empty what="No line of text.">
          The writes are values, not text:{" "}
          {state.capture.value?.exported === undefined
            ? "they are in Instructions with elements."
            : "this file does not have them, and `tracewright decode` lists them."}
        </Empty>
      ) : (
        <Grid
          id="output"
          label="Output of the program"
          rows={pages.rows}
          columns={columns}
          current={Math.min(current, pages.rows.length - 1)}
          setCurrent={setCurrent}
          activate={(line) => {
            state.focusOn(momentOf(line));
            announce(`Output: ${visible(line.text)}`);
          }}
          direct
          end={
            pages.more && (
              <p class="more">
                <button type="button" class="button" onClick={pages.readMore}>
                  More output
                </button>
              </p>
            )
          }
        />
      )}
    </>
  );
}
