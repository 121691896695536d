import assert from "node:assert/strict";
import { test } from "node:test";
import { shortPaths } from "./short_path.ts";

const layer = (replica: number, n: number, end: string) =>
  `replica_${replica}/bert_span_labeler/bert_encoder_1/transformer/layer_${n}/${end}`;

test("paths keep what tells them apart", () => {
  const names = [
    layer(4, 1, "self_attention/dropout/Cast"),
    layer(4, 2, "self_attention/dropout/Cast"),
    layer(6, 1, "self_attention/dropout/Cast"),
    layer(6, 2, "self_attention/dropout/Cast"),
  ];
  assert.deepEqual(shortPaths(names), [
    "replica_4/…/layer_1/self_attention/dropout/Cast",
    "replica_4/…/layer_2/self_attention/dropout/Cast",
    "replica_6/…/layer_1/self_attention/dropout/Cast",
    "replica_6/…/layer_2/self_attention/dropout/Cast",
  ]);
});

test("a single path and short names stay whole", () => {
  assert.deepEqual(shortPaths([layer(4, 1, "Cast"), "a/b/c", "MatMul"]), [
    layer(4, 1, "Cast"),
    "a/b/c",
    "MatMul",
  ]);
});

test("a scope that a few leave out is left out of the others, as long as they differ", () => {
  const scope = "StatefulPartitionedCall/gradient_tape/sequential_1";
  const names = [1, 2, 3, 4, 5].map((n) => `${scope}/conv2d_${n}/Conv2D`);
  const other = "another_model_of_the_program/x/Conv2D";
  assert.deepEqual(shortPaths([...names, other]), [
    ...[1, 2, 3, 4, 5].map((n) => `…/conv2d_${n}/Conv2D`),
    other,
  ]);
});

test("names that would be equal stay whole", () => {
  const [a, b] = ["scope_of_all_names/one/two/Cast", "…/Cast"];
  const c = "scope_of_all_names/one/two/Mul_1";
  assert.deepEqual(shortPaths([a, b, c]), [a, b, "…/Mul_1"]);
});

test("a list that is too long to compare by eye is left as it is", () => {
  const names = Array.from({ length: 20_001 }, (_, n) => `scope_of_all_of_them/b/${n}`);
  assert.deepEqual(shortPaths(names), names);
});
