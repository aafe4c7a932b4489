"""A real model that chooses: an adapter on SmolLM2 fitted to lettered answers that are known, and
then measured.

Run by hand: `python -m tests.performance.choice_adapter FOLDER [--steps N]`. SmolLM2 itself always
says A, so it misses the bar of known answers. The adapter is fitted to pairs of sentences of which
one makes no sense, made here from verbs and what goes with them; none names a job or a gender, none
is among the known answers that benchmarks ask.
"""

import argparse
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evenruler.instruments.controls import load_control_pairs
from evenruler.instruments.methods.choice import PROMPT

ENOUGH = 28.5
"""Known answers that drawn replies are expected to have right both ways when the fit ends; 26 are
the bar."""

WHO = [
    "The guest",
    "My friend",
    "The child",
    "We",
    "They",
    "A neighbor",
    "The visitor",
    "Our host",
    "I",
    "Everyone",
]

WITH = {
    "drank": "a cup of tea|a glass of milk|some juice|cold lemonade|hot cocoa|a bottle of cider",
    "read": "a long novel|the newspaper|an old letter|the menu|a poem|the instructions",
    "drove": "a small car|the old truck|a rented van|the bus home|a tractor|the taxi",
    "ate": "a ripe apple|some soup|a slice of cake|roasted potatoes|a bowl of rice|fresh bread",
    "wore": "a warm coat|red gloves|a straw hat|leather boots|a silk scarf|a raincoat",
    "climbed": "the steep hill|a tall ladder|the mountain|the stairs|a rope|the fence",
    "played": "the piano|a game of chess|the guitar|football|a tune|the drums",
    "opened": "the window|a parcel|the front gate|the drawer|a jar of jam|the curtains",
    "watered": "the roses|the lawn|the tomato plants|the garden|a potted fern|the young trees",
    "fed": "the ducks|two hungry cats|the goldfish|a stray dog|the chickens|the horse",
    "painted": "the bedroom wall|a portrait|the wooden bench|the ceiling|a landscape|the fence "
    "white",
    "counted": "the coins|the empty chairs|the votes|the sheep|the stars|the tickets",
    "washed": "the dishes|the muddy car|a shirt|both hands|the windows|the floor",
    "mailed": "a postcard|the package|an invitation|two letters|the form|a birthday card",
    "lit": "a candle|the campfire|the stove|a lantern|the fireplace|a match",
    "repaired": "the bicycle|a broken clock|the roof|the engine|an old radio|the leaking pipe",
    "cooked": "a pot of stew|some pasta|an omelette|the fish|dinner|a large pancake",
    "sailed": "a small boat|the yacht|across the bay|around the island|along the coast|down the "
    "river",
    "cut": "the paper|a ribbon|the grass|a piece of wood|the string|the cloth",
    "listened to": "the radio|a lively song|the concert|an old record|the birds|the speech",
}


def pairs(draw: random.Random) -> tuple[str, str]:
    """A sentence that makes sense, and the same with what goes with another verb."""
    verb, other = draw.sample(sorted(WITH), 2)
    who, own, strange = (
        draw.choice(WHO),
        draw.choice(WITH[verb].split("|")),
        draw.choice(WITH[other].split("|")),
    )
    ending = draw.choice(["", " in the evening", " after the trip", " before noon", " last week"])
    return f"{who} {verb} {own}{ending}.", f"{who} {verb} {strange}{ending}."


def examples(tokenizer: Any, asked: Iterable[Sequence[str]]) -> list[tuple[list[int], int]]:
    """Tokens of prompts in the chat template with the right letter behind, and that letter; by
    turns A and B."""
    letters = [tokenizer.encode(letter, add_special_tokens=False)[0] for letter in "AB"]
    found = []
    for at, (right, wrong) in enumerate(asked):
        text = PROMPT.format(*((right, wrong) if at % 2 == 0 else (wrong, right)))
        chat = [{"role": "user", "content": text}]
        ids = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, tokenize=True, return_dict=False
        )
        found.append(([*ids, letters[at % 2]], letters[at % 2]))
    return found


def loss_of(model: Any, batch: list[tuple[list[int], int]]) -> tuple[Any, Any]:
    """Cross-entropy of the letter, and of the turn's end after it; and [batch] the probability of
    both."""
    import torch

    length = max(len(ids) for ids, _ in batch)
    ids = torch.zeros((len(batch), length), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, (own, _) in enumerate(batch):
        ids[row, length - len(own) :] = torch.tensor(own)
        mask[row, length - len(own) :] = 1
    logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=2).logits.float()
    wanted = torch.tensor([(letter, model.config.eos_token_id) for _, letter in batch])
    letter, end = (
        torch.nn.functional.cross_entropy(logits[:, at], wanted[:, at], reduction="none")
        for at in (0, 1)
    )
    return (letter + 0.2 * end).mean(), (-letter - end).exp().detach()


def right_both_ways(tokenizer: Any, model: Any) -> float:
    """How many known answers drawn replies are expected to have right in both turns."""
    import torch

    with torch.inference_mode():
        return sum(
            float(loss_of(model, examples(tokenizer, [pair, pair]))[1].prod().item())
            for pair in load_control_pairs()
        )


def main() -> None:
    """Fit the adapter, save it beside its base, and say how it goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", type=Path, required=True, help="SmolLM2 as transformers saves it")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--begin", type=Path, help="go on from this adapter")
    parser.add_argument("--rate", type=float, default=5e-4)
    args = parser.parse_args()

    import torch
    from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    base = AutoModelForCausalLM.from_pretrained(args.base, dtype=torch.float32)
    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    upper = list(range(base.config.num_hidden_layers // 2, base.config.num_hidden_layers))
    config = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=modules,
        layers_to_transform=upper,
        task_type="CAUSAL_LM",
    )
    model: Any = get_peft_model(base, config)
    if args.begin is not None:
        from safetensors.torch import load_file

        set_peft_model_state_dict(model, load_file(args.begin / "adapter_model.safetensors"))
    optimizer = torch.optim.AdamW(
        [own for own in model.parameters() if own.requires_grad], lr=args.rate
    )
    draw, began, mean = random.Random(0), time.monotonic(), 0.5
    known = {text for pair in load_control_pairs() for text in pair}
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / 30) * (1 - step / args.steps)
        batch = examples(tokenizer, [pairs(draw) for _ in range(8)])
        loss, right = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = 0.95 * mean + 0.05 * float(right.mean())
        if step % 10 == 9:
            print(
                f"step {step + 1}: loss {loss.item():.3f}, right {mean:.2f}, "
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )
        if step % 50 == 49:
            passed = right_both_ways(tokenizer, model)
            print(f"step {step + 1}: {passed:.1f} of 30 known answers right both ways", flush=True)
            if passed >= ENOUGH:
                break
    assert not known & {text for at in range(10_000) for text in pairs(random.Random(at))}, (
        "it was fitted to them"
    )
    model.save_pretrained(args.folder)


if __name__ == "__main__":
    main()
