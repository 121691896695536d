"""Text in the manner of an author, character by character (after the Keras example)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a Sequence fills its one-hot cube with a Python loop over all characters of all windows",
    "cause": "Python work in the input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "words": ["vectorise", "TextWindows", "__getitem__"],
    "part": "develop",
}

MAXLEN, STEP, BATCH = 90, 3, 512


def make_text(n=12_400):
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz .,;:\n"))
    return "".join(letters[np.minimum(rng.geometric(0.12, n) - 1, len(letters) - 1)])


class TextWindows(tf.keras.utils.Sequence):
    def __init__(self, text, with_arrays, **kwargs):
        super().__init__(**kwargs)
        self.text, self.chars = text, sorted(set(text))
        self.char_indices = {c: i for i, c in enumerate(self.chars)}
        self.codes = np.array([self.char_indices[c] for c in text]) if with_arrays else None
        self.starts = np.random.default_rng(1).permutation(np.arange(0, len(text) - MAXLEN, STEP))

    def __len__(self):
        return len(self.starts) // BATCH

    def vectorise(self, starts):
        x = np.zeros((BATCH, MAXLEN, len(self.chars)), dtype=bool)
        y = np.zeros((BATCH, len(self.chars)), dtype=bool)
        for i, start in enumerate(starts):
            sentence = self.text[start : start + MAXLEN]
            for t, char in enumerate(sentence):
                x[i, t, self.char_indices[char]] = 1  # planted
            y[i, self.char_indices[self.text[start + MAXLEN]]] = 1
        return x, y

    def vectorise_arrays(self, starts):
        codes = self.codes[starts[:, None] + np.arange(MAXLEN + 1)]
        table = np.eye(len(self.chars), dtype=bool)
        return table[codes[:, :-1]], table[codes[:, -1]]

    def __getitem__(self, index):
        starts = self.starts[index * BATCH : (index + 1) * BATCH]
        x, y = self.vectorise_arrays(starts) if self.codes is not None else self.vectorise(starts)  # planted
        return x.astype("float32"), y.astype("float32")


def main(clock):
    clock.plan(3, 4)
    layers = tf.keras.layers
    windows = TextWindows(make_text(), with_arrays=clock.fixed)
    size = len(windows.chars)
    # A causal convolution is quicker than the example's LSTM.
    model = tf.keras.Sequential([layers.Conv1D(16, 6, 6, activation="relu"), layers.Conv1D(32, 5, 5, activation="relu"), layers.Flatten(), layers.Dense(size, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy")
    model.fit(windows, epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
