"""In which order plugins can start, and why some cannot stand together: said before anything starts."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from limnos.plugins.faults import LockError, LockFault
from limnos.plugins.locked import Lock, Locked, Need
from limnos.plugins.manifest import Manifest
from limnos.plugins.parts import SENDS

NO_PREFERENCE: Mapping[str, str] = {}


def resolve(manifests: Iterable[Manifest], prefer: Mapping[str, str] = NO_PREFERENCE) -> Lock:
    """The plugins in the order of their needs, each with the plugins that it has them from.

    `prefer` names a provider for a facility that several provide. What `plugins.lock` keeps of the files is
    still empty. Raises LockError with all that is wrong.
    """
    known = list(manifests)
    twins = list(_twins(known))
    if twins:
        raise LockError(twins)
    faults = [*_clashes(known), *_mixed_groups(known)]
    providers = _providers(known)
    faults += _ambiguous(known, providers, prefer)
    needs: dict[str, tuple[Need, ...]] = {}
    for manifest in known:
        found = [_provider(manifest, need, providers, prefer) for need in manifest.needs]
        faults += [one for one in found if isinstance(one, LockFault)]
        needs[manifest.name] = tuple(one for one in found if isinstance(one, Need))
    faults += _cycles(needs)
    if faults:
        raise LockError(faults)
    by_name = {manifest.name: manifest for manifest in known}
    return Lock(tuple(Locked(by_name[name], needs[name]) for name in _sorted(needs)))


def _twins(manifests: Sequence[Manifest]) -> Iterator[LockFault]:
    seen: dict[str, Manifest] = {}
    for manifest in manifests:
        other = seen.setdefault(manifest.name, manifest)
        if other is not manifest:
            what = f"two plugins are called {manifest.name}: {other.folder} and {manifest.folder}"
            yield LockFault(what, (manifest.name,))


def _clashes(manifests: Sequence[Manifest]) -> Iterator[LockFault]:
    """Tools, and tools of channels, that two plugins declare."""
    seen: dict[str, str] = {}
    for manifest in manifests:
        names = [tool.name for tool in manifest.tools]
        for name in (*names, *(SENDS + channel.name for channel in manifest.channels)):
            other = seen.setdefault(name, manifest.name)
            if other != manifest.name:
                yield LockFault(
                    f"the tool {name} is declared by {other} and by {manifest.name}", (other, manifest.name)
                )


def _mixed_groups(manifests: Sequence[Manifest]) -> Iterator[LockFault]:
    groups: defaultdict[str, list[Manifest]] = defaultdict(list)
    for manifest in manifests:
        if manifest.group:
            groups[manifest.group].append(manifest)
    for name, members in groups.items():
        if len({one.builtin for one in members}) > 1:
            names = tuple(one.name for one in members)
            foreign = ", ".join(one.name for one in members if not one.builtin)
            yield LockFault(
                f"the group {name} would run {foreign} in one process with plugins that belong to limnos",
                names,
            )


def _providers(manifests: Sequence[Manifest]) -> Mapping[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for manifest in manifests:
        for facility in manifest.provides:
            found[facility].append(manifest.name)
    return found


def _ambiguous(
    manifests: Sequence[Manifest], providers: Mapping[str, list[str]], prefer: Mapping[str, str]
) -> Iterator[LockFault]:
    """Facilities of several plugins, unless one is preferred or everybody who needs it names one."""
    needs = [need.partition("@") for manifest in manifests for need in manifest.needs]
    for facility, names in providers.items():
        named = [bool(plugin) for needed, _, plugin in needs if needed == facility]
        if len(names) > 1 and prefer.get(facility) not in names and not (named and all(named)):
            yield LockFault(
                f"{facility} is provided by {' and by '.join(names)}, and none is preferred: "
                f"limnos plugins lock --prefer {facility}={names[0]}",
                tuple(names),
            )


def _provider(
    manifest: Manifest, need: str, providers: Mapping[str, list[str]], prefer: Mapping[str, str]
) -> Need | LockFault | None:
    """Who provides what `manifest` needs; None where that was said to be ambiguous."""
    facility, _, wanted = need.partition("@")
    names = providers.get(facility, [])
    if wanted and wanted not in names:
        return LockFault(
            f"{manifest.name} needs {facility} of {wanted}, which does not provide it", (manifest.name,)
        )
    if not names:
        return LockFault(f"{manifest.name} needs {facility}, which no plugin provides", (manifest.name,))
    chosen = wanted or (names[0] if len(names) == 1 else prefer.get(facility, ""))
    return Need(facility, chosen) if chosen in names else None


def _cycles(needs: Mapping[str, Sequence[Need]]) -> Iterator[LockFault]:
    """Each cycle once, as the path of its needs; iterative, since a chain of needs may be long."""
    done: set[str] = set()
    for start in sorted(needs):
        path: list[str] = []
        waiting: list[tuple[str, Iterator[Need]]] = []
        following: str | None = start if start not in done else None
        while following is not None or waiting:
            if following is not None:
                path.append(following)
                waiting.append((following, iter(needs[following])))
            following = None
            name, rest = waiting[-1]
            for need in rest:
                if need.plugin in path:
                    yield _cycle(path[path.index(need.plugin) :], needs)
                elif need.plugin not in done:
                    following = need.plugin
                    break
            if following is None:
                done.add(name)
                path.pop()
                waiting.pop()


def _cycle(path: Sequence[str], needs: Mapping[str, Sequence[Need]]) -> LockFault:
    steps = zip(path, (*path[1:], path[0]), strict=True)
    said = [
        f"{name} needs {facility} of {following}"
        for name, following in steps
        for facility in [next(need.facility for need in needs[name] if need.plugin == following)]
    ]
    return LockFault(f"plugins wait for each other: {', '.join(said)}", tuple(path))


def _sorted(needs: Mapping[str, Sequence[Need]]) -> Iterator[str]:
    """The names, each after those it needs, else by the alphabet."""
    open_needs = {name: {need.plugin for need in own} for name, own in needs.items()}
    waiting_for: defaultdict[str, list[str]] = defaultdict(list)
    for name, own in open_needs.items():
        for plugin in own:
            waiting_for[plugin].append(name)
    ready = [name for name, own in open_needs.items() if not own]
    heapq.heapify(ready)
    while ready:
        name = heapq.heappop(ready)
        yield name
        for other in waiting_for[name]:
            open_needs[other].discard(name)
            if not open_needs[other]:
                heapq.heappush(ready, other)
