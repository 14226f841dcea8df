// The functions of the selection, and who calls the chosen one and whom it calls.

import { signal } from "@preact/signals";
import * as state from "../model/state";
import type { ProfileRow, Relative } from "../data/types";
import { bytes, count, percent, short, things } from "../format";
import { visible } from "../text";
import { useAnswer } from "../ui/answer";
import { Grid, sorted } from "../ui/grid";
import type { Column, Order } from "../ui/grid";
import { Empty, FunctionName, Problem, Working } from "../ui/parts";
import { highlighted } from "../timeline/view";

const order = signal<Order>({ column: "own", descending: true });
const filter = signal("");

function columns(instructions: number): Column<ProfileRow>[] {
  return [
    {
      id: "name",
      label: "function",
      width: "minmax(96px, 2fr)",
      sort: (row) => row.name.toLowerCase(),
      cell: (row) => <FunctionName id={row.function} name={row.name} />,
    },
    {
      id: "own",
      label: "own",
      title: "Instructions of the function itself",
      width: "62px",
      numeric: true,
      sort: (row) => row.own,
      cell: (row) => count(row.own),
    },
    {
      id: "share",
      label: "own %",
      width: "86px",
      sort: (row) => row.own,
      numeric: true,
      cell: (row) => (
        <>
          {percent(row.own, instructions)}{" "}
          <i
            class="meter"
            aria-hidden="true"
            style={{ width: `${Math.round(instructions > 0 ? (30 * row.own) / instructions : 0)}px` }}
          />
        </>
      ),
    },
    {
      id: "total",
      label: "total",
      title: "Instructions with the functions that it calls",
      width: "62px",
      numeric: true,
      sort: (row) => row.total,
      cell: (row) => count(row.total),
    },
    {
      id: "calls",
      label: "calls",
      title: "Calls that begin in the selection",
      width: "48px",
      numeric: true,
      sort: (row) => row.calls,
      cell: (row) => count(row.calls),
    },
    {
      id: "least",
      label: "least",
      title: "Instructions of the shortest call that ends in the selection",
      width: "46px",
      numeric: true,
      sort: (row) => row.least ?? -1,
      cell: (row) => (row.least === undefined ? "–" : short(row.least)),
    },
    {
      id: "mean",
      label: "mean",
      width: "46px",
      numeric: true,
      sort: (row) => row.mean ?? -1,
      cell: (row) => (row.mean === undefined ? "–" : short(row.mean)),
    },
    {
      id: "most",
      label: "most",
      title: "Instructions of the longest call that ends in the selection",
      width: "46px",
      numeric: true,
      sort: (row) => row.most ?? -1,
      cell: (row) => (row.most === undefined ? "–" : short(row.most)),
    },
  ];
}

export function Functions() {
  const info = state.buffer.value;
  const { from, to } = state.selected.value;
  const key = info === null ? null : `${info.number}/${from}/${to}/${state.capture.value?.checksum}`;
  const answer = useAnswer("profile", key, (signal) =>
    state.backend.profile({ buffer: info?.number, from, to, limit: 500 }, signal),
  );
  if (info === null) return null;
  if (answer.error !== null) return <Problem text={answer.error} />;
  if (answer.value === null) return <Working />;
  const { instructions, functions, truncated } = answer.value;
  if (functions.length === 0) return <NoFunctions instructions={instructions} />;
  const all = columns(instructions);
  const wanted = filter.value.toLowerCase();
  const rows = sorted(
    wanted === "" ? functions : functions.filter((row) => row.name.toLowerCase().includes(wanted)),
    all,
    order.value,
  );
  const current = rows.findIndex((row) => row.function === state.chosen.value);
  return (
    <>
      <div class="panelhead">
        <p>
          {things(functions.length, "function")}, {things(instructions, "instruction")}{" "}
          {state.selection.value === null ? "in the whole trace" : "in the selection"}
          {answer.isOld && " …"}
        </p>
        <span class="space" />
        <input
          type="search"
          aria-label="Show functions with this in their name"
          placeholder="Filter"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
      </div>
      <div class="split">
        <Grid
          id="functions"
          label="Functions of the selection"
          rows={rows}
          columns={all}
          order={order.value}
          setOrder={(next) => (order.value = next)}
          current={current}
          setCurrent={(index) => {
            const row = rows[index];
            if (row !== undefined) state.choose(row.function);
          }}
          activate={(row) => {
            state.choose(row.function);
            state.left.value = "calls";
          }}
          end={
            truncated !== undefined &&
            truncated !== false && (
              <p class="more">{truncated === true ? "More" : count(truncated)} functions are not listed.</p>
            )
          }
        />
        <Chosen row={functions.find((row) => row.function === state.chosen.value)} />
      </div>
    </>
  );
}

