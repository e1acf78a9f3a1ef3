"""One rank of the peer: torch.distributed.pipelining over Gloo, on a device that is emulated as the runtime does it:
each forward and each backward of a microbatch runs and then lasts until its time is over, and the optimizer lasts so
many times longer."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from .decoder import INPUT, LABELS, Decoder, Size, loss_of, samples
from .lab import WARM_UP, step_seconds


def lasting(function: Callable, seconds: float, overruns: list[int]) -> Callable:
    """It, and then a sleep to the end of `seconds`; 0: as it is."""
    if not seconds:
        return function

    def padded(*arguments, **keywords):
        end = time.perf_counter() + seconds
        result = function(*arguments, **keywords)
        left = end - time.perf_counter()
        if left > 0:
            time.sleep(left)
        else:
            overruns[0] += 1
        return result

    return padded


def slower(function: Callable, slowdown: float) -> Callable:
    """It on a device so many times slower, whatever it takes here; 0: as it is."""
    if not slowdown:
        return function

    def padded(*arguments, **keywords):
        begin = time.perf_counter()
        result = function(*arguments, **keywords)
        time.sleep((slowdown - 1) * (time.perf_counter() - begin))
        return result

    return padded


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", help="blocks of this rank: BEGIN,END")
    parser.add_argument("--seconds", help="of a forward, of a backward: F,B")
    parser.add_argument("--slowdown", type=float, default=0, help="of the optimizer: 0: not emulated")
    parser.add_argument("--size", help="JSON of decoder.Size")
    parser.add_argument("--microbatches", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--result", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    size = Size(**json.loads(options.size))
    begin, end = map(int, options.share.split(","))
    torch.manual_seed(rank)
    module = Decoder(size, begin, end)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    overruns = [0]
    forward, backward = map(float, options.seconds.split(","))
    stage.forward_one_chunk = lasting(stage.forward_one_chunk, forward, overruns)
    stage.backward_one_chunk = lasting(stage.backward_one_chunk, backward, overruns)
    arrays = samples(size, options.microbatches * size.batch)
    tokens, labels = torch.from_numpy(arrays[INPUT]), torch.from_numpy(arrays[LABELS])
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    update = slower(optimizer.step, options.slowdown)
    schedule = (
        Schedule1F1B(stage, options.microbatches, loss_fn=loss_of)
        if options.train
        else ScheduleGPipe(stage, options.microbatches)
    )
    given = {"target": labels} if options.train and rank == world - 1 else {}
    inputs = (tokens,) if rank == 0 else ()
    ends = []
    for _ in range(WARM_UP + options.steps):
        if options.train:
            schedule.step(*inputs, **given, return_outputs=False)
            update()
            optimizer.zero_grad()
        else:
            with torch.no_grad():
                schedule.eval(*inputs)
        ends.append(time.perf_counter())
    step = step_seconds(ends)
    options.result.with_suffix(f".{rank}").write_text(json.dumps({"rate": len(tokens) / step, "overruns": overruns[0]}))
    dist.barrier()
    # Gloo's threads may still run when the interpreter takes its objects down.
    os._exit(0)


if __name__ == "__main__":
    main()
