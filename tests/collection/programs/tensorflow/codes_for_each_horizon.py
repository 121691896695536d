"""Contrastive predictive coding of speech (van den Oord et al. 2018), six steps ahead."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the encoder runs over the shifted wave again for each of six horizons, although shifted codes are the same",
    "cause": "work done again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["targets", "Encoder", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"],
    "part": "develop",
}

HOP, FRAMES, AHEAD, WIDTH, BATCH = 20, 96, 6, 64, 6


class Encoder(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        conv = tf.keras.layers.Conv1D
        self.convs = [conv(WIDTH, 10, 5, "same", activation="relu"), conv(WIDTH, 4, 2, "same", activation="relu"), conv(WIDTH, 4, 2, "same")]

    def call(self, wave):
        x = wave[..., None]
        for conv in self.convs:
            x = conv(x)
        return x


class CPC(tf.keras.Model):
    def __init__(self, encode_once):
        super().__init__()
        self.encode_once = encode_once
        self.encoder = Encoder()
        self.context = [tf.keras.layers.Conv1D(WIDTH, 5, padding="causal", activation="tanh") for _ in range(2)]
        self.heads = [tf.keras.layers.Dense(WIDTH, use_bias=False) for _ in range(AHEAD)]

    def targets(self, wave, codes):
        if self.encode_once:
            return [codes[:, k : k + FRAMES] for k in range(1, AHEAD + 1)]
        return [self.encoder(wave[:, k * HOP : (k + FRAMES) * HOP]) for k in range(1, AHEAD + 1)]  # planted

    def call(self, wave):
        codes = self.encoder(wave)
        context = codes[:, :FRAMES]
        for layer in self.context:
            context = layer(context)
        loss = 0.0
        labels = tf.range(tf.shape(wave)[0])
        labels = tf.tile(labels[None], [FRAMES, 1])
        for head, truth in zip(self.heads, self.targets(wave, codes)):
            scores = tf.einsum("btd,ctd->tbc", head(context), truth)
            loss += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        return loss / AHEAD


def main(clock):
    clock.plan(3, 3)
    waves = tf.random.normal([60, (FRAMES + AHEAD) * HOP])
    ds = tf.data.Dataset.from_tensor_slices(waves).shuffle(60).batch(BATCH, drop_remainder=True).repeat().prefetch(2)
    model = CPC(encode_once=clock.fixed)
    optimizer = tf.keras.optimizers.SGD(1e-2)

    @tf.function
    def train_step(wave):
        with tf.GradientTape() as tape:
            loss = model(wave)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, wave in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(wave)


if __name__ == "__main__":
    run(main)
