/*
 * Draws by Zipf's law. The integrals are in the forms that stay exact near s = 1, where they become
 * the logarithm.
 */
#include "sweeper/load/zipf.h"

#include <math.h>

/* Integral of x^-s, and its inverse. */
static double integral(double x, double s)
{
    double log_x = log(x);
    return s < 1 || s > 1 ? expm1((1 - s) * log_x) / (1 - s) : log_x;
}

static double integral_inverse(double y, double s)
{
    return s < 1 || s > 1 ? exp(log1p(y * (1 - s)) / (1 - s)) : exp(y);
}

static double density(double x, double s)
{
    return exp(-s * log(x));
}

void zipf_open(struct zipf *zipf, double exponent, double count)
{
    double s = exponent;
    *zipf = (struct zipf){.exponent = s,
                          .count = count,
                          .h_first = integral(1.5, s) - 1,
                          .h_last = integral(count + 0.5, s),
                          .shortcut = 2 - integral_inverse(integral(2.5, s) - density(2, s), s)};
}

double zipf_draw(const struct zipf *zipf, struct random *random)
{
    double s = zipf->exponent;
    while (true) {
        double u = zipf->h_last + random_unit(random) * (zipf->h_first - zipf->h_last);
        double x = integral_inverse(u, s);
        double drawn = floor(x + 0.5);
        drawn = drawn < 1 ? 1 : drawn > zipf->count ? zipf->count : drawn;
        if (drawn - x <= zipf->shortcut || u >= integral(drawn + 0.5, s) - density(drawn, s)) {
            return drawn;
        }
    }
}
