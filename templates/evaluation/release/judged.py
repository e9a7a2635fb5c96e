"""Open replies worked out again from replies.csv and judgements.csv: what each was judged to be worth, who differs from whom, and
how far judges agree with people. Python's standard library alone.
"""

import csv
import itertools
import math
import statistics

from formulas import crossed, flips_of, holm, mcnemar, mean_interval

LOW, HIGH, FEWEST = 1, 5, 3
EXACT = 1e-9
POWER_Z = 1.959964 + 0.841621
PEOPLE = "people (mean)"
WORDS = ("rouge_l", "bleu", "chrf")


def replies_read(folder):
    """Replies by id, each with what people and judges gave; a judge that was asked anew counts by the last answer that could be read."""
    replies = {}
    with (folder / "replies.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            replies[row["reply"]] = {**row, "people": {}, "judges": {}}
    with (folder / "judgements.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if row["value"] == "" or (row["by_kind"] == "person" and row["key_access"] == "1"):
                continue
            kept = replies[row["reply"]]["people" if row["by_kind"] == "person" else "judges"]
            kept.setdefault(row["scale"], {})[row["by"]] = int(row["value"])
    return replies


def words_of(text):
    plain = "".join(char if char.isalnum() or char.isspace() else " " for char in text.casefold())
    return "".join(f" {char} " if "\u4e00" <= char <= "\u9fff" else char for char in plain).split()


def rouge_l(reference, reply):
    ours, theirs = words_of(reply), words_of(reference)
    if not ours or not theirs:
        return 0.0
    before = [0] * (len(theirs) + 1)
    for word in ours:
        now = [0]
        for place, other in enumerate(theirs):
            now.append(before[place] + 1 if word == other else max(before[place + 1], now[-1]))
        before = now
    return 2 * before[-1] / (len(ours) + len(theirs))


def alpha_ordinal(ratings):
    """Krippendorff's alpha of lists of ratings, one an item, on an ordinal scale."""
    units = [one for one in ratings if len(one) > 1]
    grades = range(LOW, HIGH + 1)
    seen = {(a, b): 0.0 for a in grades for b in grades}
    for one in units:
        for a, b in itertools.permutations(one, 2):
            seen[a, b] += 1 / (len(one) - 1)
    totals = {a: sum(seen[a, b] for b in grades) for a in grades}
    whole = sum(totals.values())

    def apart(a, b):
        low, high = min(a, b), max(a, b)
        return (sum(totals[g] for g in range(low, high + 1)) - (totals[low] + totals[high]) / 2) ** 2

    observed = sum(count * apart(a, b) for (a, b), count in seen.items())
    expected = sum(totals[a] * totals[b] * apart(a, b) for a in grades for b in grades)
    return 1 - (whole - 1) * observed / expected if expected else None


def kappa_of(pairs):
    """Quadratic kappa of pairs of grades."""
    observed = sum((a - b) ** 2 for a, b in pairs)
    expected = sum((a - b) ** 2 for a, _ in pairs for _, b in pairs) / len(pairs)
    return 1 - observed / expected if expected else None


def kappa_of_raters(ratings):
    """Quadratic kappa of every two raters, weighted by what both rated; ``ratings`` map raters to grades, one an item."""
    tables = {}
    for given in ratings:
        for a, b in itertools.combinations(sorted(given), 2):
            tables.setdefault((a, b), []).append((given[a], given[b]))
    known = [(kappa_of(pairs), len(pairs)) for pairs in tables.values()]
    known = [(kappa, n) for kappa, n in known if kappa is not None]
    return sum(kappa * n for kappa, n in known) / sum(n for _, n in known) if known else None


def ranks(values):
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def correlation(a, b):
    if len(set(a)) == 1 or len(set(b)) == 1:
        return None
    return statistics.correlation(a, b)


class Judged:
    """Holds the part ``replies`` of comparison.json against the tables."""

    def __init__(self, folder, result, check, rng, replicates):
        self.result, self.check, self.rng, self.replicates = result, check, rng, replicates
        self.replies = replies_read(folder)
        self.groups = {}
        for one in self.replies.values():
            pooled = one["kind"] == "person" and one["key_access"] == "0"
            persons = self.groups.setdefault(PEOPLE if pooled else one["respondent"], {})
            persons.setdefault(one["respondent"], []).append(one)
        self.clusters = {one["item"]: one["cluster"] for one in self.replies.values()}

    def run(self):
        for row in self.result["rows"]:
            replies = [one for given in self.groups[row["name"]].values() for one in given]
            for scale, figure in row["people"].items():
                self.mean(f"{row['name']} {scale} by people", replies, self.grade("", scale), figure)
            for judge, figures in row["judges"].items():
                for scale, figure in figures.items():
                    self.mean(f"{row['name']} {scale} by {judge}", replies, self.grade(judge, scale), figure)
            for name in WORDS:
                self.mean(f"{row['name']} {name}", replies, self.worded(name), row[name], (0.0, 1.0))
        for scale, figures in self.result["people"]["agreement"].items():
            given = [one["people"][scale] for one in self.replies.values() if scale in one["people"]]
            ratings = [list(one.values()) for one in given]
            enough = any(len(one) > 1 for one in ratings)
            self.check.number(
                f"people {scale} alpha", alpha_ordinal(ratings) if enough else None, figures["alpha_ordinal"]["value"]
            )
            self.check.number(f"people {scale} kappa", kappa_of_raters(given), figures["qwk"]["value"])
        for judge in self.result["judges"]:
            for scale, figures in judge["agreement"].items():
                self.agreement(judge["name"], scale, figures)
        self.pairs()

    def grade(self, by, scale):
        def value(one):
            if by:
                return one["judges"].get(scale, {}).get(by)
            return statistics.fmean(one["people"][scale].values()) if scale in one["people"] else None

        return value

    def worded(self, name):
        def value(one):
            if not one["reference"]:
                return None
            return rouge_l(one["reference"], one["text"]) if name == "rouge_l" else float(one[name])

        return value

    def mean(self, what, replies, value, theirs, bounds=(LOW, HIGH)):
        found = [(float(value(one)), one["cluster"]) for one in replies if value(one) is not None]
        self.check.number(f"{what} n", len(found), theirs["n"])
        if not found:
            self.check.number(what, None, theirs["value"])
            return
        values, names = zip(*found, strict=True)
        lo, hi, is_closed = mean_interval(values, names, self.rng, self.replicates, bounded=False)
        self.check.number(what, statistics.fmean(values), theirs["value"])
        width = theirs["hi"] - theirs["lo"] if theirs["lo"] is not None else 0.0
        room = EXACT * 1e3 if is_closed else 0.02 + 0.25 * width + 1 / len(values)
        for name, edge in (("lo", lo), ("hi", hi)):
            clipped = None if edge is None else max(bounds[0], min(bounds[1], edge))
            self.check.number(f"{what} {name}", clipped, theirs[name], room)

    def agreement(self, judge, scale, theirs):
        both = [
            (one["judges"][scale][judge], list(one["people"][scale].values()))
            for one in self.replies.values()
            if judge in one["judges"].get(scale, {}) and scale in one["people"]
        ]
        self.check.number(f"{judge} {scale} n", len(both), theirs["qwk"]["n"])
        if len(both) < FEWEST:
            return
        ours, people = [float(one) for one, _ in both], [statistics.fmean(given) for _, given in both]
        found = {
            "qwk": kappa_of([(one, each) for one, given in both for each in given]),
            "pearson": correlation(ours, people),
            "spearman": correlation(ranks(ours), ranks(people)),
            "bias": statistics.fmean(a - b for a, b in zip(ours, people, strict=True)),
        }
        for name, value in found.items():
            self.check.number(f"{judge} {scale} {name}", value, theirs[name]["value"])

    def by_item(self, replies, value):
        found = {}
        for one in replies:
            if value(one) is not None:
                found.setdefault(one["item"], []).append(value(one))
        return {item: statistics.fmean(values) for item, values in found.items()}

    def pairs(self):
        families = {}
        for pair in self.result["pairs"]:
            value = self.grade(pair["by"], pair["scale"])
            ours = [self.by_item(given, value) for given in self.groups[pair["a"]].values()]
            theirs = self.by_item([one for given in self.groups[pair["b"]].values() for one in given], value)
            if pair["family"] != "people":
                ours = [self.by_item([one for given in self.groups[pair["a"]].values() for one in given], value)]
            gaps = [{item: one[item] - theirs[item] for item in one if item in theirs} for one in ours]
            self.pair(pair, [one for one in gaps if one])
            if pair["p"] is not None:
                families.setdefault((pair["by"], pair["scale"], pair["family"]), []).append(pair)
        for family in families.values():
            for pair, p in zip(family, holm([pair["p"] for pair in family]), strict=True):
                self.check.number(f"{pair['a']} - {pair['b']} {pair['scale']} Holm", p, pair["p_holm"])
                self.check.number(f"{pair['a']} - {pair['b']} {pair['scale']} family", len(family), pair["family_size"])

    def pair(self, pair, gaps):
        what, theirs = f"{pair['a']} - {pair['b']} {pair['scale']} by {pair['by'] or 'people'}", pair["difference"]
        items = {item for one in gaps for item in one}
        self.check.number(what, statistics.fmean(statistics.fmean(one.values()) for one in gaps), theirs["value"])
        self.check.number(f"{what} n", len(items), theirs["n"])
        sums = {}
        for item, gap in gaps[0].items():
            sums.setdefault(self.clusters[item], []).append(gap)
        if theirs["lo"] is not None:
            clusters = {item: self.clusters[item] for item in items}
            persons = gaps if pair["family"] == "people" else gaps[:1]
            edges = crossed(persons, clusters, self.rng, self.replicates, statistics.fmean)
            room = 0.05 + 0.3 * (theirs["hi"] - theirs["lo"]) + 1 / len(items)
            for name, edge in zip(("lo", "hi"), edges, strict=True):
                self.check.number(f"{what} {name}", edge, theirs[name], room)
        if pair["test"] in ("exact McNemar", "exact sign test"):
            ahead, behind = sum(gap > 0 for gap in gaps[0].values()), sum(gap < 0 for gap in gaps[0].values())
            self.check.number(f"{what} p", mcnemar(ahead, behind), pair["p"])
        if pair["test"] == "sign flips of clusters":
            p = flips_of(gaps, self.clusters)
            if p is not None:
                self.check.number(f"{what} p", p, pair["p"])
        if pair["family"] == "systems" and pair["mde"] is not None:
            mean, groups = statistics.fmean(gaps[0].values()), len(sums)
            spread = sum((sum(one) - len(one) * mean) ** 2 for one in sums.values())
            error = math.sqrt(groups / (groups - 1) * spread) / len(gaps[0])
            self.check.number(f"{what} could be seen from", POWER_Z * error, pair["mde"])
