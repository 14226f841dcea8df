// All calls of the chosen function: how long they take, the longest, the order in which they were made.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import * as state from "../model/state";
import type { Parameters } from "../data/backend";
import type { Call, Calls as Answer } from "../data/types";
import { count, short, things } from "../format";
import { visible } from "../text";
import { announce } from "../timeline/navigate";
import { ticks } from "../draw/marks";
import { message, useAnswer } from "../ui/answer";
import { Grid } from "../ui/grid";
import type { Column } from "../ui/grid";
import { Empty, FunctionName, Problem, Working } from "../ui/parts";

export const callOrder = signal<"longest" | "time">("longest");
const LIMIT = 200;
/** The parts of the trace whose longest calls are listed at first, until there are this many. */
const PARTS = 4;
const ENOUGH = 50;

/** What was listed, and more. */
function joined(known: Answer, more: Answer, order: "longest" | "time"): Answer {
  const place = (call: Call) => `${call.begin}/${call.begin_instruction}`;
  const places = new Set(known.calls.map(place));
  const calls = [...known.calls, ...more.calls.filter((call) => !places.has(place(call)))];
  if (order === "longest") calls.sort((a, b) => b.instructions - a.instructions || a.end - b.end);
  const beyond = Math.max(known.beyond ?? 0, more.beyond ?? 0);
  return { ...more, calls, ...(beyond > 0 ? { beyond } : {}) };
}

async function firstCalls(parameters: Parameters, order: "longest" | "time", signal: AbortSignal): Promise<Answer> {
  let answer = await state.backend.calls(parameters, signal);
  for (let part = 1; part < PARTS && answer.calls.length < ENOUGH && answer.next_part !== undefined; part++) {
    const more = await state.backend.calls({ ...parameters, part: answer.next_part }, signal);
    answer = joined(answer, more, order);
  }
  return answer;
}

/** Makes a call the focus, and shows it and what is beside it. */
export function goToCall(call: Call): void {
  const size = Math.max(1 / 64, call.end - call.begin);
  const view = state.view.peek();
  const shown = Math.min(call.end, view.to) - Math.max(call.begin, view.from);
  if (shown < size || shown < (view.to - view.from) / 50) {
    state.show({ from: call.begin - size / 3, to: call.end + size / 3 });
  }
  state.focusOn(
    {
      source: call.source,
      offset: call.begin,
      atInstruction: call.begin_instruction,
      thread: call.thread,
      depth: call.depth,
    },
    { reveal: false },
  );
  announce(`Call of ${count(call.instructions)} instructions, depth ${call.depth}`);
}

function duration(call: Call): string {
  const info = state.buffer.value;
  if (info === null || call.begin_time === undefined || call.end_time === undefined) return "–";
  return ticks({ info }, Number(BigInt(call.end_time) - BigInt(call.begin_time)));
}

function columns(hasTimes: boolean): Column<Call>[] {
  return [
    {
      id: "instructions",
      label: "instructions",
      title: "With the functions that it calls",
      width: "100px",
      numeric: true,
      cell: (call) => count(call.instructions),
    },
    ...(hasTimes
      ? [{ id: "time", label: "time", width: "84px", numeric: true, cell: duration } satisfies Column<Call>]
      : []),
    {
      id: "at",
      label: "at instruction",
      width: "110px",
      numeric: true,
      cell: (call) => count(call.begin_instruction),
    },
    { id: "offset", label: "at byte", width: "96px", numeric: true, cell: (call) => count(call.begin) },
    { id: "depth", label: "depth", width: "50px", numeric: true, cell: (call) => call.depth },
    {
      id: "note",
      label: "note",
      width: "minmax(60px, 1fr)",
      cell: (call) => (call.uncertain ? <span class="bad">trace was lost in it</span> : ""),
    },
  ];
}

