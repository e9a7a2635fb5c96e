"""The API of annotation, version 1: the same services as the pages, for scripts with a token."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.urls import path
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from annotation.models import Assignment, Judgement, Participation, Round, RoundItem
from annotation.selectors import (
    judgement_for,
    live_judgements,
    queue_state,
    round_agreement,
    round_for,
    rounds_open_for,
)
from annotation.selectors.access import lease_to_judge, round_to_judge
from annotation.selectors.agreement import BY
from annotation.selectors.quality import headphones_require
from annotation.services import (
    assignment_extend,
    assignment_release,
    draft_save,
    grade_submit,
    judgement_retract,
)
from annotation.services.assignments import assignment_offer
from annotation.views import api_serializers as shapes
from annotation.views.judging import Line, lines_of, scenario_lines
from eqstudio.access import can_annotate, can_curate
from eqstudio.errors import Forbidden, InvalidInput
from eqstudio.models import User

REFUSED = {
    400: OpenApiResponse(OpenApiTypes.OBJECT, "Something sent is wrong; the field is named."),
    403: OpenApiResponse(OpenApiTypes.OBJECT, "Not signed in, or the role does not include this."),
    404: OpenApiResponse(shapes.ErrorSerializer, "There is no such thing for this person."),
    409: OpenApiResponse(shapes.ErrorSerializer, "The state has moved on; what was kept is said."),
    429: OpenApiResponse(OpenApiTypes.OBJECT, "Too many requests; Retry-After says how long to wait."),
}

_SUBMISSION, _DRAFT, _SKIP = shapes.SubmissionSerializer(), shapes.DraftSerializer(), shapes.SkipSerializer()
_NEXT, _JUDGEMENT = shapes.NextSerializer(), shapes.JudgementSerializer()
"""Kept, because the fields of a new one are copies that take longer than the reading and writing."""


def _person(request: Request) -> User:
    return cast("User", request.user)


def _round(request: Request, uid: str, may_do: Any) -> Round:
    return round_for(_person(request), _uid(uid), may_do=may_do)


def _uid(text: str) -> str:
    """An id from an address; what no database could hold is simply nobody's id."""
    return text.replace("\x00", "\ufffd")


def _sent(shape: Serializer[Any], request: Request) -> dict[str, Any]:
    found: dict[str, Any] = shape.run_validation({} if request.data is None else request.data)
    return found


class _NewestFirst(CursorPagination):
    ordering = ("-created", "-pk")

    def decode_cursor(self, request: Any) -> Any:
        """As DRF's, but a cursor whose place is no time is refused like any other that is spoilt."""
        found = super().decode_cursor(request)
        place: Any = None if found is None else found.position
        try:
            known = place is None or parse_datetime(place) is not None
        except ValueError:
            known = False
        if not known:
            raise ValidationError({"cursor": self.invalid_cursor_message})
        return found


class _InOrder(CursorPagination):
    ordering = "pk"

    def decode_cursor(self, request: Any) -> Any:
        """As DRF's, but a cursor whose place is no id of a row is refused like any other that is spoilt."""
        found = super().decode_cursor(request)
        place: Any = None if found is None else found.position
        if place is not None and not (place.isascii() and place.isdigit() and len(place) < 19):  # noqa: PLR2004 -- 64 bits
            raise ValidationError({"cursor": self.invalid_cursor_message})
        return found


class RoundList(ListAPIView[Round]):
    """Rounds: for researchers all of them, for annotators those in which they may judge now."""

    serializer_class = shapes.RoundSerializer
    pagination_class = _NewestFirst
    queryset = Round.objects.none()

    def get_queryset(self) -> Any:
        person = _person(self.request)
        return Round.objects.select_related("corpus") if can_curate(person) else rounds_open_for(person)


class RoundDetail(APIView):
    """One round with its rules."""

    @extend_schema(responses={200: shapes.RoundDetailSerializer, **REFUSED}, operation_id="rounds_detail")
    def get(self, request: Request, uid: str) -> Response:
        return Response(shapes.RoundDetailSerializer(round_for(_person(request), _uid(uid))).data)


