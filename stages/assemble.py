"""Make one domain's prompts: `data/sentences/{d}/` -> `data/built/saged/{d}/`."""

from collections.abc import Sequence

from evenruler.declared import Declared
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.assemble.framed import framed
from evenruler.instruments.saged.assemble.questions import Question, ask
from evenruler.instruments.saged.build import Questions, build, report
from evenruler.instruments.saged.source import DomainSource, load_domain
from evenruler.tables import read_table, write_table
from stages.running import BUILT, SENTENCES, SOURCES, run

Tries = list[dict[str, str | int]]


def main(domain: str) -> None:
    """Write the domain's prompts with their baselines, what they are asked after, and what was rejected."""
    source = load_domain(SOURCES / "domains" / f"{domain}.yaml")
    sentences = read_table(SENTENCES / domain / "sentences.parquet").to_pylist()
    tries: Tries = []
    built = build(domain, source, sentences, _questions(Declared(), source, tries))
    folder = BUILT / "saged" / domain
    write_table(built.prompts, schemas.PROMPTS, folder / "prompts.parquet")
    write_table(built.rejected, schemas.REJECTED, folder / "rejected.parquet")
    prefixes = source.framings.prefixes if source.framings else {}
    write_table(framed(domain, built.prompts, prefixes), schemas.FRAMED, folder / "framed.parquet")
    write_table(tries, schemas.TRIES, folder / "tries.parquet")
    for row in report(built.prompts):
        changed = f", {row['replaced']:.0%} of them with replacements" if source.branch else ""
        print(f"{domain}: {row['concept']}: {row['items']:,} items{changed}")
    print(f"{domain}: {len(built.prompts):,} prompts, {len(built.rejected):,} sentences rejected")


def _questions(params: Declared, source: DomainSource, tries: Tries) -> Questions:
    """By rules, or by the model that the domain names; replies that were refused are kept."""

    def write(sentences: Sequence[str], keywords: Sequence[str]) -> list[tuple[str, str]]:
        made = _asked(params, source, sentences, keywords)
        for sentence, question in zip(sentences, made, strict=True):
            tries.extend(
                {"sentence": sentence, "attempt": number, "reply": reply, "reason": reason}
                for number, (reply, reason) in enumerate(question.refused)
            )
        return [(question.text, question.rule) for question in made]

    return write


def _asked(
    params: Declared, source: DomainSource, sentences: Sequence[str], keywords: Sequence[str]
) -> Sequence[Question]:
    name = source.assemble.model
    if name is None:
        from evenruler.instruments.saged.assemble.rulemade import questions  # spaCy takes seconds

        return questions(sentences, keywords)
    from evenruler.models.catalogue import load

    model = load(name, params.catalogue)
    return ask(sentences, keywords, lambda prompt: model.generate([prompt])[0])


if __name__ == "__main__":
    run(main)
