/*
 * Replay: points that were measured before stand for a server, its workload and its noise, so that
 * strategies, statistics and the whole pipeline run on known truths in seconds. It is also the
 * smallest backend to read.
 */
#ifndef BACKENDS_REPLAY_REPLAY_H
#define BACKENDS_REPLAY_REPLAY_H

#include "backends/backend.h"

extern const struct backend replay_backend;

#endif
