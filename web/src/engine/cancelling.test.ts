import assert from "node:assert/strict";
import { test } from "node:test";
import { cancelling } from "./cancelling.ts";

test("a product that became faster and an input that became slower are the story", () => {
  const changes = [
    { name: "MatMul", delta: -600 },
    { name: "input", delta: 595 },
    { name: "Relu", delta: 1 },
  ];
  assert.deepEqual(
    cancelling(changes, 1000)?.map(({ name }) => name),
    ["MatMul", "input"],
  );
});

test("changes that the sum shows, small ones and single ones are not", () => {
  assert.equal(
    cancelling(
      [
        { name: "a", delta: -600 },
        { name: "b", delta: 100 },
      ],
      1000,
    ),
    null,
  );
  assert.equal(
    cancelling(
      [
        { name: "a", delta: -6 },
        { name: "b", delta: 6 },
      ],
      1000,
    ),
    null,
  );
  assert.equal(cancelling([{ name: "a", delta: 600 }], 1000), null);
  assert.equal(cancelling([], 0), null);
});
