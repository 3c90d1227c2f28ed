"""Writes the golden files of tests/golden/multi_token_prediction: a tiny DeepSeek-V3 model of Hugging Face
transformers in fp32, with modules of multi-token prediction and their losses written here from the paper (arXiv
2412.19437, section 2.2, eq. 21 to 25), because transformers has the modules for generation only. Hidden states are
compared with those of its modules. Module k works on the first T - k tokens of a sequence of T.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import copy
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
from transformers.modeling_layers import MtpModel
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3DecoderLayer, DeepseekV3RMSNorm

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from latent_families import make as latent  # noqa: E402
dense, sparse = latent.dense, latent.sparse

SMALL = dict(latent.LATENT, hidden_size=16, vocab_size=41, num_attention_heads=2, num_key_value_heads=2,
             intermediate_size=12, moe_intermediate_size=7, n_routed_experts=4, n_group=2, topk_group=1,
             num_experts_per_tok=2, q_lora_rank=8, kv_lora_rank=6)


class SharedHead(nn.Module):
    """The head itself is the model's."""

    def __init__(self, config):
        super().__init__()
        self.norm = DeepseekV3RMSNorm(config.hidden_size, eps=config.rms_norm_eps)


class PredictionModule(DeepseekV3DecoderLayer):
    """TRM_k and M_k of the paper, with the names of the published weights."""

    def __init__(self, config, index):
        super().__init__(config, index)
        width = config.hidden_size
        self.enorm = DeepseekV3RMSNorm(width, eps=config.rms_norm_eps)
        self.hnorm = DeepseekV3RMSNorm(width, eps=config.rms_norm_eps)
        self.eh_proj = nn.Linear(2 * width, width, bias=False)
        self.shared_head = SharedHead(config)


def modules_of(model):
    return model.model.layers[model.config.num_hidden_layers:]


def states_of_depths(model, hidden, ids):
    """h^k of each depth k, [B, T - k, H]. `hidden`: h^0, what the model's head reads."""
    length = ids.shape[1]
    positions = torch.arange(length)[None]
    cos, sin = model.model.rotary_emb(hidden, positions)
    mask = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)[None, None]
    states = []
    for k, module in enumerate(modules_of(model), 1):
        rest = length - k
        embedded = model.model.embed_tokens(ids[:, k:])
        joined = module.eh_proj(torch.cat([module.enorm(embedded), module.hnorm(hidden[:, :rest])], dim=-1))
        after = module(joined, attention_mask=mask[:, :, :rest, :rest], position_ids=positions[:, :rest],
                       position_embeddings=(cos[:, :rest], sin[:, :rest]))
        hidden = module.shared_head.norm(after)
        states.append(hidden)
    return states


@torch.no_grad()
def require_states_of_transformers(model, hidden, ids, states):
    """Those of the modules that transformers generates with, which have the same weights."""
    main = copy.deepcopy(model)  # the constructor may draw its weights anew
    main.model.layers = main.model.layers[:model.config.num_hidden_layers]
    theirs = MtpModel(main, len(states))
    theirs.embed_tokens.load_state_dict(model.model.embed_tokens.state_dict())
    own = ("enorm.", "hnorm.", "eh_proj.")
    for layer, module in zip(theirs.layers, modules_of(model)):
        layer.load_state_dict({
            name if name.startswith(own) else
            "post_norm.weight" if name == "shared_head.norm.weight" else f"mtp_block.{name}": tensor
            for name, tensor in module.state_dict().items()})
    positions = torch.arange(ids.shape[1])[None]
    for k, state in enumerate(states, 1):
        rest = ids.shape[1] - k
        hidden = theirs.forward_layer(k - 1, hidden[:, :rest], positions[:, :rest], None, input_ids=ids[:, k:])
        torch.testing.assert_close(state, hidden, rtol=1e-5, atol=1e-5)


def token_losses(model, hidden, target):
    return cross_entropy(model.lm_head(hidden).flatten(0, 1), target.flatten(), ignore_index=-100,
                         reduction="none").view(target.shape)


def make_model(options, rng):
    config = DeepseekV3Config(**{**dense.COMMON, **SMALL, **options})
    model = DeepseekV3ForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32,
                                               experts_implementation="eager")
    # The model's forward stops before them.
    for depth in range(config.num_nextn_predict_layers):
        model.model.layers.append(PredictionModule(model.config, config.num_hidden_layers + depth))
    latent.draw_weights(model, rng)
    return model


def stored_weights(model):
    """As the published folder has them: experts one by one, embedding and head once more for each module."""
    weights = {name: dense.numpy_of(tensor) for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        del weights["lm_head.weight"]
    out = sparse.one_by_one(weights)
    for depth in range(model.config.num_nextn_predict_layers):
        prefix = f"model.layers.{model.config.num_hidden_layers + depth}."
        out[prefix + "embed_tokens.weight"] = dense.numpy_of(model.model.embed_tokens.weight).copy()
        out[prefix + "shared_head.head.weight"] = dense.numpy_of(model.lm_head.weight).copy()
    return out


def make_case(name, batch, length, options):
    rng = np.random.default_rng(dense.SEED)
    model = make_model(options, rng)
    config = model.config
    ids = rng.integers(0, config.vocab_size, (batch, length))
    labels = np.concatenate([ids[:, 1:], np.full((batch, 1), -100)], axis=1)
    labels[:, 4:7] = -100
    ids_t, target = torch.from_numpy(ids), torch.from_numpy(labels)

    hidden = model.model(input_ids=ids_t).last_hidden_state
    token_loss = token_losses(model, hidden, target)
    states = states_of_depths(model, hidden, ids_t)
    require_states_of_transformers(model, hidden, ids_t, states)
    of_depths = [token_losses(model, state, target[:, k:]) for k, state in enumerate(states, 1)]
    tokens = (target != -100).sum()
    factor = config.mtp_loss_factor / len(of_depths)
    loss = token_loss.sum() / tokens + factor * sum(losses.sum() / tokens for losses in of_depths)
    loss.backward()

    folder = HERE / name
    folder.mkdir(exist_ok=True)
    config.architectures = [type(model).__name__]
    (folder / "config.json").write_text(config.to_json_string())
    save_file(stored_weights(model), folder / "model.safetensors", {"format": "pt"})
    gradients = sparse.as_parameters(
        {f"grad.{key}": dense.numpy_of(parameter.grad) for key, parameter in model.named_parameters()})
    counted = [[losses.sum().item(), (target[:, k:] != -100).sum().item()]
               for k, losses in enumerate([token_loss, *of_depths])]
    expect = dict(input_ids=ids, labels=labels, logits=dense.numpy_of(model.lm_head(hidden)),
                  token_loss=dense.numpy_of(token_loss), loss=dense.numpy_of(loss.reshape(1)),
                  depth_losses=np.array(counted, dtype=np.float32),
                  **{f"token_loss_{k}": dense.numpy_of(losses) for k, losses in enumerate(of_depths, 1)}, **gradients)
    save_file(expect, folder / "expect.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(name, "loss", loss.item(), "depths", counted, "bytes", [f.stat().st_size for f in sorted(folder.iterdir())])


CASES = {
    # a dense and a sparse layer, two depths
    "two_depths": (2, 17, dict(num_hidden_layers=2, num_nextn_predict_layers=2, mtp_loss_factor=0.3)),
    # one depth, as in the published model; the head is the embedding
    "one_depth_tied": (1, 13, dict(num_hidden_layers=2, num_nextn_predict_layers=1, mtp_loss_factor=0.7,
                                   tie_word_embeddings=True)),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        make_case(wanted, *CASES[wanted])
