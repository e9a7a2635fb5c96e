from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from eqstudio.home import home_panels, kept_counts, person_counts, running_jobs  # noqa: PLC0415 -- models are ready only now

        home_panels.register("annotation.home:panels")
        running_jobs.register("annotation.home:running")
        kept_counts.register("annotation.home:kept_counts")
        person_counts.register("annotation.home:person_counts")
