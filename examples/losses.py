"""The losses of two classes, and what an unlabelled row costs: annealed, and with known means."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from semisvm.losses import LOSSES

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

margins = np.linspace(-2.5, 2.5, 501)
figure = Figure(figsize=(12.8, 4.4), layout="constrained")
left, middle, right = figure.subplots(1, 3)
styles = {"squared_hinge": "-", "huber": "--", "rounded_hinge": "-", "hinge": "--"}
for name, loss in LOSSES.items():
    if loss.two is not None:
        left.plot(margins, loss.two.values(margins), styles.get(name, ":"), label=name)
left.set(xlabel="margin", ylabel="loss of a labelled row", ylim=(0, 10))
left.legend(title="loss")

# the best belief at a temperature leaves -T log(exp(-l(o)/T) + exp(-l(-o)/T)) of the loss
values = LOSSES["squared_hinge"].two.values
costs = np.stack([values(margins), values(-margins)])
for temperature in (3.0, 1.0, 0.3, 0.1):
    effective = -temperature * np.logaddexp(*(-costs / temperature))
    effective += temperature * np.log(2.0)
    middle.plot(margins, effective, label=f"{temperature:g}")
middle.plot(margins, costs.min(axis=0), "k--", label="0")
middle.set(xlabel="output", ylabel="least cost of an unlabelled row", ylim=(0, 2.5))
middle.legend(title="temperature")

# a machine that knows the means of the classes need not know which row is in which
with_means = np.maximum(1.0, np.abs(margins)) - margins
hinge = LOSSES["hinge"].two.values(margins)
right.plot(margins, with_means, label="class means known")
right.plot(margins, hinge, "--", label="label known: hinge")
right.set(xlabel="margin", ylabel="loss of an unlabelled row", ylim=(0, 5))
right.legend()
figure.savefig(out / "losses.png", dpi=110)

hump = -np.log(2.0 * np.exp(-1.0)) + np.log(2.0)
print(f"an unlabelled row on the boundary costs {hump:.0f} at every temperature")
shape = {t: -t * np.logaddexp(0.0, -4.0 / t) + t * np.log(2.0) for t in (3.0, 1.0, 0.1)}
print(f"known means cost at most {np.max(with_means[hinge > 0] / hinge[hinge > 0]):.2f} hinges")
for temperature, cost in shape.items():
    print(f"on the margin at temperature {temperature:g}: {cost:.2f}")
