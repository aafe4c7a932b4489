"""Wrong words after commands: for every argument, and every option that takes a value, some that it
refuses.

`tests/test_cli.py` compares `WRONG` with the program's own list.
"""

import shutil
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.faults.cases import Case, Outcome, Seen, evenruler
from tests.results.synthetic import gain_of, stored, synthetic
from tests.text_tables import yaml_of_text
from tests.tiny import save_tiny

ROOT = Path(__file__).parents[2]
PROBES, FRAMING = "benchmarks/probes-age-competence", "benchmarks/framing-age"
LONG, LONGER = "x" * 150, "x" * 300
"""Names that are longer than ours may be, and than a file system takes."""


@cache
def repository() -> Path:
    """A repository that no case may change, with a tiny model, once more under a long name, and a
    file."""
    folder = Path(mkdtemp())
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "data/sources", folder / "data/sources")
    for name in (PROBES, FRAMING):
        shutil.copytree(ROOT / name, folder / name)
    save_tiny(folder / "tiny", chat=True, max_position_embeddings=1024)
    (folder / LONG).symlink_to("tiny")
    (folder / "file").write_text("no result")
    for name in ("one", "two"):
        stored(folder / "results", synthetic(name), gain_of(name, 1.0))
    return folder


TABLE = r"""
measure:
  right: {model: 'local:tiny'}
  more: --with benchmarks/probes-age-competence --size trial --limit 3 --out out
  wrong:
    model: &models ['', nobody, 'hub:', 'local:', 'local:none', 'local:~nobody/x', 'local:file',
        'local:<LONG>', 'local:<LONGER>', 'x:y', 'endpoint:', 'endpoint:<LONG>', 'recorded:',
        'recorded:none', 'package:', 'package:none/x', none.gguf, "\e[2J", 'planted:a',
        'planted:smollm2-135m-instruct/none/1/1']
    --with: [nowhere, '', none.yaml, file, "\e[2J", <LONGER>, 'HEAD:benchmarks/none', a/b/c]
    --groups: [women, '', 'a,b,c', 'a,a', 'women,men']
    --unit: [subject, '']
    --out: [file, file/x, <LONGER>, /dev/null/x]
    --device: [gpu, 'cuda:99', '']
    --limit: &count ['0', '-1', '1.5', many, '']
    --size: &word [none, '']
    --method: [none, '', "\e[2J"]
    --name: [<LONG>, <LONGER>, '', '-', "\e[2J"]
    --asked: [none.jsonl, file]
    --kind: [none, '', chat]
    --dtype: [float64, '']
    --start: ['<start>', '']
    --thinking: [on, '-1', '1.5', '', '<DIGITS>']
    --template: [x, =1, '']
    --new-tokens: *count
    --timeout: *count
    --answers-as: [x]
    --format: *word
    --max-requests: ['-1', much, '']
    --batch-out: [requests.jsonl]
    --batch-in: [none.jsonl]
    --at-once: *count
    --price: ['1', 'a,b', '-1,2', '1,2,3', 'nan,1', '1,inf', '']
    --max-cost: ['-1', much, '', nan]
    --engine: &engine [spark, '']
check:
  wrong:
    names: [nobody, '', "\e[2J"]
profile:
  right: {name: paper}
  wrong:
    name: &name [nobody, ../x]
pin:
  right: {names: bart-large-mnli}
  wrong:
    names: [nobody, '', "\e[2J", smollm2-135m-instruct]
add:
  right: {source: 'hub:org/model'}
  wrong:
    source: [nobody, '', 'hub:', 'hub:a/b/c', 'local:tiny', "\e[2J"]
    --family: [nobody, '']
    --profile: *word
    --name: [Capitals, '', smollm3-3b]
    --kind: [encoder, '']
population:
  right: {_kind: nli}
  wrong:
    _kind: *word
    --most: *count
    --min-accuracy: ['2', '-1', much, '']
new:
  right: {family: probes, name: mine}
  wrong:
    family: *name
    name: [../x]
    --layout: *word
    --from: [none.csv, '', file, "\e[2J", <LONGER>, /dev/null]
    --language: [en, '']
    --part: [x, '']
    --column: [x, first=x, '']
finetune:
  right: {name: mpnet-nli}
  wrong:
    name: *name
planted make:
  right: {name: occupation-gender}
  wrong:
    name: &names [nobody, '', Capitals, ../x, "\e[2J", <LONGER>]
    --base: *names
    --dose: [nan, inf, much, '']
    --seed: *count
    --at-once: *count
planted test:
  right: {benchmarks: benchmarks/probes-age-competence}
  more: --limit 3
  wrong:
    benchmarks: [nowhere, none.yaml]
    --plant: *name
    --base: *name
    --size: *word
    --limit: ['0']
    --method: [none, '', "\e[2J"]
    --at-once: ['0']
publish:
  right: {name: probes-age-competence}
  more: --to you/it --dry-run
  wrong:
    name: *name
    --to: ['', x, a b/c, a/b/c, "\e[2J"]
list:
  wrong:
    name: [nowhere]
    --format: *word
verify:
  right: {place: benchmarks/probes-age-competence}
  wrong:
    place: &places [nowhere, '', file, "\e[2J", <LONGER>, 'HEAD:benchmarks/none', none@v1.0.0]
    --with: *places
    --ask: *models
diff:
  right: {old: benchmarks/probes-age-competence, new: benchmarks/probes-age-competence}
  wrong:
    old: *places
    new: [nowhere, '', file, "\e[2J", <LONGER>, 'HEAD:benchmarks/none', none@v1.0.0,
        benchmarks/framing-age]
    --format: *word
    --tolerance: ['-1', much, '', nan]
release:
  right: {name: probes-age-competence}
  more: --dry-run
  wrong:
    name: *name
compare:
  right: {places: results}
  wrong:
    places: &results [nowhere, tiny, file, "\e[2J", <LONGER>]
    --format: *word
    --page: ['', file/x, <LONGER>, tiny, /dev/null/x]
gate:
  right: {places: results}
  wrong:
    places: *results
    --fail-on: [none, '', "\e[2J"]
    --bound: [x, a=b, =1, a=, 'none:x=1', 'probes-made-up:spread=nan',
        'probes-made-up:spread:set=seed']
    --baseline: *results
    --junit: ['', file/x, <LONGER>, tiny, /dev/null/x]
    --format: *word
export:
  right: {places: results}
  more: --to exported
  wrong:
    places: *results
    --to: [file, file/x, <LONGER>]
    --id: [x, =y, nobody=a/b, one=]
    --date: [x, '2026-13-01', '', '20260101']
    --relationship: *word
repro:
  wrong:
    --profile: *word
answers export:
  right: {model: smollm2-135m-instruct}
  wrong:
    model: *name
    --out: ['', file, tiny]
    --profile: *word
answers record:
  right: {release: '2026-11-26'}
  wrong:
    release: *name
evolve:
  right: {name: occupation-gender-evolved}
  wrong:
    name: *name
    --engine: *engine
    --profile: *word
    --operator: *models
ratings sheet:
  right: {domains: age-competence}
  wrong:
    domains: *name
    --sets: *word
    --human: &files [none, tiny, "\e[2J", <LONGER>]
    --out: [file, <LONGER>]
    --seed: [x, '', '1.5']
ratings read:
  right: {sheets: file}
  more: --key file
  wrong:
    sheets: *files
    --key: *files
    --out: [file, <LONGER>]
translate:
  right: {scale: file}
  wrong:
    scale: *files
refresh:
  right: {domain: fruit}
  wrong:
    domain: *name
find:
  right: {domain: fruit}
  wrong:
    domain: *name
power:
  right: {domain: fruit}
  wrong:
    domain: *name
    --difference: [nan, '-1', '0', much, '']
"""
"""By command: its arguments as they would be right, more that it needs, and by argument or option
what is wrong. Words in <> stand for long ones."""


