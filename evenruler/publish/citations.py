"""How project and benchmarks are named and cited: a benchmark itself first, then what it rests on."""

from evenruler.publish.contents import Benchmark

NAME = "Even Ruler"

AUTHORS = "The Even Ruler developers"

URL: str | None = None
"""Of the repository, as pyproject.toml has it (`Repository` under `project.urls`); None as long as it has none."""

COMMIT = "COMMIT"
"""Stands for the commit: no file can hold the name of the commit that it is part of."""

_SPECIAL = "&%$#_"


def citations(benchmark: Benchmark) -> list[str]:
    """BibTeX entries, that of the benchmark first."""
    return [own(benchmark), *(entry.strip() for entry in benchmark.citations)]


def own(benchmark: Benchmark) -> str:
    """The BibTeX entry of the benchmark, with version and commit."""
    release = benchmark.release
    fields = {
        "title": f"{{{_escaped(benchmark.title)}}}",
        "author": f"{{{AUTHORS}}}",
        "howpublished": f"Benchmark data set {_escaped(benchmark.name)}, built with {NAME}",
        "version": benchmark.version,
        "note": f"Commit {COMMIT}",
    }
    if release:
        fields["year"] = str(release.date.year)
    if URL:
        fields["url"] = URL
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{evenruler-{benchmark.name},\n{lines}\n}}"


def commit_of(benchmark: Benchmark) -> str:
    """The command that prints the commit."""
    if benchmark.release:
        return f"git rev-parse {benchmark.name}@v{benchmark.version}^{{commit}}"
    return "git rev-parse HEAD"


def _escaped(text: str) -> str:
    """A text as BibTeX takes it."""
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
