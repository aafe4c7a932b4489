"""Rehearse the profile `paper`: tiny random models of every architecture, one item in twenty, all
of `make paper`.

Run by hand: `python -m tests.performance.paper_rehearsal FOLDER`. FOLDER becomes a clone with
answers of its own. In it every model of the scale is a tiny one: the class of its configuration, a
small tokenizer, and a chat template of ours that does what the real one does. Numbers mean nothing;
what is seen is that every family is asked and built.

Some of what needs a commit gets a tiny model in its place, and some stays `to be given`, as nobody
can look it up here. Writes FOLDER/rehearsal/log.md, and beside it what the commands said. Ends with
status 1 where something vanished. Where FOLDER is there already, the commands alone are run again,
with the code of this working tree.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from evenruler.declaration.params_file import Active, load_active
from evenruler.instruments.registry import FAMILIES
from tests.tiny_t5 import save_tiny_t5
from tests.warm import Warm

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "evenruler profile paper",
    *(
        f"evenruler evolve {domain}-evolved --profile paper"
        for domain in ("occupation-gender", "age-competence", "political-ideology-personality")
    ),
    "evenruler repro --profile paper",
    "python docs/papers.py profiles/paper",
)
PIPELINE = "profiles/paper"
MADE, BESIDE, EVOLVED = "rehearsal", "docs/papers-ours.csv", "-evolved"
VOCABULARY = 1500
NOTABLE = re.compile("left out|warning|could not|error")
yaml = YAML()
yaml.width = 10_000

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "initializer_range": 0.3,
}
ENCODER = {key: value for key, value in SMALL.items() if key != "num_key_value_heads"}
NLI = {"id2label": {0: "contradiction", 1: "neutral", 2: "entailment"}}
OF_T5 = "an encoder and a decoder, tokens of SentencePiece"
BY_TURNS = ["sliding_attention", "full_attention"] * 2

TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
OPEN = "{% if add_generation_prompt %}<|im_start|>assistant\n"
SYSTEM = "{% if messages[0].role != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}"
DATED = "<|im_start|>system\nToday: {{ strftime_now('%d %B %Y') }}<|im_end|>\n"
UNTHINKING = (
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% "
    "endif %}{% endif %}"
)
ALTERNATING = (
    "{{ bos_token }}{% set first = messages[0].content if messages[0].role == 'system' else '' %}"
    "{% set rest = messages[1:] if first else messages %}"
    "{% for m in rest %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if m.role == 'user' %}[INST] {% if loop.last and first %}{{ first }}\n\n{% endif %}{{ "
    "m.content }}[/INST]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
NO_SYSTEM = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not "
    "supported') }}{% endif %}"
    "{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% "
    "endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
BARS = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% else %}{{ eos_token }}{% endif %}"
)
DATED_WITH_BOS = (
    "{{ bos_token }}{% if not date_string is defined %}{% set date_string = strftime_now('%d %b "
    "%Y') %}{% endif %}"
    "<|im_start|>system\nCutting Knowledge Date: December 2023\nToday Date: {{ date_string }}\n\n"
    "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% set messages = messages[1:] "
    "%}{% endif %}"
    f"<|im_end|>\n{TURNS}{OPEN}{{% endif %}}"
)
GRANITE = (
    "{% if messages[0].role == 'system' %}{% set said, rest = messages[0].content, messages[1:] "
    "%}{% else %}"
    "{% set said, rest = 'Knowledge Cutoff Date: April 2024.\nToday: ' + strftime_now('%B %d, %Y') "
    "+ '.', messages %}"
    "{% if thinking %}{% set said = said + ' Think first.' %}{% endif %}{% endif %}"
    "<|im_start|>system\n{{ said }}<|im_end|>\n{% for m in rest %}<|im_start|>{{ m.role }}\n{{ "
    "m.content }}<|im_end|>\n"
    f"{{% endfor %}}{OPEN}{{% endif %}}"
)


@dataclass(frozen=True)
class Shape:
    """What a tiny model shares with the real one.

    Attributes:
        model_type: Of its configuration.
        features: Of its architecture and its template, in words.
        template: Its chat template.
        bos: Its start token; one that is its end token, too, where they are the same.
        eos: Its end token.
        config: Beside what is small.
    """

    model_type: str
    features: str
    template: str | None = None
    bos: str | None = None
    eos: str = "<|endoftext|>"
    config: Mapping[str, Any] = field(default_factory=dict)


LLAMA = Shape("llama", "start token; no template", bos="<s>", eos="</s>")
QWEN25 = Shape(
    "qwen2", "no start token; a system message of its own", SYSTEM + TURNS + OPEN + "{% endif %}"
)
SHAPES = {
    "smollm3-3b": Shape(
        "smollm3",
        "every fourth layer without positions; no start token; thinks by default; writes the day",
        DATED + TURNS + OPEN + UNTHINKING,
        config={"no_rope_layers": [1, 1, 1, 0], "tie_word_embeddings": True},
    ),
    "qwen3-4b": Shape(
        "qwen3",
        "norms of queries and keys; no start token; thinks by default",
        TURNS + OPEN + UNTHINKING,
    ),
    "gemma-2-2b": Shape(
        "gemma2",
        "sliding windows by turns, capped logits; start token; no template",
        bos="<bos>",
        eos="<eos>",
        config={
            "head_dim": 8,
            "sliding_window": 16,
            "layer_types": BY_TURNS,
            "query_pre_attn_scalar": 8,
        },
    ),
    "granite-3-3-2b-instruct": Shape(
        "granite",
        "scaled logits; the start token is the end token; may think; writes the day",
        GRANITE,
        bos="<|endoftext|>",
        config={"logits_scaling": 2.0, "residual_multiplier": 0.5, "embedding_multiplier": 4.0},
    ),
    "llama-3-2-3b": Shape(
        "llama", "scaled positions; start token; no template", bos="<bos>", config={"head_dim": 8}
    ),
    "phi-3-mini-4k-instruct": Shape(
        "phi3",
        "one sliding window; start token; system messages",
        BARS,
        bos="<s>",
        config={"sliding_window": 64},
    ),
    "phi-4-mini-instruct": Shape(
        "phi3",
        "positions in a part of each head; the start token is the end token; system messages",
        BARS,
        bos="<|endoftext|>",
        config={"partial_rotary_factor": 0.5, "tie_word_embeddings": True},
    ),
    "falcon-h1-3b-base": Shape(
        "falcon_h1",
        "state space and attention in every layer; start token; no template",
        bos="<bos>",
        config={
            "mamba_d_ssm": 32,
            "mamba_n_heads": 4,
            "mamba_d_head": 8,
            "mamba_d_state": 8,
            "mamba_n_groups": 1,
            "mamba_chunk_size": 16,
            "head_dim": 8,
        },
    ),
    "mistral-small-instruct-2409": Shape(
        "mistral",
        "start token; roles must alternate, a system message goes into the prompt",
        ALTERNATING,
        bos="<s>",
    ),
    "llama-3-1-8b": LLAMA,
    "vicuna-13b-v1-5": LLAMA,
    "qwen2-5-14b-instruct": QWEN25,
    "qwen2-5-32b-instruct": QWEN25,
    **{f"flan-t5-{size}": Shape("t5", OF_T5) for size in ("base", "large", "xl", "xxl")},
    # No model of the catalogue has these two templates, and whoever declares such a model meets
    # them.
    "gemma-2-2b-it": Shape(
        "gemma2",
        "sliding windows by turns; start token; refuses system messages",
        NO_SYSTEM,
        bos="<bos>",
        eos="<eos>",
        config={
            "head_dim": 8,
            "sliding_window": 16,
            "layer_types": BY_TURNS,
            "query_pre_attn_scalar": 8,
        },
    ),
    "llama-3-2-3b-instruct": Shape(
        "llama",
        "start token in the template; writes the day",
        DATED_WITH_BOS,
        bos="<bos>",
        config={"head_dim": 8},
    ),
    "bart-large-mnli": Shape(
        "bart",
        "an encoder and a decoder with a head for entailment",
        bos="<s>",
        config={
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
        }
        | {"encoder_attention_heads": 4, "decoder_attention_heads": 4, **NLI},
    ),
    "roberta-large-mnli": Shape(
        "roberta", "an encoder with a head for entailment", bos="<s>", config=NLI
    ),
    "deberta-base-mnli": Shape(
        "deberta",
        "relative positions; a head for entailment",
        config={"relative_attention": True, "pos_att_type": ["c2p", "p2c"], **NLI},
    ),
    "nli-deberta-v3-base": Shape(
        "deberta-v2",
        "relative positions in buckets; a head for entailment",
        config={
            "relative_attention": True,
            "position_buckets": 32,
            "pos_att_type": ["p2c", "c2p"],
            **NLI,
        },
    ),
    "nli-minilm2-l6-h768": Shape(
        "roberta", "an encoder with a head for entailment", bos="<s>", config=NLI
    ),
    "multilingual-sentiments-student": Shape(
        "distilbert",
        "a head for sentiment",
        config={"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}
        | {"id2label": {0: "positive", 1: "neutral", 2: "negative"}},
    ),
    "toxic-bert": Shape(
        "bert",
        "a head of several labels at once",
        config={
            "id2label": dict(
                enumerate(
                    ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
                ),
            ),
            "problem_type": "multi_label_classification",
        },
    ),
}
"""By model. Those of the catalogue that need a commit and are not here stay without one."""

KINDS = {"causal": "AutoModelForCausalLM", "nli": "AutoModelForSequenceClassification"}
TOOLS = ("multilingual-sentiments-student", "toxic-bert")
ADDED = {name: SHAPES[name] for name in ("gemma-2-2b-it", "llama-3-2-3b-instruct")}


def save(folder: Path, name: str, kind: str) -> None:
    """Save a tiny model with its tokenizer; weights differ between models."""
    if kind == "seq2seq":
        save_tiny_t5(folder, len(name) + ord(name[-1]))
        return
    import torch
    import transformers

    shape, seed = SHAPES[name], sum(map(ord, name))
    tokenizer = tokenizer_of(shape, is_causal=kind == "causal")
    settings = {
        **(SMALL if kind == "causal" else ENCODER),
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        **shape.config,
    }
    auto = getattr(transformers, KINDS.get(kind, KINDS["nli"]))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = auto.from_config(transformers.AutoConfig.for_model(shape.model_type, **settings))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def tokenizer_of(shape: Shape, *, is_causal: bool) -> Any:
    """A byte-level tokenizer fitted on sources of ours, with the marks of the template; what reads
    pairs ends texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    marks = re.findall(r"<[^<>{} ]+>", shape.template or "")
    special = list(dict.fromkeys(["<pad>", shape.eos, *filter(None, [shape.bos]), *marks]))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    sources = ROOT / "data/sources"
    paths = [path for path in sources.glob("*/*.yaml") if path.parent.name in FAMILIES]
    tokenizer.train_from_iterator([path.read_text() for path in sorted(paths)], trainer)
    if not is_causal:
        begin, end = shape.bos or shape.eos, shape.eos
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}",
            pair=f"{begin} $A {end} $B:1 {end}:1",
            special_tokens=[(mark, tokenizer.token_to_id(mark)) for mark in {begin, end}],
        )
    roles = {"pad_token": "<pad>", "eos_token": shape.eos}
    if shape.bos:
        roles["bos_token"] = shape.bos
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **roles
    )
    fast.chat_template = shape.template
    fast.model_max_length = 2048
    return fast


