"""Functions run in a process of their own, so that time and memory are theirs alone."""

import multiprocessing
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple


class Run(NamedTuple):
    """What a function returned, and the peak memory of its process."""

    returned: Any
    peak_mb: float


def run_apart(function: Callable[..., Any], *arguments: Any) -> Run:
    """Call a function of a module in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure_peak, function, arguments).result()


def measure_peak(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Run:
    """Call a function in this process."""
    returned = function(*arguments)
    return Run(returned, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
