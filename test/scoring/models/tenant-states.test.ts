import t from 'tap'
import { CancelToken } from '../../../src/scoring/models/interface/cancel-token.ts'
import { GpuGroup, type GpuSlot } from '../../../src/scoring/models/memory/gpu-group.ts'
import type {
  GpuTenant,
  TenantSettings,
  TenantState,
} from '../../../src/scoring/models/memory/gpu-waiters.ts'
import { fakeClock } from '../../support/clock.ts'
import { until } from '../../support/models.ts'

/** A tenant whose orders are carried out when the test says so. */
function tenant(name: string, orders: string[]) {
  const open: ((isDone: boolean) => void)[] = []
  const self: GpuTenant & {
    settings: TenantSettings
    active: number
    is: TenantState | null
    open: typeof open
  } = {
    settings: { idleMs: 1000, lingerMs: 0, turnMs: 60_000, wakeOnDemand: true, maxQueue: 9 },
    active: 0,
    /** What `find` says. */
    is: 'awake',
    open,
    find: async () => {
      orders.push(`${name} find`)
      return self.is
    },
    sleep: () => {
      orders.push(`${name} sleep${self.active > 0 ? ' IN USE' : ''}`)
      return new Promise<TenantState>((resolve) =>
        open.push((isDone) => resolve(isDone ? 'asleep' : 'unknown')),
      )
    },
    parked: () => {},
    wake: () => {
      orders.push(`${name} wake`)
      return new Promise<boolean>((resolve) => open.push(resolve))
    },
    switched: () => {},
  }
  return self
}

const states = ['unknown', 'awake', 'in use', 'falling asleep', 'asleep', 'waking'] as const
type State = (typeof states)[number]

const events = [
  'a question',
  'its last answer',
  'idle time over',
  'the turn of another',
  'told to sleep',
  'told to wake',
  'order fails',
  'settings change',
] as const
type Event = (typeof events)[number]

/** Brings a tenant into a state, lets the event happen and every order end, and says what became of it. */
async function after(state: State, event: Event): Promise<{ state: TenantState; orders: string[] }> {
  const orders: string[] = []
  const clock = fakeClock()
  const group = new GpuGroup(clock)
  const one = tenant('one', orders)
  const other = tenant('other', orders)
  other.is = 'asleep'
  const place = group.add(one)
  const second = group.add(other)
  second.state = 'asleep'
  const ask = (to: GpuSlot, who: typeof one) =>
    group.enter(to, new CancelToken(), () => {
      who.active += 1
    })
  const leave = (to: GpuSlot, who: typeof one) => {
    who.active -= 1
    group.left(to, true)
  }
  const turn = () => until(() => true)
  const done = async (isDone = true) => {
    for (let i = 0; i < 6; i += 1) {
      for (const resolve of [...one.open.splice(0), ...other.open.splice(0)]) resolve(isDone)
      await turn()
    }
  }
  const refused = (asked: Promise<void> | null) => asked?.catch(() => {})
  if (state !== 'unknown') {
    await ask(place, one)
    if (state !== 'in use') leave(place, one)
  }
  if (state === 'falling asleep' || state === 'asleep' || state === 'waking') {
    void group.sleep(place)
    await turn()
    if (state !== 'falling asleep') await done()
    if (state === 'waking') {
      void group.wake(place)
      await turn()
    }
  }
  orders.length = 0
  const asked: (Promise<void> | null | undefined)[] = []
  if (event === 'a question') asked.push(refused(ask(place, one)))
  if (event === 'its last answer' && one.active > 0) leave(place, one)
  if (event === 'idle time over') clock.advance(1000)
  if (event === 'the turn of another') {
    asked.push(refused(ask(second, other)))
    clock.advance(1)
  }
  if (event === 'told to sleep') void group.sleep(place)
  if (event === 'told to wake') void group.wake(place)
  if (event === 'settings change') {
    one.settings = { ...one.settings, idleMs: 0 }
    group.reconsider()
    clock.advance(10_000)
  }
  await turn()
  await done(event !== 'order fails')
  group.end()
  return { state: place.state, orders }
}

