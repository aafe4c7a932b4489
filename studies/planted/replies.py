"""Replies of scripted chats as the family's parser reads them: the same reply to the same question
is read once, since chats say few things, and draws are many.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from evenruler.tables.frames import concat_frames

Parse = Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]
"""The family's parser, from questions and replies."""


@dataclass
class ReplyReader:
    """A parser that keeps what it has read."""

    questions: pd.DataFrame
    parse: Parse
    rows: dict[tuple[int, str], int] = field(default_factory=dict)
    """By question and reply: the row of `readings`."""
    readings: pd.DataFrame = field(default_factory=pd.DataFrame)

    def read_replies(self, replies: pd.DataFrame) -> pd.DataFrame:
        """Replies to all questions, in their order, as `parse` reads them."""
        keys = list(enumerate(replies["reply"]))
        new_keys = [key for key in keys if key not in self.rows]
        if new_keys:
            places = [place for place, _ in new_keys]
            new_replies = replies.iloc[places].reset_index(drop=True)
            parsed = self.parse(self.questions.iloc[places], new_replies)
            rows = range(len(self.readings), len(self.readings) + len(parsed))
            self.rows.update(zip(new_keys, rows, strict=True))
            self.readings = concat_frames([self.readings, parsed])
        rows_of_replies = [self.rows[key] for key in keys]
        return self.readings.iloc[rows_of_replies].reset_index(drop=True)
