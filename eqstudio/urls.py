"""The address book of the studio."""

from django.urls import include, path

urlpatterns = [
    path("", include("eqstudio.views.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/", include("allauth.socialaccount.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("", include("generation.urls")),
    path("", include("annotation.urls")),
    path("", include("evaluation.urls")),
]
