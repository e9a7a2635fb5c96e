"""The API of annotation, version 1: the same services as the pages, for scripts with a token."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.models import Assignment, Judgement, Round
from annotation.selectors import assignment_for, queue_state, round_agreement, round_for, rounds_open_for
from annotation.selectors.agreement import BY
from annotation.selectors.quality import headphones_require
from annotation.services import assignment_next, grade_submit
from annotation.views.judging import Line, lines_of, scenario_lines
from eqstudio.access import can_annotate, can_curate
from eqstudio.models import User


def _person(request: Request) -> User:
    return cast("User", request.user)


class RoundSerializer(serializers.ModelSerializer[Round]):
    corpus = serializers.CharField(source="corpus.name", default=None, read_only=True)

    class Meta:
        model = Round
        fields = (
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


class QueueSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=["work", "reserved", "done", "paused", "closed"])
    until = serializers.DateTimeField(allow_null=True)
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

    client_key = serializers.CharField(max_length=64)
    verdict = serializers.ChoiceField(choices=Judgement.Verdict.choices)
    grades = serializers.DictField(child=serializers.IntegerField(min_value=1, max_value=4), required=False)
    reasons = serializers.ListField(child=serializers.CharField(max_length=40), required=False)
    comment = serializers.CharField(max_length=5_000, allow_blank=True, required=False)
    heard = serializers.DictField(
        child=serializers.ListField(
            child=serializers.ListField(child=serializers.FloatField(), min_length=2, max_length=2)
        )
    )
    active_ms = serializers.IntegerField(min_value=0, required=False)


class JudgementSerializer(serializers.ModelSerializer[Judgement]):
    counted = serializers.SerializerMethodField()

    class Meta:
        model = Judgement
        fields = ("uid", "verdict", "late", "counted", "created")

    def get_counted(self, judgement: Judgement) -> bool:
        return judgement.assignment.state == Assignment.State.SUBMITTED


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


class _NewestFirst(CursorPagination):
    ordering = ("-created", "-pk")


class RoundList(ListAPIView[Round]):
    """Rounds: for researchers all of them, for annotators those in which they may judge now."""

    serializer_class = RoundSerializer
    pagination_class = _NewestFirst
    queryset = Round.objects.none()

    def get_queryset(self) -> Any:
        person = _person(self.request)
        return Round.objects.select_related("corpus") if can_curate(person) else rounds_open_for(person)


class RoundNext(APIView):
    """The person's next item in a round: the one they hold, or a new lease."""

    @extend_schema(request=None, responses=NextSerializer, operation_id="rounds_next")
    def post(self, request: Request, uid: str) -> Response:
        person, now = _person(request), timezone.now()
        round_ = round_for(person, uid, may_do=can_annotate)
        headphones_require(round=round_, annotator=person, now=now)
        lease = assignment_next(round=round_, annotator=person, now=now)
        queue = queue_state(round=round_, annotator=person, now=now)
        return Response(NextSerializer({"queue": queue, "item": _work(lease) if lease else None}).data)


def _work(lease: Assignment) -> dict[str, Any]:
    dialogue = lease.item.dialogue
    return {
        "assignment": lease.uid,
        "lease_until": lease.lease_until,
        "benchmark": dialogue.benchmark,
        "category": dialogue.category,
        "language": dialogue.language,
        "scenario": scenario_lines(dialogue.scenario),
        "lines": [_line(line) for line in lines_of(lease, dialogue)],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "position": line.position,
        "speaker": line.speaker,
        "graded": line.graded,
        "clips": [
            {
                "variant": slot.uid,
                "letter": slot.letter,
                "text": slot.text,
                "url": slot.card["url"] if slot.card else None,
                "duration": slot.card["duration"] if slot.card else None,
            }
            for slot in line.slots
        ],
    }


class AssignmentSubmit(APIView):
    """Judge the item of a lease. Sent again with the same ``client_key``, it answers with what is stored."""

    @extend_schema(request=SubmissionSerializer, responses=JudgementSerializer, operation_id="assignments_submit")
    def post(self, request: Request, uid: str) -> Response:
        lease = assignment_for(_person(request), uid)
        sent = SubmissionSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        judgement = grade_submit(assignment=lease, now=timezone.now(), **{"grades": {}, **sent.validated_data})
        return Response(JudgementSerializer(judgement).data)


class RoundAgreement(APIView):
    """How far the people of a round agree, as the command ``agreement --json`` tells it."""

    @extend_schema(
        parameters=[OpenApiParameter("by", OpenApiTypes.STR, enum=sorted(BY), description="Split further.")],
        responses=AgreementSerializer,
        operation_id="rounds_agreement",
    )
    def get(self, request: Request, uid: str) -> Response:
        round_ = round_for(_person(request), uid, may_do=can_curate)
        return Response({"groups": round_agreement(round=round_, by=request.query_params.get("by") or None)})


schema = SpectacularAPIView.as_view(permission_classes=[IsAuthenticated])
docs = login_required(SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="annotation/api_docs.html"))

urlpatterns = [
    path("rounds/", RoundList.as_view(), name="api_rounds"),
    path("rounds/<str:uid>/next/", RoundNext.as_view(), name="api_round_next"),
    path("rounds/<str:uid>/agreement/", RoundAgreement.as_view(), name="api_round_agreement"),
    path("assignments/<str:uid>/submit/", AssignmentSubmit.as_view(), name="api_assignment_submit"),
]
