"""A page shows what it is given, runs only its own script, and needs nothing beside itself."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.pages import html
from tests.driveflow.pages.hostile import HOSTILE_NAMES


class Tags(HTMLParser):
    """Collects the tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data) -> None:
        self.text += data


def _page_with(name: str) -> str:
    row = [html.name(name), html.Cell(name, order=name), html.number(1.0)]
    columns = [html.Column("a", hint=name), html.Column(name), html.Column("c", numeric=True)]
    card = html.Card(name, name, name)
    parts = [
        html.path(name),
        html.table(columns, [row], name),
        html.cards([card]),
        html.section(name, html.paragraph(name), name),
    ]
    return html.page(name, parts)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_adds_no_tag_and_no_attribute(name):
    hostile, harmless = Tags(_page_with(name)), Tags(_page_with("c" * len(name)))

    assert hostile.tags == harmless.tags
    assert [key for key, _value in hostile.attributes] == [key for key, _value in harmless.attributes]


@given(st.text(min_size=1, max_size=60))
def test_any_text_is_escaped_to_the_same_structure(name):
    assert Tags(_page_with(name)).tags == Tags(_page_with("c" * len(name))).tags


def test_the_end_of_a_long_name_is_never_clipped_since_names_of_one_data_set_begin_alike():
    name = "regulatory--maximum-speed-limit-30--g1"

    assert '<bdi class="name path"' in html.name(name).markup
    assert "<span>eed-limit-30--g1</span>" in html.name(name).markup


def test_names_are_shown_as_written():
    assert "<b>truck</b>" in Tags(_page_with("<b>truck</b>")).text


def test_a_long_path_can_be_clipped_before_its_last_characters_alone():
    assert html.path("batch_a/train/images/040d25a99.jpg").markup.endswith("<span>es/040d25a99.jpg</span></bdi>")


def test_marks_that_turn_the_writing_direction_are_shown_not_obeyed():
    page = html.page("t", [html.paragraph("a\u202eb\u2066c")])

    assert "\u202e" not in page
    assert "a\ufffdb\ufffdc" in page


def test_the_character_set_comes_first():
    assert html.page("t", []).startswith('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">')


def test_the_policy_allows_nothing_but_data_pictures_inline_style_and_the_own_script():
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html.page("t", [])).group(1)

    assert "default-src 'none'" in policy
    assert "img-src data:;" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}';", policy)
    assert "http" not in policy


def test_a_page_names_no_address():
    page = _page_with("car").replace("http://www.w3.org/2000/svg", "").replace('http-equiv="', "")

    assert "http" not in page
    assert "//" not in re.sub(r"'sha256-[^']+'", "", page)


def test_a_picture_must_be_a_data_uri():
    with pytest.raises(ValueError, match="data URI"):
        html.Picture('https://example.com/x.jpg"', "x")


@pytest.mark.parametrize(("rows", "is_said"), [(40, False), (41, True)])
def test_a_table_that_scrolls_in_itself_says_so(rows, is_said):
    markup = html.table([html.Column("a")], [["x"]] * rows).markup

    assert ("41 rows; scroll" in markup, "wide long" in markup) == (is_said, is_said)


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="has 2 cells, got 1"):
        html.table([html.Column("a"), html.Column("b")], [["x"]])


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (None, "–"), (float("nan"), "–"), (-0.5, "−0.500"), (1234.5, "1,234.500")]
)
def test_numbers_are_shown_with_a_true_minus_and_nothing_where_there_is_none(value, shown):
    assert html.number(value).content == shown


def test_numbers_sort_by_their_full_value():
    assert html.number(0.12345).order == 0.12345


def test_a_number_that_is_not_there_sorts_last():
    assert str(html.number(None).order) == "nan"
    assert 'data-order="nan"' in html.table([html.Column("a", numeric=True)], [[html.number(None)]]).markup


def test_a_cell_is_shaded_by_its_heat_and_never_beyond():
    rows = [[html.Cell("1", heat=value)] for value in (0.0, 0.01, 1.0, 9.0)]

    shades = re.findall(r"<td( class=\"h\d\")?>", html.table([html.Column("a")], rows).markup)

    assert shades == ["", ' class="h1"', ' class="h8"', ' class="h8"']


def test_the_caption_of_a_chart_is_read_out_without_its_markup():
    chart = html.charts([(html.name('"<b>x'), html.Html("<svg></svg>"))]).markup

    assert 'aria-label="Enlarge: &quot;&lt;b&gt;x"' in chart
