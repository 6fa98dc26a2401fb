import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.errors import UsageError
from driveflow.flow.document import MAX_BYTES, Node, find, parse_document, plain

PIECES = [
    "a",
    "b: ",
    "- ",
    "\n",
    "  ",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "!!int ",
    '"',
    "'",
    "#",
    "|",
    ">",
    "?",
    ":",
    "~",
    "1.5",
    "é",
]


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_document(text, "flow.yaml")
    return str(caught.value)


def value(text: str) -> Node:
    node = find(parse_document(f"x: {text}", "flow.yaml"), ("x",))
    assert node
    return node


def test_every_value_knows_its_line_and_the_line_of_its_key():
    root = parse_document("a:\n  - 1\n  -\n    b: word\n", "flow.yaml")

    found = find(root, ("a", 1, "b"))

    assert found
    assert (found.value, found.line, found.key_line) == ("word", 4, 4)
    assert find(root, ("a",)).key_line == 1


@pytest.mark.parametrize("bomb", ["alias", "nested", "flow", "long"])
def test_a_bomb_is_refused_at_once(bomb):
    levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 12))
    texts = {
        "alias": f"l0: &l0 [x]\n{levels}",
        "nested": "a: " + "{a: " * 5000,
        "flow": "a: " + "[" * 900,
        "long": "x" * (MAX_BYTES + 1),
    }

    start_s = time.process_time()
    message = refused(texts[bomb])

    assert time.process_time() - start_s < 2
    assert "flow.yaml" in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: 3", 'flow.yaml:3: the key "a" stands twice; the first is on line 1'),
        ('{"a": 1, "a": 2}', 'flow.yaml:1: the key "a" stands twice'),
        ("a: 1\n---\nb: 2", "flow.yaml:2: a second document starts here"),
        ("a: !!python/object/apply:os.system [ls]", "flow.yaml:1: the tag tag:yaml.org,2002:python/object"),
        ("a: &a [*a]", r"flow.yaml:1: the alias \*a names no finished value"),
        ("a: {x: 1}\nb:\n  <<: {y: 1}", "flow.yaml:3: merge keys"),
        ("? [a]\n: 1", "flow.yaml:1: a key must be one word"),
        ("- a", "flow.yaml:1: the file must be a mapping"),
        ("", "flow.yaml is empty"),
        ("# only a comment", "flow.yaml is empty"),
        ("a: [1,\nb: 2", "flow.yaml:[23]: no YAML: did not find expected ',' or ']'"),
        ("a:\n\t- 1", "flow.yaml:2: no YAML: found character that cannot start any token"),
        ("a: \x07", "flow.yaml: no YAML: unacceptable character"),
        ("a: \ud800", "flow.yaml holds half of a surrogate pair"),
        ('{"a": "\\ud800"}', "flow.yaml holds half of a surrogate pair"),
        ('{"a":' * 40 + "1" + "}" * 40, "flow.yaml:1: nested deeper"),
    ],
)
def test_what_is_no_plain_document_is_refused_with_its_line(text, says):
    with pytest.raises(UsageError, match=says):
        parse_document(text, "flow.yaml")


def test_an_alias_is_a_copy_of_what_it_names():
    assert plain(parse_document("a: &a {k: [1]}\nb: *a", "f")) == {"a": {"k": [1]}, "b": {"k": [1]}}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12", 12),
        ("0012", 12),
        ("1e3", 1000.0),
        ("2026-01-31", "2026-01-31"),
        ("12:30", "12:30"),
        (".nan", ".nan"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9" * 400, "9" * 400),
        ("'12'", "12"),
        ("~", None),
    ],
)
def test_scalars_are_read_as_yaml_1_2_does(written, read):
    assert value(written).value == read


def test_an_unquoted_scalar_remembers_how_it_was_written():
    assert value("0012").text == "0012"
    assert value("'0012'").text is None


def test_one_line_of_json_keeps_letters_that_yaml_would_fold():
    text = "\u2028 \x85 \x7f \ufeff"

    assert plain(parse_document(json.dumps({"a": text}, ensure_ascii=False), "f")) == {"a": text}


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60))
def test_any_text_is_a_tree_or_a_usage_error(text):
    with suppress(UsageError):
        assert isinstance(parse_document(text, "f").value, dict)
