import {
  type SimulatedServer,
  type SimulatedServerOptions,
  startSimulatedServer,
  startSimulatedServers,
} from '../../src/simulator/index.ts'

/** A simulated server that ends with the test. */
export async function simulated(
  t: { teardown(fn: () => Promise<void>): void },
  options: SimulatedServerOptions = {},
): Promise<SimulatedServer> {
  const server = await startSimulatedServer(options)
  t.teardown(() => server.close())
  return server
}

export interface Replied {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of many shapes
  readonly json: any
  readonly headers: Headers
}

/** POSTs JSON; `json` is null where the reply is none. */
export async function post(
  server: SimulatedServer,
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Replied> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
  return read(response)
}

export async function get(server: SimulatedServer, path: string): Promise<Replied> {
  return read(await fetch(server.url + path))
}

/** The text of the first choice of a chat with one message. */
export async function chat(server: SimulatedServer, content: string, more: object = {}): Promise<string> {
  const { json } = await post(server, '/v1/chat/completions', {
    messages: [{ role: 'user', content }],
    ...more,
  })
  return json.choices[0].message.content
}

/** A judge's prompt as a gateway renders it: values between lines with a nonce. */
export function judgement(question: string, answer: string, wish = 'Reply with 1 or 0 only.'): string {
  return `Does the answer correctly answer the question? ${wish}
Question: ⟦3f09ab12cd45
${question}
3f09ab12cd45⟧
Answer: ⟦77aa0b1c2d3e
${answer}
77aa0b1c2d3e⟧`
}

async function read(response: Response): Promise<Replied> {
  const text = await response.text()
  let json = null
  try {
    json = JSON.parse(text)
  } catch {}
  return { status: response.status, text, json, headers: response.headers }
}

/** Several servers that end with the test. */
export async function startFleet(
  t: { teardown(fn: () => Promise<void>): void },
  count: number,
  options: SimulatedServerOptions,
): Promise<readonly SimulatedServer[]> {
  const servers = await startSimulatedServers(count, options)
  for (const server of servers) t.teardown(() => server.close())
  return servers
}

/** Waits, turn by turn of the loop, for what a server is about to do. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
