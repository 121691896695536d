import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cell, Kind } from "../../base/columns.ts";
import { buildTable } from "../table/table.ts";
import { answerChart } from "./answer_chart.ts";

function tableOf(columns: Record<string, readonly [Kind, string, readonly Cell[]]>) {
  const metas = Object.entries(columns).map(([name, [kind, unit]]) => ({
    name,
    label: name,
    unit,
    kind,
    help: "",
    sort: "" as const,
    hidden: false,
  }));
  const cells = Object.fromEntries(Object.entries(columns).map(([name, [, , v]]) => [name, v]));
  return buildTable({ rows: Object.values(cells)[0]?.length ?? 0, columns: cells }, metas);
}

test("names with times are bars of the time, whatever comes before it", () => {
  const chart = answerChart(
    tableOf({
      name: ["name", "", ["a", "b"]],
      runs: ["count", "", [9, 2]],
      total_us: ["time", "µs", [5, 3]],
    }),
  );
  assert.equal(chart?.form, "bars");
  assert.equal(chart?.form === "bars" && chart.value.meta.name, "total_us");
});

test("a first column that rises is an axis, and columns of one unit share the other", () => {
  const chart = answerChart(
    tableOf({
      time_us: ["time", "µs", [1, 2, 2, 5]],
      used_bytes: ["bytes", "B", [1, 5, 2, 1]],
      free_bytes: ["bytes", "B", [9, 5, 8, 9]],
      count: ["count", "", [1, 1, 1, 1]],
    }),
  );
  assert.equal(chart?.form, "lines");
  assert.deepEqual(chart?.form === "lines" && chart.ys.map((y) => y.meta.name), [
    "used_bytes",
    "free_bytes",
  ]);
});

test("repeated names, one row and tables of only falling numbers have no chart", () => {
  assert.equal(
    answerChart(tableOf({ name: ["name", "", ["a", "a"]], total_us: ["time", "µs", [5, 3]] })),
    null,
  );
  assert.equal(
    answerChart(tableOf({ name: ["name", "", ["a"]], total_us: ["time", "µs", [5]] })),
    null,
  );
  assert.equal(answerChart(tableOf({ n: ["count", "", [3, 1]] })), null);
});
