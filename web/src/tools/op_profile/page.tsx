/** Op profile: the device's time as a tree, how well each part uses the device, what is wasted. */

import { useMemo, useState } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import type { OpProfile as OpProfileResult } from "../../api/types.gen.ts";
import { count, duration, flopRate, MISSING, percent, significant } from "../../base/format.ts";
import type { Order } from "../../engine/table/grid_view.ts";
import type { Column } from "../../engine/table/table.ts";
import { treeOf } from "../../engine/table/tree.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { Icicle } from "../../widgets/charts/icicle.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { TreeGrid } from "../../widgets/grid/tree_grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type OpProfileProps = ToolPageProps<OpProfileResult>;

const COLUMNS = [
  "name",
  "time_us",
  "time_frac",
  "utilisation_frac",
  "hbm_bw_frac",
  "wasted_us",
  "wasted_frac",
  "flop_rate_gflops",
  "hbm_bw_gibps",
  "occurrences",
  "avg_time_us",
];

const BY_TIME: Order = { column: "time_us", descending: true };
const FOCUS = "view.focus";
/** How the tree calls what XLA did not compile. */
const OUTSIDE = "outside of XLA";

export function OpProfile(props: OpProfileProps) {
  const { result } = props;
  const nodes = useTable(props, "nodes", result.nodes);
  const { id, parent } = result.nodes.columns;
  const tree = useMemo(() => treeOf(numbersOf(id), numbersOf(parent)), [result]);
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
    <div class="tool-page">
      <header class="answer">
        <h2>{headline(result)}</h2>
      </header>
      <Figures figures={figures(result)} />
      <Slices {...props} tree={tree} />
      <section>
        <header class="section-head">
          <h2>Tree</h2>
          <p class="quiet">Arrow keys expand and collapse; click a heading to sort siblings.</p>
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
        />
      </section>
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

/** Whether a column says something of the whole; idle time alone is wasted whatever the peak. */
function isKnown(column: Column): boolean {
  return column.type === "number" ? !Number.isNaN(column.values[0]) : column.available > 0;
}

function headline({ nodes, total_time_us: total, idle_time_us: idle }: OpProfileResult): string {
  const { id, parent, kind, name, time_us, time_frac } = nodes.columns;
  const largestOf = (whole: number) =>
    parent
      .flatMap((each, row) => (each === whole && kind[row] !== "idle" ? [row] : []))
      .sort((a, b) => (time_us[b] ?? 0) - (time_us[a] ?? 0))[0];
  let first = largestOf(0);
  // That XLA did not compile it says little; its largest category says more.
  if (first !== undefined && textsOf([name[first] ?? ""])[0] === OUTSIDE) {
    first = largestOf(id[first] ?? 0) ?? first;
  }
  if (first === undefined || !total) return "No op ran on a device.";
  const share = percent(time_frac[first] ?? 0);
  const largest = textsOf([name[first] ?? ""])[0];
  if (idle === null || !kind.includes("idle")) return `${share} of the time goes to ${largest}.`;
  const unused = percent(idle / total);
  return idle > (time_us[first] ?? 0)
    ? `Devices are idle for ${unused} of the time; ${share} goes to ${largest}.`
    : `${share} of the time goes to ${largest}; devices are idle for ${unused}.`;
}

function figures(result: OpProfileResult): Fact[] {
  const { columns } = result.nodes;
  const [use, wasted] = [columns.utilisation_frac[0] ?? null, columns.wasted_us[0] ?? null];
  const [bandwidth, rate] = [columns.hbm_bw_frac[0] ?? null, columns.hbm_bw_gibps[0] ?? null];
  const flops = columns.flop_rate_gflops[0] ?? null;
  const time = (value: number | null) => (value === null ? MISSING : duration(value, "µs"));
  return [
    {
      label: "Device time",
      value: time(result.total_time_us),
      note: result.device_type ? `on ${result.device_type}` : "device type not known",
    },
    { label: "Idle", value: time(result.idle_time_us), note: "summed over devices" },
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
      note: rate === null ? "not recorded" : `${significant(rate)} GiB/s of HBM or device memory`,
    },
    {
      label: "Wasted",
      value: time(wasted),
      note: "beyond the time the FLOPs take at peak rate",
    },
  ];
}

function Slices(props: OpProfileProps & { readonly tree: ReturnType<typeof treeOf> }) {
  const { result, tree, params, onParams } = props;
  const { columns } = result.nodes;
  const binding = useTable(props, "nodes", result.nodes);
  const values = useMemo(() => numbersOf(columns.time_us), [result]);
  const names = useMemo(() => textsOf(columns.name), [result]);
  const fill = useMemo(() => numbersOf(columns.utilisation_frac), [result]);
  const chosen = Number(params[FOCUS] ?? tree.roots[0] ?? 0);
  const root = chosen >= 0 && chosen < tree.rows ? chosen : (tree.roots[0] ?? 0);
  if (tree.rows === 0 || !((values[root] ?? 0) > 0)) return null;
  const onRoot = (row: number) => onParams({ ...params, [FOCUS]: row > 0 ? String(row) : "" });
  return (
    <ChartFrame
      title="Where the time goes"
      note={`width is time${fill.some((each) => each > 0) ? "; the stripe below is the share of the FLOP peak" : ""}; click to zoom in`}
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
        fill={fill}
        isFaint={(row) => columns.kind[row] === "idle"}
        root={root}
        onRoot={onRoot}
        tip={(row) => <NodeTip result={result} row={row} />}
      />
    </ChartFrame>
  );
}

function NodeTip({ result, row }: { result: OpProfileResult; row: number }) {
  const { columns } = result.nodes;
  const share = (value: number | null | undefined) => (value == null ? "" : percent(value));
  const time = (value: number | null | undefined) => (value == null ? "" : duration(value, "µs"));
  const rate = columns.flop_rate_gflops[row] ?? null;
  return (
    <TipFacts
      title={textsOf([columns.name[row] ?? ""])[0] ?? ""}
      facts={[
        ["Category", textsOf([columns.category[row] ?? ""])[0] ?? ""],
        ["Time", time(columns.time_us[row])],
        ["Share", share(columns.time_frac[row])],
        ["Occurrences", columns.occurrences[row] ? count(columns.occurrences[row]) : ""],
        ["Utilisation", share(columns.utilisation_frac[row])],
        ["FLOP rate", rate === null ? "" : flopRate(rate)],
        ["HBM bandwidth", share(columns.hbm_bw_frac[row])],
        ["Wasted", time(columns.wasted_us[row])],
      ]}
    />
  );
}
