"""The page of a report in a browser: headless Chromium sorts, searches and opens labels, and nothing leaves the page.

Where no browser is found these tests are skipped; `.ci/run` installs one.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.contents import HOSTILE, content, names
from thresholds._results.text import on_one_line
from thresholds.report.content import Content
from thresholds.report.page.render import render

webdriver = pytest.importorskip("selenium.webdriver", reason="make test-integrations installs selenium")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.remote.webelement import WebElement  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--lang=en")
WAIT = 60  # seconds at most; a page takes a fraction of one
SCREEN = (1280, 800)
PHONE = (390, 844)
NARROWEST = (320, 568)  # also what is left of 1280 pixels at four times the size
LABELS = "#labels tbody tr[aria-rowindex]"


class Browser:
    """A browser with one page, and what tests ask of it."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def tell(self, command: str, **arguments: object) -> Any:
        """Send a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def size(self, size: tuple[int, int]) -> None:
        """Give the page so many pixels."""
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """Show the page on a screen ("") or on paper ("print"), light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", media=kind, features=features)

    def visit(self, page: str) -> None:
        """Show a page from a file."""
        path = self.folder / "report.html"
        path.write_text(page, encoding="utf-8", newline="")
        self.driver.get(path.as_uri())

    def open(self, of: Content | str) -> None:
        """Show a report, or a page of one, and wait for its table."""
        self.visit(of if isinstance(of, str) else render(of))
        self.wait("return document.getElementById('labels').getAttribute('aria-busy') === 'false'")
        self.settle()

    def wait(self, script: str) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self.driver, WAIT, poll_frequency=0.02).until(lambda _: self.run(script))

    def settle(self) -> None:
        """Wait for two frames: in the first, what has another size than before is drawn again, as new elements."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def all(self, selector: str) -> list[WebElement]:
        """All elements that a selector finds."""
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        """The first element that a selector finds."""
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """The text of each element that a selector finds, whether it is seen or not."""
        return self.run("return Array.from(document.querySelectorAll(arguments[0]), e => e.textContent)", selector)

    def shown(self, column: str) -> list[str]:
        """The cells of a column of the table, those of the rows that exist."""
        return self.texts(f'{LABELS} td[data-column="{column}"]')

    def sort_by(self, column: str) -> None:
        """Click on the head of a column."""
        self.one(f'#labels th[data-column="{column}"] button').click()

    def search(self, text: str) -> None:
        """Type into the search field, instead of what is there."""
        self.one("#search").send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE, text)

    def press(self, *keys: str) -> None:
        """Press keys, one after another, where the focus is."""
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def wait_for_label(self) -> None:
        """Wait until a label is shown, with its curve or with the reason why there is none."""
        self.wait("return document.getElementById('label').open && document.querySelector('#label[data-shown]')")
        self.settle()

    def events(self, kind: str) -> list[Any]:
        """What the browser told of a kind of event since it was last asked, about anything."""
        told = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [event["params"] for event in told if event["method"] == kind]

    def requests(self) -> list[str]:
        """All that was asked for since the browser was last asked, but for the page itself and what is in it."""
        addresses = [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]
        page = (self.folder / "report.html").as_uri()
        return [address for address in addresses if address != page and not address.startswith("data:")]

    def logged(self) -> list[str]:
        """What was logged since the last call, of errors and of anything else."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("no Chromium with its chromedriver is installed; .ci/run does it")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    chromium = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(chromium, tmp_path_factory.mktemp("pages"))
    finally:
        chromium.quit()


