// pg-boss: `plain` is its smallest unit, one fetch and one complete a job; `batched` is work() with
// batches of 100 that begin the next at once. It keeps the row of a job that is done, and no history.
import { PgBoss } from 'pg-boss'
import { Latencies, URL, admin, concurrency, jobs, say, shape, sleep, used } from './lib.mjs'

const boss = new PgBoss({
  connectionString: URL, max: 60, supervise: false, schedule: false, useListenNotify: true
})
boss.on('error', console.error)
await boss.start()
await boss.createQueue('noop')
await boss.createQueue('late', { notify: true })
const client = await admin()
await client.query("DELETE FROM pgboss.job WHERE name IN ('noop', 'late')")
await client.query('VACUUM ANALYZE pgboss.job_common')
await client.query('CHECKPOINT')

if (shape === 'latency') {
  const latencies = new Latencies()
  await boss.work('late', { localConcurrency: 1 }, async ([job]) => latencies.started(job.data.k))
  await sleep(1500)
  await latencies.run(jobs, k => boss.send('late', { k }))
  await boss.offWork('late')
} else {
  const size = 1000
  for (let i = 0; i < jobs; i += size) {
    await boss.insert('noop', Array.from({ length: Math.min(size, jobs - i) }, () => ({ data: { i } })))
  }
  await client.query('ANALYZE pgboss.job_common')
  const before = await used(client)
  if (shape === 'plain') {
    const began = performance.now()
    await Promise.all(Array.from({ length: concurrency }, async () => {
      for (;;) {
        const [job] = await boss.fetch('noop')
        if (!job) break
        await boss.complete('noop', job.id)
      }
    }))
    say(jobs, (performance.now() - began) / 1000, before, await used(client))
  } else {
    let done = 0; let began = 0; let end
    const finished = new Promise(resolve => { end = resolve })
    const options = {
      batchSize: 100, localConcurrency: concurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5
    }
    await boss.work('noop', options, async batch => {
      began ||= performance.now()
      done += batch.length
      if (done >= jobs) end(performance.now())
    })
    const ended = await finished
    await boss.offWork('noop')
    say(jobs, (ended - began) / 1000, before, await used(client))
  }
}
await boss.stop({ graceful: false })
await client.end()
process.exit(0)
