"""Addresses about the quality of judges: people, flags, gold, headphones, one's own work."""

from django.urls import path

from annotation.views import flags, gold, headphones, my_work, people

urlpatterns = [
    path("rounds/<str:uid>/people/", people.round_people, name="round_people"),
    path("rounds/<str:uid>/people.csv", people.round_people_csv, name="round_people_csv"),
    path("rounds/<str:uid>/pay.csv", people.round_pay_csv, name="round_pay_csv"),
    path("rounds/<str:uid>/people/invite/", people.round_invite, name="round_invite"),
    path("rounds/<str:uid>/people/<str:person_uid>/", people.round_person, name="round_person"),
    path("rounds/<str:uid>/people/<str:person_uid>/state/", people.round_person_state, name="round_person_state"),
    path("rounds/<str:uid>/people/<str:person_uid>/recheck/", people.round_person_recheck, name="round_person_recheck"),
    path("flags/<str:uid>/decide/", flags.flag_decision, name="flag_decide"),
    path("judgements/<str:uid>/standing/", flags.judgement_standing, name="judgement_standing"),
    path("rounds/<str:uid>/gold/", gold.round_gold, name="round_gold"),
    path("rounds/<str:uid>/judges/", gold.round_rules, name="round_rules"),
    path("rounds/<str:uid>/gold/new/", gold.gold_new, name="gold_new"),
    path("gold/<str:uid>/", gold.gold_edit, name="gold_edit"),
    path("gold/<str:uid>/remove/", gold.gold_take_away, name="gold_remove"),
    path("gold/<str:uid>/from-decision/", gold.gold_take_over, name="gold_from_decision"),
    path("headphones/<str:uid>/", headphones.headphones, name="headphones"),
    path("headphones/sound/<str:token>/", headphones.headphone_sound, name="headphone_sound"),
    path("my-work/", my_work.my_work, name="my_work"),
]
