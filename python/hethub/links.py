"""hethub profile --links: what messages between two ranks of this machine take, by each way that their devices have."""

from __future__ import annotations

import itertools
import json
import re
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import tools
from .errors import HetHubError
from .folders import new_file
from .probe import line, message_seconds
from .profile import processor

SIZES = (0, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)
# What a message through host memory may be cut in: small chunks fill the pipeline sooner, large ones cost less each.
CHUNKS = (1 << 18, 1 << 20, 1 << 22)
TURNS = 3
# Kinds whose devices have a library of their own for messages among themselves (runtime/lib/comm/ChannelComms.cpp).
OWN_LIBRARY = ("cuda",)

Kinds = tuple[str, str]


@dataclass(frozen=True)
class Way:
    """How a message goes: through host memory in chunks, or directly."""

    via: str  # "host" or "direct"
    chunk_bytes: int = 0  # 0: in one piece

    def options(self) -> list[str]:
        return [f"--probe-via={self.via}", f"--probe-chunk={self.chunk_bytes}"]


def ways_between(kinds: Kinds) -> list[Way]:
    """All that the runtime has; the host's own memory needs no way around."""
    if kinds == ("cpu", "cpu"):
        return [Way("direct")]
    own = [Way("direct")] if kinds[0] == kinds[1] and kinds[0] in OWN_LIBRARY else []
    return own + [Way("host", chunk) for chunk in CHUNKS]


def kinds_of(cluster: Path) -> list[str]:
    """The device kinds of a cluster file, each once."""
    with tempfile.TemporaryDirectory(prefix="hethub-links-") as scratch:
        empty = Path(scratch) / "empty.mlir"
        empty.write_text("module {}\n")
        printed = tools.run("hh-opt", [str(empty), f'--hh-load-cluster=cluster="{cluster}"']).stdout
    kinds = re.findall(r'^ *hh\.device_type @\S+ kind "(\w+)"', printed, re.MULTILINE)
    return sorted(set(kinds))


def measure_way(kinds: Kinds, way: Way, sizes: Sequence[int], turns: int) -> dict[str, Any]:
    """A row of "routes": seconds = latency_s + bytes / bytes_per_s, fitted to medians for each size. A link is the same
    in both directions, so that the slower one counts."""
    directions = {kinds, (kinds[1], kinds[0])}
    seconds = [
        max(
            statistics.median(message_seconds(size, direction, way.options()) for _ in range(turns))
            for direction in directions
        )
        for size in sizes
    ]
    latency, per_byte = line(sizes, seconds)
    return {
        "via": way.via,
        "chunk_bytes": way.chunk_bytes,
        "latency_s": latency,
        "bytes_per_s": 1 / max(per_byte, 1e-12),
        "messages": [{"bytes": size, "seconds": second} for size, second in zip(sizes, seconds, strict=True)],
    }


def profile_links(
    output: Path | str,
    *,
    cluster: Path | str | None = None,
    sizes: Sequence[int] = SIZES,
    turns: int = TURNS,
    ways: Callable[[Kinds], Sequence[Way]] = ways_between,
) -> dict[str, Any]:
    """Measures messages between two ranks of this machine for each pair of device kinds, of `cluster` or else of all
    that this machine may have, and writes `output` for the `profile:` field of links in cluster.yaml.

    Ranks start and send as those of a run do. What this machine has no devices for is left out, and says why
    ("skipped"); raises HetHubError where that is all.
    """
    kinds = ["cpu", *OWN_LIBRARY] if cluster is None else kinds_of(Path(cluster))
    links: list[dict[str, Any]] = []
    with new_file(Path(output)) as file:
        for pair in itertools.combinations_with_replacement(kinds, 2):
            link: dict[str, Any] = {"kinds": list(pair)}
            try:
                message_seconds(0, pair, ways(pair)[0].options())
            except HetHubError as error:
                link["skipped"] = str(error)
            else:
                link["routes"] = [measure_way(pair, way, sizes, turns) for way in ways(pair)]
            links.append(link)
        if all("skipped" in link for link in links):
            raise HetHubError(f"this machine must have devices for at least one link, got none: {links[0]['skipped']}")
        content = {"machine": processor(), "links": links}
        file.write_text(json.dumps(content, indent=1) + "\n")
    return content


def links_table(content: dict[str, Any]) -> str:
    """A line for each way, and for each pair that was left out."""
    lines = []
    for link in content["links"]:
        ends = " - ".join(link["kinds"])
        for route in link.get("routes", ()):
            chunks = f" in chunks of {route['chunk_bytes']} bytes" if route["chunk_bytes"] else ""
            latency, rate = route["latency_s"] * 1e6, route["bytes_per_s"] / 1e9
            lines.append(f"{ends}: {route['via']}{chunks}: {latency:.1f} us + bytes / {rate:.3g} GB/s")
        if "skipped" in link:
            lines.append(f"{ends}: left out: {link['skipped']}")
    return "\n".join(lines)
