/** Op profile: the device's time as a tree, how well each part uses the device, what is wasted. */

import { useMemo, useState } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import type { OpProfileNodeRow, OpProfile as OpProfileResult } from "../../api/types.gen.ts";
import { count, duration, flopRate, MISSING, percent, significant } from "../../base/format.ts";
import type { Order } from "../../engine/table/grid_view.ts";
import { type Column, columnOf, type Table } from "../../engine/table/table.ts";
import { treeOf } from "../../engine/table/tree.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { Icicle } from "../../widgets/charts/icicle.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import type { Fact } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { TreeGrid } from "../../widgets/grid/tree_grid.tsx";
import { ToolFrame } from "../sections/frame.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type OpProfileProps = ToolPageProps<OpProfileResult>;

const COLUMNS = [
  "name",
  "time_us",
  "time_frac",
  "roofline_efficiency_frac",
  "bound_by",
  "utilisation_frac",
  "hbm_bw_frac",
  "wasted_us",
  "wasted_frac",
  "flop_rate_gflops",
  "hbm_bw_gbps",
  "occurrences",
  "avg_time_us",
];

const UNKNOWN: NonNullable<OpProfileNodeRow["bound_by"][number]> = "Unknown";
const BY_TIME: Order = { column: "time_us", descending: true };
const FOCUS = "view.focus";

type Tree = ReturnType<typeof treeOf>;

/** The row that one looks at closer, and how to look at another; the first is all. */
function useFocus({ params, onParams }: OpProfileProps, tree: Tree) {
  const first = tree.roots[0] ?? 0;
  const chosen = Number(params[FOCUS] ?? first);
  const root = chosen >= 0 && chosen < tree.rows ? chosen : first;
  const onRoot = (row: number) => onParams({ ...params, [FOCUS]: row > 0 ? String(row) : "" });
  return { root, onRoot };
}

export function OpProfile(props: OpProfileProps) {
  const { result } = props;
  const nodes = useTable(props, "nodes", result.nodes);
  const { id, parent } = result.nodes.columns;
  const tree = useMemo(() => treeOf(numbersOf(id), numbersOf(parent)), [result]);
  const { root, onRoot } = useFocus(props, tree);
  const names = useMemo(() => shortNamesOf(nodes.table), [nodes.table]);
  const [order, setOrder] = useState(BY_TIME);
  const [query, setQuery] = useState("");
  // Columns without a single value (no peak is known) would only take room.
  const shown = useMemo(
    () =>
      COLUMNS.filter((name) =>
        nodes.table.columns.some((column) => column.meta.name === name && isKnown(column)),
      ),
    [nodes.table],
  );
  return (
    <ToolFrame headline={result.headline} figures={figures(result)} result={result}>
      <Slices {...props} tree={tree} names={names} root={root} onRoot={onRoot} />
      <section>
        <header class="section-head">
          <h2>Tree</h2>
          <p class="quiet">
            {root > 0 && `of ${names[root]}, as in the chart. `}
            {shareBase(result)}Arrow keys expand and collapse; click a heading to sort siblings.
          </p>
          <div class="section-controls">
            <input
              class="field grid-query"
              type="search"
              data-focus="filter"
              aria-label="Filter the tree"
              placeholder="Filter: text or /regex/"
              value={query}
              onInput={(event) => setQuery(event.currentTarget.value)}
            />
          </div>
        </header>
        <TreeGrid
          table={nodes.table}
          tree={tree}
          shown={shown}
          label="Ops by containing module"
          order={order}
          onOrder={setOrder}
          query={query}
          root={root}
          details={nodes.details}
        />
      </section>
    </ToolFrame>
  );
}

/** Whether a column says something of the whole; idle time alone is wasted whatever the peak. */
function isKnown(column: Column): boolean {
  if (column.type === "number") return !Number.isNaN(column.values[0]);
  return column.available > 0 && column.words.some((word) => word !== UNKNOWN);
}

