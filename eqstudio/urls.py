"""The address book of the studio."""

from django.urls import include, path
from django.views.generic import RedirectView

# Those who listen ask most often, and the book is read from the top.
urlpatterns = [
    path("api/v1/", include("annotation.views.api")),
    path("", include("annotation.judge_urls")),
    path("", include("eqstudio.views.urls")),
    # allauth's page takes an address that is somebody else's and leaves no Event; one's own page does neither.
    path("accounts/email/", RedirectView.as_view(pattern_name="me"), name="account_email"),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/", include("allauth.socialaccount.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("", include("generation.urls")),
    path("", include("annotation.urls")),
    path("", include("evaluation.urls")),
]
