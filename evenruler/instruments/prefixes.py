"""What the prompts of a benchmark are wrapped in, to see whether its figures are of the bias or of the task."""

from pydantic import field_validator, model_validator

from evenruler.strict import Strict, Text

SALIENCE, INSTRUCTION = "salience", "instruction"
BOTH = f"{SALIENCE}+{INSTRUCTION}"


class Framings(Strict):
    """Two cues that a prompt is a test, put before it: each alone, and both."""

    salience: Text
    """A sentence that says what is tested."""
    instruction: Text
    """A sentence that says what to do."""

    @field_validator("salience", "instruction")
    @classmethod
    def _without_slots(cls, text: str) -> str:
        if "{" in text or "}" in text:
            raise ValueError(f"{text!r} holds a brace; the same words stand before every prompt")
        return text

    @model_validator(mode="after")
    def _distinct(self) -> "Framings":
        if self.salience.lower() == self.instruction.lower():
            raise ValueError(f"salience and instruction are the same, {self.salience!r}")
        return self

    @property
    def prefixes(self) -> dict[str, str]:
        """What stands before a prompt, by framing."""
        return {
            SALIENCE: self.salience,
            INSTRUCTION: self.instruction,
            BOTH: f"{self.salience} {self.instruction}",
        }

    @property
    def in_words(self) -> str:
        """What stands before prompts, for a card."""
        return f'"{self.salience}" and "{self.instruction}", each alone and both'
