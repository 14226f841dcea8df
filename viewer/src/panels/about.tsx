// What an exported file is about, what it has, and what was found by decoding the whole trace.

import type { ComponentChildren } from "preact";
import * as state from "../model/state";
import type { Report, ReportException, ReportValues } from "../data/types";
import { count, percent } from "../format";
import { visible, visibleLine } from "../text";

export function About() {
  const about = state.capture.value?.exported;
  if (about === undefined) return null;
  const { report } = about;
  return (
    <div class="document" id="about" tabIndex={0} role="region" aria-label="About this file">
      {report?.notes.map((text) => <p key={text} class="bad">{visible(text, 1000)}</p>)}
      <dl>
        {[...about.about, ...(report?.facts.map(([name, value]): [string, string] => [name, grouped(value)]) ?? [])].map(([name, value]) => (
          <div key={name}>
            <dt>{visible(name)}</dt>
            <dd>{visible(value, 1000)}</dd>
          </div>
        ))}
      </dl>
      {report?.information.map((text) => <p key={text} class="faint">{visible(text, 1000)}</p>)}
      {report !== undefined && <Results report={report} />}
      <h2>This file</h2>
      <Texts label="It has" texts={about.has} />
      <Texts label="It does not have, and `tracewright view` shows" texts={about.lacks} />
      {report !== undefined && report.statistics.length > 0 && (
        <details>
          <summary>Totals of decoding</summary>
          <Texts label="" texts={report.statistics} />
        </details>
      )}
    </div>
  );
}

/** A number with commas; another text as it is. */
function grouped(text: string): string {
  return /^\d{1,15}$/.test(text) ? count(Number(text)) : text;
}

function Texts(props: { label: string; texts: readonly string[] }) {
  if (props.texts.length === 0) return null;
  return (
    <>
      {props.label !== "" && <p>{props.label}</p>}
      <ul>
        {props.texts.map((text) => <li key={text}>{visible(text, 1000)}</li>)}
      </ul>
    </>
  );
}

function Results(props: { report: Report }) {
  const { report } = props;
  const all = report.samples.reduce((sum, [, n]) => sum + n, 0);
  const others = report.coverage.filter(([, lines]) => lines === 0);
  return (
    <>
      {(report.exceptions.length > 0 || report.untraced_handlers > 0) && <h2>Exceptions by kind</h2>}
      {report.untraced_handlers > 0 && (
        <p>Exceptions without instructions of a handler in the trace: {count(report.untraced_handlers)}.</p>
      )}
      {report.exceptions.length > 0 && <Kinds rows={report.exceptions} />}
      {report.functions.some((row) => row[4] > 0 || row[5] > 0) && (
        <>
          <h2>Time of functions</h2>
          <Times rows={report.functions} />
        </>
      )}
      {report.samples.length > 0 && (
        <>
          <h2>Samples of the program counter</h2>
          <Table head={["function", "samples", "share"]} rows={report.samples.map(([name, n]) => [visible(name), count(n), percent(n, all)])} />
        </>
      )}
      {report.values.length > 0 && (
        <>
          <h2>Values</h2>
          <Table
            head={["signal", "values", "least", "mean", "most", "unit", "over time"]}
            rows={report.values.map((row) => [visible(row.name), count(row.count), value(row.least), value(row.mean), value(row.most), visible(row.unit), <Plot key="plot" row={row} />])}
          />
        </>
      )}
      {report.coverage.length > 0 && (
        <>
          <h2>Coverage</h2>
          {report.coverage_folder !== "" && <p class="faint">Files in {visible(report.coverage_folder, 1000)}</p>}
          <Coverage rows={report.coverage.filter(([, lines]) => lines > 0)} />
          {others.length > 0 && (
            <details>
              <summary>Files of which no line was executed: {count(others.length)}</summary>
              <Coverage rows={others} />
            </details>
          )}
        </>
      )}
      {report.listings.length > 0 && <h2>Code</h2>}
      {report.listings.map(([name, lines], n) => (
        <details key={name} open={n === 0}>
          <summary>{visible(name)}</summary>
          <pre tabIndex={0} aria-label={`Code of ${visible(name)}`}>
            {lines.map(([times, text], line) => (
              <span key={line} class={times === 0 ? "never" : undefined}>
                {(times === null ? "unknown" : times < 0 ? "" : String(times)).padStart(10)} {visibleLine(text)}
                {"\n"}
              </span>
            ))}
          </pre>
        </details>
      ))}
      {report.texts.length > 0 && <h2>Text of the program</h2>}
      {report.texts.map(([channel, text]) => (
        <details key={channel} open>
          <summary>{visible(channel)}</summary>
          <pre tabIndex={0} aria-label={`Text of ${visible(channel)}`}>
            {text.split("\n").map((line) => `${visibleLine(line)}\n`)}
          </pre>
        </details>
      ))}
    </>
  );
}

