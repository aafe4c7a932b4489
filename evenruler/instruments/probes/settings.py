"""How one probe domain is built."""

from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from evenruler.strict import Slug, Strict

Article = Literal["agree", "literal"]
ArticleSetting = Annotated[
    Annotated[Article, Tag("[one]")] | Annotated[dict[Slug, Article], Tag("[by set]")],
    Discriminator(lambda value: "[by set]" if isinstance(value, dict) else "[one]"),
]
"""For all template sets, or by set."""


class ProbeSettings(Strict):
    """How one probe domain is built."""

    article: ArticleSetting = "agree"
    """`agree`: "a/an" before a filled slot follows the filled word; `literal`: as the template has it.
    For all template sets, or by set (`agree` for those not named)."""

    def article_of(self, template_set: str) -> Article:
        """The article setting of one template set."""
        return self.article.get(template_set, "agree") if isinstance(self.article, dict) else self.article
