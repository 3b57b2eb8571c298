"""A real browser on a real JupyterLab: one of each for all tests.

A test asks for `open_notebook` or `open_cells`, clicks, and looks. It fails by itself when the page reports
an error or asks for anything that is not on this computer.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, ViewportSize, WebSocket, sync_playwright

from tests.support import FAILED

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--no-first-run"]

VIEWPORT: ViewportSize = {"width": 1280, "height": 720}

# All cells stay in the page, so that a test can look at any of them. Nothing asks for news.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


# ---------------------------------------------------------------- the browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        reason = "no Chromium: install it (on Debian: apt install chromium), or set CHROMIUM to its path"
        if os.environ.get("TINYGRAD_EDU_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or parts.hostname in ("127.0.0.1", "localhost")


@pytest.fixture
def complaints() -> list[str]:
    """What the page complained about. A test that provokes complaints looks at them and clears the list."""
    return []


# JupyterLab's debugger asks a kernel for its state, and says this if the notebook is closed before the answer.
CLOSING = "Could not restore the debugger state: Canceled future"


def guarded_page(browser: Browser, complaints: list[str]) -> Page:
    """An empty page of 1280×720 without a way out, whose complaints are noted."""

    def guard(route: Route) -> None:
        if is_local(route.request.url):
            route.continue_()
        else:
            complaints.append(f"asked the network for {route.request.url}")
            route.abort()

    context = browser.new_context(viewport=VIEWPORT)
    context.route("**/*", guard)
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: (
            complaints.append(f"console: {message.text}")
            if message.type == "error" and not message.text.startswith(CLOSING)
            else None
        ),
    )
    return page


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """An empty page. Complaints fail the test at its end."""
    page = guarded_page(browser, complaints)
    yield page
    page.context.close()
    assert not complaints, "\n".join(complaints)


# ---------------------------------------------------------------- JupyterLab


@dataclass
class Lab:
    """A running JupyterLab. Its files are copies: a test may save over them."""

    address: str
    token: str
    root: Path

    def ask(self, path: str, method: str = "GET") -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.address}{path}", headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    def stop_kernels(self) -> None:
        for session in json.loads(self.ask("/api/sessions")):
            self.ask(f"/api/sessions/{session['id']}", "DELETE")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    yield from serve("jupyterlab", tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="session")
def notebook7(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running Jupyter Notebook, the other application that widgets are made for."""
    yield from serve("notebook", tmp_path_factory.mktemp("notebook7"))


