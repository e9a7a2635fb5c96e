"""What the API takes and gives. Nothing here tells a rendition's name, an intended grade, or the kind of an item."""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import Any, ClassVar

from django.conf import settings
from rest_framework import serializers

from annotation.models import Assignment, Judgement, Participation, Round, RoundItem

LONGEST_MS = 24 * 3600 * 1000
KINDS = [
    "work",
    "reserved",
    "done",
    "paused",
    "closed",
    "not_open",
    "limit_person",
    "limit_day",
    "sitting_break",
    "person_paused",
    "not_qualified",
    "not_eligible",
    "training",
    "qualifying",
]


def pseudonym(*, round_uid: str, person_uid: str) -> str:
    """The name under which a person's judgements of one round leave the studio: the same in it, another in every other."""
    key = hmac.new(settings.SECRET_KEY.encode(), b"pseudonym", hashlib.sha256).digest()
    return "p" + hmac.new(key, f"{round_uid}:{person_uid}".encode(), hashlib.sha256).hexdigest()[:10]


class WordField(serializers.CharField):
    """A short text that any database can store."""

    def to_internal_value(self, data: Any) -> str:
        found: str = super().to_internal_value(data)
        try:
            found.encode()
        except UnicodeEncodeError as error:
            raise serializers.ValidationError("This text holds half a character.") from error
        return found


class SecondsField(serializers.FloatField):
    """Seconds: a finite number."""

    def to_internal_value(self, data: Any) -> float:
        found: float = super().to_internal_value(data)
        if not math.isfinite(found):
            raise serializers.ValidationError("A finite number of seconds.")
        return found


class RoundSerializer(serializers.ModelSerializer[Round]):
    corpus = serializers.CharField(source="corpus.name", default=None, read_only=True)

    class Meta:
        model = Round
        fields: ClassVar[tuple[str, ...]] = (
            "uid",
            "name",
            "corpus",
            "benchmark",
            "language",
            "state",
            "people_per_item",
            "agree_needed",
            "gate_share",
        )


class RoundDetailSerializer(RoundSerializer):
    """A round with what a person needs to know to judge in it."""

    class Meta(RoundSerializer.Meta):
        fields: ClassVar[tuple[str, ...]] = (
            *RoundSerializer.Meta.fields,
            "paused_because",
            "opens_at",
            "closes_at",
            "items_total",
            "lease_minutes",
            "undo_seconds",
            "show_transcript",
            "questions",
            "guidelines",
            "rubric_version",
            "rubric_language",
            "items_per_person",
            "items_per_day",
            "items_per_sitting",
        )


class QueueSerializer(serializers.Serializer[Any]):
    """How a round stands for the person. ``reason`` and ``evidence`` say why there is nothing, where that has a reason."""

    kind = serializers.ChoiceField(choices=KINDS)
    until = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    evidence = serializers.DictField()
    done_by_me = serializers.IntegerField()
    total = serializers.IntegerField()
    today = serializers.IntegerField()


class ClipSerializer(serializers.Serializer[Any]):
    """A rendition to hear. ``letter`` is set when it is graded; nothing tells which rendition it is."""

    variant = serializers.CharField()
    letter = serializers.CharField(allow_blank=True)
    text = serializers.CharField()
    url = serializers.CharField(allow_null=True)
    duration = serializers.FloatField(allow_null=True)


class LineSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    speaker = serializers.CharField()
    graded = serializers.BooleanField()
    clips = ClipSerializer(many=True)


class WorkSerializer(serializers.Serializer[Any]):
    """One lease with its item."""

    assignment = serializers.CharField()
    lease_until = serializers.DateTimeField()
    benchmark = serializers.CharField()
    category = serializers.CharField()
    language = serializers.CharField()
    scenario = serializers.ListField(child=serializers.CharField())
    lines = LineSerializer(many=True)


class NextSerializer(serializers.Serializer[Any]):
    """The person's queue, and their item when there is one."""

    queue = QueueSerializer()
    item = WorkSerializer(allow_null=True)


class SubmissionSerializer(serializers.Serializer[Any]):
    """A judgement. ``client_key`` makes a repeated request harmless; ``heard`` holds played intervals in seconds."""

    client_key = WordField(max_length=64)
    verdict = serializers.ChoiceField(choices=Judgement.Verdict.choices)
    grades = serializers.DictField(child=serializers.IntegerField(min_value=1, max_value=4), required=False)
    reasons = serializers.ListField(child=WordField(max_length=40), max_length=20, required=False)
    comment = WordField(max_length=5_000, allow_blank=True, required=False)
    answers = serializers.DictField(child=serializers.JSONField(), required=False)
    heard = serializers.DictField(
        child=serializers.ListField(child=serializers.ListField(child=SecondsField(), min_length=2, max_length=2))
    )
    active_ms = serializers.IntegerField(min_value=0, max_value=LONGEST_MS, required=False)


