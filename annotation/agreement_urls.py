"""Addresses of one round as researchers see it, and of the experts' queue."""

from django.urls import path

from annotation.views import adjudicate, round_agreement, round_files, round_items, round_page

urlpatterns = [
    path("rounds/<str:uid>/", round_page.round_page, name="round"),
    path("rounds/<str:uid>/figure/", round_page.round_figure, name="round_figure"),
    path("rounds/<str:uid>/live/", round_page.round_live, name="round_live"),
    path("rounds/<str:uid>/over-time.svg", round_page.round_over_time, name="round_over_time"),
    path("rounds/<str:uid>/agreement/", round_agreement.round_agreement_page, name="round_agreement"),
    path("rounds/<str:uid>/agreement/matrix/", round_agreement.round_matrix, name="round_matrix"),
    path("rounds/<str:uid>/agreement/pair/", round_agreement.round_pair, name="round_pair"),
    path("rounds/<str:uid>/agreement/figures.csv", round_files.round_figures, name="round_figures"),
    path("rounds/<str:uid>/ratings.<str:form>", round_files.round_ratings, name="round_ratings"),
    path("rounds/<str:uid>/items/", round_items.round_items, name="round_items"),
    path("rounds/<str:uid>/import/", round_files.round_import, name="round_import"),
    path("rounds/<str:uid>/import/preview/", round_files.round_import_preview, name="round_import_preview"),
    path("rounds/<str:uid>/import/withdraw/", round_files.round_import_withdraw, name="round_import_withdraw"),
    path("rounds/<str:uid>/machines/", round_agreement.round_machines, name="round_machines"),
    path("disputes/", adjudicate.disputes, name="disputes"),
    path("items/<str:uid>/", adjudicate.adjudicate, name="adjudicate"),
    path("items/<str:uid>/more/", adjudicate.adjudicate_more, name="adjudicate_more"),
    path("items/<str:uid>/reopen/", adjudicate.adjudicate_reopen, name="adjudicate_reopen"),
]
