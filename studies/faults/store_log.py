"""Which answers a store of a command said it has, logged by a `sitecustomize`."""

from pathlib import Path

LOG = "ACKNOWLEDGED"
"""The variable of the environment that names the log."""

KEY_BYTES = 32

HOOK = f"""import importlib.abc, importlib.util, os, sys

class Logging(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "evenruler.models.store":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        whole = spec.loader.exec_module

        def exec_module(module):
            whole(module)
            put = module.RowStore.put

            def logged(store, answers):
                answers = list(answers)
                put(store, answers)
                with open(os.environ["{LOG}"], "ab") as file:
                    file.write(b"".join(key for key, _ in answers))

            module.RowStore.put = logged

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Logging())
"""


def write_hook(folder: Path) -> None:
    """Write the `sitecustomize` into a folder that is to be on `PYTHONPATH`."""
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(HOOK)


def read_keys(log: Path) -> list[bytes]:
    """Return the keys of all answers in the order in which they were stored."""
    content = log.read_bytes()
    starts = range(0, len(content), KEY_BYTES)
    return [content[start : start + KEY_BYTES] for start in starts]
