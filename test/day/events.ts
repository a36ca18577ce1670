import type { Replica } from './replica.ts'
import type { Stage } from './stage.ts'
import type { Trainer } from './trainer.ts'

/** What the events of a day found. */
export interface Found {
  /**
   * How long each replica had calls at the server that hung until it took it for suspect, and how long it stood in line for a core meanwhile.
   * NaN: it did not.
   */
  readonly suspect: { readonly replica: number; readonly seconds: number; readonly waitedS: number }[]
  cancelled: number
}

export interface Day {
  readonly stage: Stage
  readonly trainer: Trainer
  readonly stepMs: number
  /** Rows of run A. */
  readonly rows: number
  /** Milliseconds on the clock of the step. */
  now(): number
  say(what: string): void
}

/** As shares of the step. Restarts follow each other, and what hung. */
const at = {
  killed: 0.08,
  hangs: 0.15,
  reload: 0.3,
  away: 0.36,
  cancel: 0.56,
  rolling: 0.6,
  killMinus9: 0.75,
}
/** Of a step of ten minutes; a shorter step has shorter ones, in proportion. */
const fullStepMs = 600_000
const [downMs, hangMs, awayMs] = [60_000, 60_000, 90_000]
const suspectWithinMs = 25_000
/** A server cannot be known to hang before a call has been there for so long. */
const suspectMs = 15_000
/** Of 8,192 rows, 256 are cancelled. */
const shareCancelled = 1 / 32

export async function playEvents(day: Day): Promise<Found> {
  const { stage, trainer, stepMs, rows, now, say } = day
  const found: Found = { suspect: [], cancelled: 0 }
  const scale = Math.min(1, stepMs / fullStepMs)
  const { pause, isReal } = stage.time
  const until = (share: number) => pause(share * stepMs - now())
  const serversOf = (judge: string) => stage.servers.filter((server) => server.judge === judge)
  const [first, second] = serversOf('judge-small')

  const killed = until(at.killed).then(async () => {
    say('a server of judge-small is killed')
    await first?.kill()
    await pause(downMs * scale)
    await first?.restart(0)
    say('it is back')
  })
  const hangs = until(at.hangs).then(async () => {
    say('a server of judge-small hangs, and its /health answers')
    await second?.faults([{ kind: 'hang', recovery: 'drop' }])
    const [suspect] = await Promise.all([
      Promise.all(stage.replicas.map(suspectAfter)),
      pause(hangMs * scale),
    ])
    found.suspect.push(...suspect.flatMap((one) => one ?? []))
    await second?.faults([])
    say(
      `it was suspect after ${suspect.map((one) => one?.seconds.toFixed(1) ?? 'no call').join(' and ')} s, and is well again`,
    )
  })
  const reload = until(at.reload).then(async () => {
    say('the weights change')
    const before = (await stage.replicas[0]?.versions())?.get('math')
    stage.reload()
    await Promise.all(stage.replicas.map((replica) => hasReloaded(replica, before)))
    await trainer.learn()
    say('they have changed')
  })
  const away = until(at.away).then(async () => {
    say(`all of judge-big is away for ${(awayMs * scale) / 1000} s`)
    await Promise.all(serversOf('judge-big').map((server) => server.restart(awayMs * scale)))
  })
  const cancels = until(at.cancel).then(async () => {
    const wanted = Math.round(rows * shareCancelled)
    while (found.cancelled < wanted && trainer.underWay.size + stepMs - now() > 0) {
      found.cancelled += trainer.cancel(wanted - found.cancelled)
      await pause(200)
    }
    say(`${found.cancelled} rollouts are cancelled`)
  })
  // A replica that begins anew has no calls at the server that hangs.
  const restarts = Promise.all([hangs, until(at.killMinus9)]).then(async () => {
    if (isReal) {
      say('kill -9 of replica 0')
      await stage.replicas[0]?.kill()
      await stage.replicas[0]?.start()
      say('it is back')
    }
    await until(at.rolling)
    for (const [index, replica] of stage.replicas.entries()) {
      say(`replica ${index} restarts`)
      const code = await replica.stop()
      if (code !== 0) trainer.violations.push(`SIGTERM ended a replica with ${code}`)
      await replica.start()
    }
    say('both have restarted')
  })
  await Promise.all([killed, hangs, reload, away, cancels, restarts])
  return found

  async function hasReloaded(replica: Replica, before: string | undefined): Promise<void> {
    for (;;) {
      const version = (await replica.versions()).get('math')
      if (version !== undefined && version !== before) return
      await pause(50)
    }
  }

  /** null: it had no call at the server for long enough. */
  async function suspectAfter(replica: Replica, index: number): Promise<Found['suspect'][number] | null> {
    const [began, before] = [now(), replica.waitedMs()]
    const waitedMs = () => replica.waitedMs() - before
    const server = `instance="${second?.address}"`
    /** Since when calls have been there. */
    let since: number | null = null
    while (now() - began - waitedMs() < suspectWithinMs) {
      const isSuspect = await replica.metric(
        'reward_gateway_instances',
        'model="judge-small"',
        'state="suspect"',
      )
      if (isSuspect > 0)
        return { replica: index, seconds: (now() - (since ?? began)) / 1000, waitedS: waitedMs() / 1000 }
      const hasCalls = (await replica.metric('reward_gateway_upstream_in_flight', server)) > 0
      since = hasCalls ? (since ?? now()) : null
      await pause(500)
    }
    return since === null || now() - since < suspectMs
      ? null
      : { replica: index, seconds: Number.NaN, waitedS: 0 }
  }
}
