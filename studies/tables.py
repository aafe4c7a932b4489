"""Tables in Markdown, printed row by row."""


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
