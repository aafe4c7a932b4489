import gc
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # read by huggingface_hub when it is imported
# Threads that wait without spinning: beside another busy process torch is a hundred times slower
# otherwise.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers are what runs side by side
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from evenruler.errors import UserError
from tests.warm import Warm

if TYPE_CHECKING:  # what takes seconds to import is imported by who needs it
    from evenruler.declaration.params import Params
    from evenruler.models.model import Model
    from evenruler.models.store import RowStore

# No stopwatch: a busy machine is no failure. The same examples in every run, so that a failure is
# of what was changed; `pytest --hypothesis-profile searching` draws others.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("searching", unhurried)
settings.register_profile("unhurried", unhurried, derandomize=True)
settings.load_profile("unhurried")

pd.set_option("mode.string_storage", "python")  # as stages and `measure` have it

# What pytest makes of asserts takes as long as all else of collecting tests: kept for the next run.
sys.dont_write_bytecode = False

ROOT = Path(__file__).parents[1]
BUILT = (
    "test_followed.py",
    "test_from_folder.py",
    "test_isolation.py",
    "test_pipeline.py",
    "test_plain_dvc.py",
    "test_stale.py",
    "test_versions.py",
)
"""Those that share the clone `built`."""
CLONES = {"built", "evolving"}
"""Fixtures of tests/stages that take a minute to build, for tests in `BUILT` and in
test_evolving*.py."""
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.fixture
def store(tmp_path: Path) -> "RowStore":
    from evenruler.models.store import RowStore

    return RowStore(tmp_path / "store")


@pytest.fixture(scope="session")
def shipped_params() -> "Params":
    from evenruler.declaration.params import load_params

    return load_params(ROOT / "params.yaml")


@pytest.fixture(scope="session")
def packaged_store(tmp_path_factory: pytest.TempPathFactory) -> "RowStore":
    """An empty store whose converted models are those of this checkout: a GGUF file is converted
    once, not per run."""
    from evenruler.models.store import RowStore

    root = tmp_path_factory.mktemp("packaged")
    converted = ROOT / ".cache" / "models"
    converted.mkdir(parents=True, exist_ok=True)
    (root / "models").symlink_to(converted, target_is_directory=True)
    return RowStore(root)


@pytest.fixture(scope="session")
def smollm2(shipped_params: "Params", packaged_store: "RowStore") -> "Model":
    from evenruler.models import load

    return load("smollm2-135m-instruct", shipped_params, store=packaged_store)


@pytest.fixture(scope="session")
def gemma(shipped_params: "Params", packaged_store: "RowStore") -> "Model":
    from evenruler.models import load

    return load("gemma-3-270m", shipped_params, store=packaged_store)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cold", action="store_true", help="fork no stage and no command: start all as users do"
    )
    parser.addoption(
        "--servers", action="store_true", help="ask real servers of models, too (`make test-vllm`)"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m "slow and not long"` opens only files that hold the word: to import all takes longer than
    many such tests."""
    if not config.option.markexpr.startswith("slow"):
        return None
    if collection_path.suffix != ".py" or _of_a_clone(collection_path):
        return None
    return "slow" not in collection_path.read_text(encoding="utf-8") or None


def _of_a_clone(path: Path) -> bool:
    return path.parent.name == "stages" and (
        path.name in BUILT or path.name.startswith("test_evolving")
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests stay until the end: to look through them for what may go takes a fifth of collecting
    them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before those that are not slow are left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All tests of a clone are slow, so that it is built once, by `make test-slow`; real servers
    are asked if told to.

    Elsewhere tests of servers are none, rather than skipped ones.
    """
    for item in items:
        if _of_a_clone(item.path) and CLONES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    if not config.getoption("--servers"):
        left = [item for item in items if item.get_closest_marker("servers")]
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="session")
def start_warm(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Any]]:
    """Starts a process that stages and commands are forked off, with the arguments of `Warm`; none
    with `--cold`."""
    with ExitStack() as started:

        def start(*prefix: str, offline: bool = True) -> Warm | None:
            if pytestconfig.getoption("cold"):
                return None
            return started.enter_context(
                closing(Warm(tmp_path_factory.mktemp("warm"), prefix, offline=offline))
            )

        yield start


@pytest.fixture(scope="session")
def warm(start_warm: Callable[..., Any]) -> Warm | None:
    """For stages and commands that ask no Hub."""
    return start_warm()


@pytest.fixture(scope="session")
def warm_client(start_warm: Callable[..., Any]) -> Warm | None:
    """For commands that talk to a Hub."""
    return start_warm(offline=False)


@pytest.fixture
def error_of() -> Callable[..., str]:
    """Runs what must be refused and returns the printed line, which is one, has a remedy and hides
    no traceback."""

    def run(call: Callable[..., object], *args: object, **kwargs: object) -> str:
        with pytest.raises(UserError) as caught:
            call(*args, **kwargs)
        line = str(caught.value)
        assert "\n" not in line
        assert "\r" not in line
        assert caught.value.where
        assert caught.value.remedy
        assert line.endswith("; " + " ".join(caught.value.remedy.split()))
        return line

    return run


@pytest.fixture
def run_evenruler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """What `evenruler ...` ends with, prints and says meanwhile."""

    def run(*words: object) -> tuple[int, str, str]:
        from evenruler import cli

        monkeypatch.setattr(sys, "argv", ["evenruler", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture
def file_with(tmp_path) -> Callable[..., Path]:
    """Writes a text, each (old, new) replaced once, to a file of that name."""

    def write(name: str, text: str, *changes: tuple[str, str]) -> Path:
        for old, new in changes:
            assert text.count(old) == 1, (
                f"{old!r} stands {text.count(old)} times in the text of the test"
            )
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that is skipped has failed: what it needs is to be installed there."""
    report = yield
    return _never_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same of a file that skips all its tests."""
    report = yield
    return _never_skipped(report)


def _never_skipped(report: Report) -> Report:
    if os.environ.get("EVENRULER_CI") and report.skipped:
        report.outcome, report.longrepr = (
            "failed",
            f"skipped, which in CI is a failure: {report.longrepr}",
        )
    return report


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """With several workers, a file stays on one of them, and so do all tests of a built clone."""
    return ByFile(config, log)


class ByFile(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        name = file.rpartition("stages/")[2]
        if name in BUILT:
            return "built"
        return "evolving" if name.startswith("test_evolving") else file
