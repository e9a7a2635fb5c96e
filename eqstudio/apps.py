from django.apps import AppConfig


class EqstudioConfig(AppConfig):
    name = "eqstudio"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from eqstudio import checks  # noqa: F401, PLC0415 -- registers the system checks; models are ready only now
        from eqstudio.home import home_panels  # noqa: PLC0415 -- models are ready only now

        home_panels.register("eqstudio.house:panels")
