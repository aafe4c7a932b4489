"""Entailment of questionnaire prompts: ours against one call a prompt and against qlatent's
batches, in one run.

Run by hand: `python -m tests.performance.entailment`. Prints a Markdown table: texts/s, seconds,
tokens with their padding, share of the machine's own measured matmul peak, largest difference of
logits from one call a prompt, and how much faster ours is. All prompts of all declared
questionnaires, from text to logits on the host, tokenising included; the same model object and
threads for all. qlatent 1.0.27 sends the prompts of an item as one padded batch; what it does to
each answer afterwards is left out. Contenders take turns, the best of three turns counts; loading
the model is not timed, writing to our row store is.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from evenruler.declaration.params import Params, load_params
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.models.backends.encoders import CAPACITY, Nli, pack_by_length
from evenruler.models.model import Model
from evenruler.models.questions import LABELS, EntailmentPair
from evenruler.models.store import RowStore
from tests.performance.likelihood import matmul_peak

SOURCES = Path("data/sources/questionnaires")
TURNS = 3
ASKED = {"one call a prompt": "8x", "a batch an item": "2x"}
Items = Sequence[Sequence[EntailmentPair]]


def prompts(params: Params) -> list[list[EntailmentPair]]:
    """All prompts, by item."""
    from evenruler.instruments.questionnaires.rows import fill_templates

    items: dict[tuple[str, str], list[EntailmentPair]] = {}
    for name in [
        name for name, entry in params.instruments.items() if entry["family"] == "questionnaires"
    ]:
        source, scale = load_questionnaire(SOURCES / f"{name}.yaml", SOURCES / "shared/scales")
        for row in fill_templates(name, source, scale).prompts:
            items.setdefault((name, row["item"]), []).append((row["premise"], row["hypothesis"]))
    return list(items.values())


def opened(name: str, params: Params, folder: Path) -> Model:
    from evenruler.models import load

    model = load(name, params, store=RowStore(folder))
    if model.kind != "nli":
        raise SystemExit(f"{name} has no head for pairs of its own; name another model")
    return model


def called(backend: Nli, batches: Items) -> np.ndarray:
    """[n, 3] logits, one call of transformers a batch."""
    import torch

    found = []
    with torch.inference_mode():
        for batch in batches:
            encoded = backend.tokenizer(
                list(batch), padding=True, truncation="only_first", return_tensors="pt"
            )
            found.append(backend.model(**encoded.to(backend.model.device)).logits.cpu().numpy())
    return np.concatenate(found)[:, list(backend._order)].astype(np.float64)


def contest(
    name: str, params: Params, backend: Nli, items: Items
) -> dict[str, tuple[float, np.ndarray]]:
    """Seconds and logits of one turn of each contender."""
    pairs = [pair for item in items for pair in item]
    with tempfile.TemporaryDirectory() as folder:
        first, again = (opened(name, params, Path(folder)) for _ in range(2))
        first._backend = backend  # again has none: it would have to load it
        contenders: dict[str, Callable[[], np.ndarray]] = {
            "ours": lambda: first.entailment(pairs),
            "one call a prompt": lambda: called(backend, [[pair] for pair in pairs]),
            "a batch an item": lambda: called(backend, items),
            "ours, stored": lambda: again.entailment(pairs),
        }
        found = {}
        for contender, run in contenders.items():
            start = time.perf_counter()
            logits = run()
            found[contender] = (time.perf_counter() - start, logits)
        assert first.asked == len(set(pairs))
        assert (again.asked, again._backend) == (0, None)
        assert (found["ours"][1] == found["ours, stored"][1]).all()
    return found


def tokens(backend: Nli, items: Items) -> dict[str, int]:
    """Tokens that go through the model, by contender, padding included."""
    pairs = list(dict.fromkeys(pair for item in items for pair in item))
    ids = dict(zip(pairs, backend._encode(pairs)["input_ids"], strict=True))

    def padded(batches: Items) -> int:
        return sum(len(batch) * max(len(ids[pair]) for pair in batch) for batch in batches)

    ours = pack_by_length(list(ids.values()), pairs, CAPACITY[backend.model.device.type])
    return {
        "ours": padded([[pairs[i] for i in pack] for pack in ours]),
        "one call a prompt": padded([[pair] for item in items for pair in item]),
        "a batch an item": padded(items),
    }


def weights(backend: Nli) -> int:
    """Numbers that each token is multiplied with; what only the first token meets is left out."""
    import torch

    named = backend.model.base_model.named_modules()
    return sum(
        m.weight.numel()
        for name, m in named
        if isinstance(m, torch.nn.Linear) and "pooler" not in name
    )


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "model", nargs="?", default="mpnet-nli-a", help="a model of kind nli or encoder"
    )
    parser.add_argument("--params", default="params.yaml", help="the declaration that names it")
    parser.add_argument("--every", type=int, default=1, help="take every n-th item only")
    arguments = parser.parse_args()
    params = load_params(arguments.params)
    name, items = arguments.model, prompts(params)[:: arguments.every]
    with tempfile.TemporaryDirectory() as folder:
        backend = opened(name, params, Path(folder)).backend
    contest(name, params, backend, items[:2])  # warm-up
    peak = matmul_peak()
    turns = [contest(name, params, backend, items) for _ in range(TURNS)]
    seconds = {contender: min(turn[contender][0] for turn in turns) for contender in turns[0]}
    logits = {contender: found for contender, (_, found) in turns[0].items()}
    n, through = len(logits["ours"]), tokens(backend, items)
    device = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    print(
        f"### {name}\n\n{n:,} prompts of {len(items)} items, {through['one call a prompt']:,} "
        "tokens; ",
        end="",
    )
    print(
        f"{device}, {str(backend.model.dtype)[6:]}; matmul peak {peak / 1e9:,.0f} GFLOP/s "
        "(float32)\n"
    )
    print(
        "| | texts/s | seconds | tokens, padded | of the matmul peak | largest difference, logits",
        end="",
    )
    print(" | ours is faster by | asked |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for contender, count in through.items():
        share = 2 * count * weights(backend) / seconds[contender] / peak
        row = [
            contender,
            f"{n / seconds[contender]:,.1f}",
            f"{seconds[contender]:.2f}",
            f"{count:,}",
            f"{share:.0%}",
            f"{np.abs(logits[contender] - logits['one call a prompt']).max():.1e}",
            f"{seconds[contender] / seconds['ours']:.2f}x",
            ASKED.get(contender, "1e-05"),
        ]
        print(f"| {' | '.join(row)} |")
    ranges = (
        f"{label} {size:.1f}"
        for label, size in zip(LABELS, np.ptp(logits["ours"], axis=0), strict=True)
    )
    print(f"\nLogits range over {', '.join(ranges)}. A store that has them answers ", end="")
    print(
        f"{n / seconds['ours, stored']:,.0f} texts/s, bit for bit the same, and does not load the "
        "model."
    )


if __name__ == "__main__":
    main()
