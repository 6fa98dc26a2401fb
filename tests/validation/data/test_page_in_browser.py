import numpy as np

from tests.browsing import browser, in_frame
from tests.validation.data.made import checked, labeled, side
from validation.data.page import data_page

__all__ = ["browser"]

HOSTILE = '<script>document.title="owned"</script>\u202e"quotes" & more'


def test_the_page_opens_in_the_frame_of_kfp_with_its_pictures_and_asks_nobody(browser, tmp_path):
    frames, boxes = labeled(60)
    boxes[0] |= {"x2": 500.0}
    report, _ = checked(side(frames, boxes), against=side(*labeled(300, prefix="g"), snapshot_id="before"))
    text = data_page(report, lambda _: np.full((48, 64, 3), 90, np.uint8), HOSTILE)

    inner, page = in_frame(browser, text, tmp_path)
    shown = inner.eval_on_selector_all("img", "all => all.filter(one => one.naturalWidth > 0).length")
    inner.click("th button:has-text('found')")
    order = inner.eval_on_selector_all("tbody", "all => all[0].rows.length")

    assert shown == 1
    assert order == len(report.checks)
    assert "script" in inner.inner_text("h1")
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("file:", "about:", "data:"))] == []
    page.close()
