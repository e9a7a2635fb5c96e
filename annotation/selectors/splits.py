"""What could go into a split, as content that is the same on every machine, and what is in one."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from sys import intern
from typing import Any

from django.utils.translation import gettext as _

from annotation.domain.consensus import majority
from annotation.domain.curation import Offered, Recipe
from annotation.models import Kind, Round, RoundItem, Split, SplitAudit, Withdrawal
from annotation.selectors.named import corpus_named, round_named
from annotation.selectors.split_content import Content, contents
from annotation.selectors.split_judgements import Said, person_totals, said_of
from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.errors import InvalidInput
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue

FROM_CORPUS = (DialogueState.READY.value, DialogueState.KEPT.value, DialogueState.FROZEN.value)
_CHUNK = 200
_OUTCOMES = {"keep": "kept", "reject": "rejected"}


@dataclass(frozen=True)
class Sources:
    """Where items come from: rounds, or a corpus."""

    rounds: tuple[Round, ...] = ()
    corpus: Corpus | None = None

    @property
    def is_demo(self) -> bool:
        return any(one.is_demo for one in self.rounds) or bool(self.corpus and self.corpus.is_demo)


def sources_of(recipe: Recipe) -> Sources:
    """The rounds or the corpus that a recipe names. NotFound for a name that there is not."""
    if recipe.rounds:
        return Sources(rounds=tuple(round_named(name) for name in recipe.rounds))
    return Sources(corpus=corpus_named(recipe.corpus) if recipe.corpus else None)


def recipe_names_check(recipe: Recipe) -> None:
    """InvalidInput for a benchmark or category of a recipe that there is neither in a taxonomy nor at any dialogue."""
    if recipe.benchmark and recipe.benchmark not in benchmarks:
        told = {"name": recipe.benchmark, "known": ", ".join(benchmarks)}
        raise InvalidInput(_("benchmark: there is no %(name)s; known: %(known)s.") % told, field="benchmark")
    if not recipe.categories:
        return
    aliases = [recipe.benchmark] if recipe.benchmark else list(benchmarks)
    known = {category.key for alias in aliases for category in benchmark_get(alias).categories}
    strange = [name for name in recipe.categories if name not in known]
    held = Dialogue.objects.filter(benchmark__in=aliases, category__in=strange)
    found = set(held.values_list("category", flat=True).distinct())
    missing = [name for name in strange if name not in found]
    if missing:
        raise InvalidInput(
            _("categories: there is no %(names)s in %(benchmarks)s.")
            % {"names": ", ".join(missing), "benchmarks": ", ".join(aliases)},
            field="categories",
        )


def all_keys(sources: Sources) -> list[int]:
    """Everything in the rounds, or in the corpus what is ready, kept or frozen, by primary key."""
    if sources.corpus is not None:
        found = Dialogue.objects.filter(corpus=sources.corpus, state__in=FROM_CORPUS)
        return list(found.order_by("pk").values_list("pk", flat=True))
    items = RoundItem.objects.filter(round__in=sources.rounds, kind=Kind.WORK).order_by("dialogue_id")
    return list(items.values_list("dialogue_id", flat=True).distinct())


def fitting_keys(keys: Sequence[int], recipe: Recipe, *, name: str = "") -> list[int]:
    """Those of the benchmark, language, source, valence and categories of a recipe that were not withdrawn."""
    wanted: dict[str, Any] = {
        field: getattr(recipe, field)
        for field in ("benchmark", "language", "source", "valence")
        if getattr(recipe, field)
    }
    if recipe.categories:
        wanted["category__in"] = recipe.categories
    gone = set(Withdrawal.objects.filter(name=name).values_list("dialogue_id", flat=True)) if name else set()
    if not wanted:
        return [key for key in keys if key not in gone]
    fits = set(Dialogue.objects.filter(**wanted).values_list("pk", flat=True)) - gone
    return [key for key in keys if key in fits]


def outcomes_of(sources: Sources) -> dict[int, str]:
    """By dialogue, what its rounds decided; empty while one has not, and when two say different things."""
    found: dict[int, str] = {}
    rows = RoundItem.objects.filter(round__in=sources.rounds, kind=Kind.WORK).values_list("dialogue_id", "outcome")
    for dialogue, outcome in rows.iterator():
        if found.setdefault(dialogue, intern(outcome)) != outcome:
            found[dialogue] = ""
    return found


def outcome_by(recipe: Recipe, said: Said, decided: str) -> str:
    """What became of an item under the consensus that the recipe asks for."""
    if recipe.consensus == "round":
        return decided
    votes = said.verdicts
    if not votes:
        return ""
    top = majority(votes)
    share = max(votes.count(vote) for vote in set(votes)) / len(votes)
    needed = {"majority": 0.0, "unanimous": 1.0, "share": recipe.consensus_share}[recipe.consensus]
    return "disputed" if top is None or share < needed - 1e-9 else _OUTCOMES[top]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item on offer, what became of it in its rounds, and what was said of it. ``entry`` is what the manifest says of it
    but for the side; it is made only when asked for.
    """

    item: Offered
    outcome: str
    said: Said
    entry: Callable[[], dict[str, Any]]


