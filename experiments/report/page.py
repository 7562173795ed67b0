"""How large is the page of a report, and how long does it take to open, to search and to sort?

Simulated rows with 100 to 30,000 labels: base rates log-uniform from 1/20,000 to 1/5, scores that know a label well,
little or not at all, names of two words. Half of the rows fit a rule, the other half judges it (`make_report`). The
page is opened in headless Chromium from a file; "opened" is the time from the start of navigation until the table of
all labels is drawn, the median of five. "a letter" is the time that the table takes for a letter typed into the search,
"a sort" for a click on the head of a column, both with the layout, the median over letters and columns.
"curves" is the number of labels of which the page has one.

A page has at most 1,000,000 bytes, and 60 more for each label above 8,000. The run fails where one is larger, and where
one takes longer than two seconds to open. Chromium and chromedriver are needed.

    pip install -e ".[report]" selenium
    python experiments/report/page.py | tee experiments/report/page.txt
"""

import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

import thresholds
from thresholds.report.report import Report

LABELS = (100, 1_500, 8_000, 30_000)
N_SAMPLES = 2_000
ROUNDS = 5
MOST_SECONDS = 2.0
ENDINGS = ("itis", "oma", "osis", "emia", "uria", "algia", "pathy", "plegia")
PLACES = ("renal", "hepatic", "cardiac", "dermal", "gastric", "neural", "ocular", "pulmonary", "vascular")
CURVES = re.compile(r"shows the curves of ([\d,]+) labels")
SHOWN = "return performance.getEntriesByName('labels are shown').map(mark => mark.startTime)[0]"
LETTERS = """
    const field = document.getElementById("search");
    return Array.from("hepatic 123", (letter, k) => {
      const start = performance.now();
      field.value = "hepatic 123".slice(0, k + 1);
      field.dispatchEvent(new Event("input"));
      document.body.offsetHeight;
      return performance.now() - start;
    });
"""
SORTS = """
    return Array.from(document.querySelectorAll("#labels th button"), (head) => {
      const start = performance.now();
      head.click();
      document.body.offsetHeight;
      return performance.now() - start;
    });
"""


def report_of(n_labels: int) -> Report:
    """Simulate rows, and report on a rule that is fitted on half of them."""
    rng = np.random.default_rng(0)
    rates = np.exp(rng.uniform(np.log(1 / 20_000), np.log(1 / 5), n_labels))
    y_true = (rng.random((N_SAMPLES, n_labels), np.float32) < rates).astype(np.uint8)
    y_true[0] = 1  # Every label is true somewhere.
    y_score = rng.standard_normal(y_true.shape, np.float32)
    y_score += y_true * rng.choice(np.array([0, 1, 3], np.float32), n_labels)
    names = [f"{PLACES[j % 9].capitalize()} {j // 72 + 1}{ENDINGS[j // 9 % 8]}" for j in range(n_labels)]
    return thresholds.make_report(y_true, y_score, label_names=names)


def milliseconds(browser: Any, path: Path) -> tuple[float, float, float]:
    """Return how long a page takes to open, a letter, and a sort."""
    opened = []
    for _ in range(ROUNDS):
        browser.get(path.as_uri())
        WebDriverWait(browser, 60, poll_frequency=0.05).until(lambda _: browser.execute_script(SHOWN))
        opened.append(browser.execute_script(SHOWN))
    letters = browser.execute_script(LETTERS)
    sorts = browser.execute_script(SORTS)
    return statistics.median(opened), statistics.median(letters), statistics.median(sorts)


def main() -> None:
    """Print a line for each number of labels."""
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,800"):
        options.add_argument(option)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    too_much = False
    try:
        print(f"Chromium {browser.capabilities['browserVersion']}, times in milliseconds\n")
        print(f"{'labels':>8}{'curves':>8}{'bytes':>12}{'at most':>12}{'opened':>8}{'a letter':>10}{'a sort':>8}")
        for n_labels in LABELS:
            report = report_of(n_labels)
            path = Path(tempfile.mkdtemp()) / "report.html"
            report.save(path)
            n_bytes = path.stat().st_size
            n_curves = CURVES.search(path.read_text("utf-8"))[1]
            most = 1_000_000 + 60 * max(n_labels - 8_000, 0)
            opened, letter, a_sort = milliseconds(browser, path)
            shutil.rmtree(path.parent)
            print(
                f"{n_labels:>8,}{n_curves:>8}{n_bytes:>12,}{most:>12,}{opened:>8.0f}{letter:>10.0f}{a_sort:>8.0f}",
                flush=True,
            )
            too_much |= n_bytes > most or opened > 1000 * MOST_SECONDS
    finally:
        browser.quit()
    sys.exit(too_much)


if __name__ == "__main__":
    main()
