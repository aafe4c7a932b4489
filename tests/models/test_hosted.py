"""Hosted models of the catalogue behind a real server on loopback: what they can do, and what is
kept."""

from collections.abc import Iterator

import pytest

from evenruler.models import Model, Reply, Sampling, load
from evenruler.models.backends.server import KEY, URL
from evenruler.models.store import RowStore
from tests.loopback_openai import ScriptedServer, running
from tests.tiny import catalogue_of, tiny_declaration

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with running(ScriptedServer()) as scripted:
        monkeypatch.setenv(URL, scripted.url)
        monkeypatch.setenv(KEY, "secret-word")
        yield scripted


def hosted(store: RowStore, kind: str = "chat", **entry: object) -> Model:
    declaration = tiny_declaration({})
    declaration["models"]["big"] = {
        "kind": kind,
        "source": "endpoint:big-one",
        "licence": "by its terms",
        "origin": "x",
        **entry,
    }
    return load("big", catalogue_of(declaration), store=store)


def test_asks_what_was_asked_and_keeps_the_replies(server: ScriptedServer, store: RowStore) -> None:
    model = hosted(store)
    sampling = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
    found = model.generate(
        ["one", "two", "one"],
        sampling=sampling,
        seeds=[3, 4, 3],
        system=["be brief", None, "be brief"],
    )
    assert found == ["ONE", "TWO", "ONE"]
    assert model.asked == 2
    again = hosted(store)
    assert again.generate(["two"], sampling=sampling, seeds=[4]) == ["TWO"]
    assert again.asked == 0
    other = hosted(store, revision="2026-11")
    assert other.generate(["two"], sampling=sampling, seeds=[4]) == ["TWO"]
    assert other.asked == 1


def test_a_start_token_is_part_of_what_was_asked(server: ScriptedServer, store: RowStore) -> None:
    bare, begun = hosted(store, "completions"), hosted(store, "completions", start="<s>")
    assert (bare.generate(["one"]), begun.generate(["one"])) == (["ONE"], ["<S>ONE"])
    assert '"start":"<s>"' in begun.engine
    assert "start" not in bare.engine


def test_the_key_stands_nowhere(server: ScriptedServer, store: RowStore) -> None:
    model = hosted(store)
    model.generate(["one"])
    assert "secret-word" not in model.engine
    assert b"secret-word" not in b"".join(
        path.read_bytes() for path in store.root.rglob("*") if path.is_file()
    )


def test_an_address_that_changes_before_anything_is_asked_gives_no_answers(
    server: ScriptedServer, store: RowStore, monkeypatch: pytest.MonkeyPatch, error_of
) -> None:
    """What one server says is never kept under the address of another."""
    model = hosted(store)
    with running(ScriptedServer()) as other:
        monkeypatch.setenv(URL, other.url)
        said = error_of(model.generate, ["one"])
        assert (
            said
            == "params.yaml: models.big: the server of big changed while it was in use; run again"
        )
        assert hosted(store).generate(["one"]) == ["ONE"]

    assert (len(server.asked), len(other.asked), store.count()) == (0, 1, 1)


def test_what_it_can_do(store: RowStore, error_of) -> None:
    chat, completions = hosted(store), hosted(store, "completions")

    assert chat.can("generate")
    assert not chat.can("loglikelihood")
    assert completions.can("loglikelihood")
    assert error_of(chat.entailment, [("a", "b")]) == (
        "params.yaml: models.big: big (kind chat) cannot entail, only generate; name a model that "
        "can entail"
    )
    assert chat.sampling(9) == Sampling(9)
    assert hosted(store, sampling={"temperature": 0.3}).sampling(9) == Sampling(9, temperature=0.3)


def test_a_refused_prompt_is_a_row_with_its_reason(store: RowStore, error_of) -> None:
    """By the interface of a backend alone: the cache keeps a refusal as it keeps a reply."""

    class Refusing:
        asked = 0

        def generate(self, prompts, wanted):
            self.asked += len(wanted)
            for i in sorted(wanted):
                said = (
                    Reply(None, "content_filter", "content_filter")
                    if "bad" in prompts[i].text
                    else Reply("Yes.")
                )
                yield [(i, said)]

    model = hosted(store)
    model._backend = backend = Refusing()
    expected = [Reply("Yes."), Reply(None, "content_filter", "content_filter")]

    for _ in range(2):
        assert model.replies(["fine", "bad"]) == expected
    assert backend.asked == 2
    assert error_of(model.generate, ["fine", "bad word"]) == (
        "'bad word': big gives no reply to a prompt (content_filter); change the prompt, or leave "
        "the model out"
    )
    assert model.generate(["fine"]) == ["Yes."]


def test_each_reply_is_kept_as_it_comes(store: RowStore) -> None:
    class Breaking:
        def generate(self, prompts, wanted):
            for i in sorted(wanted)[:2]:
                yield [(i, Reply(prompts[i].text))]
            raise KeyboardInterrupt

    model = hosted(store)
    model._backend = Breaking()

    with pytest.raises(KeyboardInterrupt):
        model.generate(["a", "b", "c"])
    assert store.count() == 2


def test_verbalised_entailment_follows_from_likelihoods(store: RowStore) -> None:
    class Likelihoods:
        def loglikelihood(self, requests, wanted):
            yield [(i, (-float(len(requests[i].prompt + requests[i].text)), 2)) for i in wanted]

    model = hosted(store, "completions")
    model._backend = Likelihoods()

    found = model.entailment([("A man.", "Somebody.")])

    # The premise "A man." has three letters more than "N/A", whatever is answered.
    assert found.tolist() == [[-3.0, -3.0, -3.0]]
    assert model.continuations(["ab"], [" c", " def"]).tolist() == [[-4.0, -6.0]]
