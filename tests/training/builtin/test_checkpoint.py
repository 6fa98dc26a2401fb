"""A checkpoint is whole or not there, and holds numbers only."""

import torch

from training.builtin.checkpoint import FILE, Place, load_checkpoint, save_checkpoint
from training.builtin.network import Network
from training.builtin.optimizer import Optimizer


def test_what_was_saved_is_loaded_to_the_last_bit(tmp_path):
    tensors = {"a": torch.randn(3, 4), "b/c": torch.tensor(7.0)}
    place = Place(2, 5, [0.1, 1 / 3, 3.0, 4.0], [{"epoch": 1, "loss": 0.1}, {"epoch": 2, "loss": 1 / 3}])

    save_checkpoint(tmp_path, tensors, place)
    found = load_checkpoint(tmp_path)

    assert found is not None
    assert found[1] == place
    assert all(torch.equal(found[0][name], value) for name, value in tensors.items())
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_no_checkpoint_and_a_damaged_one_are_alike(tmp_path):
    assert load_checkpoint(tmp_path) is None

    save_checkpoint(tmp_path, {"a": torch.zeros(8)}, Place())
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-5])

    assert load_checkpoint(tmp_path) is None


def test_an_optimizer_goes_on_where_another_one_was():
    torch.manual_seed(0)
    pictures = torch.randint(0, 255, (2, 3, 64, 64), dtype=torch.uint8)
    network, other = Network(2), Network(2)
    optimizer = Optimizer(network, 0.002, 6)

    def steps(net, opt, numbers):
        for number in numbers:
            sum(part.square().sum() for answer in net(pictures) for part in answer).backward()
            opt.step(number)

    steps(network, optimizer, range(3))
    saved = {name: value.clone() for name, value in optimizer.tensors()}
    other.load_state_dict(network.state_dict())
    resumed = Optimizer(other, 0.002, 6)
    resumed.load(saved)
    steps(network, optimizer, range(3, 6))
    steps(other, resumed, range(3, 6))

    assert all(torch.equal(one, two) for one, two in zip(network.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(optimizer.average[name], resumed.average[name]) for name in optimizer.average)