def clone(folder: Path) -> None:
    """The files of this working tree that git knows, as a repository of its own, with what is
    tracked committed."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in names.stdout.splitlines():
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    recorded = folder / "data/recorded"
    recorded.mkdir(exist_ok=True)
    (recorded / "release.json").write_text('{"release": "none", "models": {}, "files": {}}')
    (folder / ".cache/answers").mkdir(parents=True)
    (ROOT / ".cache/models").mkdir(parents=True, exist_ok=True)
    (folder / ".cache/answers/models").symlink_to(ROOT / ".cache/models")
    with (folder / ".gitignore").open("a") as ignored:
        ignored.write(f"/{MADE}/\n")
    person = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "as it was"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def every(values: Any, least: int) -> Any:
    """One in twenty of a list or mapping, evenly spread, but so many at least."""
    keys = list(values)
    wanted = min(len(keys), max(least, len(keys) // 20))
    left = [keys[place * len(keys) // wanted] for place in range(wanted)]
    return {key: values[key] for key in left} if isinstance(values, dict) else left


@dataclass
class Rehearsal:
    """A clone with tiny models, and what its commands said.

    Stages are forked off a process that has the libraries: some two hundred would import for four
    seconds each.
    """

    folder: Path
    bin: Path
    said: list[str] = field(default_factory=list)
    took: dict[str, float] = field(default_factory=dict)

    def edit(self, file: str, change: Any) -> None:
        path = self.folder / file
        document = yaml.load(path.read_text())
        change(document)
        with path.open("w") as out:
            yaml.dump(document, out)

    def declare(self) -> None:
        """One item in twenty of every source, and tiny models in the place of large ones."""
        sources = Path("data/sources")
        for path in sorted((self.folder / sources / "probes").glob("*.yaml")):
            self.edit(str(path.relative_to(self.folder)), fewer_attributes)
        for path in sorted((self.folder / sources / "questionnaires").glob("*.yaml")):
            self.edit(str(path.relative_to(self.folder)), fewer_items)
        for path in sorted(
            (self.folder / sources / "questionnaires/shared/corpora").glob("*.yaml")
        ):
            self.edit(str(path.relative_to(self.folder)), fewer_sentences)
        for name in ("countries", "countries-article"):
            self.edit(f"data/sources/saged/{name}.yaml", fewer_concepts)
        self.edit("params.yaml", self._tiny)

    def _tiny(self, params: Any) -> None:
        models = params["models"]
        for name in ADDED:
            models[name] = {
                "kind": "causal",
                "chat": True,
                "profile": "paper",
                "licence": "cc0-1.0",
                "origin": "tiny",
            }
        for name, shape in SHAPES.items():
            folder = self.folder / MADE / "models" / name
            save(folder, name, models[name]["kind"])
            models[name].pop("revision", None)
            models[name]["source"] = f"local:{folder}"
            models[name]["origin"] = f"tiny, random, of the type {shape.model_type}"
        # Fits of ours are no architecture of the papers; one of them shows that an encoder with an
        # adapter is asked.
        models["mpnet-nli-a"].pop("intervention")
        for name in ("mpnet-nli-b", "mpnet-nli-c"):
            models[name]["scale"] = "quick"
        few: dict[str, dict[str, Any]] = {
            "probes": {"prefixed": 2, "prefixed_templates": 1, "placebo_attributes": 4}
            | {"choice_attributes": 2, "choice_templates": 1, "choice_placebo_templates": 1},
            # Without a bar, which models that know nothing do not pass: figures over models are
            # computed.
            "questionnaires": {
                "accuracy": 0.001,
                "accuracy_pairs": 12,
                "adapted_pairs": 3,
                "adapted": 1,
                "fits": 2,
                "prefixed": 1,
            },
            "framing": {
                "stimuli": 2,
                "placebo_stimuli": 1,
                "most_wordings": 1,
                "most_placebos": 1,
                "orders": 2,
            }
            | {"generations": 1, "new_tokens": 6},
            "saged": {"items": 2, "reseeded": 1, "prefixed": 1, "new_tokens": 8},
            "external": {"most": 1, "prefixed": 2, "most_placebos": 3},
        }
        for family, settings in few.items():
            params["families"][family] |= settings
            for entry in params["instruments"].values():
                if entry["family"] == family:
                    for key in settings:
                        entry.pop(key, None)
        for corpus in params["families"]["questionnaires"]["corpora"].values():
            corpus["epochs"] = 2
        # Contrasts that stand in no table of a paper are built, and nobody is asked.
        params["instruments"]["age"]["asked"] = False
        params["instruments"]["p-at-gender-8"]["asked"] = True
        params["instruments"]["occupation-gender-evolved"]["evolve"] |= {
            "gradient_attributes": 2,
            "tries": 1,
        }
        params["diagnosis"]["resamples"] = 200

    def run(self, *command: str, status: tuple[int, ...] = (0,)) -> str:
        """What a command said, which is passed on; RuntimeError where it ends with another
        status."""
        began, name = time.monotonic(), " ".join(command)
        print(f"$ {name}", flush=True)
        programs = [str(self.bin), str(Path(sys.executable).parent), os.environ["PATH"]]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(programs),
            "PYTHONPATH": f"{self.folder}{os.pathsep}{self.bin.parent}",
            "EVENRULER_CACHE": str(self.folder / ".cache/answers"),
            "DVC_NO_ANALYTICS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = []
            with (self.folder / MADE / "said.txt").open("a") as output:
                print(f"$ {name}", file=output)
                for line in process.stdout:
                    print(line, end="", file=output, flush=True)
                    lines.append(line)
        self.said += lines
        self.took[name] = time.monotonic() - began
        if process.returncode not in status:
            raise RuntimeError(f"{name}: status {process.returncode}\n{''.join(lines[-20:])}")
        return "".join(lines)

    def params(self) -> Any:
        return YAML(typ="safe").load((self.folder / "params.yaml").read_text())

    def active(self) -> Active:
        return load_active(self.folder / PIPELINE / "active.yaml")

    def answers(self) -> pd.DataFrame:
        """How many answers by family, model, table and form."""
        rows = []
        for path in sorted((self.folder / PIPELINE / "data/answers").glob("*/*/*.parquet")):
            table = pd.read_parquet(path)
            place = (*path.parts[-3:-1], path.stem)
            counts = {"": len(table)}
            if "configuration" in table:
                counts = table["configuration"].value_counts().to_dict()
            rows += [(*place, str(form), int(n)) for form, n in counts.items() if n]
        return pd.DataFrame(rows, columns=["family", "model", "table", "form", "n"])

    def log(self) -> Iterator[str]:
        """What was asked of each architecture, and what was left out."""
        params, answers = self.params(), self.answers()
        yield "# The scale `paper`, rehearsed\n"
        times = [f"`{name}` {seconds / 60:.1f} minutes" for name, seconds in self.took.items()]
        yield "; ".join(times) + "\n"
        for name in dict.fromkeys([*SHAPES, *sorted(answers["model"].unique())]):
            shape = SHAPES.get(name)
            yield f"## {name}\n"
            yield f"{shape.model_type}: {shape.features}\n" if shape else "as it is\n"
            of_model = answers[answers["model"] == name]
            for family, rows in of_model.groupby("family"):
                counts = [f"{row.n:,} {row.table} {row.form}".strip() for row in rows.itertuples()]
                yield f"- {family}: {', '.join(counts)}"
            about = re.compile(rf"(?<![\w-]){name}(?![\w-])")
            for line in dict.fromkeys(filter(about.search, self.said)):
                if NOTABLE.search(line) and "tokens more" not in line:
                    yield f"- said: {line.strip()[:400]}"
            yield ""
        yield "## Left out\n"
        for stage, why in (params.get("left_out") or {}).items():
            yield f"- {stage}: {why}"
        revisions = {name: entry.get("revision") for name, entry in params["models"].items()}
        lacking = [name for name, revision in revisions.items() if revision == "to be given"]
        yield f"- no commit: {', '.join(lacking)}"

    def wrong(self) -> Iterator[str]:
        """What a rehearsal must not lose, and lost."""
        params = self.params()
        families = self.active().families
        for family in FAMILIES:
            if family not in families:
                yield f"{family} vanished"
                continue
            metrics = self.folder / PIPELINE / "data/diagnosis" / family / "metrics.json"
            if not metrics.exists() or not json.loads(metrics.read_text()):
                yield f"{family} has no figures"
            for name in families[family].instruments:
                benchmark = f"benchmarks/{family}-{name}"
                if not (self.folder / PIPELINE / benchmark / "evidence.json").exists():
                    yield f"{benchmark} is not built"
        deleted = subprocess.run(
            ["git", "ls-files", "-d"], cwd=self.folder, capture_output=True, text=True, check=True
        )
        yield from (f"deleted: {line}" for line in deleted.stdout.splitlines())
        yield from self._evolved(params)
        yield from self._tables()
        for name in sorted(SHAPES.keys() - set(self.answers()["model"]) - {*TOOLS}):
            yield f"{name} was asked nothing"
        for stage, why in (params.get("left_out") or {}).items():
            yield f"left out: {stage}: {why}"
        if any(line.startswith("Traceback") for line in self.said):
            yield "a traceback"

    def _evolved(self, params: Any) -> Iterator[str]:
        for name in params["instruments"]:
            if not name.endswith(EVOLVED):
                continue
            folder = self.folder / PIPELINE / "data/evolved" / name
            if not (folder / "history.parquet").exists():
                yield f"{name} did not evolve"
                continue
            n_generations = pd.read_parquet(folder / "history.parquet")["generation"].max()
            operators = set(pd.read_parquet(folder / "tries.parquet")["operator"])
            if not n_generations or operators != {"smollm3-3b"}:
                yield f"{name}: {n_generations} generations, by {operators}"

    def _tables(self) -> Iterator[str]:
        """Tables of papers: of every model that was asked, some row of each table where the model
        stands is filled."""
        cells = pd.read_csv(self.folder / BESIDE, dtype=str, keep_default_na=False)
        is_asked = cells["ours"].isin(self.answers()["model"])
        for (paper, table), rows in cells.groupby(["paper", "table"]):
            if rows["figure"].str.fullmatch("|not run|none.*").all():
                yield f"{paper}, {table}: no figure of ours"
            empty = rows.loc[is_asked & (rows["figure"] == "not run"), "ours"]
            for model in sorted(set(empty)):
                yield f"{paper}, {table}: {model} was asked and is not run"


def fewer_attributes(source: Any) -> None:
    """Ten attributes, or eight of each key, the fewest that are allowed."""
    if "keys" not in source:
        source["attributes"] = every(source["attributes"], 10)
        return
    for words in ("keys", "rivals"):
        for end in ("high", "low"):
            source[words][end] = every(source[words][end], 8)
    keys = {*source["keys"]["high"], *source["keys"]["low"]}
    source["attributes"] = [word for word in source["attributes"] if word in keys]


def fewer_items(source: Any) -> None:
    """Three items with their twins, the fewest of which alpha can be told, in one wording."""
    source["items"] = every(source["items"], 3)
    for item in source["items"].values():
        for question in (item, *item["twins"]):
            terms = question["terms"]
            question["terms"] = {end: words[:1] for end, words in terms.items()}


def fewer_concepts(source: Any) -> None:
    """Four real ones and three invented ones."""
    invented = {
        name: concept for name, concept in source["concepts"].items() if "control" in concept
    }
    real = {name: concept for name, concept in source["concepts"].items() if name not in invented}
    source["concepts"] = {**every(invented, 3), **every(real, 4)}
    if "branch" in source:
        source["branch"]["words"] = {
            name: source["branch"]["words"][name] for name in source["concepts"]
        }
        # A tiny random model writes no question, and judges none.
        source["assemble"] = {"method": "split", "per_concept": 75}
        del source["branch"]["judge"]
        source["branch"]["read"] = {"rows": 1000, "wrong": 0, "by": "nobody"}


def fewer_sentences(source: Any) -> None:
    """Ten sentences."""
    source["sentences"] = every(source["sentences"], 10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.absolute()
    warm = Warm(Path(tempfile.mkdtemp()))
    # Commands start cold, and what they start by the name of their Python is forked.
    (warm.bin / "evenruler").unlink()
    (warm.bin.parent / "sitecustomize.py").write_text(
        f"import sys\nsys.executable = {str(warm.bin / 'python')!r}\n"
    )
    rehearsal = Rehearsal(folder, warm.bin)
    if folder.exists():
        for code in ("evenruler", "stages", "docs/papers.py"):
            subprocess.run(["cp", "-r", ROOT / code, (folder / code).parent], check=True)
    else:
        clone(folder)
        rehearsal.declare()
    try:
        for command in COMMANDS:
            rehearsal.run(*command.split(), status=(0, 1) if " ask " in command else (0,))
        wrong = list(rehearsal.wrong())
    except RuntimeError as error:
        wrong = [str(error)]
    warm.close()
    log = "\n".join(
        [
            *rehearsal.log(),
            "",
            "## What was lost\n",
            *(f"- {line}" for line in wrong or ["nothing"]),
        ]
    )
    (folder / MADE / "log.md").write_text(log + "\n")
    print("\n".join(wrong) or "nothing was lost")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
