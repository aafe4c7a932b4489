"""What a program says when a package is missing, or a disk is full."""

from functools import partial
from importlib import metadata
from pathlib import Path

import pytest

from evenruler import errors
from evenruler.errors import extra_of, run_program

REQUIRES = [
    "numpy>=2",
    "dvc<4,>=3.67; extra == 'build'",
    "scikit-learn>=1.5; extra == 'build'",
    "sentence-transformers>=6.2; extra == 'build'",
    "scikit-learn>=1.5; extra == 'measure'",
    'sentence-transformers>=6.2; extra == "measure"',
    "vadersentiment>=3.3.2; extra == 'measure'",
    "hypothesis>=6; extra == 'test'",
]
"""As hatch writes them: an extra that holds another is spelt out."""


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", {"evenruler": REQUIRES}.__getitem__)


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("dvc", "build"),
        ("sklearn", "measure"),
        ("sentence_transformers", "measure"),
        ("vaderSentiment", "measure"),
        ("numpy", None),
        ("hypothesis", None),
        ("dvc.api", None),
        ("spelt_wrong", None),
    ],
)
def test_the_smallest_extra_that_brings_a_module(module, extra) -> None:
    assert extra_of(module) == extra


def missing(module: str) -> None:
    raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def test_a_package_of_an_extra_is_one_line(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        run_program(lambda: missing("sklearn"))
    assert ended.value.code == 2
    line = "error: this needs the package scikit-learn; run `pip install 'evenruler[measure]'`\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("module", ["numpy", "sklearn.no_such_part"])
def test_any_other_is_a_traceback(module) -> None:
    with pytest.raises(ModuleNotFoundError):
        run_program(lambda: missing(module))


def test_a_package_is_called_as_its_modules_say() -> None:
    distributions = metadata.packages_distributions()
    assert {
        module: distributions[module][0].lower() for module in errors.DISTRIBUTIONS
    } == errors.DISTRIBUTIONS


def test_ctrl_c_is_130_and_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        run_program(interrupted)
    assert (ended.value.code, *capsys.readouterr()) == (130, "", "")


def serializing(message: str) -> Exception:
    from safetensors import SafetensorError

    return SafetensorError(f"Error while serializing: I/O error: {message}")


def test_no_space_for_weights_is_one_line_though_the_error_has_no_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As safetensors and PyTorch say it where a tmpfs is full."""

    def failing(error: Exception) -> None:
        raise error

    for error in (
        serializing("No space left on device (os error 28)"),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534"),
    ):
        with pytest.raises(SystemExit) as ended:
            run_program(partial(failing, error))
        assert ended.value.code == 2
        assert (
            capsys.readouterr().err
            == "error: writing: no space left on the device; free some and run again\n"
        )
    for other in (
        serializing("No such file or directory (os error 2)"),
        RuntimeError("CUDA out of memory"),
        OSError(),
    ):
        with pytest.raises(type(other)):
            run_program(partial(failing, other))


def test_a_setup_that_keeps_any_client_from_starting_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of clients that catch nothing themselves."""
    import httpx2

    monkeypatch.setenv("SSL_CERT_FILE", "/gone/ca.pem")
    with pytest.raises(SystemExit) as ended:
        run_program(lambda: httpx2.get("https://127.0.0.1:9"))
    assert ended.value.code == 2
    what = "no such file or folder (/gone/ca.pem); put the certificates there, or unset it"
    assert capsys.readouterr().err == f"error: environment: SSL_CERT_FILE: {what}\n"


def test_an_error_of_another_file_is_not_laid_on_certificates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fill_disk() -> None:
        raise OSError(28, "No space left on device", "there")

    monkeypatch.setenv("SSL_CERT_DIR", "/gone")
    with pytest.raises(SystemExit):
        run_program(fill_disk)
    line = "error: there: no space left on the device; free some and run again\n"
    assert capsys.readouterr().err == line
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        run_program((tmp_path / "gone").read_text)