export function Calls() {
  const id = state.chosen.value;
  const info = state.buffer.value;
  const order = callOrder.value;
  const key = id === null || info === null ? null : `${info.number}/${id}/${order}/${info.bytes}`;
  const answer = useAnswer("calls", key, (signal) =>
    firstCalls({ buffer: info?.number, function: id ?? 0, order, limit: LIMIT }, order, signal),
  );
  const histogram = useAnswer("histogram", id === null || info === null ? null : `${info.number}/${id}/${info.bytes}`, (signal) =>
    state.backend.histogram({ buffer: info?.number, function: id ?? 0 }, signal),
  );
  const [added, setAdded] = useState<{ key: string; all: Answer } | null>(null);
  const [current, setCurrent] = useState(0);
  if (info === null) return null;
  if (id === null) {
    return (
      <Empty what="No function is chosen.">
        Choose one in Functions, in the timeline, or with <kbd>Ctrl</kbd> <kbd>P</kbd>.
      </Empty>
    );
  }
  if (answer.error !== null) return <Problem text={answer.error} />;
  if (answer.value === null || answer.isOld) return <Working />;
  const all = added !== null && added.key === key ? added.all : answer.value;
  const { calls, beyond = 0 } = all;
  const goesOn = all.next ?? all.next_part;
  const loadMore = () => {
    if (key === null || goesOn === undefined) return;
    const from = order === "time" ? { from: goesOn } : { part: goesOn };
    state.queue
      .add("calls/more", 4, (signal) =>
        state.backend.calls({ buffer: info.number, function: id, order, ...from, limit: LIMIT }, signal),
      )
      .then(
        (more) => setAdded({ key, all: joined(all, more, order) }),
        (error: unknown) => (state.problem.value = message(error)),
      );
  };
  // Nothing that is not listed is longer than this.
  const longestLeft = Math.max(beyond, all.next_most ?? 0);
  return (
    <>
      <div class="panelhead">
        <span>
          <FunctionName id={id} />
        </span>
        <p>{histogram.value === null ? "" : things(histogram.value.calls, "call")}</p>
        <span class="space" />
        <fieldset class="segments">
          <legend class="hidden">Order of calls</legend>
          {(["longest", "time"] as const).map((kind) => (
            <label key={kind}>
              <input
                type="radio"
                name="call-order"
                checked={order === kind}
                onChange={() => (callOrder.value = kind)}
              />
              {kind === "longest" ? "longest first" : "in order"}
            </label>
          ))}
        </fieldset>
      </div>
      {histogram.value !== null && histogram.value.calls > 0 && (
        <Bars
          buckets={histogram.value.buckets}
          mean={histogram.value.mean}
          find={(least, most) => calls.findIndex((c) => c.instructions >= least && c.instructions <= most)}
          select={(index) => {
            setCurrent(index);
            const call = calls[index];
            if (call !== undefined) goToCall(call);
          }}
        />
      )}
      {calls.length === 0 ? (
        <Empty what={`No call of ${visible(state.functionName(id))} was found.`}>
          Its instructions were executed in code that was entered before the trace began, or by a jump.
        </Empty>
      ) : (
        <Grid
          id="calls"
          label={`Calls of ${visible(state.functionName(id))}`}
          rows={calls}
          columns={columns(info.times !== undefined)}
          current={Math.min(current, calls.length - 1)}
          setCurrent={setCurrent}
          activate={goToCall}
          direct
          end={
            <>
              {order === "longest" && longestLeft > 0 && (
                <p class="more">
                  Of the calls that are not listed, none has more than {count(longestLeft)} instructions.
                  {beyond > 0 && " “In order” lists all of them."}
                </p>
              )}
              {goesOn !== undefined && (
                <p class="more">
                  <button type="button" class="button" onClick={loadMore}>
                    {order === "time" ? "More calls" : "Longest calls of more of the trace"}
                  </button>
                </p>
              )}
            </>
          }
        />
      )}
    </>
  );
}

function Bars(props: {
  buckets: { least: number; most: number; calls: number }[];
  mean: number | undefined;
  find: (least: number, most: number) => number;
  select: (index: number) => void;
}) {
  const { buckets } = props;
  const most = buckets.reduce((most, bucket) => Math.max(most, bucket.calls), 1);
  const [first, last] = [buckets[0], buckets[buckets.length - 1]];
  return (
    <div class="histogram" role="group" aria-label="Calls by number of instructions">
      <div class="bars">
        {buckets.map((bucket) => {
          const index = props.find(bucket.least, bucket.most);
          const text = `${count(bucket.least)} to ${count(bucket.most)} instructions: ${things(bucket.calls, "call")}`;
          return (
            <button
              key={bucket.least}
              type="button"
              title={text}
              aria-label={text}
              disabled={index < 0}
              onClick={() => props.select(index)}
            >
              <i style={{ height: `${bucket.calls === 0 ? 0 : Math.max(2, (100 * bucket.calls) / most)}%` }} />
            </button>
          );
        })}
      </div>
      <div class="ends">
        <span>{short(first?.least ?? 0)}</span>
        <span>instructions of a call{props.mean === undefined ? "" : `, mean ${short(props.mean)}`}</span>
        <span>{short(last?.most ?? 0)}</span>
      </div>
    </div>
  );
}

