"""How parameters follow their gradients: Muon where they are matrices, AdamW elsewhere, and an average over steps."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import torch
from torch import Tensor, nn

_MUON_FACTOR: Final = 35.0  # Muon's rate for the rate that AdamW gets
_MOMENTUM: Final = 0.95
_DECAY: Final = 0.02
_AVERAGE: Final = 0.99
_WARM_SHARE: Final = 0.1
_LAST_SHARE: Final = 0.02
_AVERAGE_OF: Final = "average/"
_NEWTON_SCHULZ: Final = (3.4445, -4.7750, 2.0315)


class Muon(torch.optim.Optimizer):
    """Momentum whose step is made orthogonal for every matrix, so that all its directions move alike.

    After "Muon: an optimizer for hidden layers in neural networks" (K. Jordan, 2024). Few steps are enough with it.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(list(parameters), {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Make one step."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    momentum = state.setdefault("momentum", torch.zeros_like(parameter))
                    momentum.mul_(_MOMENTUM).add_(parameter.grad)
                    _move(parameter, parameter.grad.add(momentum, alpha=_MOMENTUM), group["lr"])
        return None if closure is None else closure()


def _move(parameter: Tensor, direction: Tensor, rate: float) -> None:
    rows = direction.reshape(direction.shape[0], -1)
    size = max(1.0, rows.shape[0] / rows.shape[1]) ** 0.5
    parameter.mul_(1 - rate * _DECAY).add_(_orthogonal(rows).reshape(direction.shape), alpha=-rate * size)


def _orthogonal(rows: Tensor) -> Tensor:
    """Return roughly the nearest matrix with orthogonal rows (or columns), by Newton-Schulz steps."""
    tall = rows.shape[0] > rows.shape[1]
    values: Tensor = rows.T if tall else rows
    values = values / (torch.linalg.vector_norm(values) + 1e-7)
    one, three, five = _NEWTON_SCHULZ
    for _ in range(5):
        square = torch.mm(values, values.T)
        values = torch.addmm(values, torch.addmm(square, square, square, beta=three, alpha=five), values, beta=one)
    return values.T if tall else values


class Optimizer:
    """Both optimizers and the average of the parameters over the last steps; owned by one worker."""

    def __init__(self, network: nn.Module, rate: float, steps: int) -> None:
        self._rate, self._steps = rate, max(steps, 1)
        named = dict(network.named_parameters())
        matrices = {name for name, value in named.items() if value.ndim > 1 and value.shape[1] > 1 and _is_hidden(name)}
        others = [value for name, value in named.items() if name not in matrices]
        self._parts: list[torch.optim.Optimizer] = [
            Muon([named[name] for name in sorted(matrices)], rate * _MUON_FACTOR),
            torch.optim.AdamW(others, rate, weight_decay=0.0, fused=True),
        ]
        self._named = named
        self._matrices = {id(named[name]) for name in matrices}
        self.average = {name: value.detach().clone() for name, value in named.items()}

    def step(self, number: int) -> None:
        """Make step `number` (from 0) of the whole training."""
        share = self._share(number)
        for part, factor in zip(self._parts, (_MUON_FACTOR, 1.0), strict=True):
            for group in part.param_groups:
                group["lr"] = self._rate * factor * share
            part.step()
            part.zero_grad(set_to_none=False)
        kept = min(_AVERAGE, (number + 1) / (number + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.values()), list(self._named.values()), 1 - kept)

    def rate(self, number: int) -> float:
        """Return the learning rate of step `number`."""
        return self._rate * self._share(number)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield everything that must be kept to go on later, by name."""
        for name, value in self.average.items():
            yield f"{_AVERAGE_OF}{name}", value
        for name, parameter in self._named.items():
            for field, value in sorted(self._state(parameter).items()):
                yield f"{field}/{name}", value

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave."""
        for name, parameter in self._named.items():
            self.average[name].copy_(tensors[f"{_AVERAGE_OF}{name}"])
            state = self._state(parameter)
            for key, value in tensors.items():
                field, _, owner = key.partition("/")
                if owner == name and key != f"{_AVERAGE_OF}{name}":
                    state[field] = value.clone()

    def _state(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        part = self._parts[0 if id(parameter) in self._matrices else 1]
        state: dict[str, Tensor] = part.state[parameter]
        return state

    def _share(self, number: int) -> float:
        done = number / self._steps
        warm = min(1.0, (number + 1) / max(1.0, _WARM_SHARE * self._steps))
        cooled = 0.5 * (1 + math.cos(math.pi * max(0.0, done - _WARM_SHARE) / (1 - _WARM_SHARE)))
        return warm * (cooled * (1 - _LAST_SHARE) + _LAST_SHARE)


def _is_hidden(name: str) -> bool:
    return not name.startswith("heads.")
