"""Connect Four."""
import numpy as np

ROWS, COLUMNS = 6, 7


class Game:
    def __init__(self):
        self.board = np.zeros((ROWS, COLUMNS), np.int8)
        self.heights = [0] * COLUMNS
        self.player, self.winner = 1, 0
        self.history = []
        self.info = {"moves": [], "players": {1: "x", -1: "o"}}

    def clone(self):
        other = Game.__new__(Game)
        other.board, other.heights = self.board.copy(), self.heights[:]
        other.player, other.winner = self.player, self.winner
        other.history = self.history[:]
        other.info = {"moves": self.info["moves"][:], "players": self.info["players"]}
        return other

    def legal(self):
        return [c for c in range(COLUMNS) if self.heights[c] < ROWS] if not self.winner else []

    def play(self, column):
        row = self.heights[column]
        self.history.append((column, row, self.player))
        self.info["moves"].append(column)
        self.board[row, column] = self.player
        self.heights[column] += 1
        if self.wins(row, column):
            self.winner = self.player
        self.player = -self.player

    def wins(self, row, column):
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            count = 1
            for sign in (1, -1):
                r, c = row + sign * dr, column + sign * dc
                while 0 <= r < ROWS and 0 <= c < COLUMNS and self.board[r, c] == self.player:
                    count, r, c = count + 1, r + sign * dr, c + sign * dc
            if count >= 4:
                return True
        return False
