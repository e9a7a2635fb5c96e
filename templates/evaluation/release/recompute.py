#!/usr/bin/env python3
"""Work every figure of comparison.json out again from the tables beside it, with Python's standard library alone.

Usage: python3 recompute.py [FOLDER] [--replicates N]. Ends with 0 when everything agrees. Values, counts, closed intervals and
exact p-values must agree to nine digits; intervals that are resampled come from another generator here and are held to within
their own noise.
"""

import argparse
import json
import math
import random
import statistics
import sys
from pathlib import Path

from formulas import (
    METRICS,
    NORMAL,
    VOTERS,
    benjamini_hochberg,
    crossed,
    figures_of,
    flips_of,
    graded,
    holm,
    mcnemar,
    mean_interval,
    scores_read,
    voted,
    wilson,
)
from judged import Judged

EXACT = 1e-9
PEOPLE = {
    "people (mean)": "mean",
    "people (median)": "median",
    "people (best)": "best",
    "people (majority)": "majority",
    "experts (mean)": "mean",
}
UNFIT = 0.05  # with more than this share of answers unread a system is in no norm


# Comparing with comparison.json


class Check:
    """Counts what agrees and prints what does not."""

    def __init__(self):
        self.agree, self.differ = 0, 0

    def number(self, what, ours, theirs, room=EXACT):
        same = (ours is None) == (theirs is None) and (ours is None or abs(ours - theirs) <= room * max(1, abs(theirs)))
        self.agree += same
        self.differ += not same
        if not same:
            print(f"differs: {what}: {ours} here, {theirs} there")


