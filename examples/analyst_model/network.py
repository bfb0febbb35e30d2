"""A Qwen3 whose constant prompt start is run once per step: all rows of a batch attend to its keys
and values.

The system text and the tools are the same for every row, and longer than a row, so this costs a
third of running them row by row; the logits are those of transformers' own forward pass
(``tests/examples`` compares them).
"""

from __future__ import annotations

import torch
from torch.nn import functional
from transformers import Qwen3Config, Qwen3ForCausalLM

from examples.analyst_model.recipe import Size

_ROPE_THETA = 10_000.0


def new_model(size: Size, *, vocabulary: int, eos: int, pad: int) -> Qwen3ForCausalLM:
    """Return a randomly initialised fp32 Qwen3 with tied embeddings; seed torch before."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        head_dim=size.head_dim,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": _ROPE_THETA},
        initializer_range=0.03,
        bos_token_id=None,
        eos_token_id=eos,
        pad_token_id=pad,
        attention_dropout=0.0,
    )
    return Qwen3ForCausalLM(config).float()


def _rotate(cos: torch.Tensor, sin: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class PrefixSharedQwen3(torch.nn.Module):
    """Runs a Qwen3 on a prefix (P tokens, batch 1) and on rows (B x S) that follow it, with
    gradients through both."""

    def __init__(self, model: Qwen3ForCausalLM, *, longest: int = 2048) -> None:
        super().__init__()
        self.model = model
        width = model.config.head_dim
        inverse = 1.0 / (_ROPE_THETA ** (torch.arange(0, width, 2).float() / width))
        angles = torch.arange(longest)[:, None] * inverse[None]
        angles = torch.cat([angles, angles], -1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def _qkv(
        self, attention: torch.nn.Module, x: torch.Tensor, offset: int
    ) -> tuple[torch.Tensor, ...]:
        batch, length = x.shape[:2]
        width = self.model.config.head_dim
        q = attention.q_norm(attention.q_proj(x).view(batch, length, -1, width)).transpose(1, 2)
        k = attention.k_norm(attention.k_proj(x).view(batch, length, -1, width)).transpose(1, 2)
        v = attention.v_proj(x).view(batch, length, -1, width).transpose(1, 2)
        cos = self.cos[offset : offset + length].to(q.dtype)
        sin = self.sin[offset : offset + length].to(q.dtype)
        return _rotate(cos, sin, q).to(v.dtype), _rotate(cos, sin, k).to(v.dtype), v

    def forward(self, prefix: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states of the rows, B x S x hidden; the prefix is 1 x P."""
        start, (batch, length) = prefix.shape[1], rows.shape
        mask = torch.ones(length, start + length, dtype=torch.bool).tril(start)
        before, x = self.model.model.embed_tokens(prefix), self.model.model.embed_tokens(rows)
        for layer in self.model.model.layers:
            attention = layer.self_attn
            qp, kp, vp = self._qkv(attention, layer.input_layernorm(before), 0)
            q, k, v = self._qkv(attention, layer.input_layernorm(x), start)
            seen_before = functional.scaled_dot_product_attention(
                qp, kp, vp, is_causal=True, enable_gqa=True
            )
            seen = functional.scaled_dot_product_attention(
                q,
                torch.cat([kp.expand(batch, -1, -1, -1), k], 2),
                torch.cat([vp.expand(batch, -1, -1, -1), v], 2),
                attn_mask=mask,
                enable_gqa=True,
            )
            before = before + attention.o_proj(seen_before.transpose(1, 2).reshape(1, start, -1))
            x = x + attention.o_proj(seen.transpose(1, 2).reshape(batch, length, -1))
            before = before + layer.mlp(layer.post_attention_layernorm(before))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.model.model.norm(x)
