"""Student's t, Welch's test and binomial intervals, based on the incomplete beta function."""

import math
from statistics import fmean, median, variance
from typing import NamedTuple, Sequence


def beta_cdf(x: float, a: float, b: float) -> float:
    """Returns the regularised incomplete beta function I_x(a, b), from its continued fraction (Lentz's method).

    Source: Press et al., "Numerical Recipes", 6.4.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # here the fraction converges slowly
        return 1 - beta_cdf(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            return value
    raise ArithmeticError(f"no convergence at {x=}, {a=}, {b=}")


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def t_two_sided_p(t: float, degrees: float) -> float:
    """Returns the probability that Student's t is at least as far from 0 as `t`."""
    return beta_cdf(degrees / (degrees + t * t), degrees / 2, 0.5)


def t_quantile(p: float, degrees: float) -> float:
    """Returns the `p` quantile of Student's t, 0.5 <= p < 1."""
    high = 1.0
    while t_two_sided_p(high, degrees) > 2 * (1 - p):
        high *= 2
    return _bisect(lambda t: t_two_sided_p(t, degrees) <= 2 * (1 - p), 0.0, high)


def _bisect(reached, low: float, high: float) -> float:
    """Returns the smallest value between `low` and `high` for which `reached` is true; `reached` must be monotonic."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


class Welch(NamedTuple):
    """The result of Welch's test. `change` is NEW / OLD - 1, with its interval from `low` to `high`."""

    p: float
    change: float
    low: float
    high: float


def welch(old: Sequence[float], new: Sequence[float], confidence: float = 0.95) -> Welch:
    """Performs Welch's t-test on the means. The interval for their ratio uses the delta method on its logarithm."""
    means, errors = zip(*((fmean(times), variance(times) / len(times)) for times in (old, new)))
    if errors == (0, 0):
        change = means[1] / means[0] - 1
        return Welch(float(change == 0), change, change, change)
    degrees = _welch_degrees(errors, (len(old), len(new)))
    t = (means[1] - means[0]) / math.sqrt(sum(errors))
    relative = [error / mean**2 for error, mean in zip(errors, means)]
    reach = t_quantile((1 + confidence) / 2, _welch_degrees(relative, (len(old), len(new)))) * math.sqrt(sum(relative))
    ratio = means[1] / means[0]
    return Welch(t_two_sided_p(t, degrees), ratio - 1, ratio * math.exp(-reach) - 1, ratio * math.exp(reach) - 1)


def _welch_degrees(errors: Sequence[float], sizes: Sequence[int]) -> float:
    """Returns the Welch-Satterthwaite degrees of freedom of a sum of squared standard errors."""
    return sum(errors) ** 2 / sum(error**2 / (size - 1) for error, size in zip(errors, sizes))


class Share(NamedTuple):
    """`count` of `total`, with the Clopper-Pearson interval of the rate."""

    count: int
    total: int

    def rate(self) -> float:
        return self.count / self.total if self.total else math.nan

    def interval(self, confidence: float = 0.95) -> tuple:
        tail = (1 - confidence) / 2
        low = _bisect(lambda rate: self.chance_of_at_least(rate) >= tail, 0.0, 1.0) if self.count else 0.0
        high = _bisect(lambda rate: self.chance_of_at_most(rate) <= tail, 0.0, 1.0) if self.count < self.total else 1.0
        return low, high

    def chance_of_at_least(self, rate: float) -> float:
        """Returns the probability of `count` or more out of `total` at `rate`."""
        return beta_cdf(rate, self.count, self.total - self.count + 1) if self.count else 1.0

    def chance_of_at_most(self, rate: float) -> float:
        """Returns the probability of `count` or fewer out of `total` at `rate`."""
        return 1 - beta_cdf(rate, self.count + 1, self.total - self.count) if self.count < self.total else 1.0


def share(outcomes) -> Share:
    """Counts the true `outcomes`."""
    outcomes = list(outcomes)
    return Share(sum(outcomes), len(outcomes))


def median_or_nan(values) -> float:
    """Returns the median, which may be infinite; NaN if there are no values."""
    values = list(values)
    return median(values) if values else math.nan
