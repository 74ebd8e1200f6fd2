-- What fences the results. Each transaction that writes results claims this row first.
CREATE TABLE IF NOT EXISTS fence (
  resource text PRIMARY KEY,
  epoch bigint NOT NULL DEFAULT 0
);
INSERT INTO fence (resource) VALUES ('jobs') ON CONFLICT DO NOTHING;

-- A job asks how many primes there are below input.
CREATE TABLE IF NOT EXISTS job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  input bigint NOT NULL CHECK (input BETWEEN 0 AND 10000000)
);

-- Nothing here keeps a job from having two results: that is left to the fence, to see whether it holds.
-- A table of your own would have UNIQUE (job), too.
CREATE TABLE IF NOT EXISTS result (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of the commits: the fence's row is locked until then
  job bigint NOT NULL REFERENCES job,
  output bigint NOT NULL,
  runner text NOT NULL,
  epoch bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS result_job ON result (job);
