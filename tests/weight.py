"""What the library weighs, in lines and modules: `make lint` fails above what is agreed, so that it does not creep."""

from pathlib import Path

LINES, MODULES = 43_480, 226
ROOT = Path(__file__).parents[1]


def main() -> None:
    """Print the weight, and end with status 1 where it is more than agreed."""
    modules = [path for folder in ("evenruler", "stages") for path in (ROOT / folder).rglob("*.py")]
    lines = sum(len(path.read_bytes().splitlines()) for path in modules)
    print(f"evenruler/ and stages/: {lines:,} lines of {LINES:,}, {len(modules)} modules of {MODULES}")
    if lines > LINES or len(modules) > MODULES:
        raise SystemExit("heavier than agreed: take something out; the ceiling is lowered, never raised")


if __name__ == "__main__":
    main()