@pytest.fixture
def browser(started: Browser) -> Iterator[Browser]:
    """The browser, without a network; whatever a test does, nothing is asked for, and no error is logged."""
    started.tell("Network.enable")
    started.tell("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    started.size(SCREEN)
    started.media()
    yield started
    assert started.requests() == []
    assert started.logged() == []


@pytest.fixture(scope="module")
def few() -> Content:
    return content(names(60), n_curves=30, with_old=True)


@pytest.fixture(scope="module")
def hostile() -> Content:
    return content(HOSTILE, with_old=True)


@pytest.fixture(scope="module")
def many() -> Content:
    return content(names(30_000), n_curves=200)


# The first screen


def test_the_first_screen_says_what_is_not_to_be_trusted_and_why(browser: Browser, few: Content) -> None:
    browser.open(few)
    seen = ["#headline", ".legend", ".columns h3", "ol > li:nth-child(3)", ".worst li:nth-child(4)"]
    for selector in seen:
        assert browser.one(selector).rect["y"] + browser.one(selector).rect["height"] <= SCREEN[1]


def test_a_phone_shows_the_page_without_scrolling_sideways(browser: Browser, hostile: Content) -> None:
    browser.size(PHONE)
    browser.open(hostile)
    for area in ("html", "#scroll"):
        beyond = browser.run("const area = arguments[0]; return area.scrollWidth - area.clientWidth", browser.one(area))
        assert beyond == 0, area
    for selector in ("#headline", ".legend", ".columns ul"):
        assert browser.one(selector).rect["y"] + browser.one(selector).rect["height"] <= PHONE[1]


def test_a_window_as_narrow_as_any_shows_the_page_without_scrolling_sideways(
    browser: Browser, hostile: Content
) -> None:
    browser.size(NARROWEST)
    browser.open(hostile)
    assert browser.run("const page = document.documentElement; return page.scrollWidth - page.clientWidth") == 0


# The table


def test_numbers_are_sorted_from_the_largest_then_from_the_smallest(browser: Browser, few: Content) -> None:
    browser.open(few)
    browser.sort_by("predicted")
    marked = np.sort(few.labels["predicted"])
    assert browser.one('th[data-column="predicted"]').get_attribute("aria-sort") == "descending"
    shown = browser.shown("predicted")
    assert shown == [f"{number:,}" for number in marked[::-1][: len(shown)]]
    browser.sort_by("predicted")
    assert browser.one('th[data-column="predicted"]').get_attribute("aria-sort") == "ascending"
    assert browser.shown("predicted") == [f"{number:,}" for number in marked[: len(shown)]]


def test_names_are_sorted_by_the_alphabet(browser: Browser, few: Content) -> None:
    browser.open(few)
    browser.sort_by("name")
    shown = browser.shown("name")
    assert shown == sorted(few.labels["name"].tolist(), key=str.casefold)[: len(shown)]


def test_figures_that_are_not_known_come_last(browser: Browser, few: Content) -> None:
    browser.open(few)
    rare = few.labels[few.labels["positives"] == 0]
    assert rare.size
    for _ in range(2):
        browser.sort_by("auroc")
        assert "–" not in browser.shown("auroc")[:3]
    browser.one("#labels").click()  # in the middle, which opens a label
    browser.press(Keys.ESCAPE)
    browser.press(Keys.END)
    assert browser.shown("auroc")[-rare.size :] == ["–"] * rare.size


def test_a_row_has_the_figures_of_its_label(browser: Browser, few: Content) -> None:
    browser.open(few)
    row = few.labels[int(few.worst[0])]
    browser.search(str(row["name"]))
    (cells,) = [[cell.text for cell in shown.find_elements("css selector", "td")] for shown in browser.all(LABELS)]
    wrong = row["predicted"] - row["tp"]
    assert cells == [
        row["name"],
        row["verdict"],
        "" if row["state"] == "restrained" else row["state"],
        f"{row['positives']:,}",
        f"{row['predicted']:,}",
        f"{wrong:,}",
        f"{100 * row['precision'] + 1e-9:.0f}",
        f"{100 * row['recall'] + 1e-9:.0f}",
        f"{row['f']:.3f}",
        "",
        f"{row['auroc']:.3f}",
    ]


def test_a_search_finds_parts_of_names_in_any_case(browser: Browser, few: Content) -> None:
    browser.open(few)
    name = str(few.labels["name"][3])
    browser.search(f"{name[-4:].upper()} {name[:4]}")
    assert name in browser.shown("name")
    assert all(name[-4:].lower() in shown.lower() for shown in browser.shown("name"))
    browser.search("no such name")
    assert browser.shown("name") == []
    assert browser.one("#found").text == "0 of 60 labels"
    browser.search("")
    assert browser.one("#found").text == "60 of 60 labels"


def test_what_is_searched_is_no_pattern(browser: Browser, hostile: Content) -> None:
    browser.open(hostile)
    for text, found in {
        ".*": [],
        "$&": ["C:\\new\\table $& $1 %s {0}"],
        "]]>": ["]]>"],
        "\\": None,
        "(1": None,
    }.items():
        browser.search(text)
        expected = [name for name in map(on_one_line, HOSTILE) if text in name] if found is None else found
        assert sorted(browser.shown("name")) == sorted(expected)


def test_labels_are_filtered_by_verdict_and_by_state(browser: Browser, few: Content) -> None:
    browser.open(few)
    browser.one("#verdict option[value=weak]").click()
    is_weak = few.labels["verdict"] == "weak"
    assert browser.one("#found").text == f"{is_weak.sum()} of 60 labels"
    assert set(browser.shown("verdict")) == {"weak"}
    browser.one("#state option[value=overpredicted]").click()
    both = is_weak & (few.labels["state"] == "overpredicted")
    assert browser.one("#found").text == f"{both.sum()} of 60 labels"
    assert sorted(browser.shown("name")) == sorted(few.labels["name"][both])
    trusts = {group.title for group in few.summary.groups if group.n_labels}
    assert set(browser.texts("#trust option")) == {"all", *trusts}


# One label


def test_a_click_shows_a_label_with_its_curve(browser: Browser, few: Content) -> None:
    browser.open(few)
    j = int(few.worst[0])
    row = few.labels[j]
    browser.search(str(row["name"]))
    browser.all(LABELS)[0].click()
    browser.wait_for_label()
    assert browser.one("#label-name").text == row["name"]
    assert browser.one("#label-sentence").text == row["sentence"]
    figures = dict(zip(browser.texts("#label-figures dt"), browser.texts("#label-figures dd"), strict=True))
    assert figures["Rows marked"] == f"{row['predicted']:,}"
    assert figures["F1 (95\xa0% bounds)"] == f"{row['f']:.3f} ({row['f_low']:.3f} to {row['f_high']:.3f})"
    assert browser.one("#label-curve path.f").get_attribute("d").count("L") >= few.curves[j].threshold.size - 1
    assert height_of(browser, "circle.of-rule", row["predicted"]) == pytest.approx(row["f"], abs=0.01)


def height_of(browser: Browser, selector: str, marked: float) -> float:
    """The share from 0 to 1 at which a mark stands in the chart; it has to stand at so many rows marked."""
    nodes = "const [svg, mark] = [document.querySelector('#label-curve svg'), document.querySelector(arguments[0])];"
    read = "return [svg.clientWidth, svg.clientHeight, mark.cx.baseVal.value, mark.cy.baseVal.value]"
    width, height, x, y = browser.run(f"{nodes} {read}", f"#label-curve {selector}")
    assert (x - 32) / (width - 44) == pytest.approx(np.log(marked) / np.log(20_000), abs=0.01)
    return (height - 48 - y) / (height - 56)


def test_the_slider_goes_along_the_curve(browser: Browser, few: Content) -> None:
    browser.open(few)
    j = int(few.worst[0])
    browser.one(f'.worst [data-label="{j}"] button').click()
    browser.wait_for_label()
    row, curve = few.labels[j], few.curves[j]
    said = browser.one("#label-curve output")
    assert said.text == f"The rule marks {row['predicted']:,}, of which {row['tp']:,} truly are; F1 {row['f']:.3f}"
    browser.one("#label-curve input").send_keys(Keys.END)
    whole = f"{curve.predicted[-1]:,.0f}, of which {curve.tp[-1]:,.0f} truly are; F1 {curve.f()[-1]:.3f}"
    assert said.text == f"Rows with a score of {curve.threshold[-1]:.3g} or more: {whole}"
    assert browser.one("#label-curve path.chosen")


def test_a_label_without_a_curve_says_why(browser: Browser, few: Content) -> None:
    browser.open(few)
    j = next(j for j in range(60) if j not in few.curves)
    browser.search(str(few.labels["name"][j]))
    browser.all(LABELS)[0].click()
    browser.wait_for_label()
    assert not browser.one("#label-curve").is_displayed()
    assert "the curves of 30 labels" in browser.one("#without-curve").text


def test_names_in_lists_open_their_labels(browser: Browser, few: Content) -> None:
    browser.open(few)
    for area in ("wrong-marks", "against"):
        button = browser.one(f'[aria-labelledby="{area}"] tbody button')
        button.click()
        browser.wait_for_label()
        assert browser.one("#label-name").text == button.get_attribute("textContent")
        browser.one("#close").click()
        assert not browser.one("#label").is_displayed()


def test_the_keyboard_does_all_that_the_mouse_does(browser: Browser, few: Content) -> None:
    browser.open(few)
    browser.run("document.getElementById('state').focus()")
    browser.press(Keys.TAB)
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_DOWN)
    active = browser.one(f"#{browser.one('#labels').get_attribute('aria-activedescendant')}")
    assert active.get_attribute("aria-rowindex") == "4"  # The head is the first.
    assert active.value_of_css_property("outline-style") == "solid"
    third, fourth = browser.shown("name")[2:4]
    browser.press(Keys.ENTER)
    browser.wait_for_label()
    assert browser.one("#label-name").text == third
    browser.press(Keys.ARROW_RIGHT)
    browser.wait_for_label()
    assert browser.one("#label-name").text == fourth
    browser.press(Keys.ESCAPE)
    assert not browser.one("#label").is_displayed()
    assert browser.run("return document.activeElement.id") == "labels"
    assert browser.one("tr.active").get_attribute("aria-rowindex") == "5"


