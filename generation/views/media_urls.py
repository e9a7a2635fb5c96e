"""The address of clips, to be included by the app's own addresses."""

from django.urls import path

from generation.views.media import media

urlpatterns = [path("media/<str:token>", media, name="media")]
