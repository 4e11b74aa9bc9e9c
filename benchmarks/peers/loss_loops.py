"""Losses as their formulas read: loops over anchors, levels and windows, or a tensor of all triples (b, b, b).

Every function takes the scores (b, b) of a batch, whose diagonal holds its pairs, and the degrees of relevance (b, b).
They are the forms of the library's losses at their defaults, and share no code with them.
"""

from __future__ import annotations

import torch

MARGIN, LEVEL_MARGIN, LEVEL, BETA = 0.2, 0.01, 0.63, 0.25  # of the ladder
WIDTH, STEP, WINDOWS = 0.2, 0.1, 18  # of the sliding window
EPS = 1e-6
T = torch.Tensor


def ladder(scores: T, degree: T) -> T:
    """Two levels with hard contrastive sampling: one anchor at a time."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        for a in range(len(s)):
            others = torch.arange(len(s)) != a
            total = total + (MARGIN - s[a, a] + s[a][others].max()).clamp(min=0)
            upper, lower = s[a][others & (r[a] >= LEVEL)], s[a][others & (r[a] < LEVEL)]
            if len(upper) and len(lower):
                total = total + BETA * (LEVEL_MARGIN - upper.min() + lower.max()).clamp(min=0)
    return total


def kendall(scores: T, degree: T) -> T:
    """Every two candidates of every anchor at once: (b, b, b)."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        ordered = r[:, :, None] > r[:, None, :]
        total = total + ((s[:, None, :] - s[:, :, None]).clamp(min=0) * ordered).sum()
    return total


def kendall_loop(scores: T, degree: T) -> T:
    """The same one anchor at a time: (b, b)."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        for a in range(len(s)):
            ordered = r[a][:, None] > r[a][None, :]
            total = total + (s[a][None, :] - s[a][:, None]).clamp(min=0)[ordered].sum()
    return total


def kendall_sw_hs(scores: T, degree: T) -> T:
    """One anchor and one window at a time."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        for a in range(len(s)):
            others = torch.arange(len(s)) != a
            for m in range(1, WINDOWS + 1):
                low = -1 + STEP * m
                upper, lower = s[a][r[a] >= low + WIDTH - EPS], s[a][others & (r[a] < low)]
                if len(upper) and len(lower):
                    total = total + (lower.max() - upper.min()).clamp(min=0) / WINDOWS
    return total


def log_ratio(scores: T, degree: T) -> T:
    """Every two candidates of every anchor at once: (b, b, b); those with equal labels are left out."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        u = ((2 - 2 * s).clamp(min=1e-12).sqrt() + EPS).log() - ((1 - r).clamp(min=0) + EPS).log()
        different = r[:, :, None] != r[:, None, :]
        squares = (u[:, :, None] - u[:, None, :]).square() * different
        total = total + (squares.sum(dim=(1, 2)) / different.sum(dim=(1, 2)).clamp(min=1)).sum()
    return total


FORMS = {
    "ladder": (ladder, "loop over anchors and levels"),
    "kendall": (kendall, "all triples (b, b, b)"),
    "kendall by anchors": (kendall_loop, "loop over anchors"),
    "kendall_sw_hs": (kendall_sw_hs, "loop over anchors and windows"),
    "log_ratio": (log_ratio, "all triples (b, b, b)"),
}