# Hostile names


def test_hostile_names_are_shown_as_text(browser: Browser, hostile: Content) -> None:
    browser.open(hostile)
    expected = sorted(on_one_line(name) or "(no name)" for name in HOSTILE)
    assert sorted(browser.shown("name")) == expected
    assert browser.driver.title == hostile.title
    assert not browser.all("img, h1 ~ h1, script:not([id]):not([type=module])")


def test_the_sentences_of_hostile_names_are_those_of_the_library(browser: Browser, hostile: Content) -> None:
    browser.open(hostile)
    browser.all(LABELS)[0].click()
    shown = []
    for k in range(len(HOSTILE)):
        browser.wait_for_label()
        shown += browser.texts("#label-sentence")
        if k < len(HOSTILE) - 1:
            browser.one("#next").click()
    assert not browser.one("#next").is_enabled()
    assert sorted(shown) == sorted(hostile.labels["sentence"])


# Many labels


def test_of_many_labels_few_exist_as_rows(browser: Browser, many: Content) -> None:
    page = render(many)
    assert len(page.encode()) <= 1_000_000 + 60 * 22_000
    browser.open(page)
    assert browser.one("#labels").get_attribute("aria-rowcount") == "30001"
    n_rows = len(browser.all(LABELS))
    assert n_rows < 60
    browser.sort_by("predicted")
    for place in (15_000, 29_999):
        browser.run("document.getElementById('scroll').scrollTop = 1e9 * arguments[0]", place == 29_999)
        browser.run("document.getElementById('labels').focus()")
        browser.press(Keys.END if place == 29_999 else Keys.PAGE_DOWN)
        assert len(browser.all(LABELS)) == n_rows
    assert browser.shown("predicted")[-1] == f"{many.labels['predicted'].min():,}"
    name = str(many.labels["name"][12_345])
    browser.search(name.upper())
    assert name in browser.shown("name")


