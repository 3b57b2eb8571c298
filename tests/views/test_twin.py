"""The check itself: it has to find what is missing."""

from tests.views.twin import missing


def test_what_is_there_is_found() -> None:
    assert (
        missing(["1.50", "mul", "∂x  +=  ∂y * w", "a very lo…", "holds"], "mul 1.50\n∂x += ∂y *\n w a very long name")
        == []
    )


def test_what_is_missing_is_found() -> None:
    assert missing(["1.5", "2", "mu", "x[1]"], "mul 1.50 12 2.5 x[10]") == ["1.5", "2", "mu", "x[1]"]
    assert missing(["tick"], "", ["tick"]) == []
