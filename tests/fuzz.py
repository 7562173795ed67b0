"""Run many mutated files through every command: `python tests/fuzz.py [N] [SEED]`, or `make fuzz N=20000 SEED=7`.

What goes wrong is printed with the number of its mutant; `python tests/fuzz.py 1 SEED NUMBER` runs that one again.
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

import mutants

_SECONDS = 60  # that a mutant may take
_ADDRESSES = 6 * 2**30  # bytes of address space


def main(n: int, seed: int, first: int = 0) -> int:
    """Run `n` mutants in as many processes as there are cores, and print a summary."""
    cases = mutants.core_cases()
    try:
        cases += mutants.arrow_cases()
    except ImportError:
        print("pyarrow is not installed: parquet, csv and datasets are left out")
    begun, found = time.monotonic(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        originals = _originals(cases, Path(folder) / "originals")
        n_processes = min(n, len(os.sched_getaffinity(0)))
        ends = [os.pipe() for _ in range(n_processes)]
        for k, (read, write) in enumerate(ends):
            if os.fork() == 0:
                os.close(read)
                _supervised(
                    cases, originals, seed, range(first + k, first + n, n_processes), Path(folder) / str(k), write
                )
                os._exit(0)
            os.close(write)
        peak, bad = 0, []
        for read, _ in ends:
            with open(read) as stream:
                for text in stream:
                    told = json.loads(text)
                    found[told["kind"]] += 1
                    peak = max(peak, told["peak"])
                    if told["wrong"]:
                        bad.append(told)
        for _ in ends:
            os.wait()
    for told in sorted(bad, key=lambda told: told["number"]):
        print(f"mutant {told['number']} ({told['what']}): {told['wrong']}\n")
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


def _supervised(cases, originals, seed, numbers, folder, write):
    """Run mutants in a process that may die, and go on in another."""
    numbers = list(numbers)
    while numbers:
        read, told = os.pipe()
        if (process := os.fork()) == 0:
            os.close(read)
            resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
            for number in numbers:
                faulthandler.dump_traceback_later(_SECONDS, exit=True)
                os.write(told, (json.dumps(_judged(cases, originals, seed, number, folder)) + "\n").encode())
                faulthandler.cancel_dump_traceback_later()
            os._exit(0)
        os.close(told)
        with open(read) as stream:
            for text in stream:
                os.write(write, text.encode())
                numbers.pop(0)
        _, status = os.waitpid(process, 0)
        if numbers:
            mutated = mutants.mutant(cases, seed, numbers[0])
            said = f"the process died or hung: {status}"
            os.write(write, (json.dumps(_told(mutated, numbers.pop(0), "died", said)) + "\n").encode())


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
    sys.exit(main(*(int(argument) for argument in (*sys.argv[1:], "2000", "0")[: max(2, len(sys.argv) - 1)])))
