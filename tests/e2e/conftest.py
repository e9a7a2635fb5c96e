"""A live studio and a real Chromium. A console error or a blocked resource fails the test that caused it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from eqstudio.models import User

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]

PATIENCE_MS = 20_000
"""For a page on a busy machine: what comes at all comes sooner, and what does not come fails."""
expect.set_options(timeout=PATIENCE_MS)

# Playwright's synchronous interface keeps an event loop in the thread of the test, where the ORM is used too.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = chromium_path()
    if executable is None:
        pytest.skip("Chromium is not installed: `apt-get install chromium`")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=ARGS)
        yield launched
        launched.close()


LEFT_OFF = ("htmx:sendAbort", "htmx:afterRequest")
"""What htmx logs when a page is left, or a count is asked for anew, while an answer is under way; failures have other names."""


class Console(list[str]):
    """What went wrong in the page: clear it in a test that provokes an error on purpose."""

    def listen(self, page: Page) -> None:
        page.on("console", self._message)
        page.on("pageerror", lambda error: self.append(f"uncaught: {error}"))

    def _message(self, message: ConsoleMessage) -> None:
        if message.text.startswith(LEFT_OFF):
            return
        if message.type == "error" or "Content Security Policy" in message.text:
            self.append(f"{message.text} ({message.location.get('url', '')})")


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture
def new_page(browser: Browser, console: Console, live_server) -> Iterator[Callable[..., Page]]:
    """Open a page in a browser profile of its own; options are Playwright's (viewport, locale, color_scheme)."""
    contexts = []

    def open_page(**options) -> Page:
        options.setdefault("viewport", {"width": 1440, "height": 900})
        options.setdefault("locale", "en-US")
        options.setdefault("base_url", live_server.url)
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        console.listen(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert list(console) == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()


@pytest.fixture
def sign_in(live_server) -> Callable[[Page, User], None]:
    """Give the page the person's session, without typing a password."""

    def act(page: Page, user: User) -> None:
        client = Client()
        client.force_login(user, backend="eqstudio.signin.PasswordBackend")
        value = client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.clear_cookies()
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}])

    return act


@pytest.fixture
def alice_page(
    new_page: Callable[..., Page], sign_in: Callable[[Page, User], None], alice: User
) -> Callable[..., Page]:
    """Open a page for Alice; options are those of ``new_page``."""

    def open_page(**options) -> Page:
        page = new_page(**options)
        sign_in(page, alice)
        return page

    return open_page


SETTLED = """async () => {
    const ending = document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map((one) => one.finished));
}"""
"""A button that is just being freed passes through colours that nobody reads by."""


@pytest.fixture
def axe_check() -> Callable[[Page], None]:
    """Fail on anything that axe calls serious or critical."""

    def check(page: Page) -> None:
        page.evaluate(AXE)
        page.evaluate(SETTLED)
        found = page.evaluate("async () => (await axe.run()).violations")
        grave = [
            f"{rule['id']}: {node['html'][:160]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]
        assert grave == [], f"{page.url}: {grave}"

    return check
