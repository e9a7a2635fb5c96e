"""Addresses of the judging page."""

from django.urls import path

from annotation.views import judge

urlpatterns = [
    path("judge/<str:uid>/", judge.judge, name="judge"),
    path("judge/<str:uid>/next/", judge.judge_next, name="judge_next"),
    path("judge/<str:uid>/submit/", judge.judge_submit, name="judge_submit"),
    path("judge/<str:uid>/draft/", judge.judge_draft, name="judge_draft"),
    path("judge/<str:uid>/heartbeat/", judge.judge_heartbeat, name="judge_heartbeat"),
    path("judge/<str:uid>/skip/", judge.judge_skip, name="judge_skip"),
    path("judge/<str:uid>/undo/", judge.judge_undo, name="judge_undo"),
    path("my-judgements/", judge.my_judgements, name="my_judgements"),
    path("my-judgements/<str:uid>/take-back/", judge.judgement_take_back, name="judgement_take_back"),
]
