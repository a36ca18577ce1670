import { request } from 'undici'
import { type Attack, bodyBytes } from './bodies.ts'

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const names: Readonly<Record<string, string>> = { '{reward}': 'rule', '{name}': 'judge' }

const bodies: Readonly<Record<string, () => Buffer>> = {
  '16 MiB of lists': () => Buffer.from(`[${'[],'.repeat(bodyBytes / 3 - 2)}[]]`),
  '16 MiB of members': () => Buffer.from(`{${'"a":0,'.repeat(bodyBytes / 6 - 2)}"a":0}`),
  '16 MiB of depth': () =>
    Buffer.from(`{"a":${'['.repeat(bodyBytes / 2 - 10)}${']'.repeat(bodyBytes / 2 - 10)}}`),
  'one text of 16 MiB': () => Buffer.from(`{"model":"${'a'.repeat(bodyBytes - 20)}"}`),
  '17 MiB': () => Buffer.alloc(bodyBytes + 2 ** 20, ' '),
}

const answered = [200, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431, 502]

/** Attacks on every route that the gateway's own description names: each POST with each body, each GET with a long address. */
export async function routeAttacks(url: string, headers: Attack['headers']): Promise<readonly Attack[]> {
  const { body } = await request(`${url}/openapi.json`, { ...(headers && { headers }) })
  const { paths } = (await body.json()) as OpenApi
  const all = Object.entries(paths).flatMap(([template, operations]) => {
    const path = template.replace(/\{\w+\}/g, (name) => names[name] ?? 'x')
    return Object.keys(operations).map((method) => ({ path, method: method.toUpperCase() }))
  })
  return all.flatMap(({ path, method }): Attack[] =>
    method === 'GET'
      ? [
          {
            name: `GET ${path} with a query of 15 kB`,
            method,
            path: `${path}?${'a=1&'.repeat(3800)}`,
            body: () => Buffer.alloc(0),
            statuses: [...answered, 503],
          },
        ]
      : Object.entries(bodies).map(([name, make]) => ({
          name: `POST ${path}: ${name}`,
          path,
          body: make,
          statuses: answered.filter((status) => name !== '17 MiB' || status !== 200),
        })),
  )
}
