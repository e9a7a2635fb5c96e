"""The formulas behind the figures: from answers to one figure an item, intervals and tests. Python's standard library alone."""

import csv
import itertools
import math
import statistics

FEW_CLUSTERS, EXACT_CLUSTERS, VOTERS = 30, 12, 3
NORMAL = statistics.NormalDist()


# From answers to one figure an item


def number(text):
    return float(text) if text != "" else None


def scores_read(path):
    """Respondent -> item -> run -> trial -> (correct, number, gold), and what is known of respondents and items."""
    sheets, people, items, letters, outcomes = {}, {}, {}, {}, {}
    with path.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            name, item, run = row["respondent"], row["item"], int(row["run"])
            correct = None if row["correct"] == "" else row["correct"] == "1"
            score = (correct, number(row["number"]), number(row["gold"]))
            sheets.setdefault(name, {}).setdefault(item, {}).setdefault(run, {})[row["trial"]] = score
            known = people.setdefault(name, {"kind": row["kind"], "key": False, "expert": row["expert"] == "1"})
            known["control"] = row.get("control") == "1"
            known["key"] = known["key"] or row["key_access"] == "1"
            items[item] = {
                "category": row["category"],
                "cluster": row["cluster"],
                "weight": float(row.get("weight") or 1),
            }
            outcomes.setdefault(name, []).append(row["outcome"])
            if row["value"] in ("A", "B") and correct is not None and score[2] in (None, 0.5):
                letters.setdefault(name, []).append((item, row["trial"], row["value"] == "A", correct))
    return sheets, people, items, letters, outcomes


def vote(scores):
    """One score from several: right when more than half are, the (lower) median of grades; half of the runs are no majority."""
    gold = next((score[2] for score in scores if score[2] is not None), None)
    verdicts = [score[0] for score in scores if score[0] is not None]
    values = [score[1] for score in scores if score[1] is not None]
    if values and gold is not None:
        if 2 * len(values) <= len(scores):
            return (False, None, gold)
        value = float(statistics.median_low(values))
        return (value == gold, value, gold)
    value = float(statistics.median(values)) if values else None
    return (sum(verdicts) * 2 > len(scores) if verdicts else None, value, gold)


def voted(runs):
    keys = {key: None for run in runs for key in run}
    return {key: vote([run[key] for run in runs if key in run]) for key in keys}


def figures_of(sheet, metric):
    """The metric per item: an odd number of runs from three votes, others are averaged."""
    every = {run for runs in sheet.values() for run in runs}
    votes = len(every) >= VOTERS and len(every) % 2 == 1
    found = {}
    for item, runs in sheet.items():
        given = [metric(scores) for scores in ([voted(list(runs.values()))] if votes else runs.values())]
        asked = [value for value in given if value is not None]
        if asked:
            found[item] = statistics.fmean(asked)
    return found


def right(key):
    return lambda scores: float(bool(scores[key][0])) if key in scores else None


def both(scores):
    return float(bool(scores["s4"][0]) and bool(scores["s6"][0])) if "s4" in scores and "s6" in scores else None


def choices(scores):
    asked = [bool(scores[key][0]) for key in ("s4", "s6") if key in scores]
    return sum(asked) / len(asked) if asked else None


def graded(scores):
    return [score for key, score in scores.items() if key.startswith("grade-") and score[2] is not None]


def within(steps):
    def metric(scores):
        hits = [score[1] is not None and abs(score[1] - score[2]) <= steps for score in graded(scores)]
        return sum(hits) / len(hits) if hits else None

    return metric


def error(take):
    def metric(scores):
        errors = [take(score[1] - score[2]) for score in graded(scores) if score[1] is not None]
        return sum(errors) / len(errors) if errors else None

    return metric


def closed(prefix):
    def metric(scores):
        asked = [bool(score[0]) for key, score in scores.items() if key.startswith(prefix)]
        return sum(asked) / len(asked) if asked else None

    return metric


def above(scores):
    lifts = [
        (float(bool(score[0])) - score[2]) / (1 - score[2])
        for key, score in scores.items()
        if key.startswith("mcq-") and score[2] is not None and score[2] < 1
    ]
    return sum(lifts) / len(lifts) if lifts else None


METRICS = {
    "speecheq": {"acc1": right("s4"), "acc2": right("s6"), "acc_traj": both, "acc_all": choices},
    "emosbench": {"exact": within(0), "within1": within(1), "mae": error(abs), "bias": error(float)},
    "echomind": {
        "mcq": closed("mcq-"),
        "mcq_understanding": closed("mcq-understanding"),
        "mcq_reasoning": closed("mcq-reasoning"),
        "mcq_above_chance": above,
        "wer": lambda scores: scores["asr"][1] if "asr" in scores else None,
    },
}


# Intervals and tests


