import json

import pytest

from evenruler.models import Sampling


class TestSampling:
    def settings(self, tiny, **fields: object) -> Sampling:
        model = tiny()
        (model._folder / "generation_config.json").write_text(
            json.dumps({"eos_token_id": 1, **fields})
        )
        sampling = model.sampling(50)
        assert model._backend is None
        return sampling

    def test_the_models_own_are_taken(self, tiny) -> None:
        sampling = self.settings(
            tiny, do_sample=True, temperature=0.6, top_p=0.9, top_k=20, repetition_penalty=1.1
        )

        assert sampling == Sampling(50, temperature=0.6, top_p=0.9, top_k=20)

    def test_what_is_not_there_is_as_it_is_without_settings(self, tiny) -> None:
        assert self.settings(tiny) == Sampling(50, temperature=1.0, top_p=1.0, top_k=0)
        assert self.settings(tiny, temperature=None, top_k=None, top_p=0.8) == Sampling(
            50, top_p=0.8
        )
        assert self.settings(tiny, do_sample=False, temperature=0.7) == Sampling(
            50, temperature=0.7
        )

    @pytest.mark.parametrize(
        "fields",
        [
            {"temperature": float("nan")},
            {"top_p": 0},
            {"top_k": -1},
        ],
        ids=str,
    )
    def test_what_an_entry_could_not_say_is_refused_in_one_line(
        self, fields, tiny, error_of
    ) -> None:
        """A temperature below 0, or none, would take the least likely token each time."""
        line = error_of(self.settings, tiny, **fields)

        ((name, wrong),) = fields.items()
        assert f"generation_config.json: {name}: found {wrong}" in line

    def test_those_of_the_entry_go_before(self, tiny) -> None:
        model = tiny(entry={"sampling": {"temperature": 0.2, "top_k": 7}})
        (model._folder / "generation_config.json").write_text('{"temperature": 0.9, "top_p": 0.8}')

        assert model.sampling(5) == Sampling(5, temperature=0.2, top_p=0.8, top_k=7)
