import assert from "node:assert/strict";
import { test } from "node:test";
import { namesAsText } from "./range_text.ts";

test("a list of names becomes lines of cells, in microseconds", () => {
  const row = { name: "a\tb\nc", name_id: 0, count: 2, longest: 7 };
  const times = { total_ps: 3_000_000, self_ps: 1_500_000, mean_ps: 1_500_000, longest_ps: 2e6 };
  const [head, line, ...rest] = namesAsText([{ ...row, ...times }]).split("\n");
  assert.equal(head, "Name\tCount\tSelf (µs)\tTotal (µs)\tMean (µs)\tLongest (µs)");
  assert.equal(line, "a b c\t2\t1.5\t3\t1.5\t2");
  assert.deepEqual(rest, []);
});
