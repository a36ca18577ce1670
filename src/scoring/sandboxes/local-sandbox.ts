import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type {
  CaseResult,
  Execution,
  ExecutionResult,
  ProgramCase,
  ProgramLanguage,
} from '../../contract/execution.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { whenAborted } from '../models/interface/cancel-token.ts'
import {
  type Answer,
  aloneInput,
  type CaseMessage,
  inputOf,
  isEvaluated,
  limitsOf,
  NoExpectedValue,
  Report,
  resultOf,
} from './case-result.ts'
import { sameValues } from './compare.ts'
import { Excerpts } from './excerpts.ts'
import { checkLanguages, checkLevel, confinementText, worseThan } from './greeting.ts'
import {
  broken,
  type Confinement,
  endedEarly,
  type ProgramOutcome,
  type ProgramRequest,
  type Sandbox,
  type SandboxEvents,
  type SandboxSnapshot,
  withoutLanguage,
} from './sandbox.ts'
import type { LocalConfig } from './sandbox-config.ts'
import { type CoreUser, SharedCores } from './shared-cores.ts'
import { type Greeting, Zygote, ZygoteGone } from './zygote.ts'

/** Runs after which a zygote is replaced. */
const mostRuns = 10_000
/** Seconds by the clock that a zygote may be late beyond a case's own limit. */
const graceSeconds = 5
const compileSeconds = 30
/** zygote.py ends a compiler of C++ after 10 seconds of CPU, and gives up after 60 by the clock. */
const cppCompileSeconds = 75
/** Zygotes that one program may break before its sample fails. */
const mostTries = 2

const lost = Symbol('lost')

/** Runs programs on this machine, at most one on each core. Each case runs in a process that can reach nothing. */
export class LocalSandbox implements Sandbox {
  readonly #name: string
  readonly #config: LocalConfig
  readonly #clock: Clock
  readonly #size: number
  readonly #idle: { readonly zygote: Zygote; runs: number }[] = []
  /** In order of arrival. */
  readonly #waiting = new Set<{ start(): void }>()
  readonly #cores: SharedCores
  readonly #user: CoreUser
  readonly #events: SandboxEvents
  #running = 0
  #isClosed = false
  #confinement: Confinement | null = null
  /** How programs were confined at the start. */
  #first: Greeting | null = null
  /** Why no program runs any more. */
  #lost: string | null = null
  #calls = 0
  #errors = 0
  #latencyMs = 0

