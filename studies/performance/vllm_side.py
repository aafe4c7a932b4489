"""What vLLM computes, in its own environment, which has nothing of ours: `python vllm_side.py
QUESTIONS.json PROGRESS.json`. Writes how far it came after each chunk.
"""

import json
import sys
import time
from pathlib import Path

CHUNK = 500
STARTED = time.perf_counter()


def main(questions: Path, progress: Path) -> None:
    """Ask until all is answered, or the time is over."""
    from vllm import LLM, SamplingParams

    work = json.loads(questions.read_text())
    llm = LLM(model=work["model"], load_format="dummy", dtype="bfloat16", max_model_len=1024)
    is_reading = work["task"] == "likelihoods"
    if is_reading:
        sampling = SamplingParams(max_tokens=1, prompt_logprobs=0)
    else:
        sampling = SamplingParams(max_tokens=work["n_tokens"], ignore_eos=True)
    done = {"answers": 0, "seconds": 0.0, "tokens": 0}
    began = time.perf_counter()
    for start in range(0, len(work["texts"]), CHUNK):
        outputs = llm.generate(work["texts"][start : start + CHUNK], sampling, use_tqdm=False)
        done["answers"] += len(outputs)
        for output in outputs:
            tokens = output.prompt_token_ids if is_reading else output.outputs[0].token_ids
            done["tokens"] += len(tokens)
        done["seconds"] = time.perf_counter() - began
        progress.write_text(json.dumps(done))
        if time.perf_counter() - STARTED > work["seconds"]:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
