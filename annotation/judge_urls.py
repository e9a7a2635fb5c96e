"""Addresses of the judging page and of one's own judgements."""

from django.urls import path

from annotation.views import judge, my_judgements

urlpatterns = [
    path("judge/<str:uid>/", judge.judge, name="judge"),
    path("judge/<str:uid>/next/", judge.judge_next, name="judge_next"),
    path("judge/<str:uid>/submit/", judge.judge_submit, name="judge_submit"),
    path("judge/<str:uid>/draft/", judge.judge_draft, name="judge_draft"),
    path("judge/<str:uid>/heartbeat/", judge.judge_heartbeat, name="judge_heartbeat"),
    path("judge/<str:uid>/leave/", judge.judge_leave, name="judge_leave"),
    path("judge/<str:uid>/ahead/", judge.judge_ahead, name="judge_ahead"),
    path("judge/<str:uid>/skip/", judge.judge_skip, name="judge_skip"),
    path("judge/<str:uid>/problem/", judge.judge_problem, name="judge_problem"),
    path("judge/<str:uid>/undo/", judge.judge_undo, name="judge_undo"),
    path("my-judgements/", my_judgements.my_judgements, name="my_judgements"),
    path("my-judgements/<str:uid>/take-back/", my_judgements.judgement_take_back, name="judgement_take_back"),
    path("my-judgements/<str:uid>/edit/", my_judgements.judgement_edit, name="judgement_edit"),
    path("my-judgements/<str:uid>/change/", my_judgements.judgement_change, name="judgement_change"),
]
