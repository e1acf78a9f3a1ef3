"""Cluster files of one to three device types of this machine."""

from __future__ import annotations

from pathlib import Path

# Peaks far apart, so that the stages come out uneven.
PEAKS = ["20 GFLOP/s", "8 GFLOP/s", "5 GFLOP/s"]


def write_cluster(folder: Path, types: int, count: int = 1, memory: str = "4 GiB", extra: str = "") -> Path:
    """`types` device types with `count` devices each, joined by links of unlike speed."""
    names = [f"type{k}" for k in range(types)]
    lines = ["devices:"]
    for name, peak in zip(names, PEAKS, strict=False):
        lines.append(
            f"  - {{name: {name}, kind: cpu, count: {count}, memory: {memory}, peak: {peak}, "
            f"memory_bandwidth: 8 GB/s{extra}}}"
        )
    if types > 1:
        lines.append("links:")
        for i, a in enumerate(names):
            for j, b in enumerate(names[i + 1 :], i + 1):
                lines.append(f"  - {{between: [{a}, {b}], bandwidth: {j} Gbit/s, latency: 50 us}}")
    path = folder / f"cluster_{types}x{count}.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path
