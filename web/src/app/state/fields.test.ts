import assert from "node:assert/strict";
import { test } from "node:test";
import type { ColumnInfo } from "../../api/types.gen.ts";
import { fieldsFor } from "./fields.ts";

const column = (name: string, label: string, kind: string, help = "") =>
  ({ name, label, kind, help }) as ColumnInfo;
const tool = (id: string, available: boolean, columns: readonly ColumnInfo[]) => ({
  id,
  title: id.toUpperCase(),
  available,
  tables: { ops: columns },
});
const TOOLS = [
  tool("a", true, [
    column("op", "Op", "name", "With the queue it waits in."),
    column("queue_us", "Queue time", "time", "From launch to start."),
  ]),
  tool("b", true, [column("queue_us", "Queue time", "time", "From launch to start.")]),
  tool("c", false, [column("queue_bytes", "Queue size", "bytes")]),
];

test("columns are found by name, then by their help, each once and where there is data", () => {
  const found = fieldsFor("queue", TOOLS);
  assert.deepEqual(
    found.map(({ tool: id, title }) => [id, title]),
    [
      ["a", "Queue time"],
      ["a", "Op"],
    ],
  );
  assert.equal(found[0]?.detail, "column · A · From launch to start.");
});

test("the page opens sorted by the column", () => {
  assert.deepEqual(fieldsFor("queue time", TOOLS)[0]?.params, { "ops.sort": "-queue_us" });
  assert.deepEqual(fieldsFor("waits in", TOOLS)[0]?.params, {});
});

test("nothing typed finds nothing, and thousands of columns take a moment", () => {
  assert.deepEqual(fieldsFor("  ", TOOLS), []);
  const columns = Array.from({ length: 20_000 }, (_, i) => column(`c${i}`, `C ${i}`, "time", "x"));
  const begin = performance.now();
  assert.equal(fieldsFor("c 1", [tool("d", true, columns)]).length, 6);
  assert.ok(performance.now() - begin < 500);
});
