"""What must stay true of the repository as a whole: its files agree with each other and with the code."""

from __future__ import annotations

import ast
import re
import subprocess
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.apps import apps
from django.core.management import call_command, get_commands
from django.db.migrations.loader import MigrationLoader

from annotation.exporters import exporters
from eqstudio.benchmarks import benchmarks
from evaluation.backends import backends, evaluators, flavours, recognisers
from evaluation.importers import answer_importers
from generation.importers import importers
from generation.providers import text_providers, transcribers, voice_providers

ROOT = Path(__file__).resolve().parent.parent
APPS = ["eqstudio", "generation", "annotation", "evaluation"]
SOURCES = [*APPS, "tests", "tools", "manage.py"]
LINE_LIMIT = 400
SETTINGS = ["settings.py", "settings_database.py", "settings_models.py", "settings_vendors.py"]


def python_files() -> list[Path]:
    found = [
        path for name in SOURCES for path in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
    ]
    return [path for path in found if "migrations" not in path.parts]


def settings_read() -> set[str]:
    """Names of environment variables that the settings read."""
    trees = [ast.parse((ROOT / "eqstudio" / name).read_text(encoding="utf-8")) for name in SETTINGS]
    nodes = (node for tree in trees for node in ast.walk(tree))
    calls = (node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return {
        call.args[0].value
        for call in calls
        if isinstance(call.func.value, ast.Name)
        and call.func.value.id == "env"
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def settings_documented() -> set[str]:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    return set(re.findall(r"^# ([A-Z][A-Z0-9_]+)=", text, re.MULTILINE))


def compose() -> dict:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def docs_text() -> str:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_env_example_documents_every_setting_and_no_other():
    assert settings_documented() == settings_read()


def test_compose_has_every_service_with_a_healthcheck():
    services = compose()["services"]
    assert sorted(services) == [
        "beat",
        "bucket",
        "db",
        "gpu",
        "migrate",
        "minio",
        "redis",
        "web",
        "worker",
        "worker-cpu",
    ]
    assert [name for name, service in services.items() if "healthcheck" not in service] == ["migrate", "bucket"]
    assert [name for name, service in services.items() if "profiles" in service] == ["gpu", "minio", "bucket"]


def test_browsers_reach_the_store_that_compose_starts_and_its_bucket_is_made():
    services = compose()["services"]
    assert services["minio"]["ports"] == ["9000:9000"]
    assert "mc mb --ignore-existing" in services["bucket"]["entrypoint"][-1]
    assert services["bucket"]["environment"].keys() > services["minio"]["environment"].keys()


def test_compose_sets_only_variables_that_somebody_reads():
    foreign = {"POSTGRES_DB", "POSTGRES_USER", "POSTGRES_PASSWORD", "MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"}
    named = {name for service in compose()["services"].values() for name in service.get("environment", {})}
    assert named - settings_read() == foreign


def test_migrations_are_complete_and_have_one_leaf_per_app(db):
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())
    loader = MigrationLoader(None)
    leaves = {app: [name for label, name in loader.graph.leaf_nodes() if label == app] for app in APPS}
    recorded = {
        app: [(ROOT / app / "migrations" / "max_migration.txt").read_text(encoding="utf-8").strip()] for app in APPS
    }
    assert leaves == recorded


def test_migrations_depend_one_way():
    order = {app: place for place, app in enumerate(APPS)}
    loader = MigrationLoader(None)
    wrong = [
        (key, parent)
        for key, migration in loader.disk_migrations.items()
        if key[0] in order
        for parent in migration.dependencies
        if parent[0] in order and order[parent[0]] > order[key[0]]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "registry",
    [
        benchmarks,
        text_providers,
        voice_providers,
        transcribers,
        importers,
        exporters,
        answer_importers,
        backends,
        evaluators,
        flavours,
        recognisers,
    ],
    ids=lambda registry: registry.kind,
)
def test_docs_mention_every_alias(registry):
    text = docs_text()
    assert [alias for alias in registry if f"`{alias}`" not in text] == []


def test_docs_mention_every_command():
    ours = sorted(name for name, app in get_commands().items() if app in APPS)
    text = docs_text()
    assert [name for name in ours if not re.search(rf"\b{name}\b", text)] == []


def test_docs_mention_every_metric():
    text = docs_text()
    names = {metric.name for _alias, benchmark in benchmarks.items() for metric in benchmark.metrics}
    assert sorted(name for name in names if f"`{name}`" not in text) == []


def test_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text


def test_python_files_stay_short():
    counts = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    assert {str(path.relative_to(ROOT)): count for path, count in counts.items() if count > LINE_LIMIT} == {}


def test_no_file_names_a_folder_of_one_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pattern = re.compile(r"(^|[^A-Za-z0-9_.-])/" + r"(work|farm|root|home)/")
    texts = [
        name
        for name in listed.split("\0")
        if re.search(r"\.(py|js|html|css|sh|md|toml|yml|txt)$|Makefile$|^\.ci/run$", name)
    ]
    named = [
        name for name in texts if (ROOT / name).exists() and pattern.search((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert named == []


def test_every_model_with_a_page_has_a_public_id():
    hidden = {"Turn", "Brief"}
    pages = [
        model for app in APPS[1:] for model in apps.get_app_config(app).get_models() if model.__name__ not in hidden
    ]
    public = {
        "Corpus",
        "Batch",
        "Dialogue",
        "Clip",
        "Variant",
        "Round",
        "Split",
        "Export",
        "Study",
        "Sitting",
        "Respondent",
    }
    assert {model.__name__ for model in pages if hasattr(model, "uid")} >= public