/** State, then event, then: the state afterwards, and the orders that it took. Question and answer keep it awake. */
const table: Record<State, Record<Event, readonly [TenantState, ...string[]]>> = {
  unknown: {
    'a question': ['awake', 'one find'],
    'its last answer': ['unknown'],
    'idle time over': ['unknown'],
    'the turn of another': ['asleep', 'one sleep', 'other wake'],
    'told to sleep': ['asleep', 'one sleep'],
    'told to wake': ['awake', 'one find'],
    'order fails': ['unknown'],
    'settings change': ['unknown'],
  },
  awake: {
    'a question': ['awake'],
    'its last answer': ['awake'],
    'idle time over': ['asleep', 'one sleep'],
    'the turn of another': ['asleep', 'one sleep', 'other wake'],
    'told to sleep': ['asleep', 'one sleep'],
    'told to wake': ['awake'],
    'order fails': ['awake'],
    'settings change': ['awake'],
  },
  'in use': {
    'a question': ['awake'],
    'its last answer': ['awake'],
    'idle time over': ['awake'],
    'the turn of another': ['awake'],
    'told to sleep': ['awake'],
    'told to wake': ['awake'],
    'order fails': ['awake'],
    'settings change': ['awake'],
  },
  'falling asleep': {
    'a question': ['awake', 'one wake'],
    'its last answer': ['asleep'],
    'idle time over': ['asleep'],
    'the turn of another': ['asleep', 'other wake'],
    'told to sleep': ['asleep'],
    'told to wake': ['awake', 'one wake'],
    'order fails': ['unknown'],
    'settings change': ['asleep'],
  },
  asleep: {
    'a question': ['awake', 'one wake'],
    'its last answer': ['asleep'],
    'idle time over': ['asleep'],
    'the turn of another': ['asleep', 'other wake'],
    'told to sleep': ['asleep'],
    'told to wake': ['awake', 'one wake'],
    'order fails': ['asleep'],
    'settings change': ['asleep'],
  },
  waking: {
    'a question': ['awake'],
    'its last answer': ['awake'],
    'idle time over': ['awake'],
    'the turn of another': ['asleep', 'one sleep', 'other wake'],
    'told to sleep': ['asleep', 'one sleep'],
    'told to wake': ['awake'],
    'order fails': ['unknown'],
    'settings change': ['awake'],
  },
}

for (const state of states)
  t.test(`a tenant that is ${state}`, async (t) => {
    for (const event of events) {
      const [wanted, ...orders] = table[state][event]
      t.strictSame(await after(state, event), { state: wanted, orders }, event)
    }
  })

t.test('no event puts a tenant to sleep while it is in use', async (t) => {
  for (const event of events) {
    const { orders } = await after('in use', event)
    t.notOk(
      orders.some((order) => order.includes('IN USE')),
      event,
    )
  }
})

t.test(
  'a question that comes within the idle time keeps the model awake until it is answered (M22)',
  async (t) => {
    const orders: string[] = []
    const clock = fakeClock()
    const group = new GpuGroup(clock)
    const one = tenant('one', orders)
    const place = group.add(one)
    const count = () => {
      one.active += 1
    }
    await group.enter(place, new CancelToken(), count)
    one.active -= 1
    group.left(place, true)
    clock.advance(900)
    t.equal(group.enter(place, new CancelToken(), count), null)
    clock.advance(10_000)
    t.strictSame(orders, ['one find'])
    one.active -= 1
    group.left(place, true)
    clock.advance(999)
    t.strictSame(orders, ['one find'])
    clock.advance(1)
    t.strictSame(orders, ['one find', 'one sleep'])
    group.end()
  },
)