  /** `cores`: those that it shares with other sandboxes. */
  constructor(
    name: string,
    config: LocalConfig,
    clock: Clock,
    events: SandboxEvents = {},
    cores = new SharedCores(),
  ) {
    this.#name = name
    this.#config = config
    this.#clock = clock
    this.#events = events
    const count = availableParallelism()
    this.#size = Math.min(config.programs ?? Math.max(1, count - 1), count)
    this.#cores = cores
    this.#user = { size: this.#size, startNext: () => this.#startNext() }
    cores.join(this.#user)
  }

  async open(): Promise<Confinement> {
    if (this.#confinement) return this.#confinement
    const greeting = await this.greeting()
    this.#confinement = { text: confinementText(greeting), isConfined: greeting.level !== 'none' }
    return this.#confinement
  }

  /** How programs are confined here. Rejects with RG_CONFIG_INVALID if nothing confines them, or Python does not start. */
  async greeting(): Promise<Greeting> {
    const zygote = this.#start()
    try {
      const greeting = await this.#limited(zygote, zygote.greeting(), compileSeconds)
      if (this.#config.isolation === 'auto') checkLevel(greeting)
      checkLanguages(greeting)
      this.#first ??= greeting
      this.#idle.push({ zygote, runs: 0 })
      zygote.hold(false)
      return greeting
    } catch (error) {
      zygote.kill()
      if (!(error instanceof ZygoteGone)) throw error
      throw new GatewayError(
        'RG_CONFIG_INVALID',
        `programs cannot be run: ${error.message}; \`python\` of the sandbox names the interpreter, 3.9 or later on Linux`,
      )
    }
  }

  /** Programs that run, and that wait for their turn. */
  get load(): { readonly running: number; readonly waiting: number; readonly size: number } {
    return { running: this.#running, waiting: this.#waiting.size, size: this.#size }
  }

  snapshot(): SandboxSnapshot {
    const here = {
      address: 'local',
      state: this.#lost !== null ? 'ejected' : this.#confinement === null ? 'joining' : 'ready',
      weight: 1,
      inFlight: this.#running,
      limit: this.#size,
      latencyMs: this.#latencyMs,
      calls: this.#calls,
      errors: this.#errors,
    }
    return {
      name: this.#name,
      backend: 'local',
      confinement: this.#confinement,
      waiting: this.#waiting.size,
      parked: null,
      isPatient: false,
      instances: [here],
    }
  }

  /** Runs a program on its cases. Never rejects. */
  async run(request: ProgramRequest): Promise<ProgramOutcome> {
    const { language } = request.execution
    if (!this.#config.languages.includes(language))
      return { failure: withoutLanguage(this.#name, language, this.#config.languages) }
    const came = this.#clock.now()
    const turn = await this.#turn(request)
    if (turn === 'ended') return { failure: endedEarly(request) }
    const began = this.#clock.now()
    if (turn === 'waited') this.#events.queued?.({ sandbox: this.#name, ms: began - came })
    const outcome = await this.#inTurn(request)
    const ms = this.#clock.now() - began
    this.#calls += 1
    if ('failure' in outcome) this.#errors += 1
    else this.#latencyMs = this.#latencyMs === 0 ? ms : this.#latencyMs * 0.9 + ms * 0.1
    const kind = 'failure' in outcome ? outcome.failure.kind : 'ok'
    this.#events.ended?.({ sandbox: this.#name, instance: 'local', ms, outcome: kind })
    return outcome
  }

  async #inTurn(request: ProgramRequest): Promise<ProgramOutcome> {
    try {
      for (let tries = 1; ; tries++) {
        const outcome = await this.#try(request)
        if (outcome !== lost) return outcome
        if (request.signal.aborted || this.#clock.now() >= request.deadline)
          return { failure: endedEarly(request) }
        this.#events.restarted?.({ sandbox: this.#name, instance: 'local' })
        if (this.#isClosed || tries === mostTries) return { failure: broken }
        this.#events.retried?.({ sandbox: this.#name, kind: broken.kind })
      }
    } finally {
      this.#running -= 1
      this.#cores.release()
      this.#leaveCores()
    }
  }

  /** Ends everything. Programs that run fail as `sandbox_unreachable`. */
  close(): void {
    this.#isClosed = true
    this.#leaveCores()
    for (const { zygote } of this.#idle.splice(0)) zygote.kill()
  }

  /** Waits for a place. `ended`: the request ended before there was one. */
  #turn({ deadline, signal }: ProgramRequest): Promise<'free' | 'waited' | 'ended'> {
    if (signal.aborted || this.#clock.now() >= deadline) return Promise.resolve('ended')
    if (this.#takePlace()) return Promise.resolve('free')
    return new Promise((resolve) => {
      const leave = (how: 'waited' | 'ended'): void => {
        cancel()
        off()
        this.#waiting.delete(place)
        this.#leaveCores()
        resolve(how)
      }
      const place = { start: () => leave('waited') }
      const cancel = this.#clock.after(deadline - this.#clock.now(), () => leave('ended'))
      const off = whenAborted(signal, () => leave('ended'))
      this.#waiting.add(place)
    })
  }

  /** Once it is closed and empty, its size no longer counts. */
  #leaveCores(): void {
    if (this.#isClosed && this.#running === 0 && this.#waiting.size === 0) this.#cores.leave(this.#user)
  }

  #takePlace(): boolean {
    if (this.#running >= this.#size || !this.#cores.take()) return false
    this.#running += 1
    return true
  }

  #startNext(): boolean {
    const [next] = this.#waiting
    if (!next || !this.#takePlace()) return false
    next.start()
    return true
  }

  /** Runs a program in one zygote. `lost`: its process ended. */
  async #try(request: ProgramRequest): Promise<ProgramOutcome | typeof lost> {
    const { execution, deadline, signal } = request
    if (this.#lost !== null) return { failure: { ...broken, retryable: false, detail: this.#lost } }
    const slot = this.#ready() ?? { zygote: this.#start(), runs: -1 }
    const { zygote } = slot
    zygote.hold(true)
    const cancel = this.#clock.after(deadline - this.#clock.now(), () => zygote.kill())
    const off = whenAborted(signal, () => zygote.kill())
    try {
      if (slot.runs < 0) {
        this.#check(await this.#limited(zygote, zygote.greeting(), compileSeconds))
        slot.runs = 0
      }
      const excerpts = request.excerpts ? new Excerpts() : null
      const result = await this.#cases(zygote, execution, excerpts)
      slot.runs += result.cases.length + 1
      return { result, excerpts: excerpts?.cases }
    } catch (error) {
      if (error instanceof NoExpectedValue)
        return { failure: { kind: 'bad_sample', retryable: false, detail: error.message } }
      zygote.kill()
      if (error instanceof ZygoteGone) return lost
      if (error instanceof GatewayError)
        return { failure: { ...broken, retryable: this.#lost === null, detail: error.message } }
      throw error
    } finally {
      cancel()
      off()
      if (slot.runs >= mostRuns || this.#isClosed) zygote.kill()
      if (!zygote.isGone) {
        zygote.hold(false)
        this.#idle.push(slot)
      }
    }
  }

  /** The level of the start holds: a process that reaches only a lower one runs nothing, and none does until a restart. */
  #check(greeting: Greeting): void {
    const why = this.#first && worseThan(this.#first, greeting)
    if (why !== null) {
      this.#lost ??= `no program runs until the gateway is restarted: ${why}`
      this.#events.ejected?.({ sandbox: this.#name, instance: 'local', reason: this.#lost })
      throw new GatewayError('RG_CONFIG_INVALID', this.#lost)
    }
    if (this.#config.isolation === 'auto') checkLevel(greeting)
    checkLanguages(greeting)
    this.#first ??= greeting
  }

  /** A zygote that waits for a program. One that ended while it waited costs no program a try. */
  #ready(): { readonly zygote: Zygote; runs: number } | undefined {
    for (let slot = this.#idle.pop(); slot; slot = this.#idle.pop()) {
      if (!slot.zygote.isGone) return slot
      this.#events.restarted?.({ sandbox: this.#name, instance: 'local' })
    }
    return undefined
  }

  async #cases(
    zygote: Zygote,
    { language, program, setup = '', cases, limits = {}, stop, report = 'verdicts' }: Execution,
    excerpts: Excerpts | null,
  ): Promise<ExecutionResult> {
    const wanted = await this.#evaluated(zygote, setup, cases)
    const { wallSeconds, totalSeconds, message } = limitsOf(limits)
    const begun = zygote.begin({
      program,
      ...message,
      ...(language !== 'python' && nativeOf(language, program)),
    })
    const seconds = language === 'cpp' ? cppCompileSeconds : compileSeconds
    const { compiled } = (await this.#limited(zygote, begun, seconds)) as Compiled
    if (!compiled) return { compiled: false, cases: [] }
    const asked = (input: CaseMessage): Promise<Answer> =>
      this.#limited(zygote, zygote.runCase(input), wallSeconds + graceSeconds)
    const comparison = { wanted, setup, ask: asked }
    const results: CaseResult[] = []
    const reported = new Report(report)
    const until = this.#clock.now() + totalSeconds * 1000
    try {
      for (const one of cases) {
        if (this.#clock.now() >= until) break
        const input = inputOf(one)
        let answer = await asked(input)
        // A case that had to share its core with others was not slow itself.
        if (answer.ended === 'time' && answer.cpu_s < wallSeconds / 2 && !answer.asleep)
          answer = await asked(input)
        const result = await resultOf(answer, one, input, comparison)
        excerpts?.add(answer, result)
        results.push(reported.of(answer, result))
        if (stop === 'first_failure' && !result.passed) break
        if (stop === 'first_passes' && results[0]?.passed) break
      }
    } finally {
      zygote.end()
    }
    return { compiled: true, cases: results }
  }

  /** Values of the expressions of `expected.python`, which a process without the program computes. */
  async #evaluated(
    zygote: Zygote,
    setup: string,
    cases: readonly ProgramCase[],
  ): Promise<ReadonlyMap<string, unknown>> {
    const values = new Map<string, unknown>()
    for (const { expected } of cases) if (isEvaluated(expected)) values.set(expected.python, undefined)
    if (values.size === 0) return values
    const { message } = limitsOf({})
    const begun = zygote.begin({ program: setup, ...message })
    const { compiled } = (await this.#limited(zygote, begun, compileSeconds)) as Compiled
    if (!compiled) throw new NoExpectedValue()
    for (const expression of values.keys()) {
      const asked = zygote.runCase(aloneInput(expression))
      const answer = await this.#limited(zygote, asked, compileSeconds)
      values.set(expression, answer.value)
      if (answer.ended !== 'ok' || !sameValues(answer.value, answer.value)) break
    }
    zygote.end()
    for (const value of values.values()) if (!sameValues(value, value)) throw new NoExpectedValue()
    return values
  }

  /** Kills a zygote that is late. */
  async #limited<T>(zygote: Zygote, answer: Promise<T>, seconds: number): Promise<T> {
    const cancel = this.#clock.after(seconds * 1000, () => zygote.kill())
    try {
      return await answer
    } finally {
      cancel()
    }
  }

  #start(): Zygote {
    const { python, isolation, languages } = this.#config
    const others = languages.filter((name) => name !== 'python')
    return new Zygote(python, isolation === 'auto' ? 'namespaces' : 'none', others)
  }
}

const nativeOf = (language: ProgramLanguage, program: string) => ({
  language,
  ...(language === 'cpp' && { key: createHash('sha256').update(program).digest('hex') }),
})

/** What zygote.py answers to a program. */
interface Compiled {
  readonly compiled: boolean
}
