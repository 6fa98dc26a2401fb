from itertools import count

from validation.cost import Runner, measure_cost


def test_two_models_take_turns_frame_by_frame_and_the_median_counts():
    calls, seconds = [], count(0.0, 0.25)
    runners = [
        Runner(lambda frame, name=name: calls.append((name, frame)), size) for name, size in (("a", 10), ("b", 20))
    ]

    cost = measure_cost(*runners, ["f", "g"], "here", clock=lambda: next(seconds))

    assert calls[:6] == [("a", "f"), ("b", "f"), ("a", "f"), ("b", "f"), ("a", "g"), ("b", "g")]
    assert (cost.challenger.latency_ms, cost.champion.latency_ms, cost.frames) == (250.0, 250.0, 2)
    assert (cost.challenger.size_bytes, cost.champion.size_bytes) == (10, 20)


def test_a_slow_model_is_timed_once_a_frame_and_not_for_ever():
    calls, seconds = [], count(0.0, 30.0)

    cost = measure_cost(Runner(calls.append, 1), None, ["f", "g", "h"], "here", clock=lambda: next(seconds))

    assert len(calls) == 2
    assert (cost.champion, cost.frames) == (None, 1)


def test_without_frames_there_is_no_cost():
    assert measure_cost(Runner(lambda frame: None, 1), None, [], "here") is None