/** What the shares of the tree are of, where that is not the time that the figures are of. */
function shareBase(result: OpProfileResult): string {
  const { columns } = result.nodes;
  const idle = columns.kind.indexOf("idle");
  const share = idle < 0 ? null : (columns.time_frac[idle] ?? null);
  if (share === null || result.idle_frac === null) return "";
  const said = "Shares are of op time, where ops that overlap count each, plus idle time";
  return `${said}: IDLE is ${percent(share)} of that and ${percent(result.idle_frac)} of ${result.idle_of}. `;
}

function figures(result: OpProfileResult): Fact[] {
  const { columns } = result.nodes;
  const [use, wasted] = [columns.utilisation_frac[0] ?? null, columns.wasted_us[0] ?? null];
  const [bandwidth, rate] = [columns.hbm_bw_frac[0] ?? null, columns.hbm_bw_gbps[0] ?? null];
  const flops = columns.flop_rate_gflops[0] ?? null;
  const time = (value: number | null) => (value === null ? MISSING : duration(value, "µs"));
  const known: Fact[] = [
    {
      label: "Device time",
      value: time(result.total_time_us),
      note: result.device_type ? `on ${result.device_type}` : "device type not known",
    },
    {
      label: "Idle",
      value: time(result.idle_time_us),
      note:
        result.idle_frac === null
          ? "summed over devices"
          : `${percent(result.idle_frac)} of ${result.idle_of}, summed over devices`,
    },
    {
      label: "FLOP utilisation",
      value: use === null ? MISSING : percent(use),
      note:
        flops === null
          ? "the ops' FLOPs are not recorded"
          : `${flopRate(flops)} of ${result.peak_gflops === null ? "an unknown peak" : flopRate(result.peak_gflops)}`,
    },
    {
      label: "Memory bandwidth",
      value: bandwidth === null ? MISSING : percent(bandwidth),
      note: rate === null ? "not recorded" : `${significant(rate)} GB/s of HBM or device memory`,
    },
    {
      label: "Wasted",
      value: time(wasted),
      note: "beyond the time the FLOPs take at peak rate",
    },
  ];
  const isMissing = use === null && bandwidth === null && wasted === null;
  return isMissing ? [...known.slice(0, 2), ...ofTheLargest(result)] : known;
}

/** Where neither FLOPs nor bytes were recorded: how many ops there are, and what is not known. */
function ofTheLargest({ nodes: { columns } }: OpProfileResult): Fact[] {
  const runs = columns.occurrences[0] ?? null;
  const mean = columns.avg_time_us[0] ?? null;
  return [
    { label: "Op runs", value: runs === null ? MISSING : count(runs), note: "on all devices" },
    {
      label: "Average op",
      value: mean === null ? MISSING : duration(mean, "µs"),
      note: "self time of one run",
    },
    {
      label: "Utilisation",
      value: "not known",
      note: "neither FLOPs nor bytes of the ops were recorded",
    },
  ];
}

/** The rows' names as in the table: short ones that still tell kernels of one name apart. */
function shortNamesOf(table: Table): readonly string[] {
  const name = columnOf(table, "name");
  if (name?.type !== "text") return [];
  return Array.from(name.codes, (code) => name.shortWords[code] as string);
}

interface SlicesProps extends OpProfileProps {
  readonly tree: Tree;
  readonly names: readonly string[];
  readonly root: number;
  readonly onRoot: (row: number) => void;
}

function Slices(props: SlicesProps) {
  const { result, tree, names, root, onRoot } = props;
  const { columns } = result.nodes;
  const binding = useTable(props, "nodes", result.nodes);
  const values = useMemo(() => numbersOf(columns.time_us), [result]);
  const tones = useMemo(() => tonesOf(tree, columns.kind), [tree]);
  const used = useMemo(() => numbersOf(columns.roofline_efficiency_frac), [result]);
  const isKnown = used.some((each) => each >= 0);
  if (tree.rows === 0 || !((values[root] ?? 0) > 0)) return null;
  return (
    <ChartFrame
      title="Where the time goes"
      note="width is time; click to zoom in"
      file={`${result.session} op profile`}
      controls={
        root > 0 && (
          <button type="button" class="button" onClick={() => onRoot(tree.parents[root] ?? 0)}>
            Up from {names[root]?.slice(0, 40)}
          </button>
        )
      }
      table={() => <Grid {...binding} label="Nodes" noun={["node", "nodes"]} maxRows={12} />}
    >
      <Icicle
        label={`Time of ${names[root]} by what it contains`}
        tree={tree}
        values={values}
        names={names}
        isFaint={(row) => columns.kind[row] === "idle"}
        colourOf={(row) =>
          isKnown ? colourOfUse(columns.kind[row], used[row]) : (tones[row] ?? "")
        }
        root={root}
        onRoot={onRoot}
        tip={(row) => <NodeTip result={result} name={names[row] ?? ""} row={row} />}
      />
      {isKnown && <UseKey />}
    </ChartFrame>
  );
}

