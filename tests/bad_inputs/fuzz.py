"""Run many mutated files through every command: `python -m tests.bad_inputs.fuzz [N] [SEED]`, or `make fuzz`.

What goes wrong is printed with the number of its mutant; `... fuzz 1 SEED NUMBER` runs that one again.
"""

import faulthandler
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.bad_inputs import mutants

_SECONDS = 60  # that a mutant may take
_ADDRESSES = 6 * 2**30  # bytes of address space


def main(n: int, seed: int, first: int = 0) -> int:
    """Run `n` mutants in as many processes as there are cores, and print a summary."""
    cases = mutants.core_cases()
    try:
        cases += mutants.arrow_cases()
    except ImportError:
        print("pyarrow is not installed: parquet, csv and datasets are left out")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        originals = _originals(cases, Path(folder) / "originals")
        n_processes = min(n, len(os.sched_getaffinity(0)))
        for k in range(n_processes):
            if os.fork() == 0:
                numbers = list(range(first + k, first + n, n_processes))
                _supervised(cases, originals, seed, numbers, Path(folder) / f"run-{k}", Path(folder) / f"told-{k}")
                os._exit(0)
        for _ in range(n_processes):
            os.wait()
        told = [json.loads(text) for k in range(n_processes) for text in _lines(Path(folder) / f"told-{k}")]
    found, bad = Counter(one["kind"] for one in told), [one for one in told if one["wrong"]]
    peak = max(one["peak"] for one in told)
    for one in sorted(bad, key=lambda one: one["number"]):
        print(f"mutant {one['number']} ({one['what']}): {one['wrong']}\n")
    print(
        f"{n:,} mutants, seed {seed}: {found['accepted']:,} accepted, {found['refused']:,} refused, {len(bad):,} failed"
    )
    print(f"peak memory of a process {peak / 2**20:.0f} MiB; {time.monotonic() - begun:.0f} seconds")
    return 1 if bad else 0


def _originals(cases, folder):
    """Run every command on the files as they were; this also loads all that is needed, once."""
    found = {}
    for case in cases:
        for command in case.commands:
            outcome = mutants.run(case.files, command, folder)
            assert outcome.status in (0, 3), (case.name, command, outcome)
            found[case.name, command] = outcome
    return found


def _supervised(cases, originals, seed, numbers, folder, told):
    """Run mutants in a process that may die, and go on in another; a line of JSON for each is added to a file."""
    while numbers:
        if (process := os.fork()) == 0:
            resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
            for number in numbers:
                faulthandler.dump_traceback_later(_SECONDS, exit=True)
                _add(told, _judged(cases, originals, seed, number, folder))
                faulthandler.cancel_dump_traceback_later()
            os._exit(0)
        _, status = os.waitpid(process, 0)
        done = {json.loads(text)["number"] for text in _lines(told)}
        numbers = [number for number in numbers if number not in done]
        if numbers:
            mutated = mutants.mutant(cases, seed, numbers[0])
            _add(told, _told(mutated, numbers.pop(0), "died", f"the process died or hung: {status}"))


def _lines(path):
    """Give the lines of a file, none where it is not there."""
    return path.read_text().splitlines() if path.exists() else []


def _add(path, told):
    """Add a line of JSON to a file."""
    with open(path, "a") as stream:
        stream.write(json.dumps(told) + "\n")


def _judged(cases, originals, seed, number, folder):
    """Run one mutant."""
    mutated = mutants.mutant(cases, seed, number)
    outcome = mutants.run(mutated.files, mutated.command, folder)
    wrong = mutants.wrong(mutated, outcome, originals[mutated.case.name, mutated.command])
    return _told(mutated, number, "accepted" if outcome.status in (0, 3) else "refused", wrong)


def _told(mutated, number, kind, wrong):
    """Say what became of a mutant."""
    what = f"{mutated.case.name}, {mutated.changed} {mutated.how}: {' '.join(mutated.command)}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"number": number, "kind": kind, "peak": peak, "wrong": wrong, "what": what}


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*given, *(2000, 0)[len(given) :]))
