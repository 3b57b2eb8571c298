

def conditions(state: LedgerState) -> str:
    """How the figures came about."""
    if state.programs is not None:
        return "times as the compiler noted them when it recorded"
    assert state.run is not None
    return f"each call timed once, so there is no spread · {state.run.conditions.text()}"
