"""lm-evaluation-harness as others run it: its real command, in a process and a folder of its
own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def lm_eval(model: Path, benchmark: Path, task: str, folder: Path, *more: str) -> dict[str, Any]:
    """What the harness finds without a network, started in a folder that has nothing to do with the
    benchmark.

    Args:
        model: Folder of a causal model.
        benchmark: A copy of a benchmark folder.
        task: A task or group of it.
        folder: Made, and started in.
        *more: Arguments besides.

    Returns:
        The content of its file of results.
    """
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    offline = {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    arguments = [
        *("--model", "hf", "--device", "cpu", "--batch_size", "16"),
        *("--model_args", f"pretrained={model},dtype=float32", "--output_path", "results"),
        *("--include_path", benchmark / "lm_eval", "--tasks", task, *more),
    ]
    done = subprocess.run(
        [Path(sys.executable).parent / "lm_eval", *arguments],
        cwd=folder,
        env=environment | offline,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    (results,) = (folder / "results").rglob("results*.json")
    content: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    return content
