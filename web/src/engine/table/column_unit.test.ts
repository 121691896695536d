import assert from "node:assert/strict";
import { test } from "node:test";
import type { ColumnMeta, Kind } from "../../base/columns.ts";
import { cellText, headingText } from "./cell_text.ts";
import { storedValue, unitOf, withUnit } from "./column_unit.ts";
import { selectRows } from "./filter.ts";
import { buildTable, type Column } from "./table.ts";

function meta(name: string, unit: string, kind: Kind = "time"): ColumnMeta {
  return { name, label: "Time", unit, kind, help: "", sort: "", hidden: false };
}

function column(name: string, unit: string, values: readonly number[]): Column {
  const table = buildTable({ rows: values.length, columns: { [name]: values } }, [
    meta(name, unit),
  ]);
  return table.columns[0] as Column;
}

test("nobody reads 77,773,216 µs: the largest value chooses the unit", () => {
  const times = column("self_time_us", "µs", [77_773_216, 5_000_000]);
  assert.equal(headingText(times), "Time (s)");
  assert.equal(cellText(times, 0), "77.8");
  assert.deepEqual(unitOf(meta("t_us", "µs"), 198_020), { scale: 1e-3, unit: "ms" });
  assert.deepEqual(unitOf(meta("t_ms", "ms"), 0.002), { scale: 1000, unit: "µs" });
});

test("a unit that suits stays, and moments keep their digits", () => {
  assert.deepEqual(unitOf(meta("t_us", "µs"), 4000), { scale: 1, unit: "µs" });
  assert.deepEqual(unitOf(meta("start_ms", "ms"), 23_027), { scale: 1, unit: "ms" });
  assert.equal(cellText(column("start_ms", "ms", [2569.970382, 2568.965843]), 0), "2,569.970");
  assert.deepEqual(unitOf(meta("t_us", "µs"), 0), { scale: 1, unit: "µs" });
});

test("a bound is in the unit shown, unless it names its own", () => {
  const shown = { scale: 1e-3, unit: "ms" };
  assert.equal(storedValue("14", meta("t_us", "µs"), shown), 14_000);
  assert.equal(storedValue("5 µs", meta("t_us", "µs"), shown), 5);
  assert.equal(storedValue("1,500 us", meta("t_us", "µs"), shown), 1500);
  assert.ok(Number.isNaN(storedValue("fast", meta("t_us", "µs"), shown)));
  assert.equal(storedValue("57", meta("x_frac", "%", "ratio"), { scale: 100, unit: "%" }), 0.57);
  assert.equal(withUnit("14", meta("t_us", "µs"), shown), "14 ms");
  assert.equal(withUnit("14 s", meta("t_us", "µs"), shown), "14 s");
});

test("conditions find the rows that the page shows", () => {
  const table = { rows: 3, columns: [column("t_us", "µs", [20_000, 14_000, 5])] };
  const rows = (value: string) =>
    Array.from(selectRows(table, "", [{ column: "t_us", relation: ">=", value }]).rows);
  assert.deepEqual(rows("14"), [0, 1]);
  assert.deepEqual(rows("5 µs"), [0, 1, 2]);
});
