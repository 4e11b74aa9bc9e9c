"""The last state of a GRU over captions of different lengths."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from vsebench.errors import UsageError


def last_states(gru: nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """(direction, caption, hidden) the state after the last word of every caption; backwards, after the first.

    On a GPU by ``torch.nn.GRU`` itself. On a CPU its gradient fills a tensor of the size of the batch for every word;
    the loop here gives the same values and halves the time of a training step.

    Args:
        gru: one layer, with the batch first.
        vectors: (caption, word, word_dim) float.
        lengths: (caption,) int64, on the CPU.

    Raises:
        UsageError: torch computes the states in float16, see ``_checked``.
    """
    if vectors.is_cuda:
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        return _checked(gru(packed)[1])
    found = [_run(vectors, lengths, *_weights(gru, ""))]
    if gru.bidirectional:
        place = torch.arange(vectors.shape[1])
        back = (lengths[:, None] - 1 - place).clamp(min=0)  # words in reverse order; what follows them is not read
        reverse = vectors.gather(1, back[:, :, None].expand_as(vectors))
        found.append(_run(reverse, lengths, *_weights(gru, "_reverse")))
    return torch.stack(found)


def _checked(states: torch.Tensor) -> torch.Tensor:
    """The states, unless they are float16: versions of torch use it for a GRU on a GPU where bfloat16 is asked for."""
    if states.dtype == torch.float16:
        what = f"train.precision is 'bf16', and torch {torch.__version__} computes a GRU in float16"
        raise UsageError(what, fix="add --set train.precision=float32")
    return states


def _weights(gru: nn.GRU, which: str) -> list[torch.Tensor]:
    return [getattr(gru, f"{name}_l0{which}") for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")]


def _run(
    vectors: torch.Tensor,
    lengths: torch.Tensor,
    w_in: torch.Tensor,
    b_in: torch.Tensor,
    w_state: torch.Tensor,
    b_state: torch.Tensor,
) -> torch.Tensor:
    """(caption, hidden) states after the last word."""
    ordered, order = lengths.sort(descending=True, stable=True)
    active = [int(n) for n in (ordered[None] > torch.arange(int(ordered[0]))[:, None]).sum(dim=1)]
    words = vectors[order].transpose(0, 1).unbind(0)
    inputs = F.linear(torch.cat([word[:n] for word, n in zip(words, active, strict=False)]), w_in, b_in).split(active)
    state, done = vectors.new_zeros(len(vectors), w_state.shape[1]), []
    for gates, n in zip(inputs, active, strict=True):
        if n < len(state):  # the captions that have ended
            state, ended = state.split([n, len(state) - n])
            done.append(ended)
        reset_in, update_in, new_in = gates.chunk(3, dim=1)
        reset_state, update_state, new_state = F.linear(state, w_state, b_state).chunk(3, dim=1)
        new = (new_in + (reset_in + reset_state).sigmoid() * new_state).tanh()
        # With mixed precision the gates are bfloat16; the state, which adds up over the words, stays float32.
        state = torch.lerp(new.to(state), state, (update_in + update_state).sigmoid().to(state))
    states = torch.cat([state, *done[::-1]])
    return torch.empty_like(states).index_copy(0, order, states)