# How it looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_told_from_its_ground(browser: Browser, few: Content, scheme: str) -> None:
    """The contrast that WCAG 2.2 asks for (1.4.3): 4.5 for text, 3 for signs."""
    browser.media(scheme=scheme)
    browser.open(few)
    ground = luminance(browser.one("body").value_of_css_property("background-color"))
    assert (ground < 0.1) == (scheme == "dark")
    for selector in ("h1", "#headline", ".note", ".worst button", "#found", "#labels td", ".list thead th"):
        assert contrast(ground, luminance(browser.one(selector).value_of_css_property("color"))) >= 4.5, selector
    for trust in ("distrusted", "open", "trusted"):
        fill = browser.one(f".shares rect.{trust}").value_of_css_property("fill")
        assert contrast(ground, luminance(fill)) >= 3, trust


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2, of "rgb(255, 255, 255)"."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    """The contrast ratio of WCAG 2.2."""
    low, high = sorted((one, other))
    return (high + 0.05) / (low + 0.05)


def test_paper_has_the_first_screen_and_the_lists_and_nothing_that_scrolls(browser: Browser, few: Content) -> None:
    browser.media("print", "dark")
    browser.open(few)
    for selector in ("#headline", ".worst", "#wrong-marks", ".list.wrong", ".on-paper", "pre"):
        assert browser.one(selector).is_displayed(), selector
    for selector in ("#browser", "#without-table", "nav", "#label"):
        assert not browser.one(selector).is_displayed(), selector
    assert luminance(browser.one("body").value_of_css_property("background-color")) == 1
    assert len(browser.all(".list.wrong tbody tr")) == 50


# What the browser cannot do


def test_without_javascript_all_but_the_table_can_be_read(browser: Browser, few: Content) -> None:
    browser.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.visit(render(few))
        assert "with JavaScript" in browser.one("#without-table").text
        assert not browser.one("#browser").is_displayed()
        for selector in ("#headline", ".worst li:last-child", ".list.wrong tr:last-child", ".bins", "#against"):
            assert browser.one(selector).is_displayed(), selector
        assert not browser.all(".worst button")
    finally:
        browser.tell("Emulation.setScriptExecutionDisabled", value=False)


def test_a_browser_that_is_too_old_says_so(browser: Browser, few: Content) -> None:
    added = browser.tell("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    try:
        browser.visit(render(few))
        browser.wait("return document.readyState === 'complete'")
        assert "Chrome 89, Firefox 113, Safari 16.4" in browser.one("#without-table").text
        assert not browser.one("#browser").is_displayed()
    finally:
        browser.tell("Page.removeScriptToEvaluateOnNewDocument", **added)


# That what leaves a page would be seen here


def test_the_policy_stops_what_a_mistake_would_ask_for(browser: Browser, few: Content) -> None:
    browser.open(few)
    ask = """
        const done = arguments[0];
        const image = new Image();
        image.onerror = () => fetch("https://example.invalid/b").then(() => done("sent"), () => done("stopped"));
        image.src = "https://example.invalid/a";
    """
    assert browser.driver.execute_async_script(ask) == "stopped"
    stopped = [event["blockedReason"] for event in browser.events("Network.loadingFailed")]
    assert set(stopped) == {"csp"}
    assert len(browser.logged()) >= 2


def test_without_the_policy_a_request_is_seen(browser: Browser) -> None:
    browser.visit('<!DOCTYPE html><title>asks</title><img src="https://example.invalid/a">')
    assert browser.requests() == ["https://example.invalid/a"]
    assert len(browser.logged()) == 1
