-- The result store. Times: *_us are microseconds since 1970 UTC, elapsed_us a duration; sizes in
-- bytes; *_s seconds; *_pct percent. Words are checked. Version: pragma user_version.

CREATE TABLE sweep (
    sweep_id        INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    begun_us        INTEGER NOT NULL,
    file_text       TEXT NOT NULL,    -- the sweep file as run last
    plan_hash       TEXT NOT NULL,    -- of plan_text
    plan_text       TEXT NOT NULL,    -- what may not change without --fresh
    backend         TEXT NOT NULL,
    product         TEXT NOT NULL,
    version         TEXT NOT NULL,
    target_label    TEXT NOT NULL,    -- host and configuration file, or database file
    data_directory  TEXT NOT NULL,    -- '' not known
    log_path        TEXT NOT NULL,    -- '' not known
    facts_json      TEXT NOT NULL,
    labels_json     TEXT NOT NULL,
    workload_json   TEXT NOT NULL,
    rank_by         TEXT NOT NULL,
    rank_better     TEXT NOT NULL CHECK (rank_better IN ('higher', 'lower')),
    rank_under      TEXT NOT NULL,    -- '' none
    rank_durability TEXT NOT NULL CHECK (rank_durability IN ('baseline', 'any')),
    rank_across     TEXT NOT NULL CHECK (rank_across IN ('each', 'geomean')),
    rank_confidence REAL NOT NULL,
    planned_trials  INTEGER NOT NULL, -- 0 unknown
    touched         INTEGER NOT NULL DEFAULT 0 CHECK (touched IN (0, 1)) -- may be off its baseline
) STRICT;

CREATE TABLE swept ( -- settings that some axis varies
    sweep_id   INTEGER NOT NULL REFERENCES sweep,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('knob', 'host', 'workload')),
    type       TEXT NOT NULL,
    unit       TEXT NOT NULL, -- canonical: '', 'bytes', 'us', 'percent'
    apply      TEXT NOT NULL,
    durability TEXT NOT NULL, -- most durable first, '' where it does not matter
    sentence   TEXT NOT NULL,
    PRIMARY KEY (sweep_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE call ( -- one call of `dbsweep run`: a block with its own baseline trials
    call_id  INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL REFERENCES sweep,
    begun_us INTEGER NOT NULL,
    ended_us INTEGER,
    pid      INTEGER NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('running', 'done', 'stopped', 'failed', 'interrupted')),
    reason   TEXT
) STRICT;

CREATE TABLE baseline_file ( -- the configuration as found
    sweep_id INTEGER NOT NULL REFERENCES sweep,
    path     TEXT NOT NULL,
    mode     INTEGER NOT NULL,
    uid      INTEGER NOT NULL,
    gid      INTEGER NOT NULL,
    selinux  TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    content  BLOB NOT NULL,
    PRIMARY KEY (sweep_id, path)
) STRICT;