/** A table whose first column has names, and the others numbers. */
function Table(props: { head: string[]; rows: ComponentChildren[][] }) {
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            {props.head.map((text) => <th key={text} scope="col">{text}</th>)}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, n) => <td key={n}>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The cycles and the ticks of functions, where the trace has them. */
function Times(props: { rows: Report["functions"] }) {
  const has = [4, 5].filter((n) => props.rows.some((row) => (row[n] as number) > 0));
  const numbers = [1, 2, 3, ...has];
  const names = ["function", "calls", "own instructions", "total instructions", "own cycles", "own ticks"];
  return (
    <Table
      head={[0, ...numbers].map((n) => names[n] ?? "")}
      rows={props.rows.map((row) => [visible(row[0]), ...numbers.map((n) => count(row[n] as number))])}
    />
  );
}

function Kinds(props: { rows: ReportException[] }) {
  return (
    <Table
      head={["exception", "reported by", "handler", "count", "timed", "shortest", "mean", "longest", "others at most", "unit"]}
      rows={props.rows.map((row) => {
        const timed = (n: number) => (row.timed === 0 ? "–" : count(n));
        return [
          visible(row.name),
          visible(row.source ?? ""),
          visible(row.handler),
          count(row.count),
          count(row.timed),
          timed(row.shortest),
          timed(Math.round(row.sum / Math.max(1, row.timed))),
          timed(row.longest),
          count(row.at_most),
          row.unit,
        ];
      })}
    />
  );
}

function Coverage(props: { rows: Report["coverage"] }) {
  if (props.rows.length === 0) return null;
  return (
    <Table
      head={["file", "lines", "share of lines", "outcomes of branches", "share of outcomes"]}
      rows={props.rows.map(([path, lines, all, outcomes, branches]) => [
        visible(path, 1000),
        `${count(lines)} of ${count(all)}`,
        percent(lines, all),
        `${count(outcomes)} of ${count(branches)}`,
        percent(outcomes, branches),
      ])}
    />
  );
}

function value(n: number | null): string {
  return n === null ? "–" : String(Number(n.toPrecision(6)));
}

const [WIDTH, HEIGHT] = [320, 36];

/** The values of a signal over time. */
function Plot(props: { row: ReportValues }) {
  const { points, least, most, name } = props.row;
  const [first, last] = [points[0], points[points.length - 1]];
  if (first === undefined || last === undefined || least === null || most === null) return null;
  const [span, range] = [Math.max(1, last[0] - first[0]), Math.max(most - least, Number.MIN_VALUE)];
  const line = points.map(([at, own]) => {
    const x = ((at - first[0]) / span) * WIDTH;
    const y = HEIGHT - 2 - ((own - least) / range) * (HEIGHT - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="plot" width={WIDTH} height={HEIGHT} role="img" aria-label={`${visible(name)} over time`}>
      <polyline points={line.join(" ")} />
    </svg>
  );
}