function NoFunctions(props: { instructions: number }) {
  const info = state.buffer.value;
  if (state.codeSources.value.length === 0) {
    const names = info?.sources.map((source) => `${source.name} (${source.protocol})`).join(", ");
    return (
      <Empty what="No instructions are traced here.">
        {names === undefined || names === ""
          ? "The buffer has no source."
          : `The sources are ${visible(names)}. Their content is in Output and in the timeline.`}
      </Empty>
    );
  }
  if (state.selection.value !== null) {
    return <Empty what="No instruction was executed in the selection." />;
  }
  return (
    <Empty what="No function is known.">
      {props.instructions > 0
        ? "Instructions were executed, but the program has no symbols: give --image with a program that has them."
        : "Program memory is missing: give --image with the program that ran."}
    </Empty>
  );
}

function Chosen(props: { row: ProfileRow | undefined }) {
  const id = state.chosen.value;
  const info = state.buffer.value;
  const { from, to } = state.selected.value;
  const small = info !== null && to - from <= info.detail_bytes;
  const key = id === null || !small ? null : `${info.number}/${from}/${to}/${id}`;
  const answer = useAnswer("sandwich", key, (signal) =>
    state.backend.sandwich({ buffer: info?.number, from, to, function: id ?? 0 }, signal),
  );
  if (id === null || info === null) {
    return (
      <aside class="side" aria-label="Chosen function">
        <p class="faint">Choose a function: its callers and callees are shown here.</p>
      </aside>
    );
  }
  const known = state.functions.value.get(id);
  const { row } = props;
  return (
    <aside class="side" aria-label="Chosen function">
      <h2>{visible(state.functionName(id))}</h2>
      <p class="buttons">
        <button type="button" class="button" onClick={() => (state.left.value = "calls")}>
          Calls
        </button>
        <button
          type="button"
          class="button"
          aria-pressed={highlighted.value === id}
          onClick={() => (highlighted.value = highlighted.value === id ? null : id)}
        >
          {highlighted.value === id ? "Show all evenly" : "Highlight"}
        </button>
      </p>
      {known?.symbol !== undefined && <p class="code faint">{visible(known.symbol)}</p>}
      {known?.module !== undefined && <p class="faint">{visible(known.module)}</p>}
      {row?.mean !== undefined && (
        <dl>
          <dt>whole calls</dt>
          <dd>{count(row.ended)}</dd>
          <dt>least</dt>
          <dd>{count(row.least)}</dd>
          <dt>mean</dt>
          <dd>{row.mean.toFixed(1)}</dd>
          <dt>most</dt>
          <dd>{count(row.most)}</dd>
        </dl>
      )}
      {!small && (
        <p class="faint">
          Callers and callees are those of a selection of at most {bytes(info.detail_bytes)}: drag over the
          timeline to make one.
        </p>
      )}
      {small && answer.error !== null && <p class="bad">{visible(answer.error)}</p>}
      {small && answer.value !== null && (
        <>
          <h3>Called by</h3>
          <Relatives list={answer.value.callers} none="No call of it begins in the selection." />
          <h3>Calls</h3>
          <Relatives list={answer.value.callees} none="It calls no function." />
        </>
      )}
    </aside>
  );
}

function Relatives(props: { list: Relative[]; none: string }) {
  if (props.list.length === 0) return <p class="faint">{props.none}</p>;
  return (
    <ul>
      {props.list.slice(0, 40).map((other) => (
        <li key={other.function}>
          <button type="button" class="link" onClick={() => state.choose(other.function)}>
            <FunctionName id={other.function} />
          </button>
          <span class="faint number">{count(other.calls)}×</span>
        </li>
      ))}
    </ul>
  );
}
