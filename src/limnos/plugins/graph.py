"""Who waits for whom at a start, and which chain of plugins it takes its time from."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from limnos.plugins.locked import Lock, Locked, Need

_BOX_WIDTH, _BOX_HEIGHT, _GAP_X, _GAP_Y, _EDGE = 180, 44, 70, 18, 20
_NO_TIMES: Mapping[str, float] = {}


class Node(NamedTuple):
    """A plugin in the graph. `cost` is its own start in milliseconds, or 1 where no times were measured.

    `done` is that of the chain up to it. `at_start`: it starts with limnos, not at its first use.
    """

    name: str
    level: int
    at_start: bool
    provides: tuple[str, ...]
    needs: tuple[Need, ...]
    cost: float
    done: float
    critical: bool


class Graph(NamedTuple):
    """The nodes by level; `path` is the chain that a start waits for, `total` its cost."""

    nodes: tuple[Node, ...]
    path: tuple[str, ...]
    total: float
    measured: bool


def graph_of(lock: Lock, times: Mapping[str, float] = _NO_TIMES) -> Graph:
    """The graph of the plugins that start. `times` are measured starts in milliseconds.

    Without any each counts 1; a plugin without one among others that have one counts 0.
    """
    levels = lock.levels()
    first = _at_start(lock)
    done: dict[str, float] = {}
    before: dict[str, str] = {}
    for locked in (one for level in levels for one in level):
        waits = max(locked.needs, key=lambda need: done.get(need.plugin, 0.0), default=None)
        if waits is not None:
            before[locked.name] = waits.plugin
        done[locked.name] = _cost(locked, times) + (done.get(waits.plugin, 0.0) if waits else 0.0)
    path = _path(first, done, before)
    nodes = tuple(
        Node(
            locked.name,
            number,
            locked.name in first,
            locked.manifest.provides,
            locked.needs,
            _cost(locked, times),
            done[locked.name],
            locked.name in path,
        )
        for number, level in enumerate(levels, 1)
        for locked in level
    )
    return Graph(nodes, path, done[path[-1]] if path else 0.0, bool(times))


def as_lines(graph: Graph) -> Iterator[str]:
    """The graph as text; a star marks the chain that a start waits for."""
    width = max((len(node.name) for node in graph.nodes), default=0)
    level = 0
    for node in graph.nodes:
        if node.level != level:
            level = node.level
            yield f"level {level}"
        words = [
            f"{'*' if node.critical else ' '} {node.name:<{width}}",
            "at start " if node.at_start else "on demand",
            _amount(node.cost, graph),
        ]
        needs = ", ".join(f"{need.facility} of {need.plugin}" for need in node.needs)
        words += [f"needs {needs}"] if needs else []
        words += [f"provides {', '.join(node.provides)}"] if node.provides else []
        yield "  ".join(words).rstrip()
    if graph.path:
        yield f"a start waits for {', '.join(graph.path)}: {_amount(graph.total, graph)}"
    elif graph.nodes:
        yield "a start waits for no plugin: each starts at its first use"


def as_record(graph: Graph) -> dict[str, Any]:
    """The graph as JSON."""
    nodes = [
        {**node._asdict(), "needs": [need._asdict() for need in node.needs], "provides": list(node.provides)}
        for node in graph.nodes
    ]
    return {"plugins": nodes, "path": list(graph.path), "total": graph.total, "measured": graph.measured}


def as_svg(graph: Graph) -> str:
    """The graph as a picture: a column for each level, lines from a plugin to those it needs."""
    places = dict(_places(graph.nodes))
    columns = max((node.level for node in graph.nodes), default=1)
    rows = max((y for _, y in places.values()), default=0) + _BOX_HEIGHT + _EDGE
    width = _EDGE * 2 + columns * _BOX_WIDTH + (columns - 1) * _GAP_X
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{rows}" '
            f'viewBox="0 0 {width} {rows}" font-family="sans-serif" font-size="13">',
            f"<title>{escape(_title(graph))}</title>",
            *(row for node in graph.nodes for row in _edges(node, places, graph.path)),
            *(row for node in graph.nodes for row in _box(node, places[node.name], graph)),
            "</svg>",
            "",
        )
    )


def _at_start(lock: Lock) -> frozenset[str]:
    """The eager plugins and all that they need, one after the other."""
    first: set[str] = set()
    for locked in reversed(lock.plugins):
        if locked.starts and (locked.manifest.start == "eager" or locked.name in first):
            first |= {locked.name, *(need.plugin for need in locked.needs)}
    return frozenset(first)


def _cost(locked: Locked, times: Mapping[str, float]) -> float:
    return times.get(locked.name, 0.0) if times else 1.0


def _path(first: frozenset[str], done: Mapping[str, float], before: Mapping[str, str]) -> tuple[str, ...]:
    name = max((one for one in done if one in first), key=lambda one: done[one], default="")
    path: list[str] = []
    while name:
        path.append(name)
        name = before.get(name, "")
    return tuple(reversed(path))


def _amount(cost: float, graph: Graph) -> str:
    return f"{cost:.0f} ms" if graph.measured else f"{cost:g}"


def _title(graph: Graph) -> str:
    return f"start of {len(graph.nodes)} plugins, {_amount(graph.total, graph)}"


def _places(nodes: Sequence[Node]) -> Iterator[tuple[str, tuple[int, int]]]:
    rows: dict[int, int] = {}
    for node in nodes:
        row = rows.get(node.level, 0)
        rows[node.level] = row + 1
        x = _EDGE + (node.level - 1) * (_BOX_WIDTH + _GAP_X)
        yield node.name, (x, _EDGE + row * (_BOX_HEIGHT + _GAP_Y))


def _edges(node: Node, places: Mapping[str, tuple[int, int]], path: Sequence[str]) -> Iterator[str]:
    x, y = places[node.name]
    for need in (one for one in node.needs if one.plugin in places):
        from_x, from_y = places[need.plugin]
        critical = (need.plugin, node.name) in pairwise(path)
        yield (
            f'<line x1="{from_x + _BOX_WIDTH}" y1="{from_y + _BOX_HEIGHT // 2}" x2="{x}" '
            f'y2="{y + _BOX_HEIGHT // 2}" stroke="{_colour(critical)}" stroke-width="{2 if critical else 1}">'
            f"<title>{escape(f'{node.name} needs {need.facility}')}</title></line>"
        )


def _box(node: Node, place: tuple[int, int], graph: Graph) -> Iterator[str]:
    x, y = place
    dashes = "" if node.at_start else ' stroke-dasharray="4 3"'
    yield (
        f'<rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6" fill="#ffffff" '
        f'stroke="{_colour(node.critical)}" stroke-width="{2 if node.critical else 1}"{dashes}/>'
    )
    name = node.name if len(node.name) <= 24 else f"{node.name[:23]}…"
    yield f'<text x="{x + 10}" y="{y + 19}" fill="#1d2733">{escape(name)}</text>'
    yield f'<text x="{x + 10}" y="{y + 36}" fill="#5b6672">{escape(_amount(node.cost, graph))}</text>'


def _colour(critical: bool) -> str:
    return "#b3261e" if critical else "#5b6672"
