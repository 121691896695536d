import assert from "node:assert/strict";
import { test } from "node:test";
import { type Branch, causeTree, type FindingLike, timeAfter } from "./findings.ts";

const finding = (rule: string, saving: number | null, ...causes: string[]): FindingLike => ({
  rule,
  saving_ms: saving,
  explained_by: causes,
});

/** Rules with their symptoms in brackets. */
function drawn(findings: readonly FindingLike[]): string {
  const text = (branches: readonly Branch<FindingLike>[]): string =>
    branches
      .map(
        ({ finding: { rule }, symptoms }) => rule + (symptoms.length ? `(${text(symptoms)})` : ""),
      )
      .join(" ");
  return text(causeTree(findings));
}

test("a symptom is below the first of its causes", () => {
  const launch = finding("launch", 3.6);
  const input = finding("input", 2.4);
  assert.equal(
    drawn([launch, input, finding("idle", 6.4, "input", "launch")]),
    "launch(idle) input",
  );
});

test("of several findings of one rule the first is the cause", () => {
  const parts = [finding("part", 4), finding("part", 1)];
  assert.equal(drawn([...parts, finding("idle", 6, "part")]), "part(idle) part");
});

test("causes of causes make levels, and a cause that was not found makes none", () => {
  const chain = [finding("a", 1, "b"), finding("b", 2, "c"), finding("c", 3, "gone")];
  assert.equal(drawn(chain), "c(b(a))");
});

test("findings that blame each other are all shown", () => {
  assert.equal(drawn([finding("a", 1, "b"), finding("b", 1, "a")]), "a(b)");
  assert.equal(drawn([finding("a", 1, "a")]), "a");
  assert.equal(drawn([finding("a", 1, "b"), finding("b", 1, "c"), finding("c", 1, "a")]).length, 7);
});

test("savings together never exceed the step, and symptoms are not counted again", () => {
  const all = [finding("a", 710), finding("b", 730), finding("c", 900, "a"), finding("d", null)];
  const after = timeAfter(causeTree(all), 1000);
  assert.equal(Math.round(after), 78);
  assert.equal(timeAfter(causeTree([finding("a", 5000)]), 1000), 0);
  assert.equal(timeAfter([], 1000), 1000);
});
