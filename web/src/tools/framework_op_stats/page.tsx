/** Framework op stats: where op time goes on host and device, as four rings and one table. */

import { useMemo } from "preact/hooks";
import type { FrameworkOpStats } from "../../api/types.gen.ts";
import { count, duration, percent } from "../../base/format.ts";
import { largestSectors, type Share } from "../../engine/charts/largest_shares.ts";
import { cellText } from "../../engine/table/cell_text.ts";
import { columnOf, type Table, wordAt } from "../../engine/table/table.ts";
import { ShareBars } from "../../widgets/charts/share_bars.tsx";
import { type Fact, Facts } from "../../widgets/facts.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { TableSection } from "../sections/table_section.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type OpStatsProps = ToolPageProps<FrameworkOpStats>;
type Side = "host" | "device";

const MOST_SECTORS = 8;
const FIRST = [
  "rank",
  "host_or_device",
  "type",
  "operation",
  "self_time_us",
  "device_self_time_frac",
  "host_self_time_frac",
  "occurrences",
  "executions",
  "avg_self_time_us",
  "total_time_us",
  "avg_time_us",
];
/** What says nothing: ranks are of each side and would jump between rows of both. */
const OF_BOTH = ["rank"];
const OF_HOST = ["host_self_time_frac", "host_cumulative_frac"];
const OF_DEVICE = ["device_self_time_frac", "device_cumulative_frac"];

export function OpStats(props: OpStatsProps) {
  const { result } = props;
  const { table } = useTable(props, "ops", result.ops);
  const byType = props.query.group_by === "type";
  return (
    <div class="op-stats">
      <div class="sides">
        {(["device", "host"] as const)
          .filter((side) => isAsked(side, props.query.where))
          .map((side) => (
            <SideBars key={side} side={side} table={table} byType={byType} {...props} />
          ))}
      </div>
      <TableSection
        {...props}
        field="ops"
        title={byType ? "Op types" : "Ops"}
        label="Ops"
        note="Self time excludes nested ops; total time includes them"
        none={`No framework op was recorded on ${sideWords(props.query.where)}.`}
        noun={byType ? ["op type", "op types"] : ["op", "ops"]}
        source={result.ops}
        first={FIRST}
        hidden={idleColumns(result, props.query.where || "both")}
        main
      />
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function isAsked(side: Side, where = "both"): boolean {
  return where === "both" || where === side;
}

function idleColumns({ host, device }: FrameworkOpStats, where: string): readonly string[] {
  const [onHost, onDevice] = [(host.op_count ?? 0) > 0, (device.op_count ?? 0) > 0];
  if (where === "host" || !onDevice) return OF_DEVICE;
  if (where === "device" || !onHost) return OF_HOST;
  return OF_BOTH;
}

function sideWords(where: string | undefined): string {
  if (where === "host") return "the host";
  return where === "device" ? "a device" : "host or device";
}

interface SideBarsProps extends OpStatsProps {
  readonly side: Side;
  readonly table: Table;
  readonly byType: boolean;
}

function SideBars({ side, table, byType, result }: SideBarsProps) {
  const name =
    side === "host" ? "Host" : `Device${result.device_type ? ` (${result.device_type})` : ""}`;
  const byOp = useMemo(
    () => largestSectors(shares(table, side, "operation"), MOST_SECTORS),
    [table, side],
  );
  const types = useMemo(
    () => largestSectors(shares(table, side, "type"), MOST_SECTORS),
    [table, side],
  );
  const totals = result[side];
  if (types.total === 0) {
    return (
      <section class="side absent">
        <h2>{side === "host" ? "Host" : "Device"}</h2>
        <p class="quiet">{absence(side)}</p>
      </section>
    );
  }
  const show = (value: number) => duration(value, "µs");
  const facts: Fact[] = [
    { label: "Op time", value: show(totals.op_time_us ?? types.total) },
    {
      label: "Idle",
      value: totals.idle_time_us === null ? "–" : show(totals.idle_time_us),
      note: idleShare(totals.op_time_us, totals.idle_time_us, side),
    },
    { label: "Ops run", value: count(totals.op_count ?? Number.NaN) },
    { label: "Distinct ops", value: count(totals.distinct_ops) },
  ];
  return (
    <section class="side">
      <header class="section-head">
        <h2>{name}</h2>
        <Facts facts={facts} />
      </header>
      <div class="share-pair">
        <ShareBars
          title="By op type"
          sectors={types}
          show={show}
          noun={["type", "types"]}
          file={`${result.session} ${side} time by op type`}
        />
        {!byType && (
          <ShareBars
            title="By op"
            sectors={byOp}
            show={show}
            noun={["op", "ops"]}
            file={`${result.session} ${side} time by op`}
          />
        )}
      </div>
    </section>
  );
}

function idleShare(busy: number | null, idle: number | null, side: Side): string {
  if (busy === null || idle === null || busy + idle === 0) return "";
  const whose = side === "host" ? "threads" : "devices";
  return `${percent(idle / (busy + idle))} of the ${whose}' time`;
}

function absence(side: Side): string {
  return side === "device"
    ? "No framework op ran on an accelerator in this profile."
    : "No framework op was recorded on the host: host tracing was off, or the whole program is compiled.";
}

/** Self time per label on one side. */
function* shares(table: Table, side: Side, label: "operation" | "type"): Generator<Share> {
  const where = columnOf(table, "host_or_device");
  const self = columnOf(table, "self_time_us");
  const labels = columnOf(table, label);
  if (where?.type !== "text" || self?.type !== "number" || labels?.type !== "text") return;
  for (let row = 0; row < table.rows; row++) {
    if (wordAt(where, row).toLowerCase() !== side) continue;
    yield { label: cellText(labels, row) || `(no ${label})`, value: self.values[row] as number };
  }
}
