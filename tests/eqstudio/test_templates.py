"""Every page stands in the one shell, and no page carries code or style of its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STATIC = [*sorted((ROOT / "static").rglob("*.css")), *sorted((ROOT / "static").rglob("*.js"))]
OWN_STATIC = [path for path in STATIC if "vendor" not in path.parts]
INLINE = {
    "a style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "a style element": re.compile(r"<style\b", re.IGNORECASE),
    "a handler attribute": re.compile(r"<[^>]*\son[a-z]+\s*=\s*[\"']", re.IGNORECASE),
    "an htmx handler": re.compile(r"\shx-on[:=-]", re.IGNORECASE),
    "an address of another host": re.compile(r"(?:src|href)=[\"']https?://", re.IGNORECASE),
}
SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script>", re.IGNORECASE | re.DOTALL)


def relative(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TEMPLATES, ids=relative)
def test_a_template_carries_no_code_or_style_of_its_own(path):
    text = path.read_text()

    assert [what for what, pattern in INLINE.items() if pattern.search(text)] == []
    for attributes, body in SCRIPT.findall(text):
        assert "src=" in attributes or 'type="application/json"' in attributes
        assert "src=" not in attributes or not body.strip()


@pytest.mark.parametrize("path", TEMPLATES, ids=relative)
def test_a_page_extends_the_shell(path):
    text = path.read_text().lstrip()
    whole_page = "<html" in text or "{% block content %}" in text

    if path.name == "base.html" and path.parent.name == "templates":
        assert "<html" in text
    elif whole_page:
        assert re.match(r"{% extends \"[\w/]+\.html\" %}", text)
        assert "<html" not in text


@pytest.mark.parametrize("path", OWN_STATIC, ids=relative)
def test_own_static_files_reach_no_other_host(path):
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")

    assert re.findall(r"https?://", text) == []


@pytest.mark.parametrize("path", [path for path in OWN_STATIC if path.suffix == ".css"], ids=relative)
def test_colours_come_from_the_tokens(path):
    if path.name == "tokens.css":
        assert "--accent" in path.read_text()
        return
    allowed = {"#fffefb", "#ffffff"}  # charts and QR codes keep white paper on a dark page

    assert set(re.findall(r"#[0-9a-f]{3,8}\b", path.read_text(), re.IGNORECASE)) - allowed == set()