class Recomputed:
    def __init__(self, folder, replicates):
        self.folder = folder
        self.result = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
        self.sheets, self.people, self.items, self.letters, self.outcomes = scores_read(folder / "answers.csv")
        self.rng, self.replicates, self.check = random.Random(7), replicates, Check()
        self.metrics = METRICS[self.result["benchmark"]]
        self.clusters = {item: known["cluster"] for item, known in self.items.items()}
        asked = {item for sheet in self.sheets.values() for item in sheet}
        self.alike = len({self.clusters[item] for item in asked}) < len(asked)

    def members(self, name):
        """The persons behind a row of people together."""
        persons = [one for one, known in self.people.items() if known["kind"] == "person" and not known["key"]]
        return [one for one in persons if self.people[one]["expert"]] if name.startswith("experts") else persons

    def row(self, name, metric, category=None):
        """(value, n, lo, hi, closed) of one row on one metric."""
        how = PEOPLE.get(name)
        sheets = [self.sheets[one] for one in (self.members(name) if how else [name])]
        kept = [
            {item: runs for item, runs in sheet.items() if category in (None, self.items[item]["category"])}
            for sheet in sheets
        ]
        if how == "majority":
            return self.one(self.majority(kept, metric), metric)
        figures = [figures_of(sheet, self.metrics[metric]) for sheet in kept]
        if how is None:
            return self.one(figures[0], metric)
        figures = [one for one in figures if one]
        if not figures:
            return (None, 0, None, None, True)
        means = [statistics.fmean(one.values()) for one in figures]
        if how == "best":
            least = statistics.median(len(one) for one in figures) / 2
            enough = [one for one in figures if len(one) >= least]
            near = metric in (
                "mae",
                "bias",
                "wer",
            )  # to 0, from either side; others may be below 0 and are the worse for it
            means = {place: statistics.fmean(one.values()) for place, one in enumerate(enough)}
            return self.one(enough[max(means, key=lambda at: -abs(means[at]) if near else means[at])], metric)
        middle = statistics.median if how == "median" else statistics.fmean
        answered = {item for one in figures for item in one}
        value = middle(means)
        if len(answered) == 1 or (how == "median" and len(figures) == 1):
            return (value, len(answered), None, None, True)
        if how == "mean" and value in (0.0, 1.0):
            return (value, len(answered), *wilson(value * len(answered), len(answered)), True)
        clusters = {item: self.clusters[item] for item in answered}
        lo, hi = crossed(figures, clusters, self.rng, self.replicates, middle)
        return (value, len(answered), lo, hi, False)

    def majority(self, sheets, metric):
        found = {}
        for item in {item for sheet in sheets for item in sheet}:
            answers = [sheet[item][min(sheet[item])] for sheet in sheets if item in sheet]
            if len(answers) >= VOTERS:
                value = self.metrics[metric](voted(answers))
                if value is not None:
                    found[item] = value
        return found

    def one(self, figures, metric):
        if not figures:
            return (None, 0, None, None, True)
        values = list(figures.values())
        names = [self.clusters[item] if self.alike else item for item in figures]
        bounded = metric not in ("mae", "bias", "wer") and all(0 <= value <= 1 for value in values)
        lo, hi, is_closed = mean_interval(values, names, self.rng, self.replicates, bounded=bounded)
        return (statistics.fmean(values), len(values), lo, hi, is_closed)

    def run(self):
        for entry in self.result["respondents"]:
            if entry["kind"] != "chance":
                self.entry(entry)
        for group in self.result["groups"]:
            for entry in group["respondents"]:
                for metric in self.metrics:
                    value = self.row(entry["name"], metric, group["by"]["category"])[0]
                    self.check.number(
                        f"{group['by']} {entry['name']} {metric}", value, entry["estimates"][metric]["value"]
                    )
        self.pairs()
        self.weighted()
        self.seq()
        if self.result.get("replies"):
            Judged(self.folder, self.result["replies"], self.check, self.rng, self.replicates).run()
        return self.check

    def entry(self, entry):
        name = entry["name"]
        for metric in self.metrics:
            value, n, lo, hi, is_closed = self.row(name, metric)
            theirs = entry["estimates"][metric]
            self.check.number(f"{name} {metric}", value, theirs["value"])
            self.check.number(f"{name} {metric} n", n, theirs["n"])
            width = (theirs["hi"] - theirs["lo"]) if theirs["lo"] is not None else 0.0
            room = EXACT * 1e3 if is_closed else 0.02 + 0.25 * width + 1 / max(1, n)
            self.check.number(f"{name} {metric} lo", lo, theirs["lo"], room)
            self.check.number(f"{name} {metric} hi", hi, theirs["hi"], room)
        members = self.members(name) if name in PEOPLE else [name]
        outcomes = [outcome for one in members for outcome in self.outcomes[one]]
        unread = sum(outcome != "answered" for outcome in outcomes)
        self.check.number(f"{name} unparsed", unread / len(outcomes), entry["unparsed"]["value"])
        if "first_slot" in entry["estimates"]:
            self.slots(entry, [pick for one in members for pick in self.letters.get(one, [])])
        if "qwk" in entry["estimates"]:
            self.grades(entry, members)

    def slots(self, entry, picks):
        firsts = [first for _item, _trial, first, _correct in picks]
        theirs = {name: figure["value"] for name, figure in entry["estimates"].items()}
        self.check.number(f"{entry['name']} first slot", sum(firsts) / len(firsts), theirs["first_slot"])
        when = {True: [], False: []}
        for _item, _trial, first, correct in picks:
            when[first == correct].append(first)
        if when[True] and when[False]:
            hit = NORMAL.inv_cdf((sum(when[True]) + 0.5) / (len(when[True]) + 1))
            alarm = NORMAL.inv_cdf((sum(when[False]) + 0.5) / (len(when[False]) + 1))
            self.check.number(f"{entry['name']} d'", (hit - alarm) / math.sqrt(2), theirs["dprime"])
            self.check.number(f"{entry['name']} c", -(hit + alarm) / 2, theirs["criterion"])

    def grades(self, entry, members):
        pairs = [
            (score[1], score[2])
            for one in members
            for runs in self.sheets[one].values()
            for scores in runs.values()
            for score in graded(scores)
            if score[1] is not None
        ]
        given, meant = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        observed = sum((a - b) ** 2 for a, b in pairs)
        expected = sum((a - b) ** 2 for a in given for b in meant) / len(pairs) if pairs else 0
        kappa = 1 - observed / expected if expected else None
        self.check.number(f"{entry['name']} quadratic kappa", kappa, entry["estimates"]["qwk"]["value"])

    def weighted(self):
        """The headline figure with every item counting for as many as it stands for."""
        found = self.result.get("weighted") or {"respondents": []}
        for entry in found["respondents"]:
            name = entry["name"]
            figures = [
                figures_of(self.sheets[one], self.metrics[found["metric"]])
                for one in (self.members(name) if name in PEOPLE else [name])
            ]
            means = [
                sum(value * self.items[item]["weight"] for item, value in one.items())
                / sum(self.items[item]["weight"] for item in one)
                for one in figures
                if one
            ]
            value = statistics.fmean(means) if means else None
            self.check.number(f"{name} weighted", value, entry["estimate"]["value"])

    def pairs(self):
        families = {}
        for pair in self.result["pairs"]:
            a, b, metric = pair["a"], pair["b"], pair["metric"]
            theirs = figures_of(self.sheets[b], self.metrics[metric])
            ours = [
                figures_of(self.sheets[one], self.metrics[metric]) for one in (self.members(a) if a in PEOPLE else [a])
            ]
            gaps = [{item: one[item] - theirs[item] for item in one if item in theirs} for one in ours]
            means = [statistics.fmean(gap.values()) for gap in gaps if gap]
            value = statistics.fmean(means) if means else None
            self.check.number(f"{a} - {b} {metric}", value, pair["difference"]["value"])
            if pair["test"] in ("exact McNemar", "exact sign test"):
                ahead, behind = sum(gap > 0 for gap in gaps[0].values()), sum(gap < 0 for gap in gaps[0].values())
                self.check.number(f"{a} - {b} {metric} p", mcnemar(ahead, behind), pair["p"])
            if pair["test"] == "sign flips of clusters":
                p = flips_of(gaps, self.clusters)
                if p is not None:
                    self.check.number(f"{a} - {b} {metric} p", p, pair["p"])
            if pair["p"] is not None:
                families.setdefault((metric, pair["family"]), []).append(pair)
        for family in families.values():
            for pair, p in zip(family, holm([pair["p"] for pair in family]), strict=True):
                self.check.number(f"{pair['a']} - {pair['b']} Holm", p, pair["p_holm"])
        explored = [pair for pair in self.result["explored"] if pair["p"] is not None]
        for pair, p in zip(explored, benjamini_hochberg([pair["p"] for pair in explored]), strict=True):
            self.check.number(f"{pair['group']} {pair['a']} - {pair['b']} BH", p, pair["p_bh"])

    def cohort(self, metric):
        """Guessing, and the systems that sat the plain exam, answered every item and can be read."""
        found = []
        for name, known in self.people.items():
            outcomes = self.outcomes[name]
            unread = sum(outcome != "answered" for outcome in outcomes) / len(outcomes)
            whole = self.row(name, metric)[1] == self.result["items"]
            if known["kind"] in ("model", "imported") and whole and not known["control"] and unread <= UNFIT:
                found.append(name)
        return sorted(["chance", *found])

    def seq(self):
        norm = self.result["norm"]
        if not norm or norm.get("reason"):
            return
        if self.result["norm_asked"] == "cohort":
            ours, theirs = self.cohort(norm["metric"]), norm["population"]
            self.check.number(f"systems of the norm {theirs}, here {ours}", float(ours == theirs), 1.0)
            values = [0.25 if name == "chance" else self.row(name, norm["metric"])[0] for name in norm["population"]]
            centre = statistics.median(values)
            spread = 1.4826 * statistics.median(abs(value - centre) for value in values)
            if spread <= 1e-12:
                spread = 1.2533 * statistics.fmean(abs(value - centre) for value in values)
            self.check.number("centre of the norm", centre, norm["centre"])
            self.check.number("spread of the norm", spread, norm["spread"])
        for entry in self.result["respondents"]:
            figure, seq = entry["estimates"][norm["metric"]]["value"], entry["estimates"]["seq"]["value"]
            if figure is not None:
                away = max(-4, min(4, (figure - norm["centre"]) / norm["spread"]))
                self.check.number(f"SEQ of {entry['name']}", 100 + 15 * away, seq)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=Path(__file__).resolve().parent, type=Path)
    parser.add_argument("--replicates", type=int, default=400)
    given = parser.parse_args()
    check = Recomputed(given.folder, given.replicates).run()
    print(f"{check.agree} figures agree, {check.differ} differ.")
    return 1 if check.differ else 0


if __name__ == "__main__":
    sys.exit(main())
