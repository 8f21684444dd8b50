// One job of ../workloads.go in Node: takes it as JSON, prints the samples as JSON.
import async from 'async'
import fastq from 'fastq'
import PQueue from 'p-queue'

const { Workload, Subject, N, C } = JSON.parse(process.argv[2])

const noop = () => {}

// Later in the same tick: fastq overflows the stack when a backlog of tasks ends
// at once.
const worker = (task, done) => resolved.then(() => done(null, task()))
const resolved = Promise.resolve()

// Each subject as its users write it: push gives a task, idle waits for all,
// result gives a promise of the task's result.
const subjects = {
  async(c) {
    const q = async.queue(worker, c)
    return {
      push: task => q.push(task, noop),
      result: task => q.push(task),
      idle: () => q.drain(),
      pause: () => q.pause(),
      resume: () => q.resume(),
      prioritized() {
        const q = async.priorityQueue(worker, c)
        return { push: (task, priority) => q.push(task, priority, noop), idle: () => q.drain() }
      },
    }
  },
  fastq(c) {
    const q = fastq(worker, c)
    return {
      push: task => q.push(task, noop),
      result: task => new Promise((resolve, reject) => q.push(task, (err, r) => err ? reject(err) : resolve(r))),
      idle: () => q.idle() ? undefined : new Promise(resolve => { q.drain = resolve }),
      pause: () => q.pause(),
      resume: () => q.resume(),
    }
  },
  'p-queue'(c) {
    const q = new PQueue({ concurrency: c })
    return {
      push: task => { q.add(task) },
      result: task => q.add(task),
      idle: () => q.onIdle(),
      pause: () => q.pause(),
      resume: () => q.start(),
      prioritized: () => ({ push: (task, priority) => { q.add(task, { priority }) }, idle: () => q.onIdle() }),
    }
  },
}

const workloads = {
  async burst(q, n) {
    for (let i = 0; i < n; i++) q.push(noop)
    await q.idle()
  },
  async 'push-wait'(q, n) {
    for (let i = 0; i < n; i++) await new Promise(resolve => q.push(resolve))
  },
  async results(q, n) {
    const promises = []
    for (let i = 0; i < n; i++) promises.push(q.result(() => i))
    let sum = 0
    for (const i of await Promise.all(promises)) sum += i
    if (sum !== n * (n - 1) / 2) throw new Error('results are missing')
  },
  async priorities(q, n) {
    const p = q.prioritized()
    for (let i = 0; i < n; i++) p.push(noop, i % 3)
    await p.idle()
  },
}

const live = () => {
  gc()
  return process.memoryUsage().heapUsed
}

async function timed(n, f) {
  const start = process.hrtime.bigint()
  await f()
  return Number(process.hrtime.bigint() - start) / n
}

async function backlog(q, n) {
  const base = live()
  q.pause()
  const push = await timed(n, () => { for (let i = 0; i < n; i++) q.push(noop) })
  const held = live() - base
  const drain = await timed(n, () => {
    q.resume()
    return q.idle()
  })
  const kept = Math.max(0, live() - base)
  return { time: push + drain, held, kept }
}

const name = Workload.split(/[/=]/)[0]
let values
if (name === 'backlog') {
  values = await backlog(subjects[Subject](C), N)
} else {
  const run = workloads[name]
  await run(subjects[Subject](C), 5000) // enough for the compiler
  values = { '': await timed(N, () => run(subjects[Subject](C), N)) }
}
const Samples = {}
for (const key in values) Samples[key] = { Value: values[key] }
console.log(JSON.stringify({ Samples }))