def serve(module: str, home: Path) -> Iterator[Lab]:
    """Start an application on copies of the notebooks, and stop it and its kernels in the end."""
    root = home / "notebooks"
    shutil.copytree(NOTEBOOKS, root) if NOTEBOOKS.exists() else root.mkdir()
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    port = free_port()
    lab = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(16), root)
    own = {f"JUPYTER_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **own, "IPYTHONDIR": str(home / "ipython"), "JUPYTER_TOKEN": lab.token}
    command = [
        sys.executable, "-m", module, "--no-browser", "--allow-root", "--expose-app-in-browser",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={root}", f"--LabApp.user_settings_dir={home / 'settings'}",
        f"--LabApp.workspaces_dir={home / 'workspaces'}",
    ]  # fmt: skip
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until_up(lab, server, home / "log")
        yield lab
        lab.stop_kernels()
    finally:
        server.terminate()
        server.wait(10)


def wait_until_up(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        try:
            lab.ask("/api/status")
            return
        except OSError:
            time.sleep(0.1)
        if server.poll() is not None:
            break
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")


# ---------------------------------------------------------------- a notebook in it


# Resolves when the notebook is in front and its kernel waits. Before that, "run all" would ask for a kernel.
READY = """async path => {
    const app = window.jupyterapp;
    const pause = () => new Promise(done => setTimeout(done, 50));
    await app.restored;
    while (app.shell.currentWidget?.context?.path !== path) await pause();
    const { context } = app.shell.currentWidget;
    await context.ready;
    await context.sessionContext.ready;
    while (context.sessionContext.session?.kernel?.status !== "idle") await pause();
}"""

# Ends a wait that does not end by itself, and says how far the notebook came.
WITHIN = """([script, argument, seconds]) => {
    const stuck = () => {
        const notebook = window.jupyterapp.shell.currentWidget;
        const kernel = notebook?.context?.sessionContext?.session?.kernel;
        const cells = notebook?.content?.model?.toJSON?.().cells?.filter(cell => cell.cell_type === "code") ?? [];
        const done = cells.filter(cell => cell.execution_count).length;
        return new Error(`after ${seconds} s: ${notebook?.context?.path}, kernel ${kernel?.status}, `
            + `connection ${kernel?.connectionStatus}, ${done} of ${cells.length} cells done`);
    };
    let timer;
    const late = new Promise((_, fail) => { timer = setTimeout(() => fail(stuck()), 1000 * seconds); });
    return Promise.race([eval(script)(argument), late]).finally(() => clearTimeout(timer));
}"""


ERRORS = """() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
    .flatMap(cell => cell.outputs ?? [])
    .filter(output => output.output_type === "error")
    .map(output => `${output.ename}: ${output.evalue}`)"""


class NotebookPage:
    """A notebook that is open in JupyterLab. `page` is Playwright's."""

    def __init__(self, page: Page):
        self.page = page

    def wait_for(self, script: str, argument: object = None, seconds: int = 120) -> None:
        """Wait for a promise of the page, which Playwright by itself would do for ever."""
        self.page.evaluate(WITHIN, [script, argument, seconds])

    def execute(self, command: str, **arguments: object) -> None:
        """Run one of JupyterLab's commands and wait for its end."""
        script = "async ([id, args]) => { await window.jupyterapp.commands.execute(id, args); }"
        self.wait_for(script, [command, arguments])

    def run_all(self) -> None:
        """Run all cells. An error in a cell, or a widget that shows nothing, fails the test."""
        self.execute("notebook:run-all-cells")
        errors = self.page.evaluate(ERRORS)
        assert not errors, "\n".join(errors)
        self.assert_outputs_show()

    def assert_outputs_show(self) -> None:
        """A broken widget leaves an output without height, and no word about it."""
        for view in self.page.locator('[data-mime-type="application/vnd.jupyter.widget-view+json"]').all():
            view.locator("> *").first.wait_for()
            box = view.bounding_box()
            assert box and box["height"] > 4, "a widget shows nothing"

    def set_theme(self, name: str) -> None:
        """Change to "JupyterLab Light" or "JupyterLab Dark"."""
        if self.page.evaluate("document.body.dataset.jpThemeName") == name:
            return
        self.execute("apputils:change-theme", theme=name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")  # two at once trip over each other

    def cell(self, index: int) -> Locator:
        """The cell at this place, as a locator."""
        return self.page.locator(".jp-Notebook-cell").nth(index)


# Ends the notebooks of a test, without a question about what is not saved, and puts the furniture back.
TIDY = """async () => {
    const { shell } = window.jupyterapp;
    for (const widget of [...shell.widgets("main")]) {
        await widget.context?.sessionContext.shutdown();
        widget.dispose();
    }
    shell.expandLeft();
}"""


class Workbench:
    """One page with JupyterLab, for one test after the other: to load it takes longer than most of them.

    After a test that failed it is thrown away, so that the next one does not fail for the same reason.
    """

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.browser, self.lab = browser, lab
        self.complaints: list[str] = []
        self.page: Page | None = None

    def ready(self) -> Page:
        """The page, with nothing open."""
        if self.page is None:
            self.page = guarded_page(self.browser, self.complaints)
            self.page.goto(f"{self.lab.address}/lab/workspaces/{secrets.token_hex(4)}?token={self.lab.token}&reset")
            self.page.wait_for_function("() => window.jupyterapp")
            NotebookPage(self.page).wait_for("async () => { await window.jupyterapp.restored; }")
        return self.page

    def tidy(self) -> None:
        """Make it as it was before the test."""
        page = self.ready()
        page.mouse.move(0, 0)
        page.set_viewport_size(VIEWPORT)
        NotebookPage(page).set_theme("JupyterLab Light")
        NotebookPage(page).wait_for(TIDY)
        page.wait_for_timeout(100)
        self.complaints.clear()  # what JupyterLab says of a kernel that it was asked to end

    def throw_away(self) -> None:
        """Close the page, with all that runs in it."""
        if self.page is not None:
            self.page.context.close()
            self.lab.stop_kernels()
        self.page = None


@pytest.fixture(scope="session")
def workbench(browser: Browser, lab: Lab) -> Iterator[Workbench]:
    """JupyterLab in a page."""
    bench = Workbench(browser, lab)
    yield bench
    bench.throw_away()


@pytest.fixture
def open_notebook(request: pytest.FixtureRequest, workbench: Workbench) -> Iterator[Callable[[str], NotebookPage]]:
    """Opens a notebook by its path below `notebooks/`, with a kernel of its own. Complaints fail the test."""

    def open_(path: str) -> NotebookPage:
        notebook = NotebookPage(workbench.ready())
        notebook.execute("docmanager:open", path=path)
        notebook.wait_for(READY, path)
        return notebook

    yield open_
    complaints, workbench.complaints[:] = list(workbench.complaints), []
    if request.node.stash.get(FAILED, False) or complaints:
        workbench.throw_away()
    else:
        workbench.tidy()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def frames(workbench: Workbench) -> Iterator[list[str]]:
    """What the page receives from kernels that are started from now on, message by message."""
    received: list[str] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: received.append(str(data)))

    page = workbench.ready()
    page.on("websocket", listen)
    yield received
    page.remove_listener("websocket", listen)


@pytest.fixture
def open_cells(open_notebook: Callable[[str], NotebookPage], lab: Lab) -> Callable[..., NotebookPage]:
    """Opens a notebook made of these code cells."""

    def open_(*sources: str) -> NotebookPage:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        name = f"cells-{secrets.token_hex(4)}.ipynb"
        nbformat.write(notebook, lab.root / name)
        return open_notebook(name)

    return open_
