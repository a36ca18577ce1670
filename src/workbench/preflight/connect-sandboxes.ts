import type { Clock } from '../../core/clock.ts'
import { packageVersion } from '../../core/package-version.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { isObject, type JsonObject } from '../../scoring/models/transport/reply.ts'
import type { SandboxConfig, ServersConfig } from '../../scoring/sandboxes/sandbox-config.ts'
import { type AskServer, hintOf, withServer } from './connect.ts'

/** What one server of a sandbox says of itself. */
interface SandboxConnection {
  readonly sandbox: string
  readonly address: string
  /** null: programs can be sent to it. */
  readonly trouble: string | null
  /** How programs run there. '' if there is trouble. */
  readonly found: string
  readonly ms: number
}

/** Asks every server of every sandbox in parallel how it runs programs, and whether it takes the key. */
export async function connectSandboxes(
  sandboxes: Readonly<Record<string, SandboxConfig>>,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<readonly SandboxConnection[]> {
  const places = Object.entries(sandboxes).flatMap(([sandbox, config]) =>
    config.backend === 'local'
      ? []
      : config.instances.map((place) => ({
          sandbox,
          config,
          url: typeof place === 'string' ? place : place.url,
        })),
  )
  return Promise.all(
    places.map(async ({ sandbox, config, url }) => {
      const began = clock.now()
      const asks = config.backend === 'sandbox-fusion' ? askFusion : askOwn
      const answer = await withServer(url, config, env, clock, (ask) => asks(ask, config))
      const [found, trouble] = typeof answer === 'string' ? ['', answer] : [answer.found, null]
      const ms = Math.round(clock.now() - began)
      return { sandbox, address: hideSecrets(url), trouble, found, ms }
    }),
  )
}

/** What was found, or the trouble. */
type Found = { readonly found: string } | string

async function askOwn(ask: AskServer, config: ServersConfig): Promise<Found> {
  const what = '`reward-gateway sandbox`'
  const { status, text } = await ask('/health')
  const said = objectOf(text)
  const { version, confinement, languages, programs, running, waiting } = said ?? {}
  if (status === 503 && said?.status === 'closing') return 'it is closing'
  if (status !== 200) return `/health answers ${status}${hintOf(status, config, what)}`
  if (typeof confinement !== 'string' || typeof programs !== 'number')
    return `/health does not tell how programs are confined: is this the address of ${what}?`
  const lacking = config.languages.filter((name) => !(Array.isArray(languages) && languages.includes(name)))
  if (lacking.length > 0)
    return `it does not run ${lacking.join(', ')}: start it with --languages ${config.languages.join(',')}`
  const { status: allowed } = await ask('/metrics')
  if (allowed !== 200) return `it refuses with ${allowed}${hintOf(allowed, config, what)}`
  const release =
    version === packageVersion ? `version ${version}` : `version ${version}, here ${packageVersion}`
  const load = `${programs} at once, ${running} running and ${waiting} waiting now`
  return { found: hideSecrets(`${confinement}; ${load}; ${release}`.slice(0, 500)) }
}

/** Programs that print 42 for 21. */
const doubles = {
  python: 'import sys\nprint(int(input()) * 2, sys.version.split()[0])',
  cpp: '#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * 2; }',
  nodejs: "console.log(Number(require('fs').readFileSync(0, 'utf8')) * 2)",
} as const

/** SandboxFusion says nothing of itself, so that small programs are run. */
async function askFusion(ask: AskServer, config: ServersConfig): Promise<Found> {
  const run = (language: keyof typeof doubles) =>
    ask('/run_code', { language, code: doubles[language], stdin: '21', run_timeout: 3, compile_timeout: 3 })
  const { status, text } = await run('python')
  if (status !== 200) return `/run_code answers ${status}${hintOf(status, config, 'SandboxFusion')}`
  const said = objectOf(text)
  const printed = printedBy(said)
  if (printed === null)
    return typeof said?.status === 'string'
      ? `it does not run Python: ${said.status}`
      : '/run_code answers no result: is this the address of SandboxFusion?'
  const version = /^42 (\d+\.\d+\S{0,20})\s*$/.exec(printed)?.[1]
  if (version === undefined) return 'a program that prints 42 prints something else there'
  const languages = [`Python ${version}`]
  for (const [language, name] of [
    ['cpp', 'C++'],
    ['nodejs', 'JavaScript'],
  ] as const) {
    const other = await run(language).catch(() => null)
    if (other?.status === 200 && printedBy(objectOf(other.text))?.trim() === '42') languages.push(name)
  }
  return {
    found: `programs run in ${languages.join(', ')}; their confinement is that of the server's container`,
  }
}

function printedBy(reply: JsonObject | null): string | null {
  const run = reply?.run_result
  return isObject(run) && typeof run.stdout === 'string' && reply?.status === 'Success' ? run.stdout : null
}

function objectOf(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