def read_wrong() -> dict[str, Any]:
    """The table, with long words."""
    text = TABLE
    for word, long in {"<LONG>": LONG, "<LONGER>": LONGER, "<DIGITS>": "9" * 5000}.items():
        text = text.replace(word, long)
    return dict(yaml_of_text(text))


WRONG = read_wrong()

_OF_WORKFLOW = {f"ci init --{option}" for option in ("baseline", "install", "model", "with")}
ANY = {"measure --effort", "release --message", "repro words", *_OF_WORKFLOW}
"""What takes every word: one in the language of a model, a sentence, the arguments of `dvc
repro`."""


def _tried(command: str, option: str, folder: Path) -> Seen:
    """All wrong values of an option: each ends with status 2 and one line, the last, which begins
    with "error"."""
    declared = WRONG[command]
    arguments = declared.get("right", {})
    more = declared.get("more", "").split()
    env = {"EVENRULER_CACHE": str(folder / "cache")}
    for value in declared["wrong"][option]:
        words = [*({option: ""} | arguments | {option: value}).values(), *more]
        if option[0] == "-":
            words = [*arguments.values(), *more, option, value]
        seen = evenruler(*command.split(), *words, folder=repository(), env=env)
        assert (seen.status, "Traceback" in seen.errors) == (2, False), (words, seen)
        is_error = [line.startswith(("error: ", "Error: ")) for line in seen.errors.splitlines()]
        assert (
            is_error.count(True),
            is_error[-1],
        ) == (1, True), (words, seen)
    return Seen(2, seen.errors.replace("Error: ", "error: "))


CASES = []
for _command, _declared in WRONG.items():
    for _option in _declared["wrong"]:
        _act = partial(_tried, _command, _option)
        _fault = f"wrong words for {_option}"
        CASES.append(Case(_fault, f"evenruler {_command}", Outcome.REFUSED, _act))
