"""Run many mutated files through every command: `python -m tests.bad_inputs.fuzz [N] [SEED]`, or `make fuzz`.

What goes wrong is printed with the number of its mutant; `... fuzz 1 SEED NUMBER` runs that one again.
"""

import faulthandler
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.bad_inputs import mutants

_ROOT = Path(__file__).parents[2]
_SECONDS = 60  # that a mutant may take
_ADDRESSES = 6 * 2**30  # bytes of address space
_MOST = 2**30  # bytes that reading takes beside what it reads (docs/files.md)


def main(n: int, seed: int, first: int = 0, cases=None, n_processes: int | None = None, seconds: int = _SECONDS) -> int:
    """Run `n` mutants in processes, as many as there are cores, and print a summary; `cases` are all that can be read.

    A mutant that ends its process, or takes longer than some seconds, or much memory, has failed.
    """
    cases = _all_cases() if cases is None else cases
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        n_processes = min(n, n_processes or len(os.sched_getaffinity(0)))
        for k in range(n_processes):
            if os.fork() == 0:
                numbers = list(range(first + k, first + n, n_processes))
                _supervised(cases, seed, numbers, Path(folder) / f"run-{k}", Path(folder) / f"told-{k}", seconds)
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
    return 0 if not bad and len(told) == n else 1


def said_of(cases: str, n: int, first: int, before: str = "") -> str | None:
    """Run `n` mutants of `cases`, an expression, in a process of their own; None if all is well, else what it said."""
    code = f"import os; from tests.bad_inputs import fuzz, mutants; {before}\nimport sys; sys.exit(fuzz.main("
    code += f"{n}, 0, {first}, {cases}, n_processes=1, seconds={10 * _SECONDS}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=_ROOT, check=False)
    return None if done.returncode == 0 else done.stdout + done.stderr


def _all_cases():
    """Return well-formed files of every format that can be read here."""
    cases = mutants.core_cases()
    try:
        cases += mutants.arrow_cases() + mutants.json_cases()
    except ImportError:
        print("pyarrow is not installed: tables are left out")
    return cases


def _supervised(cases, seed, numbers, folder, told, seconds):
    """Run mutants in a process that may die, and go on in another; a line of JSON for each is added to a file."""
    while numbers:
        if (process := os.fork()) == 0:
            _run_all(cases, seed, numbers, folder, told, seconds)
        _, status = os.waitpid(process, 0)
        done = {json.loads(text)["number"] for text in _lines(told)}
        numbers = [number for number in numbers if number not in done]
        if numbers:
            mutated = mutants.mutant(cases, seed, numbers[0])
            _add(told, _told(mutated, numbers.pop(0), "died", f"the process died or hung: {status}"))


def _run_all(cases, seed, numbers, folder, told, seconds):
    """Run mutants, and end this process."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    originals = {}
    try:
        for number in numbers:
            faulthandler.dump_traceback_later(seconds, exit=True)
            _add(told, _judged(cases, originals, seed, number, folder))
            faulthandler.cancel_dump_traceback_later()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _lines(path):
    """Give the lines of a file, none where it is not there."""
    return path.read_text().splitlines() if path.exists() else []


def _add(path, told):
    """Add a line of JSON to a file."""
    with open(path, "a") as stream:
        stream.write(json.dumps(told) + "\n")


def _judged(cases, originals, seed, number, folder):
    """Run one mutant, and, where it is accepted, the command on the files as they were."""
    mutated = mutants.mutant(cases, seed, number)
    before = _peak()
    outcome = mutants.run(mutated.files, mutated.command, folder)
    taken = _peak() - before
    key = mutated.case.name, mutated.command
    if outcome.status in (0, 3) and key not in originals:
        originals[key] = mutants.run(mutated.case.files, mutated.command, folder)
        assert originals[key].status in (0, 3), (key, originals[key])
    wrong = mutants.wrong(mutated, outcome, originals.get(key))
    if wrong is None and taken > _MOST:
        wrong = f"it took {taken / 2**20:.0f} MiB"
    return _told(mutated, number, "accepted" if outcome.status in (0, 3) else "refused", wrong)


def _peak():
    """Return the most bytes of memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _told(mutated, number, kind, wrong):
    """Say what became of a mutant."""
    what = f"{mutated.case.name}, {mutated.changed} {mutated.how}: {' '.join(mutated.command)}"
    return {"number": number, "kind": kind, "peak": _peak(), "wrong": wrong, "what": what}


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*given, *(2000, 0)[len(given) :]))
