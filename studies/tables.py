"""Tables in Markdown, printed row by row or as a whole."""

import pandas as pd


def print_row(*cells: object) -> None:
    """Print a row."""
    print(
        f"| {' | '.join(map(str, cells))} |",
        flush=True,
    )


def print_head(*headings: str) -> None:
    """Print the head of a table."""
    print_row(*headings)
    print_row(*["---"] * len(headings))


def markdown_table(table: pd.DataFrame) -> str:
    """A table in Markdown, numbers with three digits."""
    heads = [*map(str, table.columns)]
    rows = [heads, ["---"] * len(heads)]
    for row in table.itertuples(index=False):
        rows.append([write_cell(cell) for cell in row])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_cell(cell: object) -> str:
    """A number with three digits, anything else as it is."""
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
