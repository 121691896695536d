/** Who is suspected, with the collective that shows it on three hosts side by side. */

import { useId, useRef } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import { duration, plural } from "../../base/format.ts";
import { momentTicks } from "../../engine/axes/ticks.ts";
import { useWidth } from "../../widgets/element_width.ts";
import { Grid } from "../../widgets/grid/grid.tsx";
import { textWidth } from "../../widgets/text_width.ts";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { hostsHref, type WholePodProps } from "./props.ts";

const ROW = 30;
const AXIS = 22;

export function Suspects(props: WholePodProps) {
  const { suspects, evidence } = props.result;
  const { binding } = useWithoutConstants(useTable(props, "suspects", suspects));
  if (suspects.rows === 0) return null;
  const names = textsOf(suspects.columns.name);
  const of = textsOf(evidence.columns.suspect);
  return (
    <section>
      <header class="section-head">
        <h2>Suspects</h2>
        <p class="quiet">what a typical step takes longer with each as it was recorded</p>
      </header>
      <Grid {...binding} label="Suspects" noun={["suspect", "suspects"]} sums={false} />
      {names.map((name, place) => {
        const rows = of.flatMap((one, row) => (one === name ? [row] : []));
        if (rows.length < 2) return null;
        return (
          <details key={name} class="pod-evidence" open={place === 0}>
            <summary>{name}: one collective on its members</summary>
            <Meeting {...props} name={name} rows={rows} />
          </details>
        );
      })}
    </section>
  );
}

interface MeetingProps extends WholePodProps {
  readonly name: string;
  readonly rows: readonly number[];
}

/** One collective on the suspect, the median member and the fastest, on the pod's clock. */
function Meeting(props: MeetingProps) {
  const { rows, name, result, pageFor } = props;
  const { columns } = result.evidence;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const at = <T,>(cells: readonly T[]) => rows.map((row) => cells[row] as T);
  const labels = at(textsOf(columns.role)).map(
    (role, place) =>
      `${role}: ${at(textsOf(columns.device))[place]} of ${at(textsOf(columns.host))[place]}`,
  );
  const [from, arrives, ends] = [columns.from_ms, columns.arrives_ms, columns.ends_ms].map((one) =>
    at([...numbersOf(one)]),
  ) as [number[], number[], number[]];
  const u = at([...numbersOf(columns.clock_u_us)]).map((value) => value / 1000);
  const left = Math.max(...labels.map((label) => textWidth(label, "normal", 12))) + 12;
  const most = Math.max(...ends);
  // Whiskers may be longer than what is drawn; they end at the names and at the edge.
  const x = (ms: number) =>
    Math.min(width, Math.max(left, left + (ms / (most || 1)) * (width - left - 8)));
  const last = Math.max(...arrives);
  const ticks = momentTicks(0, most, Math.max(2, Math.floor((width - left) / 110)));
  const steps = at([...numbersOf(columns.step_num)]);
  const step = (steps[0] ?? -1) >= 0 ? ` in step ${steps[0]}` : "";
  const hosts = at(textsOf(columns.host));
  const height = rows.length * ROW + AXIS;
  return (
    <>
      <p class="quiet">
        {at(textsOf(columns.collective))[0]}
        {step}: own work, then the collective, with waiting hatched. Whiskers are ± u of the clocks:
        where two arrivals are closer than that, their order is unknown.
      </p>
      <div ref={box}>
        <svg
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`${name}: ${labels.map((label, row) => `${label} arrives at ${duration(arrives[row] ?? 0, "ms")}`).join(", ")}`}
        >
          <g class="axis">
            {ticks.values.map((value, i) => (
              <g key={value}>
                <line x1={x(value)} x2={x(value)} y1={0} y2={height - AXIS} />
                <text x={x(value)} y={height - 6} text-anchor="middle">
                  {ticks.labels[i]}
                </text>
              </g>
            ))}
          </g>
          {rows.map((_, row) => (
            <Member
              key={row}
              y={row * ROW}
              left={left}
              label={labels[row] ?? ""}
              work={[x(from[row] ?? 0), x(arrives[row] ?? 0)]}
              wait={[x(arrives[row] ?? 0), x(Math.min(last, ends[row] ?? 0))]}
              transfer={[x(Math.min(last, ends[row] ?? 0)), x(ends[row] ?? 0)]}
              whisker={[
                x((arrives[row] ?? 0) - (u[row] ?? 0)),
                x((arrives[row] ?? 0) + (u[row] ?? 0)),
              ]}
              unsure={row > 0 && last - (arrives[row] ?? 0) < (u[0] ?? 0) + (u[row] ?? 0)}
            />
          ))}
        </svg>
      </div>
      <p class="pod-links">
        {["trace_viewer", "overview_page"].map((page) => (
          <a key={page} href={hostsHref(props, hosts, page)}>
            {pageFor.titleOf(page) ?? page} of {plural(new Set(hosts).size, "host")}
          </a>
        ))}
      </p>
    </>
  );
}

type Span = readonly [number, number];

interface MemberProps {
  readonly y: number;
  readonly left: number;
  readonly label: string;
  readonly work: Span;
  readonly wait: Span;
  readonly transfer: Span;
  readonly whisker: Span;
  /** Whether it came earlier by less than clocks can tell. */
  readonly unsure: boolean;
}

function Member({ y, left, label, work, wait, transfer, whisker, unsure }: MemberProps) {
  const scope = useId();
  const box = { y: y + 6, height: ROW - 12 };
  const middle = y + ROW / 2;
  const wide = ([from, to]: Span) => ({ x: from, width: Math.max(0, to - from) });
  return (
    <g>
      <defs>
        <pattern
          id={scope}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="6" height="6" class="fill-collectives" />
          <rect width="1.5" height="6" class="texture" />
        </pattern>
      </defs>
      <text
        x={left - 8}
        y={middle}
        text-anchor="end"
        dominant-baseline="central"
        class="plain-text"
      >
        {label}
      </text>
      <rect {...box} {...wide(work)} class={unsure ? "fill-other" : "fill-device"} />
      <rect {...box} {...wide(wait)} fill={`url(#${scope})`} />
      <rect {...box} {...wide(transfer)} class="fill-collectives" />
      <path
        class="whisker"
        d={`M${whisker[0]} ${middle}H${whisker[1]}M${whisker[0]} ${middle - 6}v12M${whisker[1]} ${middle - 6}v12`}
      />
    </g>
  );
}