def wilson(successes, n):
    z = NORMAL.inv_cdf(0.975)
    share, room = successes / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / room
    half = z / room * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def beta_inc(a, b, x):
    """The regularised incomplete beta function, by Lentz's continued fraction."""
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_inc(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x)) / a
    top, bottom, value = 1.0, 0.0, 1.0
    for step in range(400):
        half = step // 2
        if step == 0:
            part = 1.0
        elif step % 2 == 0:
            part = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        else:
            part = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        bottom = 1 / (1 + part * bottom or 1e-30)
        top = 1 + part / top or 1e-30
        value *= top * bottom
        if abs(1 - top * bottom) < 1e-14:
            break
    return front * (value - 1)


def t_edge(freedom):
    """The .975 quantile of Student's t, by halving."""
    low, high = 0.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        tail = beta_inc(freedom / 2, 0.5, freedom / (freedom + middle * middle)) / 2
        low, high = (middle, high) if tail > 0.025 else (low, middle)
    return (low + high) / 2


def mcnemar(b, c):
    n = b + c
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(b, c) + 1)) / 2**n)


def sign_flips(sums):
    """The exact two-sided p of up to twelve clusters; None for more, where it is drawn."""
    moving = [value for value in sums if abs(value) > 0]
    if not moving:
        return 1.0
    if len(moving) > EXACT_CLUSTERS:
        return None
    observed = abs(sum(moving)) - 1e-9
    flips = list(itertools.product((-1, 1), repeat=len(moving)))
    return sum(abs(sum(s * v for s, v in zip(signs, moving, strict=True))) >= observed for signs in flips) / len(flips)


def mean_gaps(gaps):
    """The mean over persons of their differences on each item."""
    items = {item for one in gaps for item in one}
    return {item: statistics.fmean(one[item] for one in gaps if item in one) for item in sorted(items)}


def flips_of(gaps, clusters):
    """Sign flips of the clusters that the differences of persons (item -> difference) are summed in."""
    sums = {}
    for item, gap in mean_gaps(gaps).items():
        sums[clusters[item]] = sums.get(clusters[item], 0.0) + gap
    return sign_flips(sums.values())


def holm(ps):
    order, found, worst = sorted(range(len(ps)), key=ps.__getitem__), [0.0] * len(ps), 0.0
    for place, at in enumerate(order):
        worst = max(worst, min(1.0, ps[at] * (len(ps) - place)))
        found[at] = worst
    return found


def benjamini_hochberg(ps):
    order, found, best = sorted(range(len(ps)), key=ps.__getitem__), [0.0] * len(ps), 1.0
    for place in range(len(ps), 0, -1):
        at = order[place - 1]
        best = min(best, ps[at] * len(ps) / place)
        found[at] = best
    return found


def percentiles(values):
    ordered = sorted(values)

    def at(share):
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return at(0.025), at(0.975)


def mean_interval(values, clusters, rng, replicates, *, bounded):
    """(lo, hi, closed): Wilson for independent shares, else by clusters."""
    sums = {}
    for value, name in zip(values, clusters, strict=True):
        total, count = sums.get(name, (0.0, 0))
        sums[name] = (total + value, count + 1)
    n = len(values)
    if len(sums) == n and set(values) <= {0.0, 1.0}:
        return (*wilson(sum(values), n), True)
    if len(sums) == 1:
        return None, None, True
    mean = statistics.fmean(values)
    if all(abs(total - mean * count) < 1e-12 * count for total, count in sums.values()):
        shares = set(values) <= {0.0, 1.0}
        return (*wilson(mean * len(sums), len(sums)), True) if shares else (None, None, True)
    if len(sums) < FEW_CLUSTERS:
        pairs = list(sums.values())
        drawn = []
        for _ in range(replicates):
            some = rng.choices(pairs, k=len(pairs))
            drawn.append(sum(pair[0] for pair in some) / sum(pair[1] for pair in some))
        lo, hi = percentiles(drawn)
        is_closed = False
    else:
        groups = len(sums)
        spread = sum((total - count * mean) ** 2 for total, count in sums.values())
        half = t_edge(groups - 1) * math.sqrt(groups / (groups - 1) * spread) / n
        lo, hi, is_closed = mean - half, mean + half, True
    return (max(0.0, lo), min(1.0, hi), is_closed) if bounded else (lo, hi, is_closed)


def crossed(people, clusters, rng, replicates, middle):
    """Persons and clusters of items resampled together; ``people`` are figures by item."""
    by_cluster = {}
    for item, name in clusters.items():
        by_cluster.setdefault(name, []).append(item)
    names, drawn = list(by_cluster), []
    for _ in range(replicates):
        weights = {}
        for name in rng.choices(names, k=len(names)):
            for item in by_cluster[name]:
                weights[item] = weights.get(item, 0) + 1
        means = []
        for figures in rng.choices(people, k=len(people)):
            total = sum(weights.get(item, 0) for item in figures)
            if total:
                means.append(sum(value * weights.get(item, 0) for item, value in figures.items()) / total)
        if means:
            drawn.append(middle(means))
    return percentiles(drawn)
