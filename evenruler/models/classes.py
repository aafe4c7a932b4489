"""Which class of transformers loads a model that reads from left to right, and which part of it
reads text.

Models of images and text are asked without images.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedConfig, PreTrainedModel

CAUSAL: Final = "AutoModelForCausalLM"
IMAGE_TEXT: Final = "AutoModelForImageTextToText"


def _mapped_classes(model_type: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each Auto class, with the classes that it loads for a `model_type`."""
    from transformers.models.auto import modeling_auto

    mappings: dict[str, Mapping[str, Any]] = {
        CAUSAL: modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        IMAGE_TEXT: modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    }
    for auto_class, mapping in mappings.items():
        names = mapping.get(str(model_type), ())
        yield auto_class, (names,) if isinstance(names, str) else tuple(names)


def named_auto_class(config: Mapping[str, Any]) -> str | None:
    """The Auto class that loads the class which a `config.json` names, by its `model_type`; None
    where transformers has the class neither among causal models nor among those of images and text.
    """
    architectures = config.get("architectures")
    named = architectures[0] if isinstance(architectures, list) and architectures else None
    for auto_class, names in _mapped_classes(config.get("model_type")):
        if named in names:
            return auto_class
    return None


def choose_auto_class(config: Mapping[str, Any]) -> str:
    """The Auto class that loads a causal model of a `config.json`.

    That of the class which it names: as a causal model alone, Llama 4 would have tensors that are
    not used. Otherwise the first that has its `model_type`; for an unknown type `CAUSAL`, whose
    error says so.
    """
    named = named_auto_class(config)
    if named is not None:
        return named
    with_type = (
        auto_class for auto_class, names in _mapped_classes(config.get("model_type")) if names
    )
    return next(with_type, CAUSAL)


def decoder_of(model: "PreTrainedModel") -> Any:
    """The innermost module that turns tokens into hidden states.

    `get_decoder` goes inwards step by step. It ends at a class that holds an output layer beside
    its text model, as the text part of Llama 4 does.
    """
    decoder: Any = model
    while hasattr(decoder, "get_decoder") and decoder.get_decoder() is not decoder:
        decoder = decoder.get_decoder()
    return getattr(decoder, "model", decoder) if hasattr(decoder, "lm_head") else decoder


def layer_configs(config: "PreTrainedConfig") -> list[Any]:
    """The text configuration of each layer where layers differ in size, as those of Gemma 4 do;
    else the one of all.
    """
    text_config = config.get_text_config()
    if not getattr(text_config, "is_heterogeneous", False):
        return [text_config]
    return list(text_config.per_layer_config)


def read_size(config: Any, key: str) -> int:
    """A size in a configuration; the largest where it names one a layer; 0 where it names none."""
    size = getattr(config, key, None) or 0
    return int(max(size) if isinstance(size, (list, tuple)) else size)


def narrowest_window(config: "PreTrainedConfig") -> int:
    """The fewest tokens that a layer with a sliding window sees; 0 where no layer has one."""
    windows = (read_size(layer, "sliding_window") for layer in layer_configs(config))
    return min(filter(None, windows), default=0)
