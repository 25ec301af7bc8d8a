"""The page in a real browser: it sorts, filters, prints, turns dark, fits a phone, and speaks to nobody."""

import os
from pathlib import Path

import pytest

from unmuddle.report import Report, write_report

pytestmark = pytest.mark.slow

BROWSER = os.environ.get("UNMUDDLE_BROWSER", "/usr/bin/chromium")
NEEDED = bool(os.environ.get("UNMUDDLE_NEEDS_BROWSER"))


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may be absent
    except ImportError:
        missing("playwright is not installed: pip install 'unmuddle[dev]'")
    if not Path(BROWSER).exists():
        missing(f"there is no browser at {BROWSER}: install chromium, or name another in UNMUDDLE_BROWSER")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def missing(reason):
    (pytest.fail if NEEDED else pytest.skip)(reason)


@pytest.fixture(scope="module")
def addresses(plain, nasty, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, case in {"plain": plain, "nasty": nasty}.items():
        write_report(folder / f"{name}.html", Report.of(case.cleaner, case.X, case.y, case.cleaned))
    return {name: (folder / f"{name}.html").as_uri() for name in ("plain", "nasty")}


@pytest.fixture
def visit(browser, addresses):
    """Opens a page; at the end nothing has been said in the console and nothing but the file was asked for."""
    said, asked, contexts = [], [], []

    def go(name="plain", **settings):
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(addresses[name])
        return page

    yield go
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) <= set(addresses.values())


def column(page, table, place):
    return page.locator(f"#{table} tbody tr:visible > :nth-child({place})").all_inner_texts()


def test_a_click_on_a_header_sorts_and_a_second_turns_it_round(visit, plain):
    page = visit()
    counts = list(map(int, column(page, "column-table", 2)))
    head = page.locator("#column-table thead th").nth(1)
    head.get_by_role("button").click()
    assert list(map(int, column(page, "column-table", 2))) == sorted(counts, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").press("Enter")
    assert list(map(int, column(page, "column-table", 2))) == sorted(counts)
    assert head.get_attribute("aria-sort") == "ascending"
    page.locator("#label-table thead th").first.get_by_role("button").click()
    flagged = plain.cleaner.label_issues_.query("flag")["row"]
    assert list(map(int, column(page, "label-table", 1))) == sorted(flagged)  # as numbers, not as text


def test_search_and_class_narrow_the_list(visit, plain):
    page = visit()
    flagged = plain.cleaner.label_issues_.query("flag")
    controls = page.locator('[data-table="label-table"]')
    controls.locator("select").select_option(label="cat")
    either = flagged[(flagged["given"] == "cat") | (flagged["suggested"] == "cat")]
    assert 0 < len(either) < len(flagged)
    assert sorted(map(int, column(page, "label-table", 1))) == sorted(either["row"])
    assert controls.locator("output").inner_text() == f"{len(either)} of {len(flagged)} shown"
    controls.locator("select").select_option("")
    controls.locator("input").fill("no such word")
    assert column(page, "label-table", 1) == []
    controls.locator("input").fill("")
    cells = plain.cleaner.cell_issues_
    page.locator('[data-table="cell-table"] input').fill("COLUMN 2")
    assert len(column(page, "cell-table", 1)) == (cells["column"] == "column 2").sum() > 0


def test_print_shows_all_rows_and_cells_and_no_controls(visit, plain):
    page = visit(color_scheme="dark")
    page.locator('[data-table="cell-table"] input').fill("no such word")
    page.emulate_media(media="print")
    assert len(column(page, "cell-table", 1)) == len(plain.cleaner.cell_issues_)
    assert page.locator(".controls:visible, nav:visible, button#theme:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    heads = page.locator("thead .sort").evaluate_all("(all) => all.map((each) => getComputedStyle(each).display)")
    assert set(heads) == {"contents"}  # a button in a header is on the first sheet of a table only
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_print_opens_what_is_folded(visit):
    page = visit("nasty")
    page.emulate_media(media="print")
    folded = page.locator("#label-table details ul").first
    assert folded.is_visible()
    assert folded.bounding_box()["height"] > 0


def luminance(colour):
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


PAIRS = """() => {
    const texts = document.querySelectorAll('p, td, th, a, mark, li, summary, figcaption, h2, output, button, footer');
    const paper = (element) => getComputedStyle(element).backgroundColor;
    const behind = (element) => paper(element) === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : paper(element);
    return [...texts].map((element) => [element.tagName, getComputedStyle(element).color, behind(element)]);
}"""
"""Of all elements with text, its colour and that of what is behind it."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_schemes_and_the_button_turns_them(visit, scheme):
    page = visit(color_scheme=scheme)
    for turned in (False, True):
        if turned:
            page.locator("#theme").click()
        dark = (scheme == "dark") != turned
        assert (luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1) == dark
        for tag, ink, paper in {tuple(pair) for pair in page.evaluate(PAIRS)}:
            low, high = sorted([luminance(ink), luminance(paper)])
            assert (high + 0.05) / (low + 0.05) >= 4.5, (tag, ink, paper, dark)


@pytest.mark.parametrize("name", ["plain", "nasty"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_never_scrolls_sideways(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_no_list_of_issues_is_cut_off(visit):
    page = visit(viewport={"width": 390, "height": 844})
    for table in ("label-table", "cell-table", "column-table"):
        region = page.locator(".scroll", has=page.locator(f"#{table}"))
        assert region.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 1, table


def test_without_scripts_all_is_there_to_read(visit, plain):
    page = visit(java_script_enabled=False)
    assert page.locator("#label-table tbody tr:visible").count() == int(plain.cleaner.label_issues_["flag"].sum())
    assert page.locator(".controls:visible, button:visible").count() == 0


def test_a_script_that_is_not_ours_does_not_run(visit, addresses, browser, tmp_path):
    visit()
    source = Path(addresses["plain"].removeprefix("file://")).read_text("utf-8")
    bad = tmp_path / "bad.html"
    bad.write_text(source.replace("</body>", "<script>document.title = 'taken'</script></body>"), "utf-8")
    page = browser.new_page()
    page.goto(bad.as_uri())
    assert page.title() != "taken"
    page.close()
