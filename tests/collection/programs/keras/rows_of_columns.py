"""Topics of news: a dense net on tf-idf features from a sparse matrix."""
import sys
from pathlib import Path

import numpy as np
import scipy.sparse
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the document-term matrix is kept by column (CSC), so that the rows of each batch are looked for among all its entries",
    "cause": "data laid out against its use",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "words": ["csc", "_minor_index_fancy", "_index.py", "_compressed.py", "scipy", "News", "__getitem__"],
    "part": "develop",
}

DOCUMENTS, TERMS, BATCH, TOPICS = 30_000, 1500, 48, 20


def document_terms():
    rng = np.random.default_rng(0)
    counts = rng.poisson(60, DOCUMENTS)
    rows = np.repeat(np.arange(DOCUMENTS), counts)
    terms = np.minimum(rng.zipf(1.3, len(rows)) - 1, TERMS - 1)
    matrix = scipy.sparse.coo_matrix((np.ones(len(rows), "float32"), (rows, terms)), (DOCUMENTS, TERMS)).tocsc()
    # The weights of columns are applied where columns lie together.
    frequency = np.diff(matrix.indptr) / DOCUMENTS
    matrix.data *= np.repeat(-np.log(frequency + 1e-6), np.diff(matrix.indptr)).astype("float32")
    return matrix


class News(tf.keras.utils.PyDataset):
    def __init__(self, matrix, topics, **kwargs):
        super().__init__(**kwargs)
        self.matrix, self.topics = matrix, topics
        self.order = np.random.default_rng(1).permutation(len(topics))

    def __len__(self):
        return len(self.topics) // BATCH

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        return self.matrix[rows].toarray(), self.topics[rows]  # planted


def topic_net():
    layers = tf.keras.layers
    return tf.keras.Sequential([layers.Dense(256, activation="relu"), layers.Dropout(0.3), layers.Dense(TOPICS, activation="softmax")])


def main(clock):
    clock.plan(3, 4)
    matrix = document_terms()
    if clock.fixed:
        matrix = matrix.tocsr()
    topics = np.random.default_rng(2).integers(0, TOPICS, DOCUMENTS)
    model = topic_net()
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(News(matrix, topics), epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