class RoundNext(APIView):
    """The person's next item in a round: the one they hold, or a new lease."""

    @extend_schema(request=None, responses={200: shapes.NextSerializer, **REFUSED}, operation_id="rounds_next")
    def post(self, request: Request, uid: str) -> Response:
        person, now = _person(request), timezone.now()
        round_ = round_to_judge(person, _uid(uid))
        headphones_require(round=round_, annotator=person, now=now)
        lease, places = assignment_offer(round=round_, annotator=person, now=now)
        queue = queue_state(round=round_, annotator=person, now=now, lease=lease, places=places)
        return Response(_NEXT.to_representation({"queue": queue, "item": _work(lease) if lease else None}))


def _work(lease: Assignment) -> dict[str, Any]:
    dialogue = lease.item.dialogue
    return {
        "assignment": lease.uid,
        "lease_until": lease.lease_until,
        "benchmark": dialogue.benchmark,
        "category": dialogue.category,
        "language": dialogue.language,
        "scenario": scenario_lines(dialogue.scenario),
        "lines": [_line(line, transcript=lease.item.round.show_transcript) for line in lines_of(lease, dialogue)],
    }


def _line(line: Line, *, transcript: bool) -> dict[str, Any]:
    """One turn; its words only where the round shows them."""
    return {
        "position": line.position,
        "speaker": line.speaker,
        "graded": line.graded,
        "clips": [
            {
                "variant": slot.uid,
                "letter": slot.letter,
                "text": slot.text if transcript else "",
                "url": slot.card["url"] if slot.card else None,
                "duration": slot.card["duration"] if slot.card else None,
            }
            for slot in line.slots
        ],
    }


class _OfLease(APIView):
    """What is done with a lease of one's own."""

    def lease(self, request: Request, uid: str) -> Assignment:
        person = _person(request)
        return lease_to_judge(person, _uid(uid))


class AssignmentSubmit(_OfLease):
    """Judge the item of a lease. Sent again with the same ``client_key``, it answers with what is stored."""

    @extend_schema(
        request=shapes.SubmissionSerializer,
        responses={200: shapes.JudgementSerializer, **REFUSED},
        operation_id="assignments_submit",
    )
    def post(self, request: Request, uid: str) -> Response:
        lease = self.lease(request, uid)
        sent = _sent(_SUBMISSION, request)
        judgement = grade_submit(assignment=lease, now=timezone.now(), **{"grades": {}, **sent})
        return Response(_JUDGEMENT.to_representation(judgement))


class AssignmentDraft(_OfLease):
    """Keep what was filled in so far."""

    @extend_schema(request=shapes.DraftSerializer, responses={204: None, **REFUSED}, operation_id="assignments_draft")
    def post(self, request: Request, uid: str) -> Response:
        lease = self.lease(request, uid)
        draft_save(assignment=lease, draft=_sent(_DRAFT, request)["draft"])
        return Response(status=204)


class AssignmentHeartbeat(_OfLease):
    """Still at work: prolong the reservation by the round's minutes."""

    @extend_schema(
        request=None, responses={200: shapes.LeaseSerializer, **REFUSED}, operation_id="assignments_heartbeat"
    )
    def post(self, request: Request, uid: str) -> Response:
        lease = assignment_extend(assignment=self.lease(request, uid), now=timezone.now())
        return Response(shapes.LeaseSerializer(lease).data)


class AssignmentSkip(_OfLease):
    """Give the item back; its place is free at once and the draft stays."""

    @extend_schema(
        request=shapes.SkipSerializer,
        responses={200: shapes.LeaseSerializer, **REFUSED},
        operation_id="assignments_skip",
    )
    def post(self, request: Request, uid: str) -> Response:
        lease = self.lease(request, uid)
        sent = _sent(_SKIP, request)
        return Response(shapes.LeaseSerializer(assignment_release(assignment=lease, now=timezone.now(), **sent)).data)


class JudgementUndo(APIView):
    """Take one's last word on an item back within the round's time; the lease is the person's again."""

    @extend_schema(request=None, responses={200: shapes.LeaseSerializer, **REFUSED}, operation_id="judgements_undo")
    def post(self, request: Request, uid: str) -> Response:
        person = _person(request)
        judgement = judgement_for(person, _uid(uid))
        lease = judgement_retract(judgement=judgement, actor=person, now=timezone.now())
        return Response(shapes.LeaseSerializer(lease).data)


