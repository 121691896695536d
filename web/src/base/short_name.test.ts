import assert from "node:assert/strict";
import { test } from "node:test";
import { learnShortNames, shortName, shortNames } from "./short_name.ts";

const [first, second] = ["void a::broadcast<1>(int)", "void a::broadcast<2>(int)"];

test("short names are those that answers bring", () => {
  assert.equal(shortName(first), first);
  learnShortNames({ rows: 1, short_names: { [first]: "broadcast", [second]: "broadcast" } });
  assert.equal(shortName(first), "broadcast");
  assert.equal(shortName("IteratorGetNext"), "IteratorGetNext");
});

test("short names still tell rows apart", () => {
  const names = [first, second, "IteratorGetNext"];
  assert.deepEqual(shortNames(names), ["broadcast", "broadcast (2)", "IteratorGetNext"]);
});

test("numbers that names come with stay, whatever else is in a list", () => {
  learnShortNames({ short_names: { "k<1>()": "kernel", "k<2>()": "kernel (2)", "x()": "kernel" } });
  assert.deepEqual(shortNames(["k<2>()"]), ["kernel (2)"]);
  assert.deepEqual(shortNames(["k<2>()", "k<1>()"]), ["kernel (2)", "kernel"]);
  assert.deepEqual(shortNames(["k<2>()", "k<1>()", "x()"]), ["kernel (2)", "kernel", "kernel (3)"]);
});

test("a name with invisible characters has its short one as it is shown, too", () => {
  learnShortNames({ short_names: { "void a::b<\u0001>(int)": "b\u0001" } });
  assert.equal(shortName("void a::b<␁>(int)"), "b␁");
});

test("answers of any shape are taken", () => {
  for (const answer of [null, "text", [], {}, { short_names: null }, { short_names: { a: 1 } }]) {
    learnShortNames(answer);
  }
  assert.equal(shortName("a"), "a");
});
