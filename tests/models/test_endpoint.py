"""A chat model behind a real server on loopback that speaks the OpenAI protocol."""

from collections.abc import Iterator
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.models import Sampling
from evenruler.models.endpoint import AT_ONCE, KEY, URL, StoredChat
from evenruler.models.entry import ModelEntry
from evenruler.models.store import RowStore
from tests.loopback_openai import ScriptedServer, running

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with running(ScriptedServer()) as scripted:
        monkeypatch.setenv(URL, scripted.url)
        monkeypatch.setenv(KEY, "secret-word")
        yield scripted


def chat(store: RowStore, revision: str | None = None) -> StoredChat:
    entry = ModelEntry(kind="chat", source="endpoint:big-one", licence="by its terms", origin="x", revision=revision)
    return StoredChat("big", entry, store)


def test_asks_what_was_asked_and_keeps_the_replies(server: ScriptedServer, store: RowStore) -> None:
    model = chat(store)
    sampling = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
    found = model.generate(
        ["one", "two", "one"], sampling=sampling, seeds=[3, 4, 3], system=["be brief", None, "be brief"]
    )
    assert found == ["ONE", "TWO", "ONE"]
    first, second = sorted(server.asked, key=lambda question: question["seed"])
    assert first["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "one"}]
    assert second["messages"] == [{"role": "user", "content": "two"}]
    assert (first["model"], first["max_tokens"], first["temperature"], first["top_p"]) == ("big-one", 7, 0.5, 0.9)
    assert (first["path"], first["key"]) == ("/v1/chat/completions", "Bearer secret-word")
    assert chat(store).generate(["two"], sampling=sampling, seeds=[4]) == ["TWO"]
    assert len(server.asked) == 2
    assert chat(store, "2026-11").generate(["two"], sampling=sampling, seeds=[4]) == ["TWO"]
    assert len(server.asked) == 3


def test_the_key_stands_nowhere(server: ScriptedServer, store: RowStore) -> None:
    model = chat(store)
    model.generate(["one"])
    assert "secret-word" not in model.engine
    assert b"secret-word" not in b"".join(path.read_bytes() for path in store.root.rglob("*") if path.is_file())


def test_a_server_that_is_busy_is_asked_again(server: ScriptedServer, store: RowStore) -> None:
    server.failures = [429, 503, 500]
    assert chat(store).generate(["one"]) == ["ONE"]
    assert len(server.asked) == 4


def test_what_was_answered_before_a_refusal_is_kept(server: ScriptedServer, store: RowStore) -> None:
    model = chat(store)
    prompts = [f"prompt {i}" for i in range(AT_ONCE + 1)]
    refused = []

    def refuse_the_last(question: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if question["messages"][-1]["content"] == prompts[-1] and not refused:
            refused.append(question)
            return 401, {"error": {"message": "wrong key"}}
        return ScriptedServer.answer(server, question)

    server.answer = refuse_the_last  # type: ignore[method-assign]
    with pytest.raises(UserError, match=r"big: the server does not answer .*wrong key"):
        model.generate(prompts)
    assert chat(store).generate(prompts) == [prompt.upper() for prompt in prompts]
    assert len(server.asked) == len(prompts)


def test_a_reply_without_words_is_empty(server: ScriptedServer, store: RowStore) -> None:
    server.content = ""
    assert chat(store).generate(["one"]) == [""]


def test_half_a_character_in_a_reply_is_replaced(server: ScriptedServer, store: RowStore) -> None:
    server.content = "so \ud83d it is"
    assert chat(store).generate(["one"]) == ["so ? it is"]


def test_a_key_is_needed(store: RowStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(UserError, match=KEY):
        chat(store).generate(["one"])


def test_nobody_listens(store: RowStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    monkeypatch.setenv(KEY, "x")
    monkeypatch.setattr("evenruler.models.endpoint.ATTEMPTS", 1)
    with pytest.raises(UserError, match="the server does not answer"):
        chat(store).generate(["one"])


def test_it_only_chats(store: RowStore) -> None:
    with pytest.raises(ValueError, match="only chats"):
        chat(store).generate(["one"], chat=False)


@pytest.mark.parametrize(("kind", "source"), [("chat", "local:folder"), ("causal", "endpoint:big")])
def test_kind_and_source_belong_together(kind: str, source: str) -> None:
    with pytest.raises(ValueError, match="belongs to kind chat"):
        ModelEntry(kind=kind, source=source, licence="x", origin="x")  # type: ignore[arg-type]
