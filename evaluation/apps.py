from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from eqstudio.home import home_panels, person_counts, running_jobs  # noqa: PLC0415 -- models are ready only now

        home_panels.register("evaluation.home:panels")
        running_jobs.register("evaluation.home:running")
        person_counts.register("evaluation.home:person_counts")
