"""GradScaler beside PyTorch's own: the same scale, the same skipped steps and the same weights, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

SETTINGS = {
    "usual": {"init_scale": 2.0**10, "growth_interval": 3},
    "odd": {"init_scale": 1000.3, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 2},
    "at the end": {"init_scale": 2.0**127, "growth_interval": 1},
    "off": {"enabled": False},
}


def history(m: Any, settings: dict[str, Any], seed: int) -> list[Any]:
    """Twenty-five steps of two optimisers on given gradients, some of which are infinite or NaN."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(2, 5)).astype(np.float32)
    weights = [m.tensor(row.tolist(), requires_grad=True) for row in numbers]
    optimisers = [m.optim.SGD([weights[0]], lr=0.1, momentum=0.9), m.optim.Adam([weights[1]], lr=0.1)]
    scaler = m.amp.GradScaler("cpu", **settings)
    seen: list[Any] = []
    for step in range(25):
        bad = rng.choice([0, 0, 0, 1, 2], p=[0.5, 0.1, 0.1, 0.2, 0.1])
        for w in weights:
            factors = m.tensor(rng.normal(size=5).astype(np.float32).tolist())
            if bad and w is weights[step % 2]:
                factors[1] = float("inf") if bad == 1 else float("nan")
            scaler.scale((w * factors).sum() * 1e-3).backward()
        if step % 3 == 0:
            scaler.unscale_(optimisers[0])
            m.nn.utils.clip_grad_norm_([weights[0]], 0.5)
        for optimiser in optimisers:
            scaler.step(optimiser)
        scaler.update(new_scale=77.0 if step == 20 else None)
        for optimiser in optimisers:
            optimiser.zero_grad()
        seen += [scaler.get_scale(), *(w.detach().tolist() for w in weights)]
    return [*seen, scaler.state_dict()]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore")  # PyTorch warns about 2**127 * inf
def test_every_step_is_the_same(name: str, seed: int) -> None:
    ours, theirs = (history(m, SETTINGS[name], seed) for m in (tg, torch))
    assert ours[-1] == theirs[-1]
    for place, (mine, other) in enumerate(zip(ours[:-1], theirs[:-1], strict=True)):
        if isinstance(mine, float):
            assert mine == other, place
        else:
            np.testing.assert_allclose(mine, other, rtol=2e-6, atol=1e-7, err_msg=str(place))


def test_states_are_exchanged() -> None:
    ours, theirs = tg.amp.GradScaler("cpu", init_scale=8.0), torch.amp.GradScaler("cpu", init_scale=32.0)
    theirs.load_state_dict(ours.state_dict())
    assert theirs.get_scale() == 8.0
    theirs = torch.amp.GradScaler("cpu", init_scale=32.0, growth_interval=7)
    ours.load_state_dict(theirs.state_dict())
    assert (ours.get_scale(), ours.get_growth_interval()) == (32.0, 7)


@pytest.mark.parametrize("name", ["GradScaler", "autocast", "custom_fwd", "custom_bwd"])
def test_signatures(name: str) -> None:
    import inspect

    ours, theirs = (inspect.signature(getattr(m.amp, name)) for m in (tg, torch))
    wanted = [(p.name, p.kind, p.default) for p in theirs.parameters.values()]
    assert [(p.name, p.kind, p.default) for p in ours.parameters.values()] == wanted
