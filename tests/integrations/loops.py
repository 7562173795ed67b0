"""The examples of `docs/training_loops.md`: to run here, or in processes of their own."""

import json
import os
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "training_loops.md"
BLOCKS = dict(re.findall(r"^## (\w+)\n.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE))


def run_example(name: str, folder: Path) -> dict[str, Any]:
    """What a block of the page defines, run as a script."""
    (folder / "example.py").write_text(BLOCKS[name])
    return runpy.run_path(str(folder / "example.py"), run_name="__main__")


def on_ranks(n_ranks: int, program: str, folder: Path) -> list[Any]:
    """What each of new processes writes to `rank.json`; they know their `rank`, and meet by `init` or at `port`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = (
        "import json, sys, torch, torch.distributed as dist, thresholds\n"
        f"rank, port = int(sys.argv[1]), '{port}'\n"
        f"sys.path.append({str(Path(__file__).parents[2])!r})\n"
        f"init = {{'backend': 'gloo', 'init_method': 'file://{folder}/meet', 'rank': rank, 'world_size': {n_ranks}}}\n"
    )
    (folder / "program.py").write_text(start + program)
    command = [sys.executable, "-W", "ignore", "program.py"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # ranks share the cores of one
    ranks = [
        subprocess.Popen([*command, str(rank)], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(n_ranks)
    ]
    for rank in ranks:
        _, errors = rank.communicate(timeout=300)
        assert rank.returncode == 0, errors
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(n_ranks)]


def data(n_samples: int, seed: int) -> tuple[Any, Any]:
    """Truth, and logits of float32, as tensors."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    y_true = torch.rand(n_samples, 3, generator=generator) < torch.tensor([0.4, 0.2, 0.05])
    return y_true, torch.randn(n_samples, 3, generator=generator) + 2 * y_true
