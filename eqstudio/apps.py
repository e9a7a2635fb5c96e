from django.apps import AppConfig


class EqstudioConfig(AppConfig):
    name = "eqstudio"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from eqstudio import checks  # noqa: F401, PLC0415 -- registers the system checks
