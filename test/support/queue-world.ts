import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { testApp } from './app.ts'
import { newFolder } from './run-store.ts'
import { completion, type Script, scriptedServer } from './scripted-server.ts'

export const judging: Script = (seen) => completion(seen, '1')

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: replies of several routes
  readonly json: any
}

export interface World {
  readonly app: FastifyInstance
  put(uid: string, body: object | string, run?: string): Promise<Reply>
  lines(lines: readonly (object | string)[], run?: string): Promise<Reply>
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>
  post(path: string, body: object): Promise<Reply>
  /** Finals from the beginning, once there are so many. */
  finals(count: number, run?: string): Promise<Reply['json'][]>
}

export const rewards = {
  ruled: { steps: [{ name: 'rule', function: 'exact-match' }] },
  judged: { steps: [{ name: 'judge', function: 'digit-judge', model: 'judge' }] },
  ranked: { steps: [{ name: 'rank', function: 'rank-rule' }] },
  'ranked-some': { group: { min: 2 }, steps: [{ name: 'rank', function: 'rank-rule' }] },
  rubric: { steps: [{ name: 'rubric', function: 'rubric-judge-group', model: 'judge' }] },
  'judged-ranked': {
    steps: [
      { name: 'judge', function: 'digit-judge', model: 'judge' },
      { name: 'rank', function: 'rank-rule' },
    ],
  },
  voted: {
    steps: [{ name: 'judge', function: 'digit-judge', model: 'judge', votes: { n: 3 } }],
  },
  mixed: {
    steps: [
      { name: 'rule', function: 'exact-match' },
      { name: 'judge', function: 'digit-judge', model: 'judge' },
    ],
  },
  failing: { on_invalid: 'fail', steps: [{ name: 'rule', function: 'exact-match' }] },
}

/** A gateway with a queue and a judge. */
export async function worldOf(
  t: Test,
  queue: object = {},
  script: Script = judging,
  parts: Parameters<typeof testApp>[4] = {},
  model: object = {},
  gateway: object = {},
): Promise<World> {
  const judge = await scriptedServer(script)
  t.teardown(() => judge.kill())
  const models = { judge: { model: 'm', instances: [judge.url], hedge: { budget: 0 }, ...model } }
  const settings = { models, queue: { folder: newFolder(), commit_ms: 0, ...queue }, ...gateway }
  const app = await testApp(t, { gateway: settings, ...rewards }, 1 << 20, {}, parts)
  const asked = async (options: InjectOptions): Promise<Reply> => {
    const reply = await app.inject(options)
    return {
      status: reply.statusCode,
      headers: reply.headers,
      json: reply.body === '' ? null : JSON.parse(reply.body),
    }
  }
  const json = { 'content-type': 'application/json' }
  const get: World['get'] = (url, headers = {}) => asked({ method: 'GET', url, headers })
  return {
    app,
    get,
    put: (uid, body, run = 'a') =>
      asked({
        method: 'PUT',
        url: `/v1/runs/${run}/rollouts/${encodeURIComponent(uid)}`,
        headers: json,
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    lines: (lines, run = 'a') =>
      asked({
        method: 'POST',
        url: `/v1/runs/${run}/rollouts`,
        headers: { 'content-type': 'application/x-ndjson' },
        payload: lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
      }),
    post: (url, body) => asked({ method: 'POST', url, headers: json, payload: JSON.stringify(body) }),
    async finals(count, run = 'a') {
      const found: Reply['json'][] = []
      let cursor = ''
      while (found.length < count) {
        const { json } = await get(`/v1/runs/${run}/rewards?wait_s=20&after=${cursor}`)
        if (json.results.length === 0) throw new Error(`${found.length} finals, and no more come`)
        found.push(...json.results)
        cursor = json.cursor
      }
      return found
    },
  }
}

export const rule = (response: string, more: object = {}) => ({
  reward: 'ruled',
  sample: { response, ground_truth: '4' },
  ...more,
})

/** A clock and a wall clock whose time a test moves, with what the queue does every five seconds. */
export function movedClock() {
  let ahead = 0
  let maintain = () => {}
  let ended = () => {}
  const clock: Clock = {
    ...systemClock,
    after(ms, fn) {
      if (ms === 5000) {
        maintain = fn
        ended()
      }
      return systemClock.after(ms, fn)
    },
  }
  return {
    parts: { clock, wallClock: () => Date.now() + ahead },
    advance(ms: number) {
      ahead += ms
    },
    /** Resolves once that is done. */
    maintain: (): Promise<void> =>
      new Promise((resolve) => {
        ended = resolve
        maintain()
      }),
  }
}