def candidates(*, sources: Sources, recipe: Recipe, keys: Sequence[int]) -> Iterator[Candidate]:
    """The dialogues with these keys as items on offer, in that order; four queries per chunk of 500."""
    decided = outcomes_of(sources)
    totals = person_totals(rounds=sources.rounds, keys=keys) if recipe.minimum_item_rest > -1 else {}
    for content, (key, said) in zip(contents(keys), said_of(rounds=sources.rounds, keys=keys), strict=True):
        outcome = outcome_by(recipe, said, decided.get(key, "")) if sources.rounds else ""
        identity = content.identity
        item = _offered(content, identity, said, recipe, said.item_rest(totals) if totals else None)
        summary = partial(said.summary, outcome) if sources.rounds else dict
        yield Candidate(item, outcome, said, partial(_entry, content, identity, summary))


def _entry(content: Content, identity: str, summary: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    row = content.row
    return {
        "uid": row["uid"],
        "external_id": row["external_id"],
        "content": identity,
        "clips": content.clips,
        "category": row["category"],
        "language": row["language"],
        "valence": row["valence"],
        "source": row["source"],
        "judgements": summary(),
    }


def _offered(content: Content, identity: str, said: Said, recipe: Recipe, item_rest: float | None) -> Offered:
    """Words that come again and again are held once, and of the groups those that the recipe asks for."""
    row = content.row
    return Offered(
        key=row["pk"],
        identity=identity + row["external_id"],
        category=intern(row["category"]),
        people=said.people,
        uid=row["uid"],
        language=intern(row["language"]),
        valence=intern(row["valence"]),
        source=intern(row["source"]),
        benchmark=intern(row["benchmark"]),
        voice=intern(" + ".join(content.group("voice"))),
        grade=said.grade,
        topic=intern(row["topic_key"]),
        agreement=_held(said.agreement),
        spread=_held(said.spread),
        item_rest=item_rest,
        difficulty=_held(said.difficulty),
        groups=_groups(tuple((kind, content.group(kind)) for kind in recipe.indivisible)),
    )


@lru_cache(maxsize=4_096)
def _held(figure: float | None) -> float | None:
    """The same object for the same figure: a few people give few different ones."""
    return figure


@lru_cache(maxsize=4_096)
def _groups(found: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, tuple[str, ...]]:
    """The same table for all items of the same groups: there are many items and often few groups."""
    return dict(found)


# What is in a frozen split


def manifest_entries(*, split: Split) -> Iterator[dict[str, Any]]:
    """What the manifest says of each item, in order. One query."""
    return split.items.order_by("position").values_list("entry", flat=True).iterator(chunk_size=_CHUNK)


def manifest_head(*, split: Split) -> dict[str, Any]:
    """The manifest without its items, with its hash, and summaries of the latest audits, which the hash leaves out."""
    alone, others = latest_audits(split=split)
    return {
        **split.manifest,
        "manifest_hash": split.manifest_hash,
        "canary": split.canary,
        "audit": None if alone is None else _audit_summary(alone),
        "audits_against": [{"against": str(audit.against), **_audit_summary(audit)} for audit in others if audit],
    }


def _audit_summary(audit: SplitAudit) -> dict[str, Any]:
    return {"at": audit.created.isoformat(), **audit.report.get("summary", {})}


def latest_audits(*, split: Split) -> tuple[SplitAudit | None, list[SplitAudit]]:
    """The latest finished audit of the split alone, or None, and the latest against each other split, by their names.

    Versions of one name share items on purpose, so an audit against another version says nothing here.
    """
    done = split.audits.filter(state=SplitAudit.State.DONE)
    latest: dict[int | None, int] = {}
    for key, against in done.exclude(against__name=split.name).values_list("pk", "against_id"):
        latest.setdefault(against, key)
    audits = done.filter(pk__in=latest.values()).select_related("against")
    found = {audit.against_id: audit for audit in audits}
    alone = found.pop(None, None)
    return alone, sorted(found.values(), key=lambda audit: str(audit.against))


def split_rounds(*, split: Split) -> list[Round]:
    """The rounds whose judgements count for a split: those its recipe names, in its order, or the one it was frozen from.

    None for one from a corpus, even where an older version of the studio kept the rounds of a recipe that it did not go by.
    """
    if split.round is not None:
        return [split.round]
    if split.corpus_id is not None:
        return []
    names = split.recipe.get("rounds", [])
    found = {round_.name: round_ for round_ in Round.objects.filter(name__in=names)} if names else {}
    return [found[name] for name in names if name in found]


def pseudonym(*, split: Split, person: int | str) -> str:
    """A name for a judge that is the same all over one split and tells nothing without the split's salt."""
    digest = hmac.new(bytes.fromhex(split.salt), str(person).encode(), hashlib.sha256).hexdigest()
    return f"judge-{digest[:12]}"
