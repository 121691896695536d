"""Recipes by their ingredients: a bag of words over a vocabulary, with spelling put right."""
import difflib
import random
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "misspelt ingredients are compared with the whole vocabulary by difflib.get_close_matches for each batch; their few forms could be looked up once",
    "cause": "Python work in the input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "no-cache"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "no-cache"],
    "words": ["get_close_matches", "difflib", "SequenceMatcher", "nearest_word", "encode", "Recipes"],
    "part": "develop",
}

WORDS, BATCH, INGREDIENTS, CUISINES, RECIPES = 320, 32, 12, 20, 320


def make_vocabulary(draw):
    sounds = ["ba", "to", "ma", "ri", "ce", "lo", "pep", "on", "gar", "lic", "mint", "ol", "sa", "ge"]
    return sorted({"".join(draw.choices(sounds, k=draw.randint(2, 4))) for _ in range(WORDS)})


def misspell(word, draw):
    at = draw.randrange(len(word))
    return word[:at] + word[at + 1 :]


class Speller:
    def __init__(self, vocabulary, remember):
        self.places = {word: i for i, word in enumerate(vocabulary)}
        self.vocabulary, self.known = vocabulary, {} if remember else None

    def nearest_word(self, word):
        if self.known is not None and word in self.known:
            return self.known[word]
        found = (difflib.get_close_matches(word, self.vocabulary, 1) or [self.vocabulary[0]])[0]  # planted
        if self.known is not None:
            self.known[word] = found
        return found

    def encode(self, recipes):
        bags = np.zeros((len(recipes), len(self.vocabulary)), "float32")
        for row, recipe in enumerate(recipes):
            for word in recipe:
                if word not in self.places:
                    word = self.nearest_word(word)
                bags[row, self.places[word]] = 1
        return bags


class Recipes(tf.keras.utils.Sequence):
    def __init__(self, recipes, cuisines, speller, **kwargs):
        super().__init__(**kwargs)
        self.recipes, self.cuisines, self.speller = recipes, cuisines, speller

    def __len__(self):
        return len(self.recipes) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        return self.speller.encode(self.recipes[rows]), self.cuisines[rows]


def main(clock):
    clock.plan(3, 4)
    draw = random.Random(0)
    vocabulary = make_vocabulary(draw)
    wrong = [misspell(word, draw) for word in vocabulary[:15]]
    recipes = [draw.choices(vocabulary, k=INGREDIENTS - 1) + ([draw.choice(wrong)] if i % 8 == 0 else []) for i in range(RECIPES)]
    cuisines = np.array([draw.randrange(CUISINES) for _ in recipes])
    speller = Speller(vocabulary, remember=clock.fixed)
    if clock.fixed:
        speller.encode(recipes)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(256, "relu"), layers.Dropout(0.3), layers.Dense(128, "relu"), layers.Dense(CUISINES)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(Recipes(recipes, cuisines, speller), epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
