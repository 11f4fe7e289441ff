// What the scripts of both peers share: one run of one shape, told as one line of JSON.
//
//     PEERS_URL=postgres://... node graphile.mjs SHAPE CONCURRENCY JOBS
//
// Rates are of jobs from the first one begun to the last one done; the write-ahead log and the
// statements are those of the whole server in that time, so nothing else may use it.
import pg from 'pg'

export const URL = process.env.PEERS_URL
export const [shape, concurrency, jobs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

export async function admin () {
  const client = new pg.Client({ connectionString: URL })
  await client.connect()
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  return client
}

const USED = `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS wal,
  (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
   WHERE d.datname = current_database() AND query NOT LIKE '%pg_current_wal_insert_lsn%') AS statements`

export const used = async client => (await client.query(USED)).rows[0]

export function say (n, seconds, before, after) {
  console.log(JSON.stringify({
    jobs_per_s: n / seconds,
    wal_per_job: (after.wal - before.wal) / n,
    statements_per_job: (after.statements - before.statements) / n
  }))
}

// Sends one job after another to an idle queue and times each from the answer of the enqueue's sender
// (asked before it is sent) to the first line of its handler.
export class Latencies {
  constructor () { this.sent = new Map(); this.times = [] }
  started (k) {
    const sent = this.sent.get(k)
    if (sent !== undefined) { this.times.push(performance.now() - sent); this.sent.delete(k) }
  }

  async run (n, send) {
    for (let k = 0; k < n; k++) {
      await sleep(15 + Math.random() * 30)
      this.sent.set(k, performance.now())
      await send(k)
    }
    for (let i = 0; i < 100 && this.times.length < n; i++) await sleep(50)
    const sorted = this.times.sort((a, b) => a - b)
    const rank = percent => sorted[Math.max(0, Math.ceil(sorted.length * percent / 100) - 1)]
    if (sorted.length < n) throw new Error(`${n - sorted.length} of ${n} jobs never started`)
    console.log(JSON.stringify({ p50_ms: rank(50), p95_ms: rank(95) }))
  }
}
