/*
 * Zipf's law over 1 … n: k is drawn in proportion to k^-s, by rejection-inversion after Hörmann and
 * Derflinger (1996), for any s above 0.
 */
#ifndef SWEEPER_LOAD_ZIPF_H
#define SWEEPER_LOAD_ZIPF_H

#include "sweeper/load/workload.h"

struct zipf {
    double exponent;
    double count;
    double h_first;
    double h_last;
    double shortcut;
};

/* exponent > 0, count >= 1 */
void zipf_open(struct zipf *zipf, double exponent, double count);
/* A whole number in 1 … count. */
double zipf_draw(const struct zipf *zipf, struct random *random);

#endif