class DraftSerializer(serializers.Serializer[Any]):
    """What was filled in so far, as one object of at most 64 KiB."""

    draft = serializers.DictField()


class SkipSerializer(serializers.Serializer[Any]):
    """Where the item goes: back to me later, to others, or to an expert because it cannot be judged (with a reason)."""

    skip = serializers.ChoiceField(choices=Assignment.Skip.choices, default=Assignment.Skip.ME.value)
    reason = WordField(max_length=200, allow_blank=True, required=False, default="")


class LeaseSerializer(serializers.ModelSerializer[Assignment]):
    class Meta:
        model = Assignment
        fields = ("uid", "state", "lease_until")


class JudgementSerializer(serializers.ModelSerializer[Judgement]):
    counted = serializers.SerializerMethodField()

    class Meta:
        model = Judgement
        fields: ClassVar[tuple[str, ...]] = ("uid", "verdict", "late", "counted", "created")

    def get_counted(self, judgement: Judgement) -> bool:
        return judgement.assignment.state == Assignment.State.SUBMITTED


class MyJudgementSerializer(JudgementSerializer):
    """A judgement as its author may read it again: what they said, and nothing of what it was compared with."""

    round = serializers.CharField(source="item.round.uid", read_only=True)
    assignment = serializers.CharField(source="assignment.uid", read_only=True)
    grades = serializers.SerializerMethodField()

    class Meta(JudgementSerializer.Meta):
        fields: ClassVar[tuple[str, ...]] = (
            *JudgementSerializer.Meta.fields,
            "round",
            "assignment",
            "grades",
            "reasons",
            "comment",
            "answers",
            "active_ms",
        )

    def get_grades(self, judgement: Judgement) -> dict[str, int]:
        return {grade.variant.uid: grade.value for grade in judgement.grades.all()}


class RoundJudgementSerializer(MyJudgementSerializer):
    """A judgement that counts, under the pseudonym of its author."""

    item = serializers.CharField(source="item.uid", read_only=True)
    person = serializers.SerializerMethodField()

    class Meta(MyJudgementSerializer.Meta):
        fields: ClassVar[tuple[str, ...]] = ("item", "person", *MyJudgementSerializer.Meta.fields, "heard")

    def get_person(self, judgement: Judgement) -> str:
        return pseudonym(round_uid=judgement.item.round.uid, person_uid=judgement.annotator.uid)


class ItemSerializer(serializers.ModelSerializer[RoundItem]):
    dialogue = serializers.CharField(source="dialogue.uid", read_only=True)

    class Meta:
        model = RoundItem
        fields = (
            "uid",
            "dialogue",
            "kind",
            "category",
            "language",
            "wanted",
            "held",
            "given",
            "disagreement",
            "closed_at",
            "outcome",
        )


class ParticipationSerializer(serializers.ModelSerializer[Participation]):
    person = serializers.SerializerMethodField()

    class Meta:
        model = Participation
        fields = ("uid", "person", "state", "reason", "evidence", "done", "day_done", "last_at")

    def get_person(self, place: Participation) -> str:
        return pseudonym(round_uid=place.round.uid, person_uid=place.annotator.uid)


class EstimateSerializer(serializers.Serializer[Any]):
    """A statistic with its 95 % interval, or the reason why there is none."""

    value = serializers.FloatField(allow_null=True)
    lo = serializers.FloatField(allow_null=True)
    hi = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    reason = serializers.CharField(allow_null=True)


class GroupSerializer(serializers.Serializer[Any]):
    by = serializers.CharField()
    dimension = serializers.CharField()
    items = serializers.IntegerField()
    ratings = serializers.IntegerField()
    raters = serializers.IntegerField()
    estimates = serializers.DictField(child=EstimateSerializer())


class AgreementSerializer(serializers.Serializer[Any]):
    groups = GroupSerializer(many=True)


class ErrorSerializer(serializers.Serializer[Any]):
    """What happened, and the field it is about when it is about one."""

    error = serializers.CharField()
    field = serializers.CharField(allow_null=True)
