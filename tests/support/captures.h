/*
 * What sysbench 1.0.20 and pgbench 15.20 printed in real runs against PostgreSQL 15, for the tests
 * of the command workload.
 */
#ifndef TESTS_SUPPORT_CAPTURES_H
#define TESTS_SUPPORT_CAPTURES_H

/* sysbench oltp_read_write --threads=2 --time=3 --tables=1 --table-size=1000 */
static const char *const sysbench_output =
    "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n"
    "\n"
    "Running the test with following options:\n"
    "Number of threads: 2\n"
    "Initializing random number generator from current time\n"
    "\n"
    "\n"
    "Initializing worker threads...\n"
    "\n"
    "Threads started!\n"
    "\n"
    "SQL statistics:\n"
    "    queries performed:\n"
    "        read:                            14882\n"
    "        write:                           4195\n"
    "        other:                           2155\n"
    "        total:                           21232\n"
    "    transactions:                        1050   (329.59 per sec.)\n"
    "    queries:                             21232  (6664.56 per sec.)\n"
    "    ignored errors:                      13     (4.08 per sec.)\n"
    "    reconnects:                          0      (0.00 per sec.)\n"
    "\n"
    "General statistics:\n"
    "    total time:                          3.1854s\n"
    "    total number of events:              1050\n"
    "\n"
    "Latency (ms):\n"
    "         min:                                    0.67\n"
    "         avg:                                    6.05\n"
    "         max:                                 1020.73\n"
    "         95th percentile:                       11.65\n"
    "         sum:                                 6347.36\n"
    "\n"
    "Threads fairness:\n"
    "    events (avg/stddev):           525.0000/47.00\n"
    "    execution time (avg/stddev):   3.1737/0.01\n"
    "\n";

/* The same, of a database that is not there; its exit status was 1. */
static const char *const sysbench_refused =
    "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n"
    "\n"
    "Running the test with following options:\n"
    "Number of threads: 1\n"
    "Initializing random number generator from current time\n"
    "\n"
    "\n"
    "Initializing worker threads...\n"
    "\n"
    "FATAL: Connection to database failed: connection to server on socket "
    "\"/tmp/pg/.s.PGSQL.22121\" failed: FATAL:  database \"nothere\" does not exist\n"
    "\n"
    "FATAL: `thread_init' function failed: /usr/share/sysbench/oltp_common.lua:349: connection "
    "creation failed\n"
    "FATAL: Thread initialization failed!\n";

/* pgbench -c 2 -j 1 -T 3 */
static const char *const pgbench_output = "pgbench (15.20 (Debian 15.20-0+deb12u1))\n"
                                          "starting vacuum...end.\n"
                                          "transaction type: <builtin: TPC-B (sort of)>\n"
                                          "scaling factor: 1\n"
                                          "query mode: simple\n"
                                          "number of clients: 2\n"
                                          "number of threads: 1\n"
                                          "maximum number of tries: 1\n"
                                          "duration: 3 s\n"
                                          "number of transactions actually processed: 1467\n"
                                          "number of failed transactions: 0 (0.000%)\n"
                                          "latency average = 4.094 ms\n"
                                          "initial connection time = 5.142 ms\n"
                                          "tps = 488.569082 (without initial connection time)\n";

/* pgbench -c 2 -j 1 -t 50 */
static const char *const pgbench_counted = "pgbench (15.20 (Debian 15.20-0+deb12u1))\n"
                                           "starting vacuum...end.\n"
                                           "transaction type: <builtin: TPC-B (sort of)>\n"
                                           "scaling factor: 1\n"
                                           "query mode: simple\n"
                                           "number of clients: 2\n"
                                           "number of threads: 1\n"
                                           "maximum number of tries: 1\n"
                                           "number of transactions per client: 50\n"
                                           "number of transactions actually processed: 100/100\n"
                                           "number of failed transactions: 0 (0.000%)\n"
                                           "latency average = 5.640 ms\n"
                                           "initial connection time = 12.304 ms\n"
                                           "tps = 354.598612 (without initial connection time)\n";

/* pgbench -S -P 1 -C -c 2 -T 3, standard output before standard error */
static const char *const pgbench_reconnecting =
    "pgbench (15.20 (Debian 15.20-0+deb12u1))\n"
    "transaction type: <builtin: select only>\n"
    "scaling factor: 1\n"
    "query mode: simple\n"
    "number of clients: 2\n"
    "number of threads: 1\n"
    "maximum number of tries: 1\n"
    "duration: 3 s\n"
    "number of transactions actually processed: 889\n"
    "number of failed transactions: 0 (0.000%)\n"
    "latency average = 3.568 ms\n"
    "latency stddev = 3.096 ms\n"
    "average connection time = 3.017 ms\n"
    "tps = 296.135219 (including reconnection times)\n"
    "starting vacuum...end.\n"
    "progress: 1.0 s, 301.8 tps, lat 3.505 ms stddev 2.252, 0 failed\n"
    "progress: 2.0 s, 295.1 tps, lat 3.602 ms stddev 3.427, 0 failed\n"
    "progress: 3.0 s, 289.7 tps, lat 3.614 ms stddev 3.481, 0 failed\n";

/* pgbench -n -f division-by-zero.sql -c 2 -T 3; its exit status was 2. All of it in 19 ms. */
static const char *const pgbench_aborted =
    "pgbench (15.20 (Debian 15.20-0+deb12u1))\n"
    "transaction type: bad.sql\n"
    "scaling factor: 1\n"
    "query mode: simple\n"
    "number of clients: 2\n"
    "number of threads: 1\n"
    "maximum number of tries: 1\n"
    "duration: 3 s\n"
    "number of transactions actually processed: 210\n"
    "number of failed transactions: 0 (0.000%)\n"
    "latency average = 0.185 ms\n"
    "initial connection time = 6.189 ms\n"
    "tps = 10809.141445 (without initial connection time)\n"
    "pgbench: error: client 1 script 0 aborted in command 2 query 0: ERROR:  division by zero\n"
    "pgbench: error: client 0 script 0 aborted in command 2 query 0: ERROR:  division by zero\n"
    "pgbench: error: Run was aborted; the above results are incomplete.\n";

/* pgbench -n -f serializable-update-of-one-row.sql -c 4 -T 3; its exit status was 0. */
static const char *const pgbench_failing = "pgbench (15.20 (Debian 15.20-0+deb12u1))\n"
                                           "transaction type: hot.sql\n"
                                           "scaling factor: 1\n"
                                           "query mode: simple\n"
                                           "number of clients: 4\n"
                                           "number of threads: 1\n"
                                           "maximum number of tries: 1\n"
                                           "duration: 3 s\n"
                                           "number of transactions actually processed: 1897\n"
                                           "number of failed transactions: 4097 (68.352%)\n"
                                           "latency average = 1.996 ms (including failures)\n"
                                           "initial connection time = 19.071 ms\n"
                                           "tps = 634.145298 (without initial connection time)\n";

#endif
