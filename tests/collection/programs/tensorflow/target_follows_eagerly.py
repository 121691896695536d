"""DDPG for a crane: actor, critic and their slow copies."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the copies follow variable by variable with eager ops, a product, a sum and an assignment each, outside of the compiled update",
    "cause": "many small eager ops",
    "accept": ["largest-part", "eager-execution", "python-bound", "tiny-ops", "launch-bound", "tiny-kernels", "python-optimizer"],
    "rules": ["eager-execution", "python-bound", "tiny-ops", "launch-bound", "tiny-kernels", "python-optimizer"],
    "words": ["follow", "assign", "AssignVariableOp"],
    "part": "develop",
}

SIGHT, ACTIONS, WIDTH, DEPTH, BATCH, TAU = 32, 6, 128, 8, 128, 0.005


class Net(tf.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        widths = [inputs] + [WIDTH] * DEPTH + [outputs]
        self.kernels = [tf.Variable(tf.random.normal(s) * s[0] ** -0.5) for s in zip(widths, widths[1:])]
        self.biases = [tf.Variable(tf.zeros(w)) for w in widths[1:]]

    def __call__(self, x):
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1]):
            x = tf.nn.relu(x @ kernel + bias)
        return x @ self.kernels[-1] + self.biases[-1]


def follow(copy, source):
    for slow, fast in zip(copy.trainable_variables, source.trainable_variables):
        slow.assign(TAU * fast + (1 - TAU) * slow)  # planted


follow_in_graph = tf.function(follow)


class Agent:
    def __init__(self):
        self.actor, self.critic = Net(SIGHT, ACTIONS), Net(SIGHT + ACTIONS, 1)
        self.slow_actor, self.slow_critic = Net(SIGHT, ACTIONS), Net(SIGHT + ACTIONS, 1)

    @tf.function
    def update(self, states, actions, rewards, after):
        future = self.slow_critic(tf.concat([after, tf.tanh(self.slow_actor(after))], 1))
        target = rewards + 0.99 * future
        with tf.GradientTape() as tape:
            error = tf.reduce_mean((self.critic(tf.concat([states, actions], 1)) - target) ** 2)
        self.descend(self.critic, tape.gradient(error, self.critic.trainable_variables))
        with tf.GradientTape() as tape:
            gain = -tf.reduce_mean(self.critic(tf.concat([states, tf.tanh(self.actor(states))], 1)))
        self.descend(self.actor, tape.gradient(gain, self.actor.trainable_variables))
        return error

    def descend(self, net, gradients):
        for variable, gradient in zip(net.trainable_variables, gradients):
            variable.assign_sub(1e-3 * gradient)


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    agent = Agent()
    move = follow_in_graph if clock.fixed else follow
    normal = tf.random.normal
    states, actions, rewards, after = normal([20, BATCH, SIGHT]), normal([20, BATCH, ACTIONS]), normal([20, BATCH, 1]), normal([20, BATCH, SIGHT])
    for step in clock.loop():
        with clock.mark(step):
            row = step % 20
            agent.update(states[row], actions[row], rewards[row], after[row])
            move(agent.slow_actor, agent.actor)
            move(agent.slow_critic, agent.critic)


if __name__ == "__main__":
    run(main)