/** Where use is not known: each part of the whole in a colour of its own, and what it contains. */
const PART_COLOURS = ["device", "collectives", "host", "output", "launch", "compile", "input"].map(
  (part) => `var(--part-${part})`,
);

function tonesOf(tree: Tree, kinds: readonly (string | null)[]): readonly string[] {
  const tones: string[] = [];
  let parts = 0;
  // Parents come before what they contain.
  for (let row = 0; row < tree.rows; row++) {
    const isPart = tree.depths[row] === 1 && kinds[row] !== "idle";
    if (isPart) tones[row] = PART_COLOURS[parts++ % PART_COLOURS.length] as string;
    else tones[row] = tones[tree.parents[row] as number] ?? "";
  }
  return tones;
}

/** From little to full use of what limits a part; grey where that is not known. */
function colourOfUse(kind: string | null | undefined, used: number | undefined): string {
  if (kind === "idle") return "";
  if (used === undefined || Number.isNaN(used)) return "var(--tone-other)";
  return `color-mix(in oklch, var(--part-host) ${Math.round(100 * Math.min(1, used))}%, var(--part-input))`;
}

const KEY_STOPS = [0, 0.25, 0.5, 0.75, 1];

function UseKey() {
  return (
    <ul class="part-key quiet">
      <li>Used of what limits it, FLOP rate or memory bandwidth:</li>
      {KEY_STOPS.map((stop) => (
        <UseSwatch key={stop} colour={colourOfUse("op", stop)} label={percent(stop)} />
      ))}
      <UseSwatch colour={colourOfUse("op", Number.NaN)} label="not known" />
    </ul>
  );
}

function UseSwatch({ colour, label }: { colour: string; label: string }) {
  return (
    <li>
      <svg class="swatch" width="12" height="12" aria-hidden="true">
        <rect
          width="12"
          height="12"
          rx="2"
          style={{ fill: `color-mix(in srgb, ${colour} 40%, var(--bg))` }}
        />
      </svg>
      {label}
    </li>
  );
}

interface NodeTipProps {
  readonly result: OpProfileResult;
  readonly name: string;
  readonly row: number;
}

function NodeTip({ result, name, row }: NodeTipProps) {
  const { columns } = result.nodes;
  const share = (value: number | null | undefined) => (value == null ? "" : percent(value));
  const time = (value: number | null | undefined) => (value == null ? "" : duration(value, "µs"));
  const rate = columns.flop_rate_gflops[row] ?? null;
  return (
    <TipFacts
      title={name}
      facts={[
        ["Category", textsOf([columns.category[row] ?? ""])[0] ?? ""],
        ["Time", time(columns.time_us[row])],
        [
          columns.kind[row] === "idle" ? "Share of op and idle time" : "Share",
          share(columns.time_frac[row]),
        ],
        ["Occurrences", columns.occurrences[row] ? count(columns.occurrences[row]) : ""],
        ["Utilisation", share(columns.roofline_efficiency_frac[row])],
        ["Limited by", columns.bound_by[row] ?? ""],
        ["FLOP utilisation", share(columns.utilisation_frac[row])],
        ["FLOP rate", rate === null ? "" : flopRate(rate)],
        ["HBM bandwidth", share(columns.hbm_bw_frac[row])],
        ["Wasted", time(columns.wasted_us[row])],
      ]}
    />
  );
}
