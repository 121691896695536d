import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a loop in the graph appends each state by concatenating all states before",
    "cause": "quadratic copies",
    "accept": ["dominant-op", "graph-loop"],
    "rules": ["dominant-op", "graph-loop"],
    "words": ["collect_states", "ConcatV2", "concat"],
    "family": "ConcatV2",
    "part": "develop",
}


def collect_states(cell, x):
    state = tf.zeros([tf.shape(x)[0], 64])
    states = tf.zeros([0, tf.shape(x)[0], 64])
    for t in tf.range(tf.shape(x)[1]):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(states, tf.TensorShape([None, None, 64])), (state, tf.TensorShape([None, 64]))]
        )
        state = tf.tanh(tf.matmul(tf.concat([x[:, t], state], 1), cell))
        states = tf.concat([states, state[None]], 0)  # planted
    return states


def collect_in_array(cell, x):
    state = tf.zeros([tf.shape(x)[0], 64])
    states = tf.TensorArray(tf.float32, size=tf.shape(x)[1], element_shape=[None, 64])
    for t in tf.range(tf.shape(x)[1]):
        state = tf.tanh(tf.matmul(tf.concat([x[:, t], state], 1), cell))
        states = states.write(t, state)
    return states.stack()


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    cell = tf.Variable(tf.random.normal([96, 64], stddev=0.1))
    collect = collect_in_array if clock.fixed else collect_states
    collect = tf.autograph.to_graph(collect)

    @tf.function
    def forward(x):
        return tf.reduce_mean(collect(cell, x) ** 2)

    x = tf.random.normal([64, 200, 32])
    for step in clock.loop():
        with clock.mark(step):
            loss = float(forward(x))


if __name__ == "__main__":
    run(main)
