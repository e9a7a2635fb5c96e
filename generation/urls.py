"""Addresses of the generation pages."""

from django.urls import include, path

from generation.views import batches, browser, corpora, providers, shortcuts, uploads, words

urlpatterns = [
    path("corpora/", corpora.corpora, name="corpora"),
    path("corpora/<str:uid>/", browser.corpus, name="corpus"),
    path("corpora/<str:uid>/decide/", browser.corpus_decide, name="corpus_decide"),
    path("corpora/<str:uid>/upload/", uploads.corpus_upload, name="corpus_upload"),
    path("uploads/<str:uid>/", uploads.upload, name="upload"),
    path("dialogues/<str:uid>/", corpora.dialogue, name="dialogue"),
    path("dialogues/<str:uid>/decide/", corpora.dialogue_decide, name="dialogue_decide"),
    path("dialogues/<str:uid>/words/", words.dialogue_words, name="dialogue_words"),
    path("batches/", batches.batches, name="batches"),
    path("batches/new/", batches.batch_new, name="batch_new"),
    path("batches/<str:uid>/", batches.batch, name="batch"),
    path("corpora/<str:uid>/shortcuts/", shortcuts.corpus_shortcuts, name="corpus_shortcuts"),
    path("batches/<str:uid>/shortcuts/", shortcuts.batch_shortcuts, name="batch_shortcuts"),
    path("batches/<str:uid>/cancel/", batches.batch_off, name="batch_cancel"),
    path("batches/<str:uid>/budget/", batches.batch_budget, name="batch_budget"),
    path("batches/<str:uid>/retry/", batches.batch_retry, name="batch_retry"),
    path("providers/", providers.providers, name="providers"),
    path("providers/<str:kind>/<str:alias>/check/", providers.provider_ask, name="provider_check"),
    path("", include("generation.views.media_urls")),
]
