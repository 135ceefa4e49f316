import math
import unittest

from common.stats import Share, beta_cdf, median_or_nan, share, t_quantile, t_two_sided_p, welch


class Distributions(unittest.TestCase):
    def test_beta_agrees_with_closed_forms(self):
        for x in (0.01, 0.3, 0.5, 0.99):
            self.assertAlmostEqual(beta_cdf(x, 1, 1), x, places=13)
            self.assertAlmostEqual(beta_cdf(x, 3, 1), x**3, places=13)
            self.assertAlmostEqual(beta_cdf(x, 1, 4), 1 - (1 - x) ** 4, places=13)
        self.assertEqual((beta_cdf(0, 2, 2), beta_cdf(1, 2, 2)), (0, 1))

    def test_t_agrees_with_the_published_table(self):
        for degrees, quantile in ((1, 12.706205), (5, 2.570582), (38, 2.024394), (1000, 1.962339)):
            self.assertAlmostEqual(t_quantile(0.975, degrees), quantile, places=5)
            self.assertAlmostEqual(t_two_sided_p(quantile, degrees), 0.05, places=6)
        self.assertAlmostEqual(t_two_sided_p(1, 1), 0.5, places=12)  # Cauchy


class WelchTest(unittest.TestCase):
    # Welch's third example, with different variances and sizes.
    OLD = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8]
    NEW = [21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5,
           21.5, 21.8]

    def test_p_is_the_published_one(self):
        self.assertAlmostEqual(welch(self.OLD, self.NEW).p, 0.149, delta=0.001)

    def test_swapped_samples_invert_the_interval(self):
        ahead, back = welch(self.OLD, self.NEW), welch(self.NEW, self.OLD)
        self.assertAlmostEqual((1 + ahead.low) * (1 + back.high), 1)
        self.assertTrue(ahead.low < ahead.change < ahead.high)

    def test_samples_without_spread(self):
        self.assertEqual(welch([1, 1], [1, 1]), (1, 0, 0, 0))
        self.assertEqual(welch([1, 1], [2, 2]).p, 0)


class Binomial(unittest.TestCase):
    def test_clopper_pearson_agrees_with_published_values(self):
        low, high = Share(8, 10).interval()
        self.assertAlmostEqual(low, 0.4439, places=4)
        self.assertAlmostEqual(high, 0.9748, places=4)

    def test_intervals_of_none_and_all(self):
        self.assertEqual(Share(0, 10).interval()[0], 0)
        self.assertAlmostEqual(Share(0, 10).interval()[1], 1 - 0.025**0.1, places=9)
        self.assertEqual(Share(10, 10).interval()[1], 1)

    def test_tails_are_sums_of_the_binomial(self):
        def chance(k):
            return math.comb(12, k) * 0.05**k * 0.95 ** (12 - k)

        self.assertAlmostEqual(Share(3, 12).chance_of_at_least(0.05), sum(map(chance, range(3, 13))))
        self.assertAlmostEqual(Share(3, 12).chance_of_at_most(0.05), sum(map(chance, range(4))))
        self.assertEqual((Share(0, 5).chance_of_at_least(0.05), Share(5, 5).chance_of_at_most(0.05)), (1, 1))

    def test_a_rate_of_nothing_is_nan(self):
        self.assertTrue(math.isnan(share([]).rate()))
        self.assertTrue(math.isnan(median_or_nan([])))
        self.assertEqual(median_or_nan([1, math.inf, math.inf]), math.inf)


if __name__ == "__main__":
    unittest.main()
