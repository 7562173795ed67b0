"""Parsers and help pages, made from the lists of commands and of options."""

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from thresholds._version import __version__
from thresholds.cli.commands import COMMANDS, Command
from thresholds.cli.options import FILES, HEADINGS, OF_FITS, OPTIONS, Option

_EPILOG = """\
examples:
  thresholds fit scores.npz -o rule.json
  thresholds fit scores.npz --rule "instance, platt" -o rule.json
  thresholds fit scores.csv --truth gold.jsonl --key id -o rule.json
  thresholds predict rule.json new_scores.npz -o decisions.npz
  thresholds diagnose scores.npz --rule rule.json
  thresholds report scores.npz --rule rule.json -o report.html
  thresholds compare scores.npz
  thresholds compare week.npz --rule old.json --rule new.json --fail-on macro=0

`thresholds COMMAND --help` has the options of a command,
`thresholds COMMAND --help-files` has files and their options.
"""

_ABOUT_FILES = """\
files of scores:
  .npz            y_score and y_true (n_samples, n_labels), dense or as CSR
                  (y_score_data, y_score_indices, y_score_indptr,
                  y_score_shape); optionally label_names, calib_idx, test_idx;
                  or the one matrix that scipy.sparse.save_npz wrote, of scores
                  or of truth
  .npy            scores alone, with --truth
  .txt            extreme classification: a header "n m" and label:score pairs;
                  as --truth also a data set ("n d m"); or a table, as .csv
  .svm, .svmlight, .libsvm
                  labels before features, as --truth
  .parquet, .pq, .feather, .arrow, .orc, .csv, .csv.gz, .tsv, .tsv.gz, .jsonl,
  .jsonl.gz, .ndjson
                  a column of lists, or columns with a prefix (y_score_cat,
                  y_score_dog), for scores and for truth; scores also as lists
                  beside lists of their labels, or as lists of {"label",
                  "score"}; truth as lists of label names, of positions, or of
                  0 and 1, as labels in one cell (--label-separator), or as
                  words (--true-words); or one label a line, with the columns
                  that tell its row (--key), the label (--label-column) and its
                  score
  a folder, or a quoted pattern, of such shards; a Hugging Face dataset folder
  (save_to_disk)
predict, monitor, diff, fit --expected and fit --rule '..., label-free' need no
truth. All tables, csv and JSON lines too, need pyarrow: pip install pyarrow.
export needs onnx: pip install onnx. report needs Jinja2: pip install jinja2.
"""

_PAGE = partial(argparse.RawDescriptionHelpFormatter, max_help_position=26)


def parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    described = argparse.ArgumentParser(
        prog="thresholds",
        description="Exact F-measure thresholds for multi-label classifiers.",
        epilog=_EPILOG,
        formatter_class=_PAGE,
    )
    described.add_argument("--version", action="version", version=f"thresholds {__version__}")
    commands = described.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        of_command = commands.add_parser(
            name,
            help=command.about,
            description=f"{command.about[0].upper()}{command.about[1:]}.",
            usage=_usage(name, command),
            formatter_class=_PAGE,
            add_help=False,
        )
        of_command.set_defaults(command=name)
        for option in command.arguments.values():
            _add(of_command, option, option.help)
        _add_options(of_command, command.options.values(), hides_files=True)
        pages = of_command.add_argument_group("help")
        pages.add_argument("-h", "--help", action="help", help="show this page")
        if "score_key" in command.options:
            about = "formats of files, and options about columns, truth, keys, names"
            pages.add_argument(
                "--help-files", action="version", version=_page_on_files(command), help=about
            )
    return described


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read what is written behind `thresholds`: what is not given has its default, `given` names the rest."""
    described = parser()
    options, unknown = described.parse_known_args(words)
    command = COMMANDS[options.command]
    if unknown:
        described.usage = _usage(options.command, command)
        described.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(command, unknown)}")
    options.given = frozenset(vars(options))
    for option in (*command.arguments.values(), *command.options.values()):
        if option.name not in options.given:
            setattr(options, option.name, option.default)
    return options


def _hint(command: Command, unknown: Sequence[str]) -> str:
    """Say of options of fits at another command who takes them."""
    flags = {flag for name in OF_FITS for flag in OPTIONS[name].flags} - {"--rule"}
    of_fits = [flag for flag, _, _ in (word.partition("=") for word in unknown) if flag in flags]
    if not of_fits:
        return ""
    judged = any("--rule" in option.flags for option in command.options.values())
    return f" (fit takes {of_fits[0]}{'; what it saves is judged by --rule' if judged else ''})"


def _page_on_files(command: Command) -> str:
    """Describe the files that a command reads, and its options about them."""
    described = argparse.ArgumentParser(
        usage=argparse.SUPPRESS, epilog=_ABOUT_FILES, formatter_class=_PAGE, add_help=False
    )
    _add_options(described, [one for one in command.options.values() if one.heading == FILES])
    return described.format_help()


def _usage(name: str, command: Command) -> str:
    """Say what has to be written."""
    words = ["thresholds", name]
    words += [option.settings["metavar"] for option in command.arguments.values()]
    if "output" in command.options:
        words += ["-o", command.options["output"].settings["metavar"]]
    return " ".join([*words, "[options]"])


def _add_options(
    described: argparse.ArgumentParser, options: Iterable[Option], *, hides_files: bool = False
) -> None:
    """Describe options under their headings."""
    by_heading = {heading: described.add_argument_group(heading) for heading in HEADINGS}
    for option in options:
        is_hidden = hides_files and option.heading == FILES
        _add(by_heading[option.heading], option, argparse.SUPPRESS if is_hidden else option.help)


def _add(group: "argparse._ActionsContainer", option: Option, about: str) -> None:
    """Describe an option; one that is not given is told from one that is given its default."""
    settings: dict[str, Any] = {**option.settings, "default": argparse.SUPPRESS, "help": about}
    group.add_argument(*option.flags, **settings)
