#!/usr/bin/python3
"""Peers of the strategies on the same grids with the same noise, for `make bench-search`.

peers.py KIND SEEDS FOLDER: KIND is tpe (Optuna, multivariate), tpe-plain or forest (scikit-learn,
expected improvement over a random forest as SMAC has it). FOLDER holds what `search dump` wrote.
As in search.c: 60 runs, noise 2 %, the first run is the baseline's. An illegal suggestion of
Optuna's stands for the nearest legal point; one that was measured before is measured again.
Optuna recommends its best trial, the forest the measured point that it predicts to be best.
"""
import math
import os
import sys
import warnings

import numpy

warnings.filterwarnings("ignore")
MASK = (1 << 64) - 1
RUNS = 60
SIGMA = 0.02
REGRET_LEAST = 0.0005


def mix(bits):
    bits = (bits + 0x9E3779B97F4A7C15) & MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    return bits ^ (bits >> 31)


def uniform(seed, a, b):
    bits = mix((mix((mix(seed) + a) & MASK) + b) & MASK)
    return ((bits >> 11) + 0.5) / 9007199254740992.0


def normal(seed, a, b):
    u = uniform(seed, a, 2 * b)
    v = uniform(seed, a, 2 * b + 1)
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


class Grid:
    """Row 0 is the baseline; it stands for the row that it is a copy of."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.baseline = int(file.readline())
            rows = [line.split() for line in file]
        self.truth = [float(row[0]) for row in rows]
        self.failing = [row[2] == "1" for row in rows]
        self.points = numpy.array([[int(cell) for cell in row[3:]] for row in rows])
        self.best = max(t for t, f in zip(self.truth[1:], self.failing[1:]) if not f)
        self.levels = [sorted(set(column)) for column in self.points.T.tolist()]

    def regret(self, point):
        return math.exp(self.best - self.truth[point]) - 1

    def nearest(self, wanted):
        distance = numpy.abs(self.points[1:] - numpy.array(wanted)).sum(axis=1)
        return int(distance.argmin()) + 1


class Replay:
    """Measures points; the worst value so far stands for a failure."""

    def __init__(self, grid, seed):
        self.grid = grid
        self.seed = mix((seed + 77) & MASK)
        self.runs = {}
        self.points = []
        self.values = []

    def measure(self, point):
        run = self.runs.get(point, 0)
        self.runs[point] = run + 1
        value = self.grid.truth[point] + SIGMA * normal(self.seed, point, run)
        if self.grid.failing[point]:
            value = min(self.values, default=value)
        self.points.append(point)
        self.values.append(value)
        return value


def optuna_trials(grid, replay, seed, multivariate):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=multivariate)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    best = None
    while len(replay.points) < RUNS:
        trial = study.ask()
        wanted = [
            levels[trial.suggest_int(str(i), 0, len(levels) - 1)]
            for i, levels in enumerate(grid.levels)
        ]
        if not replay.points:
            value, point = replay.measure(0), 0
        else:
            point = grid.nearest(wanted)
            value = replay.measure(point)
        study.tell(trial, value)
        if point != 0 and not grid.failing[point] and (best is None or value > best[0]):
            best = (value, point)
        yield best[1] if best else 0


def forest_trials(grid, replay, seed):
    from sklearn.ensemble import RandomForestRegressor

    draw = numpy.random.default_rng(seed)
    replay.measure(0)
    yield 0
    first = list(draw.permutation(numpy.arange(1, len(grid.points)))[:10])
    while len(replay.points) < RUNS:
        seen = set(replay.points)
        open_points = [p for p in range(1, len(grid.points)) if p not in seen]
        if not open_points:
            return
        if first:
            point = int(first.pop())
        elif draw.random() < 0.1:
            point = int(draw.choice(open_points))
        else:
            point = improve(grid, forest, open_points, max(means))
        replay.measure(point)
        measured = [p for p in dict.fromkeys(replay.points) if p != 0 and not grid.failing[p]]
        forest = RandomForestRegressor(
            n_estimators=24, max_features=5 / 6, min_samples_split=3,
            random_state=int(draw.integers(1 << 31)))
        forest.fit(grid.points[replay.points], replay.values)
        means = forest.predict(grid.points[measured]) if measured else [0]
        yield measured[int(numpy.argmax(means))] if measured else 0


def improve(grid, forest, open_points, best):
    trees = numpy.stack([t.predict(grid.points[open_points]) for t in forest.estimators_])
    mean, sd = trees.mean(axis=0), trees.std(axis=0) + 1e-9
    z = (mean - best) / sd
    below = numpy.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    gain = sd * (z * below + numpy.exp(-z * z / 2) / math.sqrt(2 * math.pi))
    return open_points[int(gain.argmax())]


def follow(kind, grid, seed):
    replay = Replay(grid, seed)
    if kind == "forest":
        return forest_trials(grid, replay, seed)
    return optuna_trials(grid, replay, seed, kind == "tpe")


def figures(kind, grid, seeds):
    sums = numpy.zeros(5)
    for seed in range(seeds):
        regrets = [grid.regret(point) for point in follow(kind, grid, seed)]
        regrets += [regrets[-1]] * (RUNS - len(regrets))
        sums += [regrets[19], regrets[39], regrets[59], min(regrets) <= 0.05, min(regrets) <= 0.01]
    return sums / seeds


def main():
    kind, seeds, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    for letter, name in (("a", "measured"), ("b", "made-up")):
        rows = []
        for file in sorted(os.listdir(folder)):
            if file.startswith(letter + "-"):
                rows.append(figures(kind, Grid(os.path.join(folder, file)), seeds))
                if "-v" in sys.argv:
                    print(f"  {file:28s}", *(f"{v:6.3f}" for v in rows[-1]), flush=True)
        if rows:
            rows = numpy.array(rows)
            logs = numpy.log(numpy.maximum(rows[:, :3], REGRET_LEAST)).mean(axis=0)
            regrets = 100 * numpy.exp(logs)
            hits = rows[:, 3:].mean(axis=0)
            print(f"  = {kind + ', ' + name:26s} {regrets[0]:6.2f} {regrets[1]:6.2f} "
                  f"{regrets[2]:6.2f} {hits[0]:8.2f} {hits[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
