"""The contract between a benchmark and the studio.

A benchmark is told by pure data and pure functions: taxonomy, rubric, script schema and prompt, review form, trials,
parser, scorer and metrics. Randomness is a parameter. The key (which variant is right, the intended grade, the MCQ
answer) is read in ``Benchmark.score`` and nowhere else; a Trial names variants only by their random public ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.benchmarks.parsing import answer_parse
from eqstudio.benchmarks.trials import Design, Option, Outcome, Parsed, Segment, Trial, TrialKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from pydantic import BaseModel

    from eqstudio.benchmarks.stages import Stage, Written

Text = dict[str, str]
"""The same text per language: ``{"en": ..., "zh": ...}``."""
DESIGN = Design()


@dataclass(frozen=True)
class Category:
    """A leaf of a taxonomy. ``group`` is its parent (composite, branch, dimension), ``level`` a grandparent if any."""

    key: str
    label: Text
    group: str
    group_label: Text
    description: Text
    level: str = ""
    level_label: Text = field(default_factory=dict)


@dataclass(frozen=True)
class RubricLevel:
    """One anchored grade of a rubric; ``grade`` is 1-4."""

    grade: int
    name: Text
    anchor: Text


@dataclass(frozen=True)
class Reason:
    """Why an item is rejected."""

    code: str
    label: Text


@dataclass(frozen=True)
class ReviewForm:
    """What a reviewer is asked. Every variant of a turn with ``graded_roles`` gets a grade; then keep or reject."""

    graded_roles: tuple[str, ...]
    question: Text
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class VariantView:
    """One rendition of a line. ``label`` and ``grade`` are key material: only ``score`` may read them."""

    uid: str
    label: str
    text: str
    grade: int | None = None
    tone: str = ""
    has_audio: bool = True


@dataclass(frozen=True)
class TurnView:
    position: int
    role: str
    speaker: str
    variants: tuple[VariantView, ...]


@dataclass(frozen=True)
class ItemView:
    """One dialogue as a benchmark sees it. ``extras`` holds what a benchmark adds (MCQ items with their answers)."""

    uid: str
    category: str
    language: str
    scenario: Mapping[str, Any]
    turns: tuple[TurnView, ...]
    extras: Mapping[str, Any] = field(default_factory=dict)

    def turn(self, position: int) -> TurnView:
        return next(turn for turn in self.turns if turn.position == position)


@dataclass(frozen=True)
class Answered:
    """A trial with what was read from its answer; what ``next_trial`` and ``metrics`` look at."""

    trial: Trial
    parsed: Parsed

    @property
    def chosen(self) -> Option | None:
        """The option behind the letter that was answered."""
        return next((option for option in self.trial.options if option.letter == self.parsed.value), None)


@dataclass(frozen=True)
class Score:
    """``correct`` where there is a right answer; ``value`` for a graded or free answer (grade given, WER); ``gold``
    is what the value is held against. All None when the outcome is not ANSWERED, except ``gold``.
    """

    correct: bool | None = None
    value: float | None = None
    gold: float | None = None


@dataclass(frozen=True)
class Metric:
    """An item-level figure: from the scores of one item in one sitting, by trial key, to a number or None (not asked).

    Averaged over items. An outcome other than ANSWERED counts as wrong in an accuracy and is reported beside it.
    ``chance`` is what guessing gives; None where it is not defined.
    """

    name: str
    label: Text
    item: Callable[[Mapping[str, Score]], float | None]
    chance: float | None = None
    higher_is_better: bool = True
    binary: bool = True


@dataclass(frozen=True)
class CastMember:
    name: str
    gender: str
    role: str


@dataclass(frozen=True)
class Cast:
    """Everything that was drawn for a dialogue, so that a corpus does not clump. ``plan`` is one of ``Benchmark.plans``."""

    valence: str
    setting: str
    topic: str
    people: tuple[CastMember, ...]
    archetypes: tuple[str, ...] = ()
    plan: str = ""


@dataclass(frozen=True)
class BriefSpec:
    """What to write, as a benchmark needs it. ``cast`` is there when it is written in stages."""

    category: Category
    language: str
    valence: str
    setting: str
    avoid: tuple[str, ...] = ()
    cast: Cast | None = None

    @property
    def drawn(self) -> Cast:
        """The cast of a dialogue that is written in stages; LookupError for another."""
        if self.cast is None:
            raise LookupError("Nothing was drawn for this brief.")
        return self.cast


@dataclass(frozen=True)
class Prompt:
    """Messages for a text model. ``version`` is hashed with the text into provenance. ``sample`` makes a valid answer
    without a model; only a fake asks for it.
    """

    system: str
    user: str
    version: str
    sample: Callable[[], dict[str, Any]] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Delivery:
    """How a line is to be spoken, for any voice: words for a model that takes instructions, numbers for one that does not.

    ``pitch`` semitones, ``pitch_range`` and ``rate`` factors (1 = unchanged), ``volume`` dB, all relative to neutral.
    ``gender`` is set where the speaker's voice itself is what differs; it then goes before the gender of the turn.
    """

    instruction: str
    pitch: float = 0.0
    pitch_range: float = 1.0
    rate: float = 1.0
    volume: float = 0.0
    gender: str = ""


@dataclass(frozen=True)
class VariantSpec:
    label: str
    text: str
    delivery: Delivery
    grade: int | None = None
    rationale: str = ""


@dataclass(frozen=True)
class TurnSpec:
    position: int
    role: str
    speaker: str
    speaker_name: str
    gender: str
    variants: tuple[VariantSpec, ...]


@dataclass(frozen=True)
class DialogueSpec:
    """A written dialogue, ready to be voiced. Roles are ``context``, ``critical`` (same words, two or more deliveries) and
    ``response`` (different words and deliveries per grade).
    """

    title: str
    scenario: dict[str, Any]
    valence: str
    template_key: str
    topic_key: str
    turns: tuple[TurnSpec, ...]
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Assembled:
    """A script that fits ``script_schema``, and what the stages know of its scenario beyond that."""

    script: dict[str, Any]
    scenario: dict[str, Any] = field(default_factory=dict)


class Benchmark(ABC):
    """One benchmark, whole. Instances hold no state."""

    alias: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str]
    languages: ClassVar[tuple[str, ...]] = ("en", "zh")
    categories: ClassVar[tuple[Category, ...]]
    valences: ClassVar[tuple[str, ...]] = ("positive", "negative", "conflict")
    settings: ClassVar[tuple[str, ...]] = ("work", "family", "school", "health", "friends", "service")
    script_schema: ClassVar[type[BaseModel]]
    review_form: ClassVar[ReviewForm]
    metrics: ClassVar[tuple[Metric, ...]]
    headline: ClassVar[str]
    """Name of the metric that ranks respondents."""
    scale: ClassVar[tuple[int, int] | None] = None
    """The scale of the grades it asks for in the exam; None where it asks for none."""
    parts: ClassVar[Mapping[str, Text]] = {}
    """Sorts of question whose figures are told apart (a turn, a type), with their names."""
    tasks: ClassVar[Mapping[str, Text]] = {}
    """Kinds of question that a study may ask for, with their names."""
    asks: ClassVar[tuple[str, ...]] = ()
    """Those of ``tasks`` that are asked where a study names none."""
    parts_by_extras: ClassVar[bool] = False
    """Whether ``part`` looks at the extras of an item."""
    open_replies: ClassVar[bool] = False
    """Whether it asks for replies in one's own words that are judged."""
    shortcut_pairs: ClassVar[tuple[str, str] | None] = None
    """The variant labels (right, wrong) of a pair whose key an acoustic rule could guess; None if there are no pairs."""
    stages: ClassVar[tuple[Stage, ...]] = ()
    """How a capable text model writes a script part by part; what fits ``script_schema`` comes out of ``assemble``."""
    speakers: ClassVar[int] = 2

    def category(self, key: str) -> Category:
        """Return the category with ``key``; KeyError if the taxonomy has none."""
        for category in self.categories:
            if category.key == key:
                return category
        raise KeyError(key)

    @abstractmethod
    def rubric(self, category: str) -> tuple[RubricLevel, ...]:
        """The four anchored grades for a category, 1 to 4, in English and Chinese."""

    @abstractmethod
    def script_prompt(self, brief: BriefSpec, rng: Random) -> Prompt:
        """The prompt that asks a text model for one script that fits ``script_schema``."""

    @abstractmethod
    def script_example(self, brief: BriefSpec, rng: Random) -> dict[str, Any]:
        """A valid script without a model, for the fake text provider and for tests."""

    def archetypes(self, _language: str) -> tuple[str, ...]:
        """Kinds of people who lack the skill that is tested; two of them are drawn for a dialogue."""
        return ()

    def plans(self, _category: str) -> tuple[str, ...]:
        """Ways in which a dialogue of this category may be built; one is drawn."""
        return ()

    def assemble(self, brief: BriefSpec, results: Mapping[str, Written]) -> Assembled:
        """Put what the stages wrote together into one script; only for a benchmark with ``stages``."""
        raise NotImplementedError

    @abstractmethod
    def script_read(self, script: BaseModel, brief: BriefSpec) -> DialogueSpec:
        """Turn a valid script into a dialogue to be voiced."""

    @abstractmethod
    def instructions(self, language: str, design: Design = DESIGN) -> str:
        """The instructions of the exam in the variant ``design``: one text for the page and for the prompt."""

    def tasks_of(self, design: Design) -> tuple[str, ...]:
        """The kinds of question that ``design`` asks, in the order of ``tasks``; ValueError for one that there is not."""
        unknown = sorted(set(design.tasks) - set(self.tasks))
        if unknown:
            raise ValueError(f"{self.title} has no task {unknown[0]!r}; known: {', '.join(self.tasks)}.")
        return tuple(task for task in self.tasks if task in (design.tasks or self.asks))

    @abstractmethod
    def next_trial(
        self, item: ItemView, answers: Sequence[Answered], rng: Random, design: Design = DESIGN
    ) -> Trial | None:
        """What is asked next about ``item`` after ``answers`` in the variant ``design``, or None at the end.

        ``rng`` is seeded the same way on every call for the same sitting and item, so the order of options is stable.
        """

    def part(self, key: str, _extras: Mapping[str, Any]) -> str:
        """Which of ``parts`` the question ``key`` of an item with these extras belongs to; empty for none."""
        return key if key in self.parts else ""

    def parse(self, trial: Trial, raw: str) -> Parsed:
        """Read an answer. Never guesses: what cannot be read is UNPARSED, what declines is REFUSED."""
        return answer_parse(trial, raw)

    def cue(self, _item: ItemView, _trial: Trial) -> str:
        """What an open reply should have taken up besides the words; empty where the benchmark asks for no replies."""
        return ""

    def reference(self, _item: ItemView, _trial: Trial) -> str:
        """A good reply to the question, as it was written; empty where there is none."""
        return ""

    @abstractmethod
    def score(self, item: ItemView, trial: Trial, parsed: Parsed) -> Score:
        """Hold an answer against the key. The only reader of labels, intended grades and MCQ answers."""


__all__ = [
    "Answered",
    "Assembled",
    "Benchmark",
    "BriefSpec",
    "Cast",
    "CastMember",
    "Category",
    "Delivery",
    "Design",
    "DialogueSpec",
    "ItemView",
    "Metric",
    "Option",
    "Outcome",
    "Parsed",
    "Prompt",
    "Reason",
    "ReviewForm",
    "RubricLevel",
    "Score",
    "Segment",
    "Text",
    "Trial",
    "TrialKind",
    "TurnSpec",
    "TurnView",
    "VariantSpec",
    "VariantView",
]
