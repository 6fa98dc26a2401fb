"""Read the text of a condition into a tree, within limits of size and depth."""

from typing import NoReturn

from sqlglot import exp, parse_one, tokenize
from sqlglot.errors import ParseError, SqlglotError

from driveflow.errors import UsageError

MAX_CHARACTERS = 4_096
MAX_TOKENS = 400
MAX_DEPTH = 40  # of parentheses
_SHOWN = 40
_BROKEN = (SqlglotError, RecursionError, ValueError, KeyError, IndexError, TypeError, AttributeError)


def parse_condition(text: str) -> exp.Expression:
    """Return the tree of the one condition in `text`; what may stand in it is checked by who builds of it.

    Raises:
        UsageError: no condition, or larger than is read.
    """
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"The condition has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read.")
    if not text.strip():
        raise UsageError("The condition is empty; weather of the frames would be: attributes.weather = 'rain'")
    _check_tokens(text)
    try:
        tree = parse_one(text, into=exp.Condition)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        why = str(first.get("description") or "no condition")
        missing = why.startswith("Required keyword")  # which is told by the names of the parser's own classes
        refuse(text, int(first.get("col") or 1) - 1, "something is missing after it" if missing else why)
    except _BROKEN as error:
        refuse(text, 0, f"no condition ({type(error).__name__})")
    if not isinstance(tree, exp.Expression):
        refuse(text, 0, "no condition")
    return tree


def _check_tokens(text: str) -> None:
    try:
        tokens = tokenize(text)
    except _BROKEN as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        refuse(text, len(text), f"it cannot be told into words ({reason})")
    if len(tokens) > MAX_TOKENS:
        refuse(text, tokens[MAX_TOKENS].start, f"more than {MAX_TOKENS} words")
    depth = 0
    for token in tokens:
        if token.comments:
            refuse(text, token.start, "a condition has no comments")
        if token.token_type.name == "SEMICOLON":
            refuse(text, token.start, "a condition has no semicolons")
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        if depth > MAX_DEPTH:
            refuse(text, token.start, f"parentheses deeper than {MAX_DEPTH}")


def refuse(text: str, position: int, why: str) -> NoReturn:
    """Raise the error for what stands at `position`, counted from 0."""
    near = " ".join(text[max(0, position) :].split())[:_SHOWN]
    shown = f" ({near!r})" if near else ""
    raise UsageError(f"Condition, character {max(0, position) + 1}{shown}: {why}{'' if why.endswith('?') else '.'}")
