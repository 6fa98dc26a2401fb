"""What changed between two reports: the verdict, numbers, rules, classes and slices, from their report.json."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError
from validation.report_json import FORM_VERSION

Report: TypeAlias = Mapping[str, Any]
"""A parsed report.json."""


@dataclass(frozen=True, slots=True)
class NumberChange:
    """One number of the challenger in the first and in the second report; None where it was not measured."""

    name: str
    metric: str
    first: float | None
    second: float | None

    @property
    def change(self) -> float | None:
        """Return the second less the first."""
        return None if self.first is None or self.second is None else self.second - self.first


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule whose outcome differs, or that only one report has (then the other outcome is empty)."""

    name: str
    first: str
    second: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """Everything that differs; `flags` are sentences about what makes the two hard to compare."""

    models: tuple[str, str]
    outcomes: tuple[str, str]
    reasons: tuple[str, str]
    same_holdout: bool
    flags: tuple[str, ...]
    numbers: tuple[NumberChange, ...]
    rules: tuple[RuleChange, ...]
    per_class: tuple[NumberChange, ...]
    per_slice: tuple[NumberChange, ...]

    def as_json(self) -> dict[str, Json]:
        """Return the diff as plain values."""
        return {
            "first": self._side(0),
            "second": self._side(1),
            "verdict_changed": self.outcomes[0] != self.outcomes[1],
            "same_holdout": self.same_holdout,
            "flags": list(self.flags),
            "numbers": [_number(item) for item in self.numbers],
            "rules": [asdict(item) for item in self.rules],
            "per_class": [_number(item) for item in self.per_class],
            "per_slice": [_number(item) for item in self.per_slice],
        }

    def _side(self, place: int) -> dict[str, Json]:
        return {"model": self.models[place], "verdict": self.outcomes[place], "reason": self.reasons[place]}


def diff_reports(first: Report, second: Report, *, across_holdouts: bool = False) -> ReportDiff:
    """Return what changed from the first report to the second.

    Raises:
        InvalidInputError: the models were measured on different hold-outs, and `across_holdouts` does not allow it; or
            something is missing in one of the reports.
    """
    try:
        return _diff(first, second, across_holdouts=across_holdouts)
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"One of the two is no whole report.json of a validation ({type(error).__name__}: {error}): validate the "
            "model again."
        ) from error


def _diff(first: Report, second: Report, *, across_holdouts: bool) -> ReportDiff:
    same = first["verdict"]["measure"]["holdout"] == second["verdict"]["measure"]["holdout"]
    if not same and not across_holdouts:
        raise InvalidInputError(
            f"These reports stand on different hold-outs ({_holdout(first)} and {_holdout(second)}): their numbers say "
            "nothing about each other. Score both models on one, or look at them knowingly with --across-holdouts."
        )
    metric = first["comparison"]["metric"]
    return ReportDiff(
        models=(_model(first), _model(second)),
        outcomes=(first["verdict"]["outcome"], second["verdict"]["outcome"]),
        reasons=(first["verdict"]["reason"], second["verdict"]["reason"]),
        same_holdout=same,
        flags=_flags(first, second, same_holdout=same),
        numbers=_numbers(first["challenger"], second["challenger"]),
        rules=_rules(first["verdict"]["rules"], second["verdict"]["rules"]),
        per_class=_parts(first, second, "per_class", metric, lambda part: part["class_name"]),
        per_slice=_parts(first, second, "per_slice", metric, lambda part: part["name"]),
    )


def check_report(value: object, where: str) -> Report:
    """Return `value` where it is a report of the form that is read here.

    Raises:
        InvalidInputError: it is none.
    """
    if not isinstance(value, Mapping) or "form_version" not in value:
        raise InvalidInputError(f"{where} is no report.json of a validation.")
    if value["form_version"] != FORM_VERSION:
        raise InvalidInputError(
            f"{where} has form {value['form_version']}, this driveflow reads {FORM_VERSION}: validate the model again."
        )
    return value


_NUMBERS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def _numbers(first: Report, second: Report) -> tuple[NumberChange, ...]:
    return tuple(NumberChange("all classes", name, _value(first, name), _value(second, name)) for name in _NUMBERS)


def _value(part: Report, name: str) -> float | None:
    value = part.get(name)
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}, which is no number")
    return value


def _rules(first: Sequence[Report], second: Sequence[Report]) -> tuple[RuleChange, ...]:
    before, after = ({rule["name"]: rule for rule in rules} for rules in (first, second))
    found = []
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name, {}), after.get(name, {})
        if one.get("outcome") != other.get("outcome"):
            reason = (other or one)["reason"]
            found.append(RuleChange(name, one.get("outcome", ""), other.get("outcome", ""), reason))
    return tuple(found)


def _parts(
    first: Report, second: Report, key: str, metric: str, name_of: Callable[[Report], str]
) -> tuple[NumberChange, ...]:
    """Return `metric` of every class or slice, those that lost most first, those of one report only last."""
    before, after = (
        {name_of(part): _value(part, metric) for part in report["challenger"][key]} for report in (first, second)
    )
    names = dict.fromkeys([*before, *after])
    changes = [NumberChange(name, metric, before.get(name), after.get(name)) for name in names]
    return tuple(sorted(changes, key=lambda item: (item.change is None, item.change or 0.0)))


def _flags(first: Report, second: Report, *, same_holdout: bool) -> tuple[str, ...]:
    flags = []
    if not same_holdout:
        flags.append(
            f"The hold-outs differ ({_holdout(first)} and {_holdout(second)}): changes may come from the data."
        )
    for key, words in (("mode", "evaluated in modes"), ("code", "evaluated by code")):
        one, other = (report["verdict"]["measure"][key] for report in (first, second))
        if one != other:
            flags.append(f"The models were {words} {one[:12]} and {other[:12]}.")
    one, other = (report["challenger"].get("min_score") for report in (first, second))
    if None not in {one, other} and one != other:
        flags.append(f"The models were evaluated on detections with a score of {one} and of {other} or more.")
    one, other = (report["comparison"]["metric"] for report in (first, second))
    if one != other:
        flags.append(f"The gate judged {one} in the first report and {other} in the second.")
    one, other = (report["verdict"]["champion"] for report in (first, second))
    if one != other:
        flags.append(f"The champions differ: {one[:12] or 'none'} and {other[:12] or 'none'}.")
    return tuple(flags)


def _number(item: NumberChange) -> dict[str, Json]:
    return {**asdict(item), "change": item.change}


def _model(report: Report) -> str:
    return f"{report['model']} {report['verdict']['challenger'][:12]}".strip()


def _holdout(report: Report) -> str:
    return str(report["verdict"]["holdout_id"] or report["verdict"]["measure"]["holdout"])[:12]
