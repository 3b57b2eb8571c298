"""Read handwritten digits with a convolutional network, and keep the best one in a file.

    python examples/digits_cnn.py

Shows `BatchNorm2d`, `AdamW` with `OneCycleLR`, a training loop by hand, and `save` and `load`. A third part, held back
from training, chooses the epoch to keep, so the test images stay unseen until the end.

After a few seconds it reads at least 98 % of the 360 test images right.
"""

import argparse

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.data import DataLoader, TensorDataset, random_split
from tinygrad_edu.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1, bias=False),  # BatchNorm2d adds its own bias
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),  # 8×8 -> 4×4
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),  # 4×4 -> 2×2
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def read_digits():
    """Training and test parts of the images, (N, 1, 8, 8), and of their labels, (N,)."""
    x, y, x_test, y_test = tg.data.digits().split(test=0.2)
    return TensorDataset(x.view(-1, 1, 8, 8), y), TensorDataset(x_test.view(-1, 1, 8, 8), y_test)


def train(model, loader, optimizer, scheduler):
    """One epoch. Returns the mean loss."""
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@tg.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(dim=1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main(epochs=20, seed=0, path="digits_cnn.safetensors"):
    """Train, and return the accuracy of the best model on the test images."""
    tg.manual_seed(seed)
    digits, test = read_digits()
    training, validation = random_split(digits, [0.85, 0.15])
    training_loader = DataLoader(training, batch_size=64, shuffle=True)
    validation_loader = DataLoader(validation, batch_size=256)

    model = Net()
    optimizer = tg.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    scheduler = tg.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, epochs=epochs, steps_per_epoch=len(training_loader)
    )

    best = -1.0
    for epoch in range(1, epochs + 1):
        loss = train(model, training_loader, optimizer, scheduler)
        found = accuracy(model, validation_loader)
        print(f"epoch {epoch:2}/{epochs}  loss {loss:.4f}  validation accuracy {found:.1%}")
        if found >= best:
            best = found
            tg.save(model.state_dict(), path)

    model = Net()
    model.load_state_dict(tg.load(path))
    reached = accuracy(model, DataLoader(test, batch_size=256))
    print(f"test accuracy {reached:.1%}, by the model in {path}")
    return reached


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--path", default="digits_cnn.safetensors", help="where the best model is saved")
    main(**vars(parser.parse_args()))
