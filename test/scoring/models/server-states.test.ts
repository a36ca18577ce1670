import t from 'tap'
import { type InstanceState, PoolMember } from '../../../src/scoring/models/pool/pool-member.ts'
import { Endpoint } from '../../../src/scoring/models/transport/endpoint.ts'
import { UpstreamError } from '../../../src/scoring/models/transport/upstream-error.ts'
import { fakeClock } from '../../support/clock.ts'

const breaker = { failures: 2, openMs: 1000 }

/** A server, alone at its address, and what its owners can do to it. */
function server() {
  const clock = fakeClock()
  const endpoint = new Endpoint('http://127.0.0.1:9', clock, { connectMs: 1000, breaker })
  const told: (string | null)[] = []
  const member = new PoolMember(
    endpoint,
    clock,
    { limits: { questions: 4, tokens: Number.POSITIVE_INFINITY }, weight: 1, breaker },
    (reason) => told.push(reason),
  )
  endpoint.health = 'unknown'
  member.probe = 'unknown'
  const broken = new UpstreamError('judge_unreachable', 'the server answered 500')
  const unavailable = new UpstreamError('overloaded', 'the server answered 503', {
    blame: false,
    isUnavailable: true,
  })
  const refused = new UpstreamError('judge_unreachable', 'refused', { isConnection: true, isRefused: true })
  const events = {
    // The prober.
    'probes pass': () => {
      endpoint.breaker.succeeded()
      endpoint.setHealth('ok')
      member.mark({ probe: 'ok' })
    },
    '/health fails': () => endpoint.setHealth('failing'),
    'key refused': () => member.mark({ probe: 'failing' }),
    'other model': () => member.mark({ probe: 'other-model' }),
    // Calls.
    'call answered': () => member.succeeded(5),
    'calls fail': () => {
      member.failed(broken)
      member.failed(broken)
    },
    'connection refused': () => member.failed(refused),
    'one 503': () => member.failed(unavailable),
    'nothing but 503': () => {
      member.failed(unavailable)
      clock.advance(1000)
      member.failed(unavailable)
    },
    'pause over': () => clock.advance(1000),
    // The watch of its progress.
    stalls: () => member.mark({ suspect: true }),
    'goes on': () => member.mark({ suspect: false }),
    // The canary.
    'canary fails': () => member.mark({ failsCanary: 'it answers wrongly' }),
    'canary passes': () => member.mark({ failsCanary: null }),
    // The owner of its GPU memory.
    sleeps: () => endpoint.mark({ asleep: true }),
    wakes: () => endpoint.mark({ asleep: false }),
    // Operators.
    drained: () => member.mark({ draining: true }),
    added: () => member.mark({ draining: false }),
  }
  return { member, endpoint, events, told }
}

type Event = keyof ReturnType<typeof server>['events']

/** How each state comes about. Two ways lead to `ejected`: the questions of one model fail, or connections to the address. */
const ways = {
  joining: [],
  ready: ['probes pass'],
  ejected: ['probes pass', 'calls fail'],
  'ejected: refused': ['probes pass', 'connection refused'],
  trial: ['probes pass', 'calls fail', 'pause over'],
  'other-model': ['probes pass', 'other model'],
  suspect: ['probes pass', 'stalls'],
  'fails-canary': ['probes pass', 'canary fails'],
  asleep: ['probes pass', 'sleeps'],
  draining: ['probes pass', 'drained'],
} as const satisfies Record<string, readonly Event[]>

/** What holds for a server that takes questions or may soon. */
const usual = {
  '/health fails': 'ejected',
  'key refused': 'ejected',
  'other model': 'other-model',
  'calls fail': 'ejected',
  'connection refused': 'ejected',
  'nothing but 503': 'ejected',
  stalls: 'suspect',
  'canary fails': 'fails-canary',
  sleeps: 'asleep',
  drained: 'draining',
} as const

/** The state after each event; an event that is not named changes nothing that can be seen. */
const table: Readonly<Record<keyof typeof ways, Readonly<Partial<Record<Event, InstanceState>>>>> = {
  joining: { ...usual, 'probes pass': 'ready' },
  ready: usual,
  ejected: { ...usual, 'call answered': 'ready', 'pause over': 'trial' },
  // A good probe shows that connections work; it does not show that questions are answered.
  // So does a 503; on trial it is no answer.
  'ejected: refused': {
    ...usual,
    'probes pass': 'ready',
    'call answered': 'ready',
    'one 503': 'ready',
    'pause over': 'trial',
  },
  trial: { ...usual, 'call answered': 'ready', 'one 503': 'ejected' },
  'other-model': { 'probes pass': 'ready', 'key refused': 'ejected', sleeps: 'asleep', drained: 'draining' },
  suspect: {
    'goes on': 'ready',
    'other model': 'other-model',
    'canary fails': 'fails-canary',
    sleeps: 'asleep',
    drained: 'draining',
  },
  'fails-canary': {
    'canary passes': 'ready',
    'other model': 'other-model',
    sleeps: 'asleep',
    drained: 'draining',
  },
  asleep: { wakes: 'ready', drained: 'draining' },
  draining: { added: 'ready' },
}

t.test('each event changes each state of a server as the table says', async (t) => {
  for (const [way, steps] of Object.entries(ways) as [keyof typeof ways, readonly Event[]][])
    for (const event of Object.keys(server().events) as Event[]) {
      const { member, events } = server()
      for (const step of steps) events[step]()
      const before = member.state
      t.equal(before, way.split(':')[0], way)
      events[event]()
      t.equal(member.state, table[way][event] ?? before, `${way}, ${event}`)
    }
})

t.test(
  'only a server that is ready or on trial is free, and only a ready one is believed to work',
  async (t) => {
    for (const [way, steps] of Object.entries(ways) as [keyof typeof ways, readonly Event[]][]) {
      const { member, events } = server()
      for (const step of steps) events[step]()
      t.equal(member.isAlive, member.state === 'ready', way)
      t.equal(member.isFree, member.state === 'ready' || member.state === 'trial', way)
    }
  },
)

t.test('conditions of different owners do not overwrite each other', async (t) => {
  const { member, events } = server()
  for (const step of ['probes pass', 'stalls', 'canary fails', 'sleeps', 'drained'] as const) events[step]()
  for (const [step, state] of [
    ['added', 'asleep'],
    ['wakes', 'fails-canary'],
    ['canary passes', 'suspect'],
    ['goes on', 'ready'],
  ] as const) {
    events[step]()
    t.equal(member.state, state)
  }
})

t.test('an ejected server is reported once, and once when it is back', async (t) => {
  const { events, told } = server()
  const steps = [
    'probes pass',
    'calls fail',
    'pause over',
    'calls fail',
    '/health fails',
    'probes pass',
    'call answered',
  ] as const
  for (const step of steps) events[step]()
  t.strictSame(told, ['its calls fail', null])
})
