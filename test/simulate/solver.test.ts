import t from 'tap'
import { post, simulated, startFleet } from '../support/simulated.ts'

t.test('a simulated policy solves problems with the rate of each, the same samples every time', async (t) => {
  const options = {
    policy: 'solver',
    answers: { apples: 42, pears: 7, capital: 'Paris' },
    successRate: { apples: 0.9, pears: 0.2 },
  } as const
  const sample = async (content: string) => {
    const server = await simulated(t, options)
    const body = { messages: [{ role: 'user', content }], n: 100 }
    const { json } = await post(server, '/v1/chat/completions', body)
    return json.choices.map(({ message }: { message: { content: string } }) => message.content) as string[]
  }
  const share = (texts: string[], answer: string) =>
    texts.filter((text) => text.endsWith(`#### ${answer}`)).length
  const apples = await sample('How many apples?')
  t.ok(share(apples, '42') > 80, `${share(apples, '42')} of 100`)
  t.same(await sample('How many apples?'), apples)
  const pears = share(await sample('How many pears?'), '7')
  t.ok(pears > 8 && pears < 34, `${pears} of 100`)
  const words = share(await sample('Which capital?'), 'Paris')
  t.ok(words > 35 && words < 65, `${words} of 100`)
  const unknown = await sample('How many plums?')
  t.equal(new Set(unknown.map((text) => text.split('#### ')[1])).size > 1, true)
})

t.test('a fleet shares its count of attempts, and its ports follow one another', async (t) => {
  const servers = await startFleet(t, 2, { policy: 'solver', successRate: 0.5 })
  const [one, two] = servers
  t.ok(one && two && one.port !== two.port)
  const texts: string[] = []
  for (let i = 0; i < 40; i++) {
    const server = servers[i % 2]
    if (server) texts.push((await post(server, '/v1/completions', { prompt: 'x' })).json.choices[0].text)
  }
  t.ok(new Set(texts).size > 1, 'the same question on another server is another draw')
  const busy = servers[0]?.port ?? 0
  await t.rejects(startFleet(t, 1, { port: busy }), { code: 'EADDRINUSE' })
})
