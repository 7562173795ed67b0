"""Draw the picture of the README, `docs/report.png`: the first screen of a report.

    python experiments/readme_figure/make_screenshot.py SCORES.npz [OUTPUT] [--groups COLUMN]

Fits thresholds on the file's calibration rows and judges them on its test rows, as `thresholds report` does, then has
Chromium draw the page, 1280 by 800 pixels, in 256 colours. SCORES.npz was that of ChestX-ray14, COLUMN `patient_id`.

Needs Chromium, chromedriver, Selenium, Pillow, and this package with its extra `report`.
"""

import argparse
import io
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver

from thresholds import cli

DEFAULT_OUTPUT = Path(__file__).resolve().parents[2] / "docs" / "report.png"
WIDTH, HEIGHT = 1280, 800


def picture_of(page: Path) -> bytes:
    """Return the first screen of a page, as a PNG."""
    options = webdriver.ChromeOptions()
    arguments = ["--headless=new", "--hide-scrollbars", "--force-device-scale-factor=1"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")
    for argument in arguments:
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))  # else Selenium looks for one in the network
    with webdriver.Chrome(options=options, service=service) as browser:
        screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(page.as_uri())
        return browser.get_screenshot_as_png()


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description="Draw the first screen of a report.")
    parser.add_argument("scores")
    parser.add_argument("output", nargs="?", type=Path, default=DEFAULT_OUTPUT)
    parser.add_argument("--groups", metavar="COLUMN")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        groups = [] if options.groups is None else ["--groups", options.groups]
        status = cli.main(["report", options.scores, *groups, "-o", str(page)])
        if status:
            raise SystemExit(status)
        screen = Image.open(io.BytesIO(picture_of(page))).convert("RGB")
    # Colours that are seldom, as of a group without labels, keep a place of their own.
    screen.quantize(256, Image.Quantize.MAXCOVERAGE).save(options.output, optimize=True)


if __name__ == "__main__":
    main()
