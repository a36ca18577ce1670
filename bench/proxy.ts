/**
 * A bare Fastify and undici proxy: what a judged sample costs when nothing is done but passing bytes on. A batch of 64 is
 * 64 calls at once, as the gateway's is.
 */
import Fastify from 'fastify'
import { Pool } from 'undici'

const [port = '8493', upstream = 'http://127.0.0.1:8494'] = process.argv.slice(2)
const pool = new Pool(upstream, { connections: 256 })
const app = Fastify({ bodyLimit: 1 << 24 })

const question = (prompt: string, response: string) =>
  JSON.stringify({
    model: 'judge',
    temperature: 0,
    messages: [
      {
        role: 'user',
        content: `Is the answer right? Reply 1 or 0.\nQuestion: ${prompt}\nAnswer: ${response}`,
      },
    ],
  })

interface Body {
  readonly samples: readonly { readonly id: string; readonly prompt: string; readonly response: string }[]
}

app.post<{ Body: Body }>('/score', async ({ body }) => {
  const results = await Promise.all(
    body.samples.map(async ({ id, prompt, response }) => {
      const answer = await pool.request({
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: question(prompt, response),
      })
      const { choices } = (await answer.body.json()) as { choices: { message: { content: string } }[] }
      return { id, reward: Number(choices[0]?.message.content) }
    }),
  )
  return { results }
})
app.get('/livez', async () => 'ok')
await app.listen({ port: Number(port), host: '127.0.0.1' })
