"""Whether transformers ties head and embedding of a multimodal model, by what its config and text_config say: expect.json.

Run: python make.py   (transformers of the version in origin.md)
"""
import json
import os
import pathlib

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from transformers import CONFIG_MAPPING
from transformers.models.auto import modeling_auto as auto

SAYS = {"absent": None, "true": True, "false": False}
TEXT = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2,
        "intermediate_size": 32, "vocab_size": 64, "max_position_embeddings": 64}


def tied(cls, text_type, outer, inner):
    text = {"model_type": text_type, **TEXT, **({} if inner is None else {"tie_word_embeddings": inner})}
    return bool(cls(text_config=text, **({} if outer is None else {"tie_word_embeddings": outer})).tie_word_embeddings)


def text_type_of(cls):
    """llama where the class takes any text model, else a family of ours that it takes."""
    for kind in ("llama", "gemma3_text"):
        try:
            if type(cls(text_config={"model_type": kind, **TEXT}).get_text_config()) is CONFIG_MAPPING[kind]:
                return kind
        except Exception:
            pass
    return None


def has_head(cls):
    """Whether a class that generates has an lm_head that it ties by the whole model's config."""
    for models in (auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, auto.MODEL_FOR_CAUSAL_LM_MAPPING,
                   auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING, auto.MODEL_FOR_MULTIMODAL_LM_MAPPING):
        if cls in models.keys():
            return "lm_head.weight" in (getattr(models[cls], "_tied_weights_keys", None) or {})
    return False


if __name__ == "__main__":
    rows = []
    for name in sorted(CONFIG_MAPPING):
        if name == "qwen3_asr":
            continue  # see origin.md
        try:
            cls = CONFIG_MAPPING[name]
        except Exception:
            continue
        kind = text_type_of(cls) if "text_config" in getattr(cls, "sub_configs", {}) else None
        if kind is None or not has_head(cls):
            continue
        found = {outer: {inner: tied(cls, kind, SAYS[outer], SAYS[inner]) for inner in SAYS} for outer in SAYS}
        rows.append({"model_type": name, "text": kind, "tied": found})
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    (pathlib.Path(__file__).parent / "expect.json").write_text("[\n" + lines + "\n]\n")
