"""Sums of other metrics."""

from __future__ import annotations

from .declare import metric_sum

metric_sum(
    "RSum",
    parts=("R@1", "R@5", "R@10"),
    formula="R@1 + R@5 + R@10, image-to-text and text-to-image (0 to 6; x100 when printed)",
    cite=("faghri2018vsepp",),
)
metric_sum(
    "mR",
    parts=("R@1", "R@5", "R@10"),
    formula="RSum / 6, the mean of the six recalls",
    cite=("yuan2022amfmn",),
    mean=True,
)
