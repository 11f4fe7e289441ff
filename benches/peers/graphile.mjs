// graphile-worker, as its documentation says is fastest: no logging, and for `batched` a local queue
// and completions in batches. It removes a job that is done and keeps no history.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { Latencies, URL, admin, concurrency, jobs, say, shape, sleep, used } from './lib.mjs'

const logger = new Logger(() => (level, message) => { if (level === 'error') console.error(message) })
const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
const preset = more => ({ worker: { connectionString: URL, logger, pollInterval: 1000, ...more } })
const utils = await makeWorkerUtils({ preset: preset({ maxPoolSize: 12 }) })
await utils.migrate()
const client = await admin()
await client.query('DELETE FROM graphile_worker._private_jobs')
await client.query('VACUUM ANALYZE graphile_worker._private_jobs')
await client.query('CHECKPOINT')

const worker = (name, task, most) => run({
  preset: preset({
    concurrentJobs: concurrency,
    maxPoolSize: Math.max(10, concurrency + 2),
    ...(most === 'batched' ? batched : {})
  }),
  noHandleSignals: true,
  taskList: { [name]: task }
})

if (shape === 'latency') {
  const latencies = new Latencies()
  const runner = await worker('late', payload => latencies.started(payload.k), 'plain')
  await sleep(500)
  await latencies.run(jobs, k => utils.addJob('late', { k }))
  await runner.stop()
} else {
  const size = 1000
  for (let i = 0; i < jobs; i += size) {
    const batch = Array.from({ length: Math.min(size, jobs - i) }, () => ({ identifier: 'noop', payload: { i } }))
    await utils.addJobs(batch)
  }
  await client.query('ANALYZE graphile_worker._private_jobs')
  const before = await used(client)
  let done = 0; let began = 0; let end
  const finished = new Promise(resolve => { end = resolve })
  const runner = await worker('noop', () => {
    began ||= performance.now()
    if (++done === jobs) end(performance.now())
  }, shape)
  const ended = await finished
  await runner.stop() // what was done is written by now
  say(jobs, (ended - began) / 1000, before, await used(client))
  const left = (await client.query('SELECT count(*)::int AS n FROM graphile_worker._private_jobs')).rows[0].n
  if (left > 0) throw new Error(`${left} jobs are left`)
}
await utils.release()
await client.end()
process.exit(0)
