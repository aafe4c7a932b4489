"""How one set of probes is built and asked: its entry under `instruments` in params.yaml."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from evenruler.errors import UserError
from evenruler.instruments.instrument import BaseSettings, Use
from evenruler.instruments.probes.declare.equation import shared_words
from evenruler.instruments.probes.declare.evolving import Evolve
from evenruler.instruments.scaled import Scaled
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug

Article = Literal["agree", "literal"]
ArticleSetting = Annotated[
    Annotated[Article, Tag("[one]")] | Annotated[dict[Slug, Article], Tag("[by set]")],
    Discriminator(lambda value: "[by set]" if isinstance(value, dict) else "[one]"),
]
"""For all template sets, or by set."""


LENGTHS_APART = 0.005
"""Tokens by which groups may differ, which is rounding."""


class Settings(BaseSettings):
    """How probes are built and asked."""

    article: ArticleSetting = "agree"
    """`agree`: "a/an" before a filled slot follows the filled word; `literal`: as the template has it.
    For all template sets, or by set (`agree` for those not named). What evolves has that of the set it starts with."""
    embedder: Slug
    """The model whose vectors say how far templates lie apart."""
    prefixed: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 12, "paper": 1000}, validate_default=True)
    """At most so many attributes, evenly spread, whose sentences are also asked after what stands in `framings` of the
    source."""
    prefixed_templates: Scaled[Annotated[int, Field(ge=1)]] = Field(
        default={"quick": 3, "paper": 1000}, validate_default=True
    )
    """Of each set, at most so many."""
    prefixed_targets: Scaled[Annotated[int, Field(ge=1)]] = Field(
        default={"quick": 2, "paper": 1000}, validate_default=True
    )
    """Of each group, at most so many."""
    bound: float = Field(default=0.2, gt=0)
    """A difference to the control of so many standard deviations over attributes is none."""
    least: int = Field(default=10, ge=2)
    """Attributes below which nothing is said."""
    reliability: float = Field(default=0.6, ge=0, le=1)
    """Alpha below which a set does not measure."""
    evolve: Evolve | None = None
    """Makes it a set that evolves of another, and how."""

    @property
    def made_by(self) -> Literal["evolve"] | None:
        """The stage that makes what it is built from: templates that evolve."""
        return "evolve" if self.evolve else None

    def written_as(self, name: str) -> str:
        """The file that users write, without ending; what evolves has that of what it evolves of."""
        return self.evolve.of if self.evolve else name

    def uses(self, source: Any) -> list[Use]:
        """The embedder; and where templates evolve, who measures and who rewords them."""
        found = [Use(self.embedder, "embed", "embedder")]
        if self.evolve:
            found.append(Use(self.evolve.model, "loglikelihood", "evolve.model", tool=False))
            found.append(Use(self.evolve.operator, "generate", "evolve.operator", tool=False))
        return found

    def warnings(self, source: Any) -> list[str]:
        """Targets of one group that share a word: regroupings are no control then."""
        groups = {target: group for group, words in source.targets.items() for target in words}
        shared = shared_words(list(groups), list(groups.values()))
        return [f"targets of one group share a word, so that nothing can be told: {', '.join(shared)}"] * bool(shared)

    def warnings_of(self, source: Any, lengths: Callable[[Sequence[str]], Sequence[int]]) -> list[str]:
        """Groups whose targets differ in mean length: a longer word makes any sentence less likely."""
        means = {group: fmean(lengths(list(words.values()))) for group, words in source.targets.items()}
        (short, least), (long, most) = sorted(means.items(), key=lambda item: item[1])
        if most - least < LENGTHS_APART:
            return []
        return [f"{long} has {most - least:.2f} tokens more than {short}: the offset of wordings says that, too"]

    def require_able(self, source: Any, catalogue: Catalogue, where: Callable[[str], str]) -> None:
        """As for any instrument; and the operator of what evolves can be asked as it is asked."""
        super().require_able(source, catalogue, where)
        if self.evolve is None:
            return
        operator, entry = self.evolve.operator, catalogue.models[self.evolve.operator]
        if not entry.chats:
            remedy = "name a causal model with `chat: true`"
            raise UserError(f"{operator!r} does not chat", where=where("evolve.operator"), remedy=remedy)
        if self.evolve.shots and not entry.continues:
            what = f"{operator!r} only chats, and goes on with no examples"
            raise UserError(what, where=where("evolve.shots"), remedy="say false")

    def article_of(self, template_set: str) -> Article:
        """How slots of one template set are filled.

        Args:
            template_set: Of a source that users write, or one that evolved.
        """
        if isinstance(self.article, str):
            return self.article
        return self.article.get(self.evolve.start if self.evolve else template_set, "agree")