CREATE TABLE baseline_value ( -- every swept knob as found
    sweep_id  INTEGER NOT NULL REFERENCES sweep,
    name      TEXT NOT NULL,
    canonical TEXT NOT NULL,
    display   TEXT NOT NULL,
    source    TEXT NOT NULL,
    detail    TEXT NOT NULL,
    PRIMARY KEY (sweep_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE intent ( -- bytes that this sweep wrote or was about to write
    sweep_id INTEGER NOT NULL REFERENCES sweep,
    path     TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    at_us    INTEGER NOT NULL,
    PRIMARY KEY (sweep_id, path, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE point ( -- candidates: values of knobs and host settings
    point_id    INTEGER PRIMARY KEY,
    sweep_id    INTEGER NOT NULL REFERENCES sweep,
    key         TEXT NOT NULL,
    is_baseline INTEGER NOT NULL CHECK (is_baseline IN (0, 1)),
    is_durable  INTEGER NOT NULL CHECK (is_durable IN (0, 1)), -- at least as the baseline
    UNIQUE (sweep_id, key)
) STRICT;

CREATE TABLE point_value (
    point_id  INTEGER NOT NULL REFERENCES point,
    name      TEXT NOT NULL,
    asked     TEXT NOT NULL,
    canonical TEXT NOT NULL,
    display   TEXT NOT NULL,
    number    REAL,
    PRIMARY KEY (point_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE condition ( -- values of workload settings, compared within
    condition_id INTEGER PRIMARY KEY,
    sweep_id     INTEGER NOT NULL REFERENCES sweep,
    key          TEXT NOT NULL,
    UNIQUE (sweep_id, key)
) STRICT;

CREATE TABLE condition_value (
    condition_id INTEGER NOT NULL REFERENCES condition,
    name         TEXT NOT NULL,
    asked        TEXT NOT NULL,
    canonical    TEXT NOT NULL,
    display      TEXT NOT NULL,
    number       REAL,
    PRIMARY KEY (condition_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE pruned ( -- combinations that a rule or the memory guard left out
    sweep_id          INTEGER NOT NULL REFERENCES sweep,
    point_display     TEXT NOT NULL,
    condition_display TEXT NOT NULL,
    reason            TEXT NOT NULL
) STRICT;
CREATE INDEX pruned_by_sweep ON pruned (sweep_id);

CREATE TABLE trial (
    trial_id     INTEGER PRIMARY KEY,
    sweep_id     INTEGER NOT NULL REFERENCES sweep,
    call_id      INTEGER NOT NULL REFERENCES call,
    point_id     INTEGER NOT NULL REFERENCES point,
    condition_id INTEGER NOT NULL REFERENCES condition,
    purpose      TEXT NOT NULL CHECK (purpose IN ('explore', 'repeat', 'confirm', 'baseline')),
    status       TEXT NOT NULL
                 CHECK (status IN ('running', 'done', 'failed', 'interrupted', 'dropped')),
    started_us   INTEGER NOT NULL,
    ended_us     INTEGER,
    class        TEXT, -- of the failure: POINT, TARGET, ...
    code         TEXT,
    reason       TEXT,
    hint         TEXT,
    context      TEXT, -- "while ..." lines
    native       TEXT, -- SQLSTATE, errno, exit status
    log_tail     TEXT, -- the server's own words
    effective_key TEXT, -- the point under its read-back values; equal keys are one arm
    flags        TEXT NOT NULL DEFAULT '',
    measured_s   REAL,
    warm_up_s    REAL,
    size_before_bytes INTEGER,
    size_after_bytes  INTEGER,
    output       TEXT  -- of a command workload
) STRICT;
CREATE INDEX trial_by_sweep ON trial (sweep_id, status);
CREATE INDEX trial_by_cell ON trial (point_id, condition_id);

CREATE TABLE stage (
    trial_id   INTEGER NOT NULL REFERENCES trial,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    elapsed_us INTEGER,
    outcome    TEXT NOT NULL CHECK (outcome IN ('running', 'done', 'skipped', 'failed')),
    PRIMARY KEY (trial_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial_value ( -- asked against effective
    trial_id          INTEGER NOT NULL REFERENCES trial,
    name              TEXT NOT NULL,
    asked             TEXT NOT NULL,
    effective         TEXT, -- canonical
    effective_display TEXT,
    number            REAL,
    verdict           TEXT NOT NULL
                      CHECK (verdict IN ('equal', 'baseline', 'adjusted', 'not-applied')),
    source            TEXT NOT NULL,
    detail            TEXT NOT NULL,
    PRIMARY KEY (trial_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
    trial_id INTEGER NOT NULL REFERENCES trial,
    name     TEXT NOT NULL,
    value    REAL NOT NULL,
    better   TEXT NOT NULL CHECK (better IN ('higher', 'lower')),
    PRIMARY KEY (trial_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE statement_row ( -- statement '' is the whole transaction
    trial_id      INTEGER NOT NULL REFERENCES trial,
    position      INTEGER NOT NULL,
    "transaction" TEXT NOT NULL,
    statement     TEXT NOT NULL,
    count         INTEGER NOT NULL,
    error_count   INTEGER NOT NULL,
    retry_count   INTEGER NOT NULL,
    total_s       REAL NOT NULL,
    min_s         REAL NOT NULL,
    avg_s         REAL NOT NULL,
    max_s         REAL NOT NULL,
    p50_s         REAL NOT NULL,
    p95_s         REAL NOT NULL,
    p99_s         REAL NOT NULL,
    p999_s        REAL NOT NULL,
    histogram     BLOB NOT NULL, -- sweeper/stats/histogram.h
    PRIMARY KEY (trial_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE error_row (
    trial_id      INTEGER NOT NULL REFERENCES trial,
    position      INTEGER NOT NULL,
    "transaction" TEXT NOT NULL,
    code          TEXT NOT NULL,
    text          TEXT NOT NULL,
    count         INTEGER NOT NULL,
    PRIMARY KEY (trial_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE series ( -- samples: little-endian 64-bit floats, NaN is a gap
    trial_id   INTEGER NOT NULL REFERENCES trial,
    "group"    TEXT NOT NULL CHECK ("group" IN ('load', 'host', 'server')),
    name       TEXT NOT NULL,
    interval_s REAL NOT NULL,
    thinned    INTEGER NOT NULL, -- samples in a bucket; above 1 each bucket is min, mean, max
    samples    BLOB NOT NULL,
    PRIMARY KEY (trial_id, "group", name)
) STRICT;

CREATE TABLE counter (
    trial_id    INTEGER NOT NULL REFERENCES trial,
    name        TEXT NOT NULL,
    start_value REAL NOT NULL,
    end_value   REAL NOT NULL,
    is_gauge    INTEGER NOT NULL CHECK (is_gauge IN (0, 1)),
    PRIMARY KEY (trial_id, name)
) STRICT, WITHOUT ROWID;

-- For people: sqlite3, Datasette.
CREATE VIEW trials_flat AS
SELECT trial.trial_id, sweep.name AS sweep, trial.point_id, point.key AS point,
       condition.key AS condition, trial.purpose, trial.status, trial.class, trial.reason,
       metric.name AS metric, metric.value,
       datetime(trial.started_us / 1000000, 'unixepoch') AS started_utc,
       (trial.ended_us - trial.started_us) / 1e6 AS elapsed_s
FROM trial JOIN sweep USING (sweep_id) JOIN point USING (point_id)
     JOIN condition USING (condition_id)
     LEFT JOIN metric ON metric.trial_id = trial.trial_id AND metric.name = sweep.rank_by;

CREATE VIEW points AS
SELECT point.point_id, sweep.sweep_id, sweep.name AS sweep, point.key AS point, point.is_baseline,
       point.is_durable, condition.key AS condition, count(*) AS trials, avg(metric.value) AS mean,
       min(metric.value) AS min, max(metric.value) AS max, sweep.rank_by AS metric
FROM trial JOIN sweep USING (sweep_id) JOIN point USING (point_id)
     JOIN condition USING (condition_id)
     JOIN metric ON metric.trial_id = trial.trial_id AND metric.name = sweep.rank_by
WHERE trial.status = 'done'
GROUP BY point.point_id, condition.condition_id;

CREATE VIEW best AS -- by plain means: `dbsweep rank` knows intervals, ties and merged points
SELECT * FROM (
    SELECT points.*, rank() OVER (
        PARTITION BY points.sweep_id, condition
        ORDER BY CASE sweep.rank_better WHEN 'lower' THEN mean ELSE -mean END) AS place
    FROM points JOIN sweep USING (sweep_id)
    WHERE is_durable = 1 OR sweep.rank_durability = 'any') WHERE place <= 5;

CREATE VIEW failures AS
SELECT trial.trial_id, point.key AS point, condition.key AS condition, trial.class, trial.code,
       trial.reason, trial.hint, trial.log_tail
FROM trial JOIN point USING (point_id) JOIN condition USING (condition_id)
WHERE trial.status = 'failed';