class MyJudgements(ListAPIView[Judgement]):
    """What the person said, newest first; each change of mind is an entry of its own."""

    serializer_class = shapes.MyJudgementSerializer
    pagination_class = _NewestFirst
    queryset = Judgement.objects.none()

    def get_queryset(self) -> Any:
        person = _person(self.request)
        if not can_annotate(person):
            raise Forbidden("Your role does not judge.")
        mine = Judgement.objects.filter(annotator=person, retracted=False)
        return mine.select_related("assignment", "item__round").prefetch_related("grades__variant")


class _OfRound(ListAPIView[Any]):
    """Rows of one round for researchers, in the order in which they came."""

    pagination_class = _InOrder
    queryset: Any = None

    def rows(self, round_: Round) -> Any:
        raise NotImplementedError

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return self.queryset
        return self.rows(_round(self.request, self.kwargs["uid"], can_curate))


class RoundJudgements(_OfRound):
    """The judgements of a round that count, under pseudonyms."""

    serializer_class = shapes.RoundJudgementSerializer
    queryset = Judgement.objects.none()

    def rows(self, round_: Round) -> Any:
        found = live_judgements(round=round_).select_related("assignment", "item__round", "annotator")
        return found.prefetch_related("grades__variant")


class RoundItems(_OfRound):
    """The items of a round: how many people hold and have judged each, and what came of it."""

    serializer_class = shapes.ItemSerializer
    queryset = RoundItem.objects.none()

    def rows(self, round_: Round) -> Any:
        return round_.items.select_related("dialogue")


class RoundParticipations(_OfRound):
    """The people of a round under their pseudonyms, and where they stand."""

    serializer_class = shapes.ParticipationSerializer
    queryset = Participation.objects.none()

    def rows(self, round_: Round) -> Any:
        return Participation.objects.filter(round=round_).select_related("round", "annotator")


class RoundAgreement(APIView):
    """How far the people of a round agree, as the command ``agreement --json`` tells it."""

    @extend_schema(
        parameters=[OpenApiParameter("by", OpenApiTypes.STR, enum=sorted(BY), description="Split further.")],
        responses={200: shapes.AgreementSerializer, **REFUSED},
        operation_id="rounds_agreement",
    )
    def get(self, request: Request, uid: str) -> Response:
        round_ = _round(request, uid, can_curate)
        by = request.query_params.get("by") or None
        if by is not None and by not in BY:
            raise InvalidInput(f"Agreement can be split by {', '.join(sorted(BY))}.", field="by")
        return Response({"groups": round_agreement(round=round_, by=by)})


schema = SpectacularAPIView.as_view(permission_classes=[IsAuthenticated])
docs = login_required(SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="annotation/api_docs.html"))

urlpatterns = [
    path("rounds/", RoundList.as_view(), name="api_rounds"),
    path("rounds/<str:uid>/", RoundDetail.as_view(), name="api_round"),
    path("rounds/<str:uid>/next/", RoundNext.as_view(), name="api_round_next"),
    path("rounds/<str:uid>/agreement/", RoundAgreement.as_view(), name="api_round_agreement"),
    path("rounds/<str:uid>/judgements/", RoundJudgements.as_view(), name="api_round_judgements"),
    path("rounds/<str:uid>/items/", RoundItems.as_view(), name="api_round_items"),
    path("rounds/<str:uid>/participations/", RoundParticipations.as_view(), name="api_round_participations"),
    path("assignments/<str:uid>/submit/", AssignmentSubmit.as_view(), name="api_assignment_submit"),
    path("assignments/<str:uid>/draft/", AssignmentDraft.as_view(), name="api_assignment_draft"),
    path("assignments/<str:uid>/heartbeat/", AssignmentHeartbeat.as_view(), name="api_assignment_heartbeat"),
    path("assignments/<str:uid>/skip/", AssignmentSkip.as_view(), name="api_assignment_skip"),
    path("judgements/", MyJudgements.as_view(), name="api_judgements"),
    path("judgements/<str:uid>/undo/", JudgementUndo.as_view(), name="api_judgement_undo"),
]
