from django.apps import AppConfig


class GenerationConfig(AppConfig):
    name = "generation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from eqstudio.home import home_panels, running_jobs, search_sources, stored_names, work_ages  # noqa: PLC0415 -- models are ready only now
        from generation import checks  # noqa: F401, PLC0415 -- registers the system checks

        home_panels.register("generation.home:panels")
        running_jobs.register("generation.home:running")
        search_sources.register("generation.home:search")
        stored_names.register("generation.home:stored")
        work_ages.register("generation.home:work_age")
