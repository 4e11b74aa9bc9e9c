"""Files of arrays (.npy) that grow while they are written."""

from __future__ import annotations

HEADER = 128  # bytes before the values


def header(descr: str, shape: tuple[int, ...]) -> bytes:
    """The first ``HEADER`` bytes of a .npy file (format 1.0) of values in C order.

    Written here, because the length that numpy gives a header has changed with its versions, and because the number of
    rows is known only when all are written.

    Args:
        descr: the type of a value as numpy writes it, such as ``<f4``.
        shape: of the array; up to 60 digits.
    """
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    start = b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little")
    return start + text.ljust(HEADER - 11).encode("ascii") + b"\n"
