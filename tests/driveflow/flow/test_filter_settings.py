"""Settings of filters, corner cases and the budget that cannot work are refused before anything is read."""

import pytest

from tests.driveflow.flow.test_load import SHORT, refused


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            "filters: {near_duplicates: {embedding: resnet50}}",
            "filters.near_duplicates.embedding: No embedding lies at 'resnet50'",
        ),
        (
            "filters: {near_duplicates: {min_gap_s: 1.0e+10}}",
            "filters.near_duplicates.min_gap_s: must be 1e+09 or less",
        ),
        (
            "filters: {near_duplicates: {standstill_s: 1.0e+300}}",
            "filters.near_duplicates.standstill_s: must be 1e+09 or less",
        ),
        (
            "corner_cases: [{name: x, miner: flicker, settings: {max_gap_s: 1.0e+300}}]",
            "corner_cases[0].settings.max_gap_s: must be 1e+09 or less",
        ),
        (
            "corner_cases: [{name: x, miner: uncertainty, settings: {measure: disagreement}}]",
            "corner_cases[0].settings.measure: 'disagreement' needs models beside the champion: settings.models",
        ),
        (
            "corner_cases: [{name: x, miner: like_these, settings: {frames: [front/000412.jpg]}}]",
            "corner_cases[0].settings.frames[0]: 'front/000412.jpg' is no frame id, 64 of 0-9 and a-f; "
            "`driveflow data explain front/000412.jpg` tells that of a file",
        ),
        ("labeling: {balance: slices}", "labeling.balance: says nothing without validation.slices"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_with_what_would_do(more, says):
    (line,) = refused(SHORT + more)

    assert says in line
