"""The loss curve of a training run as an SVG picture, for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence

_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 16, 20, 44
_MOST_POINTS = 1000


def loss_curve(steps: Sequence[tuple[int, float]], titles: tuple[str, str]) -> str | None:
    """An SVG document; None when fewer than two losses are finite.

    Args:
        steps: iteration and loss.
        titles: what the horizontal and the vertical axis show.
    """
    points = [(step, loss) for step, loss in steps if math.isfinite(loss)]
    if len(points) < 2:
        return None
    points = points[:: max(1, len(points) // _MOST_POINTS)]
    first, last = points[0][0], points[-1][0]
    low, high = min(loss for _, loss in points), max(loss for _, loss in points)
    margin = (high - low) * 0.05 or max(abs(high) * 0.05, 1e-6)
    low, high = low - margin, high + margin

    def x(step: float) -> float:
        return _LEFT + (step - first) / max(last - first, 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(loss: float) -> float:
        return _TOP + (high - loss) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    line = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in points)
    rows = [low + (high - low) * part / 4 for part in range(5)]
    columns = sorted({round(first + (last - first) * part / 5) for part in range(6)})
    grid = [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
        f'<text x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        for value in rows
    ]
    ticks = [f'<text x="{x(step):.1f}" y="{_HEIGHT - 24}" text-anchor="middle">{step}</text>' for step in columns]
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>\n' + "\n".join([*grid, *ticks]) + "\n"
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{titles[0]}</text>\n'
        f'<text x="14" y="{middle:.0f}" transform="rotate(-90 14 {middle:.0f})">{titles[1]}</text>\n'
        f'<polyline points="{line}" fill="none" stroke="#1f5fbf" stroke-width="2"/>\n</svg>\n'
    )
