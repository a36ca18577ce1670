/** Judges of rubrics that reply by a script, and rows with rubrics. */

import type { Test } from 'tap'
import type { Json, Sample } from '../../src/core/sample/sample.ts'
import { sampleOf, testGateway } from './gateway.ts'
import { completion, type ScriptedServer, type Seen, scriptedServer } from './scripted-server.ts'

/** What a judge of these tests replies to a question; null: it breaks. */
export type Reply = (question: string, seen: Seen) => string | null

export const questionIn = ({ body }: Seen): string =>
  (body.messages as readonly { content: string }[]).map((one) => one.content).join('\n')

export async function judge(t: Test, reply: Reply): Promise<ScriptedServer> {
  const server = await scriptedServer((seen, response) => {
    const text = reply(questionIn(seen), seen)
    if (text === null) return void response.writeHead(400).end('{}')
    return completion(seen, text)
  })
  t.teardown(() => server.kill())
  return server
}

/** A gateway whose rewards are rubric judges with these options, and its judge. */
export async function rubrics(
  t: Test,
  reply: Reply,
  rewards: Readonly<Record<string, object>>,
  step: object = {},
  others: Readonly<Record<string, ScriptedServer>> = {},
  model: object = {},
) {
  const server = await judge(t, reply)
  const models = Object.fromEntries(
    Object.entries({ judge: server, ...others }).map(([name, { url }]) => [
      name,
      {
        backend: 'vllm',
        model: 'm',
        instances: [url],
        health: {},
        cache: 'never',
        retry: { max: 0 },
        ...model,
      },
    ]),
  )
  const gateway = await testGateway(
    t,
    Object.fromEntries(
      Object.entries(rewards).map(([name, options]) => [
        name,
        { models, steps: [{ name: 's', function: 'rubric-judge', model: 'judge', options, ...step }] },
      ]),
    ),
  )
  return { gateway, server }
}

/** The text of the criterion that a question of `ask: each` is about. */
export const criterionIn = (question: string): string =>
  /Criterion:\n⟦\w+\n([\s\S]*?)\n\w+⟧/.exec(question)?.[1] ?? ''

/** Replies as the criterion's text says: `yes`, `no` or a number behind its last colon. */
export const asSaid: Reply = (question) => criterionIn(question).split(': ').at(-1) ?? ''

export const rowOf = (rubric: Json, parts: Partial<Sample> = {}): Sample =>
  sampleOf('an answer', { groundTruth: rubric, ...parts })

export const items = (...given: readonly (readonly [text: string, weight: number, more?: object])[]): Json =>
  given.map(([text, weight, more]) => ({ text, weight, ...more })) as Json
