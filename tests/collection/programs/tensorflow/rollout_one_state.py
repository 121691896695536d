import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an actor asks its net for one state at a time, eagerly, though its games are many",
    "cause": "tiny batches",
    "accept": ["eager-execution", "tiny-ops", "small-batch", "python-bound"],
    "rules": ["eager-execution", "tiny-ops", "small-batch", "python-bound"],
    "words": ["play"],
    "part": "develop",
}


def play(net, states):
    actions = []
    for state in states:
        logits = net(state[None])  # planted
        actions.append(int(tf.random.categorical(logits, 1)[0, 0]))  # planted
    return np.array(actions)


def play_together(net, states):
    return tf.random.categorical(net(states), 1)[:, 0].numpy()


def main(clock):
    clock.plan(1, 3)
    tf.random.set_seed(0)
    random = np.random.default_rng(0)
    dense = tf.keras.layers.Dense
    net = tf.keras.Sequential([dense(64, activation="tanh"), dense(64, activation="tanh"), dense(4)])
    optimizer = tf.keras.optimizers.SGD(1e-3)
    ask = play_together if clock.fixed else play
    for step in clock.loop():
        with clock.mark(step, "iteration"):
            states = random.standard_normal((12, 8)).astype(np.float32)
            actions = ask(net, states)
            with tf.GradientTape() as tape:
                chosen = tf.gather(tf.nn.log_softmax(net(states)), actions, batch_dims=1)
                loss = -tf.reduce_mean(chosen)
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables))


if __name__ == "__main__":
    run(main)
