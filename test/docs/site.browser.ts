/** `npm run docs:check`: the built site in a browser, from a folder and without a network. */
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../serving/browser/browser.ts'

const folder = 'docs/.vitepress/dist'
const kinds: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

t.setTimeout(300_000)
const server = createServer(({ url = '/' }, reply) => {
  const { pathname } = new URL(url, 'http://site')
  const file = join(folder, normalize(pathname.endsWith('/') ? `${pathname}index.html` : pathname))
  if (!existsSync(file)) return reply.writeHead(404).end()
  reply.setHeader('content-type', kinds[extname(file)] ?? 'application/octet-stream')
  return createReadStream(file).pipe(reply)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const browser = await openBrowser()
t.teardown(async () => {
  await browser.close()
  server.close()
})

interface Visit {
  readonly page: Page
  /** Errors of scripts and requests, and requests that leave the site. */
  readonly troubles: readonly string[]
}

async function visit(path: string, width = 1280, colorScheme: 'light' | 'dark' = 'light'): Promise<Visit> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  const troubles: string[] = []
  page.on('pageerror', ({ message }) => troubles.push(message))
  page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
  page.on('request', (request) => {
    if (!/^data:/.test(request.url()) && new URL(request.url()).origin !== site) troubles.push(request.url())
  })
  page.on('response', (response) => {
    if (response.status() !== 200 && !response.url().endsWith('/favicon.ico'))
      troubles.push(`${response.status()} ${response.url()}`)
  })
  await page.goto(`${site}${path}`, { waitUntil: 'networkidle' })
  return { page, troubles: troubles }
}

const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.html') && file !== '404.html')
  .map((file) => `/${file}`)

t.test('every page opens without an error, and fits a phone', async (t) => {
  t.ok(pages.length > 40, `${pages.length} pages`)
  for (const path of pages) {
    const { page, troubles } = await visit(path, 400)
    t.strictSame(troubles, [], path)
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    t.equal(overflow, 0, `${path} fits`)
    await page.close()
  }
})

t.test('every diagram is drawn, in both themes', async (t) => {
  for (const [path, file] of [
    ['/architecture.html', 'docs/architecture.md'],
    ['/concepts.html', 'docs/concepts.md'],
  ] as const)
    for (const scheme of ['light', 'dark'] as const) {
      const fences = readFileSync(file, 'utf8').match(/^```mermaid$/gm)?.length ?? 0
      const { page, troubles } = await visit(path, 1280, scheme)
      await page
        .locator('.diagram svg')
        .nth(fences - 1)
        .waitFor()
      t.equal(await page.locator('.diagram svg').count(), fences, path)
      t.strictSame(troubles, [])
      await page.close()
    }
})

t.test('the search finds a page by a word of its text', async (t) => {
  const { page } = await visit('/index.html')
  await page
    .getByRole('button', { name: /search/i })
    .first()
    .click()
  await page.getByRole('searchbox').fill('sacrebleu')
  await page.locator('.result').first().waitFor()
  t.match((await page.locator('.result').first().textContent()) ?? '', /translation|functions/i)
  await page.close()
})
